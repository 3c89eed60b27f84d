; metaloc: shows=table4-c0a986a-1 in=last/done wrong=3:1@last right=0:0@last destination=^%word\.le = call
; Only the last of the calls counts: it is copied behind the loop, where no single iteration is meant.
define i32 @last(i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
  %word = call i32 @hash(i32 %i)
  %i.next = add nuw nsw i32 %i, 1
  %more = icmp ult i32 %i.next, %n
  br i1 %more, label %loop, label %done

done:
  %result = phi i32 [ %word, %loop ]
  ret i32 %result
}

declare i32 @hash(i32) nounwind willreturn readnone
