//! Several modules, contexts and threads in one process, through a driver of our own that links LLVM.

use std::path::{Path, PathBuf};

use metaloc_report::Document;
use metaloc_toolchain::process::Task;

use crate::stand_in::{metaloc, ran};

const LLVM: &str = "16";

fn output(task: Task) -> String {
    let outcome = task.run().unwrap();
    assert!(outcome.exit.success(), "{}\n{}", outcome.exit, outcome.stderr_text());
    outcome.stdout_text().trim_end().to_owned()
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn driver(folder: &Path) -> PathBuf {
    let config = |question: &[&str]| {
        let said = output(Task::new(format!("llvm-config-{LLVM}")).args(question));
        said.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let program = folder.join("threads");
    let source = repository().join("regress/drivers/threads.cpp");
    let task = Task::new("c++").args(config(&["--cxxflags"])).arg(source).arg("-o").arg(&program);
    output(task.args(config(&["--ldflags", "--libs", "--link-shared"])).arg("-pthread"));
    program
}

#[test]
fn threads_with_contexts_of_their_own_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let program = driver(folder.path());
    let plugin = ran(metaloc().args(["plugin-path", "--llvm", LLVM])).stdout;
    let input = folder.path().join("input.ll");
    let source = repository().join("regress/passes/tailcallelim/accumulated-return.ll");
    let debugify = ["-passes=debugify", "-debugify-level=locations", "-S", "-o"];
    output(Task::new(format!("opt-{LLVM}")).args(debugify).arg(&input).arg(source));
    let run = |threads: &str, modules: &str, off: bool| {
        let out = folder.path().join(format!("{threads}.json"));
        let pipeline = "function(tailcallelim,instcombine,simplifycfg)";
        let task = Task::new(&program).arg(plugin.trim()).arg(pipeline).arg(&input).args([threads, modules]);
        let task = task.env("METALOC_OUT", &out).env("METALOC_AUDIT", "1");
        let task = if off { task.env("METALOC", "off") } else { task };
        let outcome = task.run().unwrap();
        assert!(outcome.exit.success(), "{}", outcome.stderr_text());
        assert_eq!(outcome.stderr_text(), "", "the audit found a mirror that differs from its function");
        (outcome.stdout_text(), out)
    };
    let read = |path: PathBuf| Document::from_json(&std::fs::read_to_string(path).unwrap()).unwrap();

    let (plain, _) = run("1", "1", true);
    let (one, one_report) = run("1", "1", false);
    let (many, many_report) = run("4", "8", false);
    assert!(plain == one && one == many);
    let counted = |path| {
        let errors = read(path).errors.into_iter().map(|error| (error.id, error.occurrences));
        errors.collect::<Vec<_>>()
    };
    let expected: Vec<_> = counted(one_report).into_iter().map(|(id, count)| (id, count * 32)).collect();
    assert!(!expected.is_empty());
    assert_eq!(counted(many_report), expected);
}
