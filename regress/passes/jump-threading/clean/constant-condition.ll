; The branch on a constant becomes an unconditional one at the same place.
define i32 @start(i1 %warm) {
entry:
  br i1 %warm, label %ready, label %cold

cold:
  call void @heat()
  br i1 true, label %ready, label %broken

ready:
  call void @heat()
  ret i32 1

broken:
  ret i32 0
}

declare void @heat()
