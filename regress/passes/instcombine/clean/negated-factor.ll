; A product with a negated factor is subtracted where it was added. The product that is made for it has the location of the
; old one: none.
define i64 @left(i64 %from, i64 %count, i32 %size, i32 %head) !dbg !3 {
entry:
  %wide = zext i32 %size to i64, !dbg !12
  %negated = mul i64 %wide, -1, !dbg !13
  %first = zext i32 %head to i64, !dbg !14
  %less = sub i64 0, %first, !dbg !15
  %product = mul i64 %count, %negated
  %more = add i64 %from, %less, !dbg !16
  %rest = add i64 %more, %product, !dbg !17
  ret i64 %rest, !dbg !18
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "negated-factor.c", directory: "/")
!3 = distinct !DISubprogram(name: "left", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)
!4 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 2, column: 1, scope: !3)
!13 = !DILocation(line: 3, column: 1, scope: !3)
!14 = !DILocation(line: 4, column: 1, scope: !3)
!15 = !DILocation(line: 5, column: 1, scope: !3)
!16 = !DILocation(line: 6, column: 1, scope: !3)
!17 = !DILocation(line: 7, column: 1, scope: !3)
!18 = !DILocation(line: 8, column: 1, scope: !3)
