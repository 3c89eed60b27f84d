//! `metaloc toolchain`. Nothing is installed here: the tests run where all versions are.

use crate::stand_in::{metaloc, ran};

#[test]
fn all_supported_versions_are_listed() {
    let ran = ran(metaloc().args(["toolchain", "list"])).with_status(0);
    let majors: Vec<_> = ran.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(majors, ["14", "15", "16", "19", "22"]);
}

#[test]
fn adding_what_is_there_does_nothing() {
    let ran = ran(metaloc().args(["toolchain", "add", "19"])).with_status(0);
    assert!(ran.stdout.starts_with("LLVM 19.") && ran.stderr.is_empty(), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn an_unsupported_version_is_refused() {
    let ran = ran(metaloc().args(["toolchain", "add", "17"])).with_status(2);
    assert_eq!(ran.stderr, "metaloc: LLVM 17 is not supported; supported are 14, 15, 16, 19 and 22\n");
}
