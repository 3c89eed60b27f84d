; metaloc: shows=table6-91443-1 in=ramp/loop wrong=- right=2:1@ramp destination=^%x\.int = phi
; metaloc: shows=table6-91443-2 in=ramp/loop wrong=- right=4:1@ramp destination=^%x\.next\.int = add
; metaloc: shows=table6-91443-3 in=ramp/loop wrong=- right=5:1@ramp destination=^%\S+ = icmp
; metaloc: shows=table6-91443-4 in=ramp/loop wrong=- right=2:1@ramp destination=^%indvar\.conv = sitofp
; A counter of whole numbers kept in a double becomes an integer, converted where it is used.
define void @ramp() {
entry:
  br label %loop

loop:
  %x = phi double [ 5.000000e+00, %entry ], [ %x.next, %loop ]
  call void @plot(double %x)
  %x.next = fadd double %x, 3.000000e+00
  %more = fcmp olt double %x.next, 3.500000e+02
  br i1 %more, label %loop, label %done

done:
  ret void
}

declare void @plot(double)
