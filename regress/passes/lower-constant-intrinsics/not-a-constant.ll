; metaloc: shows=table6-97145-1 in=scale/entry wrong=- right=2:1@scale destination=^br label %general
; What is not a constant here never will be: the branch is decided.
define i32 @scale(i32 %factor) {
entry:
  %known = call i1 @llvm.is.constant.i32(i32 %factor)
  br i1 %known, label %special, label %general

special:
  %fast = call i32 @shifted(i32 %factor)
  ret i32 %fast

general:
  ret i32 %factor
}

declare i32 @shifted(i32)
declare i1 @llvm.is.constant.i32(i32)
