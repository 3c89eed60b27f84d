; metaloc: args=-mtriple=x86_64-unknown-unknown
; Quotient and remainder stand side by side: x86 computes both at once, and nothing is done.
define i32 @both(i32 %a, i32 %b) {
entry:
  %quotient = udiv i32 %a, %b
  %remainder = urem i32 %a, %b
  %sum = add i32 %quotient, %remainder
  ret i32 %sum
}
