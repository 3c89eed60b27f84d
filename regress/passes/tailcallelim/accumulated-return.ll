; metaloc: shows=table6-95742-1 in=length wrong=6:1@length right=- destination=^%accumulator\.ret\.tr = add
; The only other return gets a copy of the `add` that counts the elements.
define i32 @length(ptr %node) {
entry:
  %end = icmp eq ptr %node, null
  br i1 %end, label %none, label %more

none:
  ret i32 3

more:
  %next = load ptr, ptr %node, align 8
  %tail = tail call i32 @length(ptr %next)
  %all = add i32 %tail, 1
  ret i32 %all
}
