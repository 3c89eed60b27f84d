; Something unused goes away, and nothing new comes.
define i32 @keep(i32 %a, i32 %b) {
entry:
  %unused = add i32 %a, %b
  ret i32 %a
}
