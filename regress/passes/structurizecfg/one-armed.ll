; metaloc: shows=table4-256f8b0-1 in=route/near wrong=- right=5:1@route destination=^br label %
; metaloc: shows=table4-256f8b0-2 in=route/Flow wrong=- right=1:1@route destination=^br i1 %
; The two sides are put one behind the other, with a block between them that decides.
define void @route(i1 %far, ptr %out) {
entry:
  br i1 %far, label %distant, label %near

distant:
  store i32 1, ptr %out, align 4
  br label %done

near:
  store i32 2, ptr %out, align 4
  br label %done

done:
  ret void
}
