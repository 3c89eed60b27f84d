//! `metaloc selftest x86`: every row of the instruction table, judged by the processor in both modes.

use std::fmt::Debug;

use anyhow::{Result, bail};
use metaloc_prover::cpu::{BrokenRow, RowReport, break_row, judge_row, runs_in};
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
        let found = if args.broken {
            let rows =
                each_row(&codes, args, |code| Ok(break_row(mode, code, args.states.get(), args.seed)?))?;
            output::print(&text_of_broken(mode, &rows))?;
            rows.iter().any(|row| row.variants == row.unnoticed.len())
        } else {
            let rows =
                each_row(&codes, args, |code| Ok(judge_row(mode, code, args.states.get(), args.seed)?))?;
            output::print(&text(mode, &rows))?;
            rows.iter().any(|row| !row.mismatches.is_empty())
        };
        if found {
            status = Status::Findings;
        }
    }
    if judged == 0 {
        bail!("no row of the table has {} in its name", args.only.join(" or "));
    }
    Ok(status)
}

/// What is said of each row, with a progress bar.
fn each_row<C: Copy + Debug + Sync, R: Send>(
    codes: &[C],
    args: &SelftestX86,
    judge: impl Fn(C) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let progress = Progress::new(codes.len());
    parallel::map(codes, parallel::workers(args.jobs), |code| {
        let row = judge(*code)?;
        progress.done(&format!("{code:?}"));
        Ok(row)
    })
}

/// What was not noticed of the rows broken on purpose, and one line with the sums.
fn text_of_broken(mode: Mode, rows: &[BrokenRow]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !row.unnoticed.is_empty()) {
        let unnoticed: Vec<String> = row.unnoticed.iter().map(ToString::to_string).collect();
        text += &format!(
            "{:?}: {} of {} not noticed: {}\n",
            row.code,
            unnoticed.len(),
            row.variants,
            unnoticed.join(", ")
        );
    }
    let variants: usize = rows.iter().map(|row| row.variants).sum();
    let unnoticed: usize = rows.iter().map(|row| row.unnoticed.len()).sum();
    let deaf = rows.iter().filter(|row| row.variants == row.unnoticed.len()).count();
    text + &format!(
        "{}-bit: {} rows broken in {variants} ways, {} noticed by the processor; {deaf} rows of which none is\n",
        mode.address_bits(),
        rows.len(),
        variants - unnoticed,
    )
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
