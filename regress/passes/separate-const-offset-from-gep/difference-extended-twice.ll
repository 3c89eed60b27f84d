; metaloc: shows=table6-96849-2 in=gap wrong=- right=5:1@gap destination=^%wide = sext
; The difference exists already in 32 bits and cannot overflow: it is extended once.
define i64 @gap(i32 %a, i32 %b) {
entry:
  %narrow = sub nsw i32 %a, %b
  call void @index(i32 %narrow)
  %a.wide = sext i32 %a to i64
  %b.wide = sext i32 %b to i64
  %wide = sub i64 %a.wide, %b.wide
  ret i64 %wide
}

declare void @index(i32 noundef)
