//! `metaloc report --confirm-with`: two real LLVMs on the same input.

use metaloc_report::Document;
use metaloc_report::confirm::{Confirmation, Verdict};

use crate::stand_in::{COPIED_ADDITION as INPUT, Ran, metaloc, ran};

fn report(input: &str, older: &str, newer: &str, format: &str) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.ll");
    std::fs::write(&path, input).unwrap();
    let task = metaloc().args(["report", "tailcallelim", "--llvm", older, "--confirm-with", newer]);
    ran(task.args(["--format", format, "--input"]).arg(&path))
}

fn confirmation(input: &str, older: &str, newer: &str) -> Confirmation {
    let ran = report(input, older, newer, "json").with_status(1);
    let document = Document::from_json(&ran.stdout).unwrap();
    let copied = document.errors.iter().find(|error| error.destination.opcode == "add").unwrap();
    copied.confirmation.clone().unwrap()
}

#[test]
fn a_fix_confirms_and_what_was_not_fixed_is_still_shown() {
    let fixed = confirmation(INPUT, "16", "19");
    assert_eq!((fixed.verdict, fixed.reason), (Verdict::Confirmed, None));
    assert!(fixed.llvm.starts_with("19."), "{}", fixed.llvm);
    let there = confirmation(INPUT, "14", "16");
    assert_eq!((there.verdict, there.reason), (Verdict::StillShown, None));
}

#[test]
fn what_the_newer_one_cannot_read_is_unknown() {
    // Constants that extend were taken out after LLVM 16.
    let input = format!("{INPUT}@old = global i64 zext (i32 ptrtoint (ptr @old to i32) to i64)\n");
    let unknown = confirmation(&input, "16", "19");
    assert_eq!(unknown.verdict, Verdict::Unknown);
    let reason = unknown.reason.unwrap();
    assert!(reason.starts_with("it cannot be run there: "), "{reason}");
}

#[test]
fn the_text_says_so_and_an_older_one_is_refused() {
    let text = report(INPUT, "16", "19", "text").with_status(1).stdout;
    assert!(text.contains("  newer   LLVM 19.1.7 makes this change: confirmed\n"), "{text}");
    assert!(text.contains("LLVM 19.1.7 on certain: 1 confirmed, 0 still shown, 0 unknown\n"), "{text}");
    let refused = report(INPUT, "19", "16", "text").with_status(2);
    assert_eq!(refused.stderr, "metaloc: LLVM 16.0.6 is not newer than 19.1.7\n");
}
