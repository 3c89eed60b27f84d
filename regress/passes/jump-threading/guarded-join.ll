; metaloc: shows=table6-91581-3 in=checked/join wrong=- right=8:1@checked destination=^%\S+ = phi i32 \[ %total
; One side of the diamond proves the guard: what stands before the guard is copied into both sides.
define i32 @checked(i32 %size) {
entry:
  %small = icmp slt i32 %size, 16
  br i1 %small, label %left, label %right

left:
  %l = call i32 @low()
  br label %join

right:
  %r = call i32 @high()
  br label %join

join:
  %base = phi i32 [ %l, %left ], [ %r, %right ]
  %total = add i32 %base, 12
  %fits = icmp slt i32 %size, 24
  call void (i1, ...) @llvm.experimental.guard(i1 %fits) [ "deopt"() ]
  ret i32 %total
}

declare i32 @low()
declare i32 @high()
declare void @llvm.experimental.guard(i1, ...)
