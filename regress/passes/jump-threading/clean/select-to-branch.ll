; One side of the select decides the branch behind it: the select becomes a branch, which stands for the jump as well.
define void @route(i1 %fast, i32 %size, i32 %other) {
entry:
  %big = icmp sgt i32 %size, 10
  br i1 %big, label %pick, label %small

pick:
  call void @log()
  %kind = select i1 %fast, i32 0, i32 %other
  br label %decide

small:
  call void @log()
  br label %decide

decide:
  %chosen = phi i32 [ %kind, %pick ], [ %size, %small ]
  %none = icmp eq i32 %chosen, 0
  br i1 %none, label %skip, label %send

skip:
  call void @log()
  ret void

send:
  call void @deliver(i32 %chosen)
  ret void
}

declare void @log()
declare void @deliver(i32)
