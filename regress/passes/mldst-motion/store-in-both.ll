; metaloc: shows=table4-84a71d5-1 in=record/done wrong=4:1@record right=0:0@record destination=^store i32 %\S+, ptr %
; metaloc: shows=table4-84a71d5-2 in=record/done wrong=3:1@record right=0:0@record destination=^%\S+ = getelementptr
; Both sides store to the same element: one store below them takes a phi of the values.
define void @record(i1 %win, ptr %board, i32 %points) {
entry:
  br i1 %win, label %gain, label %loss

gain:
  %more = add i32 %points, 25
  %to.gain = getelementptr inbounds i32, ptr %board, i64 4
  store i32 %more, ptr %to.gain, align 4
  br label %done

loss:
  %less = sub i32 %points, 10
  %to.loss = getelementptr inbounds i32, ptr %board, i64 4
  store i32 %less, ptr %to.loss, align 4
  br label %done

done:
  ret void
}
