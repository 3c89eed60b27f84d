; The result of the call is used twice afterwards: no loop can be made, the call is only marked `tail`.
define i32 @power(i32 %base, i32 %n) {
entry:
  %done = icmp eq i32 %n, 0
  br i1 %done, label %one, label %more

one:
  ret i32 1

more:
  %half = lshr i32 %n, 1
  %root = call i32 @power(i32 %base, i32 %half)
  %square = mul i32 %root, %root
  ret i32 %square
}
