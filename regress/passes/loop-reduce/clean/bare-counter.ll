; metaloc: args=-mtriple=x86_64-unknown-unknown
; metaloc: llvm=19..22
; The counter in another type has the location of the counter, and that has none, as PHIs of mem2reg. Older releases leave the
; step of the new counter without one, which is wrong.
target datalayout = "e-n8:16:32:64"

define void @sample(ptr %out) !dbg !3 {
entry:
  br label %loop, !dbg !12

loop:
  %i = phi i32 [ 3, %entry ], [ %next, %loop ]
  %at = sitofp i32 %i to double, !dbg !13
  store volatile double %at, ptr %out, align 8, !dbg !14
  %next = add nuw nsw i32 %i, 2, !dbg !15
  %more = icmp slt i32 %next, 2001, !dbg !16
  br i1 %more, label %loop, label %done, !dbg !16

done:
  ret void, !dbg !17
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "bare-counter.c", directory: "/")
!3 = distinct !DISubprogram(name: "sample", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)
!4 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 2, column: 1, scope: !3)
!13 = !DILocation(line: 3, column: 1, scope: !3)
!14 = !DILocation(line: 4, column: 1, scope: !3)
!15 = !DILocation(line: 5, column: 1, scope: !3)
!16 = !DILocation(line: 6, column: 1, scope: !3)
!17 = !DILocation(line: 7, column: 1, scope: !3)
