; metaloc: args=-hoist-common-insts
; Both sides decide the same: one branch in front of them is enough, and it stands for the two.
define void @both(i1 %side, i1 %open) {
entry:
  br i1 %side, label %left, label %right

left:
  br i1 %open, label %yes, label %no

right:
  br i1 %open, label %yes, label %no

yes:
  call void @enter()
  br label %out

no:
  call void @stay()
  br label %out

out:
  ret void
}

declare void @enter()
declare void @stay()
