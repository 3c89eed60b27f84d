; metaloc: llvm=16..22
; metaloc: shows=table6-91839-2 in=mix wrong=- right=5:1@mix destination=^%store_forward_cast = bitcast
; As running-sum.ll, but stored as a float and loaded as an integer: a cast joins the two.
; Not for LLVM 14, as there, nor 15, whose pass does not forward between the two types.
define void @mix(ptr noalias %cells, ptr noalias %values, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %i.next = add nuw nsw i64 %i, 1
  %here = getelementptr inbounds i32, ptr %cells, i64 %i
  %bits = load i32, ptr %here, align 4
  %value.at = getelementptr inbounds i32, ptr %values, i64 %i
  %value = load i32, ptr %value.at, align 4
  %both = xor i32 %bits, %value
  %number = uitofp i32 %both to float
  %there = getelementptr inbounds float, ptr %cells, i64 %i.next
  store float %number, ptr %there, align 4
  %more = icmp ne i64 %i.next, %n
  br i1 %more, label %loop, label %done

done:
  ret void
}
