; metaloc: shows=table6-86236-1 in=pick/entry wrong=2:1@pick right=0:0@pick destination=^%\S+ = getelementptr
; The two loads become one above the branch, and so does the address that they use.
define i32 @pick(i1 %scaled, ptr %table, i64 %row) {
entry:
  br i1 %scaled, label %twice, label %once

twice:
  %addr.twice = getelementptr inbounds { i32, i32 }, ptr %table, i64 %row, i32 1
  %value.twice = load i32, ptr %addr.twice, align 4
  %double = shl i32 %value.twice, 1
  br label %done

once:
  %addr.once = getelementptr inbounds { i32, i32 }, ptr %table, i64 %row, i32 1
  %value.once = load i32, ptr %addr.once, align 4
  br label %done

done:
  %result = phi i32 [ %double, %twice ], [ %value.once, %once ]
  ret i32 %result
}
