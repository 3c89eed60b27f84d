//! `metaloc selftest x86`: every row of the instruction table, judged by the processor in both modes.

use anyhow::{Result, bail};
use metaloc_prover::cpu::{RowReport, judge_row, runs_in};
use metaloc_prover::x86::{Mode, rows};

use crate::args::SelftestX86;
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::status::Status;

pub fn run(args: &SelftestX86) -> Result<Status> {
    let mut status = Status::Clean;
    let mut judged = 0;
    for mode in Mode::ALL {
        let chosen = |name: String| args.only.is_empty() || args.only.iter().any(|part| name.contains(part));
        let codes: Vec<_> = rows::forms_in(mode).filter(|code| chosen(format!("{code:?}"))).collect();
        judged += codes.len();
        let bits = mode.address_bits();
        if !runs_in(mode) {
            output::print(&format!("{bits}-bit: skipped, this kernel runs no {bits}-bit code\n"))?;
            continue;
        }
        let progress = Progress::new(codes.len());
        let reports = parallel::map(&codes, parallel::workers(args.jobs), |code| {
            let report = judge_row(mode, *code, args.states.get(), args.seed)?;
            progress.done(&format!("{code:?}"));
            Ok(report)
        })?;
        drop(progress);
        output::print(&text(mode, &reports))?;
        if reports.iter().any(|report| !report.mismatches.is_empty()) {
            status = Status::Findings;
        }
    }
    if judged == 0 {
        bail!("no row of the table has {} in its name", args.only.join(" or "));
    }
    Ok(status)
}

/// The disagreements, and one line with the sums.
fn text(mode: Mode, reports: &[RowReport]) -> String {
    let mut text = String::new();
    for report in reports {
        for mismatch in &report.mismatches {
            text += &format!(
                "{:?}: {}: {}\n  before: {}\n",
                report.code, mismatch.instruction, mismatch.difference, mismatch.before
            );
        }
    }
    let sum = |count: fn(&RowReport) -> usize| reports.iter().map(count).sum::<usize>();
    text + &format!(
        "{}-bit: {} rows, {} states compared ({} faults), {} left open by the manual, {} mismatches\n",
        mode.address_bits(),
        reports.len(),
        sum(|report| report.states),
        sum(|report| report.faults),
        sum(|report| report.open),
        sum(|report| report.mismatches.len()),
    )
}
