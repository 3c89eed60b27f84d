; metaloc: shows=table6-92859-1 in=price/done wrong=3:1@price right=0:0@price destination=^%\S+ = mul i32
; Both sides compute the same: it is moved below, where either side may have been taken.
define i32 @price(i1 %member, i32 %amount, i32 %rate) {
entry:
  br i1 %member, label %reduced, label %full

reduced:
  %low = sub i32 %amount, 3
  %cost.low = mul i32 %low, %rate
  br label %done

full:
  %high = add i32 %amount, 5
  %cost.high = mul i32 %high, %rate
  br label %done

done:
  %cost = phi i32 [ %cost.low, %reduced ], [ %cost.high, %full ]
  ret i32 %cost
}
