//! Recompiled passes: a file of our own in the place of one of LLVM's, whose lines and variables are known.

use std::path::{Path, PathBuf};

use metaloc_report::{Document, Error, Statements};

use crate::stand_in::{Ran, StandIn, metaloc, ran};

/// A `tailcallelim` that puts copies of the first addition in front of every other return, as many as an option
/// of LLVM says: the locations of the copies are wrong. The option's name is one that LLVM has registered.
const PASS: &str = r#"#include "llvm/Transforms/Scalar/TailRecursionElimination.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/CommandLine.h"
using namespace llvm;
static cl::opt<unsigned> Copies("licm-max-num-uses-traversed", cl::init(8));
namespace {
struct Candidate { Instruction *Add; };
void copy(Candidate &Cand, ReturnInst *Before) {
  Instruction *Made =
      Cand.Add->clone();
  Made->insertBefore(Before);
}
} // namespace
PreservedAnalyses TailCallElimPass::run(Function &F, FunctionAnalysisManager &) {
  Candidate Cand{nullptr};
  for (BasicBlock &BB : F)
    for (Instruction &I : BB)
      if (!Cand.Add && I.getOpcode() == Instruction::Add)
        Cand.Add = &I;
  for (BasicBlock &BB : F)
    if (auto *R = dyn_cast<ReturnInst>(BB.getTerminator()))
      if (Cand.Add && Cand.Add->getParent() != &BB)
        for (unsigned N = 0; N != Copies; ++N)
          copy(Cand, R);
  return PreservedAnalyses::none();
}
"#;

const INPUT: &str = "define i32 @f(i32 %a) {
entry:
  %c = icmp eq i32 %a, 0
  br i1 %c, label %yes, label %no
yes:
  %s = add i32 %a, 1
  ret i32 %s
no:
  ret i32 %a
}
";

fn checkout(folder: &Path, file: &str, text: &str) -> PathBuf {
    let scalar = folder.join("llvm/lib/Transforms/Scalar");
    std::fs::create_dir_all(&scalar).unwrap();
    std::fs::write(scalar.join(file), text).unwrap();
    folder.to_owned()
}

fn report(major: u32, source: &Path, input: &str) -> Ran {
    let path = source.join("input.ll");
    std::fs::write(&path, input).unwrap();
    let task = metaloc().args(["report", "tailcallelim", "--format", "json", "--llvm", &major.to_string()]);
    ran(task.arg("--llvm-source").arg(source).arg("--input").arg(path))
}

fn only_error(ran: &Ran) -> Error {
    let document = Document::from_json(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
    let [error] = &document.errors[..] else { panic!("{:?}", document.errors) };
    error.clone()
}

#[test]
fn the_recompiled_pass_runs_and_its_lines_and_variables_are_said() {
    for major in [14, 15, 16, 19] {
        let folder = tempfile::tempdir().unwrap();
        let source = checkout(folder.path(), "TailRecursionElimination.cpp", PASS);
        let error = only_error(&report(major, &source, INPUT).with_status(1));
        let site = &error.site;
        assert_eq!(site.file.as_deref(), Some("TailRecursionElimination.cpp"));
        assert_eq!((site.line, site.column, site.function.as_deref()), (Some(10), Some(3), Some("copy")));
        assert_eq!(error.destination.variable.as_deref(), Some("Made"));
        assert_eq!(error.sources[0].variable.as_deref(), Some("Cand.Add"));
        assert_eq!(error.skeleton.as_deref(), Some("Line 13 Drop(Made)"), "LLVM {major}");
        assert_eq!(error.trace, None);
        assert_eq!(error.occurrences, 8, "the option has its default");
    }
}

#[test]
fn an_option_of_the_recompiled_file_has_the_value_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let source = checkout(folder.path(), "TailRecursionElimination.cpp", PASS);
    for (args, copies) in [("-licm-max-num-uses-traversed=3", 3), ("--licm-max-num-uses-traversed 2", 2)] {
        let input = format!("; metaloc: args={args}\n{INPUT}");
        assert_eq!(only_error(&report(16, &source, &input).with_status(1)).occurrences, copies, "{args}");
    }
}

#[test]
fn statements_that_no_input_reached_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let source = checkout(folder.path(), "TailRecursionElimination.cpp", PASS);
    let tests = folder.path().join("tests");
    std::fs::create_dir(&tests).unwrap();
    // In the second no return is without the addition, so that nothing is copied.
    let single = "define i32 @f(i32 %a) {\n  %s = add i32 %a, 1\n  ret i32 %s\n}\n";
    for (input, reached, errors) in [(INPUT, 1, 1), (single, 0, 0)] {
        let test = format!("; RUN: opt -passes='instsimplify,tailcallelim' -S %s\n{input}");
        std::fs::write(tests.join("a.ll"), test).unwrap();
        let task = metaloc().args(["report", "--all", "--llvm", "19", "--format", "json"]);
        let ran = ran(task.arg("--llvm-source").arg(&source).arg("--input").arg(&tests));
        let document = Document::from_json(&ran.stdout).unwrap_or_else(|e| panic!("{e}\n{}", ran.stderr));
        assert_eq!(document.errors.len(), errors, "{:?}", document.errors);
        let statements = |pass: &str| document.passes.iter().find(|p| p.pass == pass).unwrap().statements;
        assert_eq!(statements("tailcallelim"), Some(Statements { total: 1, reached }));
        assert_eq!(statements("instsimplify"), None, "its file is not in that source");
    }
}

#[test]
fn a_file_that_does_not_compile_is_named_and_the_report_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = "#include \"no/such/header.h\"\n";
    let source = checkout(folder.path(), "TailRecursionElimination.cpp", text);
    let ran = report(16, &source, INPUT).with_status(0);
    assert!(
        ran.stderr
            .contains("no lines for tailcallelim: TailRecursionElimination.cpp does not compile alone: ")
    );
    assert!(Document::from_json(&ran.stdout).unwrap().errors.is_empty(), "LLVM's own pass makes no copies");
}

#[test]
fn a_file_that_needs_what_llvm_hides_is_not_swapped_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("{PASS}\nnamespace llvm {{ int hidden(); int f() {{ return hidden(); }} }}\n");
    let source = checkout(folder.path(), "TailRecursionElimination.cpp", &text);
    let ran = report(16, &source, INPUT).with_status(0);
    assert!(ran.stderr.contains("cannot be swapped: undefined symbol: _ZN4llvm6hiddenEv"), "{}", ran.stderr);
}

#[test]
fn a_file_that_the_source_has_not_is_said_and_a_folder_without_source_is_refused() {
    let here = StandIn::new();
    let input = here.input("a.ll", "");
    let (input, source) = (input.to_str().unwrap(), here.path("source"));
    let args = ["tailcallelim", "--input", input, "--llvm-source", source.to_str().unwrap()];
    let ran = here.run("report", &args).with_status(2);
    assert!(ran.stderr.contains("cannot read "), "{}", ran.stderr);
    std::fs::create_dir_all(source.join("llvm/lib")).unwrap();
    let ran = here.run("report", &args).with_status(2);
    assert!(ran.stderr.contains("is no source of LLVM: it has no llvm/lib/Transforms"), "{}", ran.stderr);
    checkout(&source, "Other.cpp", "");
    let ran = here.run("report", &args).with_status(0);
    let expected =
        "no lines for tailcallelim: TailRecursionElimination.cpp is not in the source of LLVM 19.1.7";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

/// Three updates: one that matters, one that changes nothing, and one that nothing comes by.
#[test]
fn an_update_that_is_left_out_is_noticed_if_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let updates = "  Made->insertBefore(Before);
  Made->dropLocation();
  Before->setDebugLoc(Before->getDebugLoc());
  if (Before == Made)
    Made->dropLocation();
";
    let pass = PASS.replace("  Made->insertBefore(Before);\n", updates);
    let source = checkout(folder.path(), "TailRecursionElimination.cpp", &pass);
    let tests = source.join("llvm/test/Transforms/TailCallElim");
    std::fs::create_dir_all(&tests).unwrap();
    std::fs::write(tests.join("t.ll"), format!("; RUN: opt -passes=tailcallelim -S %s\n{INPUT}")).unwrap();
    let bench = || {
        let task = metaloc().args(["bench", "mutants", "tailcallelim", "--format", "json"]);
        task.arg("--llvm-source").arg(&source)
    };
    let said = ran(bench().args(["--at-least", "1"])).with_status(0).stdout;
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["schema"], "metaloc.mutants/1");
    let mutants = said["files"][0]["mutants"].as_array().unwrap();
    let seen: Vec<_> = mutants.iter().map(|m| (m["line"].as_u64(), m["outcome"].as_str())).collect();
    let expected = [(Some(13), Some("found")), (Some(14), Some("equivalent")), (Some(16), Some("unreached"))];
    assert_eq!(seen, expected, "{said}");
    assert_eq!(mutants[0]["operation"], "drop");
    assert_eq!(mutants[0]["input"], "TailCallElim/t.ll:1");
    ran(bench().args(["--at-least", "2"])).with_status(1);
    // What is kept is taken as it stands.
    let rows = folder.path().join("rows.tsv");
    let kept = || bench().args(["--at-least", "1"]).arg("--save").arg(&rows);
    ran(kept()).with_status(0);
    let text = std::fs::read_to_string(&rows).unwrap();
    assert_eq!(text.matches("\tfound\tTailCallElim/t.ll:1\t").count(), 1, "{text}");
    std::fs::write(&rows, text.replace("\tfound\t", "\tmissed\t")).unwrap();
    ran(kept()).with_status(1);
    let none = ran(metaloc().args(["bench", "mutants", "--file", "NoSuchFile"])).with_status(2).stderr;
    assert!(none.contains("NoSuchFile.cpp is not in the source of LLVM"), "{none}");
}
