//! Every row agrees with the processor. The long run is `cargo run --release --example judge_rows`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use metaloc_prover::cpu::{domains_agree, judge_row};
use metaloc_prover::x86::rows;

#[test]
fn every_row_agrees_with_the_processor() {
    let mut disagreements = Vec::new();
    for code in rows::forms() {
        let report = judge_row(code, 300, 1).unwrap();
        assert!(report.states >= 100, "{code:?}: only {} of 300 states have a certain result", report.states);
        disagreements.extend(report.mismatches);
    }
    assert!(disagreements.is_empty(), "{disagreements:#x?}");
}

#[test]
fn every_row_means_the_same_in_both_domains() {
    let disagreements: Vec<String> =
        rows::forms().filter_map(|code| domains_agree(code, 2, 1).err()).collect();
    assert!(disagreements.is_empty(), "{disagreements:#?}");
}
