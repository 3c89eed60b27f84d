//! `metaloc bench cost --counted`: how many instructions `opt` executes, plain and with the plugin.
//!
//! What the plugin adds to a run is a small part of it, and on a machine that others use as well the same run takes a
//! tenth more or less time from one minute to the next. A count is the same each time. It says nothing about the cache:
//! an instruction that waits for memory counts like any other.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use metaloc_corpus::stock;
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;
use serde::Serialize;
use tempfile::TempDir;

use super::{Workload, observed, spread};
use crate::args::{BenchCost, Format};
use crate::progress::Progress;
use crate::status::Status;
use crate::{output, parallel};

pub fn run(
    args: &BenchCost,
    llvm: &Llvm,
    plugin: &Path,
    scratch: &TempDir,
    workloads: &[Workload],
) -> Result<Status> {
    let runs: Vec<(&Workload, bool)> =
        workloads.iter().flat_map(|workload| [false, true].map(|with| (workload, with))).collect();
    let progress = Progress::new(runs.len());
    let counts = parallel::map(&runs, parallel::workers(None), |(workload, with)| {
        let name = format!("{}.{}", workload.name, if *with { "plugin" } else { "plain" });
        let at = scratch.path().join(name);
        let opt = workload.optimised_by(under_valgrind(llvm, &at));
        let task = if *with { observed(opt, plugin, &at.with_extension("json")) } else { opt };
        stock::succeed(task)?;
        let said = fs::read_to_string(&at).with_context(|| format!("cannot read {}", at.display()))?;
        progress.done(&workload.name);
        executed(&said).with_context(|| format!("{} says no sum: it is not valgrind's", at.display()))
    })?;
    drop(progress);
    let rows = workloads.iter().zip(counts.chunks_exact(2));
    let rows = rows.map(|(workload, counts)| Row::new(workload, counts[0], counts[1])).collect();
    let result =
        Counted { schema: "metaloc.bench-cost-counted/1", llvm: llvm.version.clone(), workloads: rows };
    output::print(&match args.format {
        Format::Text => result.text(),
        Format::Json => serde_json::to_string_pretty(&result)? + "\n",
    })?;
    Ok(Status::Clean)
}

/// The stock `opt`, its instructions counted into a file. Detours change code that is of a file, after it may have been
/// executed: valgrind has to be told to look.
fn under_valgrind(llvm: &Llvm, to: &Path) -> Task {
    Task::new("valgrind")
        .args(["--quiet", "--tool=cachegrind", "--cache-sim=no", "--smc-check=all"])
        .arg(format!("--cachegrind-out-file={}", to.display()))
        .arg(&llvm.opt)
}

/// The sum of all that is counted.
fn executed(said: &str) -> Option<u64> {
    let sum = said.lines().rev().find_map(|line| line.strip_prefix("summary:"))?;
    sum.split_whitespace().next()?.parse().ok()
}

#[derive(Debug, Serialize)]
struct Counted {
    schema: &'static str,
    llvm: String,
    workloads: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    instructions: u64,
    plain: u64,
    plugin: u64,
    ratio: f64,
    /// (plugin - plain) for each instruction of the input.
    executed_per_instruction: f64,
}

impl Row {
    fn new(workload: &Workload, plain: u64, plugin: u64) -> Row {
        Row {
            name: workload.name.clone(),
            instructions: workload.instructions,
            plain,
            plugin,
            ratio: plugin as f64 / plain as f64,
            executed_per_instruction: (plugin as f64 - plain as f64) / workload.instructions as f64,
        }
    }
}

impl Counted {
    fn text(&self) -> String {
        let mut text = format!("LLVM {}, default<O2>, instructions executed, in millions\n", self.llvm);
        text += "                  instructions      plain     plugin  ratio  added per instruction\n";
        for row in &self.workloads {
            let _ = writeln!(
                text,
                "{:<16} {:>13} {:>10} {:>10} {:>5.2}x {:>22.0}",
                row.name,
                row.instructions,
                row.plain / 1_000_000,
                row.plugin / 1_000_000,
                row.ratio,
                row.executed_per_instruction
            );
        }
        let costs = self.workloads.iter().map(|row| (&*row.name, row.executed_per_instruction));
        if let Some(spread) = spread(costs) {
            let _ = writeln!(text, "added per instruction of the generated sizes: within {spread:.2}x");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_first_number_of_the_last_line() {
        let said = "desc: x\nevents: Ir\nfn=f\n3 12\nsummary: 4518025197\n";
        assert_eq!(executed(said), Some(4_518_025_197));
        assert_eq!(executed("events: Ir\nfn=f\n3 12\n"), None);
        assert_eq!(executed("summary: \n"), None);
    }

    #[test]
    fn what_the_plugin_adds_is_by_instruction_of_the_input() {
        let workload = |name: &str, instructions| Workload {
            name: name.into(),
            module: "m".into(),
            args: Vec::new(),
            instructions,
        };
        let rows = vec![
            Row::new(&workload("sqlite3", 1), 10, 99),
            Row::new(&workload("generated-100", 100), 1_000_000, 1_000_200),
            Row::new(&workload("generated-1000", 100), 5_000_000, 5_000_300),
        ];
        assert_eq!(rows[1].executed_per_instruction, 2.0);
        let result = Counted { schema: "", llvm: "19".into(), workloads: rows };
        assert!(result.text().ends_with("sizes: within 1.50x\n"), "{}", result.text());
    }
}
