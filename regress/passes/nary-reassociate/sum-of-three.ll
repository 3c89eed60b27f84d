; metaloc: shows=table6-92545-1 in=perimeter wrong=- right=4:1@perimeter destination=^%all = add i32 %near, %side
; a + (b + c) is computed as (a + c) + b, since a + c is there already.
define i32 @perimeter(i32 %base, i32 %side, i32 %top) {
entry:
  %near = add i32 %base, %top
  call void @note(i32 %near)
  %sides = add i32 %side, %top
  %all = add i32 %base, %sides
  ret i32 %all
}

declare void @note(i32)
