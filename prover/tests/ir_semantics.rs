//! What IR means, judged by compiled code: every operator at every width, and small C functions, run as graphs
//! and natively on random and corner values.

mod judging;

use judging::{Tally, Unit};
use metaloc_prover::native::Input;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTHS: [u32; 7] = [1, 8, 16, 24, 32, 48, 64];
const OPERATORS: [&str; 13] =
    ["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor"];
const PREDICATES: [&str; 10] = ["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"];

/// One function per operator and width.
fn operators() -> String {
    let mut text = String::from(
        "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
         target triple = \"x86_64-pc-linux-gnu\"\n@g = external global [4 x i64], align 16\n",
    );
    let mut define = |name: String, result: String, parameters: String, body: String| {
        let _ = writeln!(text, "define {result} @{name}({parameters}) {{\n{body}\n}}");
    };
    for width in WIDTHS {
        let of = format!("i{width}");
        let two = format!("{of} %a, {of} %b");
        for operator in OPERATORS {
            let body = format!("  %r = {operator} {of} %a, %b\n  ret {of} %r");
            define(format!("{operator}_{width}"), of.clone(), two.clone(), body);
        }
        for operator in ["add", "sub", "mul"] {
            for promise in ["nsw", "nuw", "nuw nsw"] {
                let body = format!("  %r = {operator} {promise} {of} %a, %b\n  ret {of} %r");
                let name = format!("{operator}_{}_{width}", promise.replace(' ', "_"));
                define(name, of.clone(), two.clone(), body);
            }
        }
        for predicate in PREDICATES {
            let body = format!("  %r = icmp {predicate} {of} %a, %b\n  ret i1 %r");
            define(format!("icmp_{predicate}_{width}"), "i1".into(), two.clone(), body);
        }
        for to in WIDTHS.into_iter().filter(|to| *to != width) {
            for cast in if to < width { &["trunc"][..] } else { &["zext", "sext"][..] } {
                let body = format!("  %r = {cast} {of} %a to i{to}\n  ret i{to} %r");
                define(format!("{cast}_{width}_{to}"), format!("i{to}"), format!("{of} %a"), body);
            }
        }
        let body = format!("  %r = select i1 %c, {of} %a, {of} %b\n  ret {of} %r");
        define(format!("select_{width}"), of.clone(), format!("{two}, i1 %c"), body);
        let body = format!(
            "  switch {of} %a, label %x [\n    {of} 0, label %y\n    {of} -1, label %z\n  ]\nx:\n  \
             %s = add {of} %a, %b\n  br label %z\ny:\n  br label %z\nz:\n  \
             %r = phi {of} [ %s, %x ], [ %b, %y ], [ %a, %entry ]\n  ret {of} %r"
        );
        define(format!("switch_{width}"), of.clone(), two.clone(), format!("entry:\n{body}"));
        if [8, 16, 32, 64].contains(&width) {
            let body = format!(
                "  %i = and i64 %n, 3\n  %p = getelementptr [4 x i64], ptr @g, i64 0, i64 %i\n  \
                 %old = load {of}, ptr %p\n  store {of} %a, ptr %p\n  ret {of} %old"
            );
            define(format!("exchange_{width}"), of.clone(), format!("{of} %a, i64 %n"), body);
        }
        if width != 1 {
            let body = format!(
                "  %i = and {of} %a, 3\n  %p = getelementptr inbounds i16, ptr @g, {of} %i\n  \
                 %r = load i16, ptr %p\n  ret i16 %r"
            );
            define(format!("index_{width}"), "i16".into(), format!("{of} %a"), body);
        }
    }
    text
}

fn expect_agreement(tallies: &BTreeMap<String, Tally>, at_least: usize) {
    for (name, tally) in tallies {
        assert!(tally.wrong.is_empty(), "{name}: {:?}", &tally.wrong[..tally.wrong.len().min(5)]);
        assert!(tally.same >= at_least, "{name}: {tally:?}");
    }
}

#[test]
fn every_operator_at_every_width_is_what_compiled_code_does() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("operators.ll");
    std::fs::write(&source, operators()).unwrap();
    let unit = Unit::new(&source, &[], folder.path());
    let tallies = unit.judge_all(200, &|_| {});
    expect_agreement(&tallies, 5);
    assert!(tallies.len() > 250, "{}", tallies.len());
    // Promises are noticed where they are broken, and only there.
    let undefined = |name: &str| tallies[name].undefined;
    for name in ["add_nsw_32", "mul_nuw_16", "shl_64", "sdiv_8", "udiv_24", "ashr_1"] {
        assert!(undefined(name) > 0, "{name}");
    }
    for name in ["add_32", "mul_16", "xor_64", "icmp_slt_8", "select_1", "switch_48", "exchange_32"] {
        assert_eq!(undefined(name), 0, "{name}");
    }
}

const FUNCTIONS: &str = include_str!("judging/functions.c");

/// Pointers in memory would be random numbers: the one that is kept is set by its function.
fn tame(_: &mut Input) {}

#[test]
fn small_functions_are_what_compiled_code_does() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("functions.c");
    std::fs::write(&source, FUNCTIONS).unwrap();
    for (flags, undefined) in [(&["-fwrapv"][..], false), (&[], true)] {
        let unit = Unit::new(&source, flags, folder.path());
        let tallies = unit.judge_all(150, &tame);
        expect_agreement(&tallies, 5);
        assert!(tallies.len() >= 30);
        assert_eq!(tallies["mixed"].undefined > 0, undefined, "{:?}", tallies["mixed"]);
        assert_eq!(tallies["copies"].undefined > 0, undefined, "{:?}", tallies["copies"]);
        // -n overflows for the lowest number only.
        assert_eq!(tallies["rotated"].undefined > 0, undefined);
        assert_eq!(tallies["logic"].undefined, 0);
        assert!(tallies["divided"].undefined > 0);
    }
}

#[test]
fn a_wrong_meaning_is_noticed() {
    // The same IR against code compiled from something else.
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("f.c");
    std::fs::write(&source, "extern int a[4]; int f(int x) { a[1] = x; return x / 3; }").unwrap();
    let mut unit = Unit::new(&source, &["-fwrapv"], folder.path());
    for other in ["a[1] = x; return (unsigned)x / 3;", "a[1] = x < 0 ? x - 1 : x; return x / 3;"] {
        std::fs::write(&source, format!("extern int a[4]; int f(int x) {{ {other} }}")).unwrap();
        unit.native = Unit::new(&source, &["-fwrapv"], folder.path()).native;
        let tallies = unit.judge_all(100, &tame);
        assert!(tallies["f"].wrong.len() > 10, "{other}: {:?}", tallies["f"]);
    }
}
