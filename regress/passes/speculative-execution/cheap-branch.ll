; metaloc: shows=table6-97384-1 in=clamp/entry wrong=3:1@clamp right=- destination=^%less = sub
; The subtraction is cheap, so it is computed whether it is needed or not.
define i32 @clamp(i32 %value, i32 %limit) {
entry:
  %above = icmp sgt i32 %value, %limit
  br i1 %above, label %cut, label %done

cut:
  %less = sub i32 %value, %limit
  br label %done

done:
  %result = phi i32 [ %value, %entry ], [ %less, %cut ]
  ret i32 %result
}
