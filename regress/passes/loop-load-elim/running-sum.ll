; metaloc: llvm=15..22
; metaloc: shows=table6-91839-3 in=prefix wrong=- right=5:1@prefix destination=^%store_forwarded\d* = phi
; metaloc: shows=table6-91839-1 in=prefix wrong=- right=- destination=^%load_initial = load
; Each iteration loads what the one before stored: a phi takes the place of the load.
; Not for LLVM 14, whose pass does not survive opaque pointers.
define void @prefix(ptr noalias %sums, ptr noalias %values, i64 %n) {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %i.next = add nuw nsw i64 %i, 1
  %here = getelementptr inbounds i32, ptr %sums, i64 %i
  %before = load i32, ptr %here, align 4
  %value.at = getelementptr inbounds i32, ptr %values, i64 %i
  %value = load i32, ptr %value.at, align 4
  %sum = add i32 %before, %value
  %there = getelementptr inbounds i32, ptr %sums, i64 %i.next
  store i32 %sum, ptr %there, align 4
  %more = icmp ne i64 %i.next, %n
  br i1 %more, label %loop, label %done

done:
  ret void
}
