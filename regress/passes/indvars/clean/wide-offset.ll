; The offset is computed from the wide counter, so that nothing has to be extended. It is the old offset in another type and
; has that one's location: none, since another pass hoisted it here.
target datalayout = "e-m:e-i64:64-n8:16:32:64"

define void @fill(ptr %out, i32 %count) !dbg !3 {
entry:
  br label %loop, !dbg !12

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %offset = shl nuw nsw i32 %i, 3
  %wide = zext i32 %offset to i64, !dbg !13
  %place = getelementptr inbounds i8, ptr %out, i64 %wide, !dbg !14
  store i8 7, ptr %place, align 1, !dbg !15
  %next = add nuw nsw i32 %i, 1, !dbg !16
  %more = icmp ult i32 %next, %count, !dbg !17
  br i1 %more, label %loop, label %done, !dbg !17

done:
  ret void, !dbg !18
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "wide-offset.c", directory: "/")
!3 = distinct !DISubprogram(name: "fill", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)
!4 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 2, column: 1, scope: !3)
!13 = !DILocation(line: 3, column: 1, scope: !3)
!14 = !DILocation(line: 4, column: 1, scope: !3)
!15 = !DILocation(line: 5, column: 1, scope: !3)
!16 = !DILocation(line: 6, column: 1, scope: !3)
!17 = !DILocation(line: 7, column: 1, scope: !3)
!18 = !DILocation(line: 8, column: 1, scope: !3)
