; metaloc: pass=simple-loop-unswitch<nontrivial>
; metaloc: shows=table6-97662-1 in=draw/done wrong=- right=13:1@draw destination=^%\.us-phi\d* = phi
; metaloc: shows=table6-97662-2 in=draw/loop.us wrong=- right=4:1@draw destination=^br label %wide\.us
; metaloc: shows=table6-97662-3 in=draw/entry wrong=4:1@draw right=- destination=^br i1 %bold(\.fr)?, label %entry\.split\.us
; metaloc: shows=table6-97662-4 in=draw/entry wrong=- right=- destination=^%bold\.fr = freeze
; metaloc: shows=table6-97662-5 in=draw/loop wrong=- right=4:1@draw destination=^br label %thin
; The branch does not depend on the iteration: it is taken once, in front of two copies of the loop.
define i32 @draw(i1 %bold, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]
  %pen = call i32 @position(i32 %i)
  br i1 %bold, label %wide, label %thin

wide:
  call void @stroke(i32 3)
  br label %next

thin:
  call void @stroke(i32 1)
  br label %next

next:
  %i.next = add nuw nsw i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %loop, label %done

done:
  %end = phi i32 [ %pen, %next ]
  ret i32 %end
}

declare i32 @position(i32)
declare void @stroke(i32)
