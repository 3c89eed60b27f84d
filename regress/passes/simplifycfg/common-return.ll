; metaloc: shows=table6-97389-1 in=finish/good wrong=- right=3:1@finish destination=^br label %common\.ret
; All returns are joined in one block; the branches to it stand where the returns stood.
define void @finish(i32 %status) {
entry:
  switch i32 %status, label %ignore [
    i32 0, label %good
    i32 1, label %bad
  ]

good:
  call void @log(i32 10)
  ret void

bad:
  call void @log(i32 20)
  call void @stop()
  ret void

ignore:
  ret void
}

declare void @log(i32)
declare void @stop()
