//! Every row agrees with the processor. The long run is `metaloc selftest x86`.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use metaloc_prover::cpu::{domains_agree, judge_row, runs_in};
use metaloc_prover::x86::{Mode, rows};

fn judge_all(mode: Mode) {
    if !runs_in(mode) {
        eprintln!("skipped: this kernel runs no {}-bit code", mode.address_bits());
        return;
    }
    let mut disagreements = Vec::new();
    for code in rows::forms_in(mode) {
        let report = judge_row(mode, code, 300, 1).unwrap();
        assert!(report.states >= 100, "{code:?}: only {} of 300 states have a certain result", report.states);
        disagreements.extend(report.mismatches);
    }
    assert!(disagreements.is_empty(), "{disagreements:#x?}");
}

#[test]
fn every_row_agrees_with_the_processor() {
    judge_all(Mode::Bits64);
}

#[test]
fn every_32_bit_row_agrees_with_the_processor() {
    judge_all(Mode::Bits32);
}

#[test]
fn every_row_means_the_same_in_both_domains() {
    for mode in Mode::ALL {
        let rows = rows::forms_in(mode);
        let disagreements: Vec<String> =
            rows.filter_map(|code| domains_agree(mode, code, 2, 1).err()).collect();
        assert!(disagreements.is_empty(), "{disagreements:#?}");
    }
}
