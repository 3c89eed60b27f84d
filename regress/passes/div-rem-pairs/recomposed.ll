; metaloc: args=-mtriple=x86_64-unknown-unknown
; metaloc: shows=table6-96045-1 in=clock wrong=- right=3:1@clock destination=^%minutes\.recomposed = urem
; The remainder was written out by hand; x86 has it for free with the quotient.
define void @clock(i32 %time, i32 %sixty, ptr %h, ptr %m) {
entry:
  %hours = udiv i32 %time, %sixty
  %whole = mul i32 %hours, %sixty
  %minutes = sub i32 %time, %whole
  store i32 %hours, ptr %h, align 4
  store i32 %minutes, ptr %m, align 4
  ret void
}
