; metaloc: args=-mtriple=x86_64-unknown-unknown
; metaloc: shows=table6-96045-2 in=page/rest wrong=- right=4:1@page destination=^%\S+ = mul
; metaloc: shows=table6-96045-3 in=page/rest wrong=- right=4:1@page destination=^%offset\.decomposed = sub
; metaloc: shows=table6-96045-4 in=page/entry wrong=- right=1:1@page destination=^%address\.frozen = freeze
; metaloc: shows=table6-96045-5 in=page/entry wrong=- right=1:1@page destination=^%size\.frozen = freeze
; 128-bit division has no instruction: the remainder is computed from the quotient.
define i128 @page(i128 %address, i128 %size) {
entry:
  %number = udiv i128 %address, %size
  %first = icmp eq i128 %number, 0
  br i1 %first, label %done, label %rest

rest:
  %offset = urem i128 %address, %size
  br label %done

done:
  %result = phi i128 [ %address, %entry ], [ %offset, %rest ]
  ret i128 %result
}
