; metaloc: args=-mtriple=x86_64-unknown-unknown
; metaloc: shows=table6-97519-1 in=sample/loop wrong=- right=2:1@sample destination=^%IV\.S\. = phi
; metaloc: shows=table6-97519-2 in=sample/loop wrong=- right=6:1@sample destination=^%IV\.S\.next\. = fadd
; The counter is only wanted as a double: a second counter of that type saves the conversion.
target datalayout = "e-n8:16:32:64"

define void @sample(i32 %n, ptr %out) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 2, %entry ], [ %i.next, %loop ]
  %at = sitofp i32 %i to double
  %y = fmul double %at, 2.500000e-01
  store volatile double %y, ptr %out, align 8
  %i.next = add nuw nsw i32 %i, 4
  %more = icmp slt i32 %i.next, 4002
  br i1 %more, label %loop, label %done

done:
  ret void
}
