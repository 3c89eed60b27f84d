//! `metaloc bench locations`: what gdb shows of kernels whose answers were seen by hand.

use serde_json::Value;

use crate::stand_in::{metaloc, ran};

fn table(compiler: &str, only: &str) -> Value {
    let bench = metaloc().args(["bench", "locations", "--compiler", compiler, "--only", only]);
    let said =
        ran(bench.args(["--flags", "default", "--target", "x86-64-pie", "--format", "json"])).with_status(0);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn clang_shows_a_constant_and_gcc_nothing() {
    let clang = table("clang-19", "s000");
    assert_eq!((&clang["schema"], &clang["debugger"]), (&"metaloc.bench-locations/1".into(), &"gdb".into()));
    let total = &clang["total"];
    assert!(total["pairs"].as_u64().unwrap() > 10, "{clang}");
    assert_eq!(total["wrong"], total["pairs"], "{clang}");
    let example = clang["kernels"][0]["examples"][0].as_str().unwrap();
    assert!(example.contains("i is 0, not in 16..32"), "{example}");
    let untrue = clang["kernels"][0]["untrue"].as_array().unwrap();
    assert!(untrue.iter().all(|one| one["shown"] == "wrong" && one["counter"] == "i"), "{clang}");
    assert_eq!(total["pairs"], untrue.len(), "{clang}");
    let gcc = table("gcc-12", "s000");
    assert_eq!(gcc["total"]["nothing"], gcc["total"]["pairs"], "{gcc}");
    assert!(gcc["total"]["pairs"].as_u64().unwrap() > 5, "{gcc}");
}

#[test]
fn a_limit_that_is_not_kept_is_a_finding() {
    let bench = metaloc().args(["bench", "locations", "--compiler", "clang-19", "--only", "s000"]);
    ran(bench.args(["--most-wrong", "0"])).with_status(1);
    let bench = metaloc().args(["bench", "locations", "--only", "nothing"]);
    let refused = ran(bench).with_status(2);
    assert!(refused.stderr.contains("no kernel 'nothing'"), "{}", refused.stderr);
}
