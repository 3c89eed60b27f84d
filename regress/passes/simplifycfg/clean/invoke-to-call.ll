; What is called never unwinds: the invoke becomes a call, and the store behind it comes to be in the block in front. The
; branch there becomes a select at the same time; it never decided about the store.
declare void @log(i32) nounwind
declare i32 @personality(...)

define void @report(i1 %loud, ptr %out) personality ptr @personality !dbg !3 {
entry:
  br i1 %loud, label %raised, label %join, !dbg !12

raised:
  br label %join, !dbg !13

join:
  %level = phi i32 [ 9, %raised ], [ 2, %entry ], !dbg !14
  invoke void @log(i32 %level) to label %back unwind label %clean, !dbg !15

back:
  store i32 %level, ptr %out, align 4, !dbg !16
  ret void, !dbg !17

clean:
  %caught = landingpad { ptr, i32 } cleanup, !dbg !18
  resume { ptr, i32 } %caught, !dbg !18
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, emissionKind: FullDebug)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "invoke-to-call.c", directory: "/")
!3 = distinct !DISubprogram(name: "report", scope: !2, file: !2, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition | DISPFlagOptimized)
!4 = !DISubroutineType(types: !{null})
!12 = !DILocation(line: 2, column: 1, scope: !3)
!13 = !DILocation(line: 3, column: 1, scope: !3)
!14 = !DILocation(line: 4, column: 1, scope: !3)
!15 = !DILocation(line: 5, column: 1, scope: !3)
!16 = !DILocation(line: 6, column: 1, scope: !3)
!17 = !DILocation(line: 7, column: 1, scope: !3)
!18 = !DILocation(line: 8, column: 1, scope: !3)
