; metaloc: shows=table6-96889-2 in=deliver/seven wrong=- right=5:1@deliver destination=^br label %usual
; The only way into the block decides which case of the switch is taken.
define void @deliver(i32 %size) {
entry:
  %cost = mul i32 %size, 3
  %is.seven = icmp eq i32 %size, 7
  br i1 %is.seven, label %seven, label %usual

seven:
  call void @weigh()
  switch i32 %cost, label %heavy [
    i32 20, label %light
    i32 21, label %usual
  ]

light:
  call void @weigh()
  ret void

usual:
  call void @send(i32 %cost)
  ret void

heavy:
  call void @send(i32 0)
  ret void
}

declare void @weigh()
declare void @send(i32)
