; metaloc: shows=table6-96849-1 in=total wrong=- right=5:1@total destination=^%wide = sext
; The sum exists already in 32 bits and cannot overflow: it is extended once.
define i64 @total(i32 %a, i32 %b) {
entry:
  %narrow = add nsw i32 %a, %b
  call void @index(i32 %narrow)
  %a.wide = sext i32 %a to i64
  %b.wide = sext i32 %b to i64
  %wide = add i64 %a.wide, %b.wide
  ret i64 %wide
}

declare void @index(i32 noundef)
