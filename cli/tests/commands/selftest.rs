//! `metaloc selftest observer` on a few tests of our own, laid out like LLVM's.

use crate::stand_in::{Ran, StandIn, metaloc, ran};

fn observer(here: &StandIn, args: &[&str]) -> Ran {
    let source = here.path("source");
    let mut all = vec!["--source", source.to_str().unwrap()];
    all.extend(args);
    here.run("selftest observer", &all)
}

fn test(here: &StandIn, name: &str, text: &str) {
    here.input(&format!("source/llvm/test/Transforms/{name}"), text);
}

#[test]
fn identical_runs_are_counted_and_the_rest_is_named() {
    let here = StandIn::new();
    test(&here, "GVN/a.ll", "; RUN: opt -passes=gvn -S %s | FileCheck %s");
    test(&here, "GVN/b.ll", "; RUN: opt -gvn -S %s\n; RUN: llc %s");
    test(&here, "GVN/c.ll", "; RUN: opt -old-one %s");
    test(&here, "GVN/Inputs/d.ll", "; RUN: opt -passes=gvn %s");
    let ran = observer(&here, &[]).with_status(0);
    let expected = "LLVM 19.1.7: 4 of 4 RUN lines identical; left out: 1 that are not plain opt lines\n";
    assert_eq!(ran.stdout, expected);
    let calls = here.lines("calls");
    let count = |what: &dyn Fn(&str) -> bool| calls.iter().filter(|call| what(call)).count();
    // Each line twice without the plugin and once with it; those of the legacy manager without an option for it.
    assert_eq!(count(&|call| call.contains("-load-pass-plugin=")), 2, "{calls:?}");
    assert_eq!(count(&|call| call.starts_with("-gvn ")), 3, "{calls:?}");
    assert_eq!(count(&|call| call.starts_with("-old-one ")), 3, "{calls:?}");
    assert_eq!(count(&|call| call.starts_with("-S ") && call.contains(" -passes=gvn")), 3, "{calls:?}");
}

#[test]
fn a_difference_is_a_finding() {
    let here = StandIn::new();
    test(&here, "GVN/a.ll", "; RUN: opt -passes=gvn -S %s");
    test(&here, "GVN/b.ll", "; RUN: opt -passes=gvn -S %s\n; stand-in: fail");
    let ran = observer(&here, &[]).with_status(1);
    let expected = "LLVM 19.1.7: 1 of 2 RUN lines identical\n  \
                    GVN/b.ll:1: exit status 1 instead of exit status 0\n";
    assert_eq!(ran.stdout, expected);
}

#[test]
fn a_sample_is_as_large_as_asked_for() {
    let here = StandIn::new();
    for number in 0..10 {
        test(&here, &format!("GVN/{number}.ll"), "; RUN: opt -passes=gvn -S %s");
    }
    let ran = observer(&here, &["--sample", "4"]).with_status(0);
    assert_eq!(ran.stdout, "LLVM 19.1.7: 4 of 4 RUN lines identical\n");
}

#[test]
fn nothing_to_compare_is_no_success() {
    let here = StandIn::new();
    test(&here, "GVN/a.ll", "; RUN: llc %s");
    let ran = observer(&here, &[]).with_status(2);
    assert_eq!(
        ran.stderr,
        "metaloc: building the plugin for LLVM 19.1.7 (once)\nmetaloc: nothing was compared\n"
    );
}

#[test]
fn the_processor_judges_the_rows_asked_for() {
    let said =
        ran(metaloc().args(["selftest", "x86", "--states", "40", "--only", "Paddd"])).with_status(0).stdout;
    assert!(said.contains("64-bit: 1 rows, 40 states compared"), "{said}");
    assert!(
        said.contains("32-bit: 1 rows, 40 states compared") || said.contains("32-bit: skipped"),
        "{said}"
    );
    let broken = ran(metaloc().args(["selftest", "x86", "--states", "40", "--broken", "--only", "Paddd"]))
        .with_status(0)
        .stdout;
    assert!(broken.contains("64-bit: 1 rows broken in"), "{broken}");
    assert!(broken.contains("; 0 rows of which none is\n"), "{broken}");
    let unknown = ran(metaloc().args(["selftest", "x86", "--only", "Nothing"])).with_status(2).stderr;
    assert!(unknown.contains("no row of the table has Nothing in its name"), "{unknown}");
}
