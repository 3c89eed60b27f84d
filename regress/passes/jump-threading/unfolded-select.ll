; metaloc: shows=table6-91581-2 in=better wrong=- right=8:1@better destination=^%\S+ = phi i32 \[ %
; The select depends on a phi of constants: it becomes a branch, and a phi takes its place.
define i32 @better(i32 %year, i32 %other.year, i32 %rank, i32 %other.rank) {
entry:
  %older = icmp ult i32 %year, %other.year
  br i1 %older, label %decide, label %not.older

not.older:
  %newer = icmp ugt i32 %year, %other.year
  br i1 %newer, label %decide, label %same.year

same.year:
  %higher = icmp ult i32 %rank, %other.rank
  br label %decide

decide:
  %first = phi i1 [ true, %entry ], [ false, %not.older ], [ %higher, %same.year ]
  %chosen = select i1 %first, i32 %rank, i32 %other.rank
  ret i32 %chosen
}
