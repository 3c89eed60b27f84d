; Both numbers are positive: the division becomes an unsigned one, and all versions put it in the old place.
define i32 @share(i32 %gain, i32 %people) {
entry:
  %some = icmp sgt i32 %gain, 0
  br i1 %some, label %gained, label %none

gained:
  %any = icmp sgt i32 %people, 0
  br i1 %any, label %split, label %none

split:
  %each = sdiv i32 %gain, %people
  ret i32 %each

none:
  ret i32 0
}
