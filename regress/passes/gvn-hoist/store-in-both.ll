; metaloc: shows=table4-368681f-1 in=mark/entry wrong=2:1@mark right=- destination=^store i32 9, ptr @state
; The same store stands at the beginning of both branches and is hoisted in front of them.
@state = global i32 0

define void @mark(i1 %loud) {
entry:
  br i1 %loud, label %shout, label %whisper

shout:
  store i32 9, ptr @state, align 4
  call void @say(i32 1)
  br label %done

whisper:
  store i32 9, ptr @state, align 4
  call void @say(i32 0)
  br label %done

done:
  ret void
}

declare void @say(i32)
