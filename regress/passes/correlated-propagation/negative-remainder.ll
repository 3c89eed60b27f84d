; metaloc: shows=table4-ebd0249-1 in=left/split wrong=- right=5:1@left destination=^%over\S* = sub i32 0, %over
; As with the quotient: the remainder of a negative number is the negation of an unsigned one.
define i32 @left(i32 %debt, i32 %people) {
entry:
  %owes = icmp slt i32 %debt, 0
  br i1 %owes, label %owing, label %even

owing:
  %any = icmp sgt i32 %people, 0
  br i1 %any, label %split, label %even

split:
  %over = srem i32 %debt, %people
  ret i32 %over

even:
  ret i32 0
}
