; The product is moved out of the loop and loses its location, as it must: the body may not run at all.
define void @fill(ptr %cells, i64 %n, i64 %a, i64 %b) {
entry:
  br label %head

head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %done

body:
  %step = mul i64 %a, %b
  %at = getelementptr inbounds i64, ptr %cells, i64 %i
  store i64 %step, ptr %at, align 8
  %i.next = add nuw nsw i64 %i, 1
  br label %head

done:
  ret void
}
