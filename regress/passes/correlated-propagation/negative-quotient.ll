; metaloc: shows=table6-76118-1 in=share/split wrong=- right=5:1@share destination=^%each\S* = sub
; metaloc: shows=table4-76118-1 in=share/split wrong=- right=5:1@share destination=^%each\S* = sub
; A negative number divided by a positive one becomes the negation of an unsigned division.
define i32 @share(i32 %debt, i32 %people) {
entry:
  %owes = icmp slt i32 %debt, 0
  br i1 %owes, label %owing, label %even

owing:
  %any = icmp sgt i32 %people, 0
  br i1 %any, label %split, label %even

split:
  %each = sdiv i32 %debt, %people
  ret i32 %each

even:
  ret i32 0
}
