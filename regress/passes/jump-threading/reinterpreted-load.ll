; metaloc: shows=table6-91581-1 in=bits/join wrong=- right=6:1@bits destination=^%\S+ = bitcast
; The load reads back as an integer what was just stored as a float.
define i32 @bits(i1 %flip, ptr %cell, float %a, float %b) {
entry:
  br i1 %flip, label %second, label %join

second:
  call void @touch()
  br label %join

join:
  %chosen = phi float [ %a, %entry ], [ %b, %second ]
  store float %chosen, ptr %cell, align 4
  %raw = load i32, ptr %cell, align 4
  %sign = icmp slt i32 %raw, 0
  br i1 %sign, label %minus, label %plus

minus:
  ret i32 %raw

plus:
  ret i32 1
}

declare void @touch()
