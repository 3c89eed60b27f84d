//! The real plugin in Debian's LLVMs, unmodified.

use std::path::{Path, PathBuf};

use metaloc_report::{Confidence, Document, Error, Kind, Operation};
use serde_json::Value;

use crate::stand_in::{Ran, metaloc, ran};

/// A recursion with an accumulator, and returns that do not go through it.
const PROGRAM: &str = "// metaloc: prepare=mem2reg,simplifycfg
int pick(int n);
int total(int n) {
  if (n <= 0)
    return pick(0);
  if (pick(n))
    return n + total(n - 1);
  return pick(n + 1);
}
";

fn program(folder: &Path) -> PathBuf {
    let path = folder.join("total.c");
    std::fs::write(&path, PROGRAM).unwrap();
    path
}

fn report(major: u32, pass: &str, input: &Path) -> Ran {
    let task = metaloc().args(["report", pass, "--format", "json", "--llvm", &major.to_string(), "--input"]);
    ran(task.arg(input))
}

#[test]
fn a_pass_is_observed_in_every_version() {
    let folder = tempfile::tempdir().unwrap();
    let schema: Value = include_str!("../../../report/schemas/report-1.json").parse().unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    for major in [14, 15, 16, 19, 22] {
        let ran = report(major, "tailcallelim", &program(folder.path()));
        let document =
            Document::from_json(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
        assert!(document.complete && document.llvm.starts_with(&format!("{major}.")));
        let stats = &document.stats;
        assert!(stats.inputs == 1 && stats.changed_runs >= 1 && stats.events >= 1, "LLVM {major}: {stats:?}");
        let value: Value = ran.stdout.parse().unwrap();
        let complaints: Vec<_> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert_eq!(complaints, [""; 0]);
    }
}

/// Up to LLVM 16 this pass exists for the legacy pass manager only, whose passes no callback of LLVM announces.
#[test]
fn a_pass_of_the_legacy_manager_is_observed() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.ll");
    // The address is computed again beside the load: that is what the pass is for.
    let text = "target triple = \"x86_64-unknown-linux-gnu\"
define i32 @f(ptr %p, i1 %c) {
  %q = getelementptr i8, ptr %p, i64 40
  br i1 %c, label %then, label %out
then:
  %v = load i32, ptr %q
  ret i32 %v
out:
  ret i32 0
}
";
    std::fs::write(&input, text).unwrap();
    for major in [14, 15, 16] {
        let ran = report(major, "codegenprepare", &input);
        let document =
            Document::from_json(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
        let stats = &document.stats;
        assert!(document.complete && stats.changed_runs >= 1, "LLVM {major}: {stats:?}");
        assert!(stats.judged >= 1 && stats.events >= 1, "LLVM {major}: {stats:?}");
    }
}

/// Copying the addition in front of the other returns is right, keeping its line there is not. LLVM 19 has the fix.
#[test]
fn the_motivating_error_is_found_in_the_versions_that_have_it() {
    let folder = tempfile::tempdir().unwrap();
    for major in [14, 15, 16] {
        let ran = report(major, "tailcallelim", &program(folder.path())).with_status(1);
        let document = Document::from_json(&ran.stdout).unwrap();
        let certain = |error: &&Error| error.confidence == Confidence::Certain;
        let errors: Vec<_> = document.errors.iter().filter(certain).collect();
        let [error] = &errors[..] else { panic!("LLVM {major}: {errors:?}") };
        assert_eq!((error.operation, error.kind), (Operation::Drop, Kind::Incorrect));
        assert_eq!((&*error.destination.opcode, &*error.sources[0].link), ("add", "clone"));
    }
    for major in [19, 22] {
        report(major, "tailcallelim", &program(folder.path())).with_status(0);
    }
}

#[test]
fn an_opt_that_crashes_still_leaves_what_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.ll");
    std::fs::write(&input, "define i32 @f() {\n  %a = add i32 1, 2\n  ret i32 %a\n}\n").unwrap();
    // The pass that crashes has had several names.
    for (major, crash) in [("16", "trigger-crash"), ("19", "trigger-crash-module")] {
        let pipeline = format!("-passes=function(instcombine),{crash}");
        let task = metaloc().args(["opt", "--llvm", major, "--", "-disable-output", &pipeline]).arg(&input);
        let ran = ran(task).with_status(2);
        let summary = format!("incomplete: the compiler did not get to its end\nLLVM {major}.");
        assert!(ran.stderr.contains(&summary), "{}", ran.stderr);
        assert!(ran.stderr.ends_with("/opt: killed by SIGABRT\n"), "{}", ran.stderr);
    }
}

#[test]
fn a_crash_in_the_pass_asked_for_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.ll");
    std::fs::write(&input, "define void @f() {\n  ret void\n}\n").unwrap();
    let ran = report(19, "trigger-crash-function", &input).with_status(2);
    assert!(!Document::from_json(&ran.stdout).unwrap().complete);
    let said = ran.stderr.lines().last().unwrap();
    assert!(said.contains("a.ll: opt of LLVM 19.1.7 crashed, killed by SIGABRT"), "{said}");
}

#[test]
fn not_ir_is_noticed_with_the_plugin_loaded_too() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("a.ll");
    std::fs::write(&input, "this mentions !llvm.dbg.cu and is not IR\n").unwrap();
    let ran = report(19, "licm", &input).with_status(2);
    let said = format!("metaloc: {} is not IR that LLVM 19.1.7 can read: ", input.display());
    assert!(ran.stderr.lines().last().unwrap().starts_with(&said), "{}", ran.stderr);
    assert_eq!(Document::from_json(&ran.stdout).unwrap().errors, []);
}
