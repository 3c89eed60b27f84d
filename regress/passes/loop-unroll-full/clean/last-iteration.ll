; The last iteration of the inner loop is in no loop any more, as it leaves the outer one. All of its block comes along:
; a copy of an iteration has the locations of that iteration.

define i32 @mix(i32 %seed, i32 %key, i1 %retry) {
entry:
  br label %again

again:
  %start = phi i32 [ %seed, %entry ], [ %start, %restart ]
  br label %round

round:
  %state = phi i32 [ %start, %again ], [ %mixed, %next ]
  %n = phi i32 [ 0, %again ], [ %n.next, %next ]
  br i1 %retry, label %restart, label %next

restart:
  br label %again

next:
  %keyed = add i32 %state, %key
  %mixed = xor i32 %keyed, 9
  %n.next = add nuw nsw i32 %n, 1
  %more = icmp ult i32 %n.next, 3
  br i1 %more, label %round, label %done

done:
  ret i32 %mixed
}
