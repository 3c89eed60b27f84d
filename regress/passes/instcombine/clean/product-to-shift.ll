; A multiplication by a power of two becomes a shift with the location of the multiplication.
define i32 @bytes(i32 %words) {
entry:
  %size = mul i32 %words, 8
  ret i32 %size
}
