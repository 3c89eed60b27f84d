; metaloc: shows=table6-92545-2 in=volume wrong=- right=4:1@volume destination=^%all = mul i32 %floor, %height
; (a * b) * c is computed as (a * c) * b, since a * c is there already.
define i32 @volume(i32 %width, i32 %height, i32 %depth) {
entry:
  %floor = mul i32 %width, %depth
  call void @note(i32 %floor)
  %front = mul i32 %width, %height
  %all = mul i32 %front, %depth
  ret i32 %all
}

declare void @note(i32)
