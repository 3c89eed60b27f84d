; metaloc: pass=loop(simple-loop-unswitch)
; metaloc: shows=table6-98789-1 in=serve/loop wrong=- right=2:1@serve destination=^br label %work
; Whether the loop is left at once is known before it is entered.
define void @serve(i1 %closed, ptr %queue) {
entry:
  br label %loop

loop:
  br i1 %closed, label %done, label %work

work:
  call void @next(ptr %queue)
  br label %loop

done:
  ret void
}

declare void @next(ptr)
