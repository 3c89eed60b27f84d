; metaloc: shows=table6-96889-1 in=choose/open wrong=- right=3:1@choose destination=^br label %
; A branch on an undefined value may go either way.
define i32 @choose(i32 %mode) {
entry:
  switch i32 %mode, label %open [
    i32 1, label %first
    i32 2, label %second
  ]

open:
  call void @ask()
  br i1 undef, label %first, label %second

first:
  call void @ask()
  ret i32 1

second:
  call void @ask()
  ret i32 2
}

declare void @ask()
