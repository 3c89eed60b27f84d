; metaloc: pass=loop(simple-loop-unswitch)
; metaloc: shows=table6-98789-3 in=handle/entry wrong=- right=2:1@handle destination=^switch i32 %signal
; metaloc: shows=table6-98789-4 in=handle/loop wrong=- right=2:1@handle destination=^br label %work
; Two of the three ways out of the switch leave the loop, and nothing in the loop changes the choice.
define i32 @handle(i32 %signal, ptr %queue) {
entry:
  br label %loop

loop:
  switch i32 %signal, label %work [
    i32 2, label %interrupted
    i32 15, label %terminated
  ]

work:
  call void @next(ptr %queue)
  br label %loop

interrupted:
  ret i32 1

terminated:
  ret i32 2
}

declare void @next(ptr)
