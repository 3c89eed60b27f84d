//! Judges every row of the x86 table by the processor and prints rows, states and disagreements. The states
//! per row are the first argument (10,000 if there is none), the seed the second; further arguments choose
//! rows by a part of their name.

use metaloc_prover::cpu::judge_row;
use metaloc_prover::x86::rows;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |position: usize, default: u64| match arguments.get(position) {
        Some(text) => text.parse().ok(),
        None => Some(default),
    };
    let (Some(states), Some(seed)) = (number(0, 10_000), number(1, 1)) else {
        eprintln!("usage: judge_rows [STATES [SEED [NAME-PART...]]]");
        return ExitCode::from(2);
    };
    let parts = arguments.get(2..).unwrap_or_default();
    let chosen = |name: &str| parts.is_empty() || parts.iter().any(|part| name.contains(part.as_str()));
    let start = Instant::now();
    let (mut rows_run, mut total, mut faults, mut open, mut wrong) = (0, 0, 0, 0, 0);
    for code in rows::forms().filter(|code| chosen(&format!("{code:?}"))) {
        let report = match judge_row(code, states as usize, seed) {
            Ok(report) => report,
            Err(error) => {
                eprintln!("{code:?}: {error}");
                return ExitCode::from(2);
            }
        };
        rows_run += 1;
        total += report.states;
        faults += report.faults;
        open += report.open;
        wrong += usize::from(!report.mismatches.is_empty());
        for mismatch in &report.mismatches {
            println!(
                "{code:?}: {}: {}\n  before: {}",
                mismatch.instruction, mismatch.difference, mismatch.before
            );
        }
    }
    println!(
        "{rows_run} rows of {} mnemonics, {total} states compared ({faults} faults), {open} left open by the manual, \
         {wrong} rows with disagreements, {:.1} s",
        rows::mnemonics().count(),
        start.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(wrong > 0))
}
