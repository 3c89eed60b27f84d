; The second sum is the first one again: it goes away, and nothing new comes.
define i32 @twice(i32 %a, i32 %b) {
entry:
  %first = add i32 %a, %b
  call void @show(i32 %first)
  %second = add i32 %a, %b
  ret i32 %second
}

declare void @show(i32)
