; metaloc: shows=table6-95742-2 in=score/plain wrong=5:1@score right=- destination=^%accumulator\.ret\.tr\d* = add
; metaloc: shows=table6-86269-1 in=score/entry wrong=4:1@score right=- destination=^br label %tailrecurse
; One recursive call accumulates, the other one returns a value of its own: its `select` gets a copy
; of the `add`. The branch into the new loop belongs to none of the calls.
define i32 @score(i32 %level, i32 %bonus) {
entry:
  %kind = and i32 %level, 3
  switch i32 %kind, label %plain [
    i32 1, label %adds
    i32 2, label %returns
  ]

adds:
  %below = add i32 %level, -1
  %inner = tail call i32 @score(i32 %below, i32 %bonus)
  %sum = add i32 %inner, 7
  ret i32 %sum

returns:
  %lower = lshr i32 %level, 1
  %unused = tail call i32 @score(i32 %lower, i32 0)
  ret i32 %bonus

plain:
  ret i32 %level
}
