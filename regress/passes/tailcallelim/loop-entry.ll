; metaloc: shows=table6-86269-1 in=countdown/entry wrong=5:1@countdown right=- destination=^br label %tailrecurse
; The branch into the new loop is executed before the call is reached at all.
define void @countdown(i32 %n) {
entry:
  %done = icmp eq i32 %n, 0
  br i1 %done, label %stop, label %again

again:
  call void @tick(i32 %n)
  %m = add i32 %n, -1
  tail call void @countdown(i32 %m)
  ret void

stop:
  ret void
}

declare void @tick(i32)
