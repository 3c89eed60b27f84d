; metaloc: shows=table4-256f8b0-3 in=scan/Flow wrong=- right=4:1@scan destination=^br i1 %
; A loop with its test at the top gets one block that decides whether it goes on.
define void @scan(i32 %n, ptr %out) {
entry:
  br label %head

head:
  %i = phi i32 [ 0, %entry ], [ %i.next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %done

body:
  store i32 %i, ptr %out, align 4
  %i.next = add i32 %i, 1
  br label %head

done:
  ret void
}
