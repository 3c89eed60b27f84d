; The two sides compute different things: nothing is moved.
define i32 @price(i1 %member, i32 %amount, i32 %rate) {
entry:
  br i1 %member, label %reduced, label %full

reduced:
  %cost.low = mul i32 %amount, %rate
  br label %done

full:
  %cost.high = add i32 %amount, %rate
  br label %done

done:
  %cost = phi i32 [ %cost.low, %reduced ], [ %cost.high, %full ]
  ret i32 %cost
}
