; The sum is computed in the type that it is wanted in. It has the location of the narrow one, which is none; the extension
; that goes with it is not what it stands for.
target datalayout = "e-m:e-i64:64-n8:16:32:64"

define i64 @total(ptr %from) !dbg !3 {
entry:
  %byte = load i8, ptr %from, align 1, !dbg !12
  %first = zext i8 %byte to i32, !dbg !13
  %sum = add nuw nsw i32 %first, 5
  %wide = zext i32 %sum to i64, !dbg !14
  ret i64 %wide, !dbg !15
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "wide-sum.c", directory: "/")
!3 = distinct !DISubprogram(name: "total", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)
!4 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 2, column: 1, scope: !3)
!13 = !DILocation(line: 3, column: 1, scope: !3)
!14 = !DILocation(line: 4, column: 1, scope: !3)
!15 = !DILocation(line: 5, column: 1, scope: !3)
