; ModuleID = '<stdin>'
source_filename = "s000.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

@Y = external global [32000 x i32], align 16
@val = external global i32, align 4
@X = external global [32000 x i32], align 16

; Function Attrs: noinline nounwind uwtable
define dso_local i32 @s000() #0 !dbg !10 {
    #dbg_value(i32 0, !15, !DIExpression(), !17)
  br label %1, !dbg !18

1:                                                ; preds = %11, %0
  %.0 = phi i32 [ 0, %0 ], [ %12, %11 ], !dbg !19
    #dbg_value(i32 %.0, !15, !DIExpression(), !17)
  %2 = icmp slt i32 %.0, 32000, !dbg !20
  br i1 %2, label %3, label %13, !dbg !22

3:                                                ; preds = %1
  %4 = sext i32 %.0 to i64, !dbg !23
  %5 = getelementptr [32000 x i32], ptr @Y, i64 0, i64 %4, !dbg !23
  %6 = load i32, ptr %5, align 4, !dbg !23
  %7 = load i32, ptr @val, align 4, !dbg !25
  %8 = add i32 %6, %7, !dbg !26
  %9 = sext i32 %.0 to i64, !dbg !27
  %10 = getelementptr [32000 x i32], ptr @X, i64 0, i64 %9, !dbg !27
  store i32 %8, ptr %10, align 4, !dbg !28
  br label %11, !dbg !29

11:                                               ; preds = %3
  %12 = add i32 %.0, 1, !dbg !30
    #dbg_value(i32 %12, !15, !DIExpression(), !17)
  br label %1, !dbg !31, !llvm.loop !32

13:                                               ; preds = %1
  ret i32 0, !dbg !35
}

attributes #0 = { noinline nounwind uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+x87" "tune-cpu"="generic" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4, !5, !6, !7, !8}
!llvm.ident = !{!9}

!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, producer: "Debian clang version 19.1.7 (3~deb12u1)", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "s000.c", directory: ".", checksumkind: CSK_MD5, checksum: "7c914e5b2ee439f635dac3ca2955d234")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = !{i32 1, !"wchar_size", i32 4}
!5 = !{i32 8, !"PIC Level", i32 2}
!6 = !{i32 7, !"PIE Level", i32 2}
!7 = !{i32 7, !"uwtable", i32 2}
!8 = !{i32 7, !"frame-pointer", i32 2}
!9 = !{!"Debian clang version 19.1.7 (3~deb12u1)"}
!10 = distinct !DISubprogram(name: "s000", scope: !1, file: !1, line: 5, type: !11, scopeLine: 5, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition, unit: !0, retainedNodes: !14)
!11 = !DISubroutineType(types: !12)
!12 = !{!13}
!13 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!14 = !{}
!15 = !DILocalVariable(name: "i", scope: !16, file: !1, line: 6, type: !13)
!16 = distinct !DILexicalBlock(scope: !10, file: !1, line: 6, column: 3)
!17 = !DILocation(line: 0, scope: !16)
!18 = !DILocation(line: 6, column: 8, scope: !16)
!19 = !DILocation(line: 6, scope: !16)
!20 = !DILocation(line: 6, column: 21, scope: !21)
!21 = distinct !DILexicalBlock(scope: !16, file: !1, line: 6, column: 3)
!22 = !DILocation(line: 6, column: 3, scope: !16)
!23 = !DILocation(line: 7, column: 12, scope: !24)
!24 = distinct !DILexicalBlock(scope: !21, file: !1, line: 6, column: 31)
!25 = !DILocation(line: 7, column: 19, scope: !24)
!26 = !DILocation(line: 7, column: 17, scope: !24)
!27 = !DILocation(line: 7, column: 5, scope: !24)
!28 = !DILocation(line: 7, column: 10, scope: !24)
!29 = !DILocation(line: 8, column: 3, scope: !24)
!30 = !DILocation(line: 6, column: 27, scope: !21)
!31 = !DILocation(line: 6, column: 3, scope: !21)
!32 = distinct !{!32, !22, !33, !34}
!33 = !DILocation(line: 8, column: 3, scope: !16)
!34 = !{!"llvm.loop.mustprogress"}
!35 = !DILocation(line: 9, column: 3, scope: !10)
