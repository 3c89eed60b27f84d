; metaloc: pass=loop(loop-flatten)
; metaloc: shows=table6-97085-1 in=shade/column wrong=- right=11:1@shade destination=^br label %row\.next
; Two loops over a grid become one: the inner one no longer branches back.
target datalayout = "e-m:e-p:32:32-i64:64-n32-S64"

define void @shade(ptr %grid, i32 %light) {
entry:
  br label %row

row:
  %y = phi i32 [ 0, %entry ], [ %y.next, %row.next ]
  %start = mul nuw nsw i32 %y, 12
  br label %column

column:
  %x = phi i32 [ 0, %row ], [ %x.next, %column ]
  %cell = add nuw nsw i32 %x, %start
  %at = getelementptr inbounds i32, ptr %grid, i32 %cell
  store i32 %light, ptr %at, align 4
  %x.next = add nuw nsw i32 %x, 1
  %in.row = icmp ne i32 %x.next, 12
  br i1 %in.row, label %column, label %row.next

row.next:
  %y.next = add nuw nsw i32 %y, 1
  %in.grid = icmp ne i32 %y.next, 8
  br i1 %in.grid, label %row, label %done

done:
  ret void
}
