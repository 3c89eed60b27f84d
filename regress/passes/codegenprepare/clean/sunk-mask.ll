; metaloc: pass=require<profile-summary>,function(codegenprepare)
; metaloc: args=-mtriple=x86_64-unknown-unknown
; metaloc: llvm=19..22
; The mask is put in front of the comparison, which becomes one instruction with it: a new one with the location of the old,
; which is none. Older releases have no such pass in the new pass manager.
target datalayout = "e-n8:16:32:64"

define void @choose(i32 %flags, i1 %ask, ptr %out) !dbg !3 {
entry:
  %low = and i32 %flags, 3
  store volatile i32 1, ptr %out, align 4, !dbg !12
  br i1 %ask, label %asked, label %done, !dbg !13

asked:
  store volatile i32 2, ptr %out, align 4, !dbg !14
  %none = icmp eq i32 %low, 0, !dbg !15
  br i1 %none, label %done, label %some, !dbg !15

some:
  store volatile i32 3, ptr %out, align 4, !dbg !16
  br label %done, !dbg !16

done:
  ret void, !dbg !17
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "sunk-mask.c", directory: "/")
!3 = distinct !DISubprogram(name: "choose", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)
!4 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 2, column: 1, scope: !3)
!13 = !DILocation(line: 3, column: 1, scope: !3)
!14 = !DILocation(line: 4, column: 1, scope: !3)
!15 = !DILocation(line: 5, column: 1, scope: !3)
!16 = !DILocation(line: 6, column: 1, scope: !3)
!17 = !DILocation(line: 7, column: 1, scope: !3)
