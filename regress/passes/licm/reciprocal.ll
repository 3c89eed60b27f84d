; metaloc: shows=table6-91729-2 in=normalise/loop wrong=- right=5:1@normalise destination=^%\S+ = fmul fast
; metaloc: shows=table6-91729-1 in=normalise/entry wrong=- right=- destination=^%\S+ = fdiv fast
; A division by a value of the outside becomes a multiplication by its reciprocal.
define void @normalise(ptr %v, i64 %n, float %length) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %p = getelementptr inbounds float, ptr %v, i64 %i
  %x = load float, ptr %p, align 4
  %unit = fdiv fast float %x, %length
  store float %unit, ptr %p, align 4
  %i.next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %loop, label %done

done:
  ret void
}
