//! `metaloc bench cost`: `opt` at `default<O2>`, plain and with the plugin that records and judges.
//!
//! Runs are interleaved, of all workloads, so that whatever else the machine does meets all alike. Ratios are
//! of medians. The cost per instruction of the input is the figure that must stay flat between the generated
//! sizes; it is a small difference, so it is taken between the fastest runs: whatever else the machine does
//! never makes a run faster. How much is left to chance is said as well: every other run by itself. Where that is too
//! much, [`counted`] leaves nothing to chance.

mod counted;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_corpus::{generate, ir_text, programs, stock};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Task, Usage};
use serde::Serialize;
use tempfile::TempDir;

use crate::args::{BenchCost, Format};
use crate::output;
use crate::progress::Progress;
use crate::run::{find_llvm, find_plugin};
use crate::status::Status;

pub fn run(args: &BenchCost) -> Result<Status> {
    let llvm = find_llvm(&args.llvm)?;
    let plugin = find_plugin(&llvm)?;
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let workloads = workloads(&llvm, &scratch, &args.only)?;
    if workloads.is_empty() {
        bail!("no workload is called '{}'", args.only);
    }
    if args.counted {
        return counted::run(args, &llvm, &plugin, &scratch, &workloads);
    }
    let progress = Progress::new(workloads.len() * args.runs.get() * 2);
    let mut measured = vec![Runs::default(); workloads.len()];
    for _ in 0..args.runs.get() {
        for (workload, runs) in workloads.iter().zip(&mut measured) {
            runs.add(&llvm, &plugin, &scratch, workload, &progress)?;
        }
    }
    drop(progress);
    let rows = workloads.iter().zip(&measured).map(|(workload, runs)| Row::new(workload, runs)).collect();
    let result = BenchResult {
        schema: "metaloc.bench-cost/1",
        llvm: llvm.version,
        runs: args.runs.get(),
        workloads: rows,
    };
    output::print(&match args.format {
        Format::Text => result.text(),
        Format::Json => serde_json::to_string_pretty(&result)? + "\n",
    })?;
    Ok(Status::Clean)
}

/// Something to optimise.
struct Workload {
    name: String,
    module: PathBuf,
    args: Vec<String>,
    instructions: u64,
}

impl Workload {
    /// The rest of a command that begins with the stock `opt`.
    fn optimised_by(&self, opt: Task) -> Task {
        opt.args(&self.args)
            .arg("-passes=default<O2>")
            .arg(&self.module)
            .args(["-o", "/dev/null"])
            .env_remove("METALOC")
            .env_remove("METALOC_OUT")
    }
}

/// The same with the plugin.
fn observed(opt: Task, plugin: &Path, report: &Path) -> Task {
    opt.arg(format!("-load-pass-plugin={}", plugin.display())).env("METALOC_OUT", report)
}

fn workloads(llvm: &Llvm, scratch: &TempDir, only: &str) -> Result<Vec<Workload>> {
    let mut workloads = Vec::new();
    if "sqlite3".contains(only) {
        workloads.push(sqlite3(llvm)?);
    }
    for shape in generate::SIZES {
        let name = format!("generated-{}", shape.blocks);
        if !name.contains(only) {
            continue;
        }
        let generated = generate::module(shape, 1);
        let module = scratch.path().join(&name).with_extension("ll");
        fs::write(&module, &generated.text).with_context(|| format!("cannot write {}", module.display()))?;
        let args = stock::opaque_pointer_args(&generated.text, llvm.major).into_iter().collect();
        workloads.push(Workload { name, module, args, instructions: generated.instructions });
    }
    Ok(workloads)
}

fn sqlite3(llvm: &Llvm) -> Result<Workload> {
    let units = programs::units(&output::complain)?;
    let unit =
        units.iter().find(|unit| unit.program.name == "sqlite3").context("no sqlite3 among the programs")?;
    let module = unit.bitcode(llvm)?;
    let text = stock::output(Task::new(&llvm.opt).arg("-S").arg(&module))?;
    let text = String::from_utf8_lossy(&text);
    let describes_variable = |text: &str| text.contains("@llvm.dbg.");
    let instructions =
        ir_text::instructions(&text).filter(|inst| !describes_variable(&inst.text)).count() as u64;
    Ok(Workload { name: "sqlite3".into(), module, args: Vec::new(), instructions })
}

#[derive(Debug, Serialize)]
struct BenchResult {
    schema: &'static str,
    llvm: String,
    runs: usize,
    workloads: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    name: String,
    instructions: u64,
    plain: Figures,
    plugin: Figures,
    time_ratio: f64,
    memory_ratio: f64,
    /// (plugin - plain) per instruction of the input, fastest runs.
    microseconds_per_instruction: f64,
}

/// Medians, the fastest run, and every single one.
#[derive(Debug, Serialize)]
struct Figures {
    seconds: f64,
    least_seconds: f64,
    mebibytes: f64,
    all_seconds: Vec<f64>,
}

/// What the runs of one workload took.
#[derive(Debug, Clone, Default)]
struct Runs {
    plain: Vec<Usage>,
    plugin: Vec<Usage>,
}

impl Runs {
    /// One more of each kind.
    fn add(
        &mut self,
        llvm: &Llvm,
        plugin: &Path,
        scratch: &TempDir,
        workload: &Workload,
        progress: &Progress,
    ) -> Result<()> {
        let opt = || workload.optimised_by(Task::new(&llvm.opt));
        let observed = observed(opt(), plugin, &scratch.path().join("report.json"));
        for (task, usages) in [(opt(), &mut self.plain), (observed, &mut self.plugin)] {
            usages.push(stock::succeed(task)?.usage);
            progress.done(&workload.name);
        }
        Ok(())
    }
}

impl Row {
    fn new(workload: &Workload, runs: &Runs) -> Row {
        let (plain, plugin) = (Figures::of(&runs.plain), Figures::of(&runs.plugin));
        let mut row = Row {
            name: workload.name.clone(),
            instructions: workload.instructions,
            time_ratio: plugin.seconds / plain.seconds,
            memory_ratio: plugin.mebibytes / plain.mebibytes,
            microseconds_per_instruction: 0.0,
            plain,
            plugin,
        };
        row.microseconds_per_instruction = row.cost(|_| true);
        row
    }

    /// The cost per instruction by some of the runs.
    fn cost(&self, runs: impl Fn(usize) -> bool) -> f64 {
        let least = |figures: &Figures| least(&figures.all_seconds, &runs);
        (least(&self.plugin) - least(&self.plain)) * 1e6 / self.instructions as f64
    }
}

impl Figures {
    fn of(usages: &[Usage]) -> Figures {
        let all_seconds: Vec<f64> = usages.iter().map(|usage| usage.cpu().as_secs_f64()).collect();
        let mebibytes = usages.iter().map(|usage| usage.max_rss_kib as f64 / 1024.0).collect();
        Figures {
            seconds: median(all_seconds.clone()),
            least_seconds: least(&all_seconds, |_| true),
            mebibytes: median(mebibytes),
            all_seconds,
        }
    }
}

/// The fastest of some of the runs.
fn least(all_seconds: &[f64], runs: impl Fn(usize) -> bool) -> f64 {
    let some = all_seconds.iter().enumerate().filter(|(run, _)| runs(*run));
    some.map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min)
}

/// The middle one; of an even number, the mean of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

impl BenchResult {
    fn text(&self) -> String {
        let mut text =
            format!("LLVM {}, default<O2>, median of {} runs, user and system time\n", self.llvm, self.runs);
        text += "                  instructions   plain  plugin  ratio    plain   plugin  ratio  per instruction\n";
        for row in &self.workloads {
            let _ = writeln!(
                text,
                "{:<16} {:>13} {:>6.2}s {:>6.2}s {:>5.2}x {:>5.0} MiB {:>4.0} MiB {:>5.2}x {:>9.2} us",
                row.name,
                row.instructions,
                row.plain.seconds,
                row.plugin.seconds,
                row.time_ratio,
                row.plain.mebibytes,
                row.plugin.mebibytes,
                row.memory_ratio,
                row.microseconds_per_instruction
            );
        }
        if let Some(spread) = self.spread(|_| true) {
            let _ = write!(
                text,
                "cost per instruction (fastest runs) of the generated sizes: within {spread:.2}x"
            );
            let every_other = |first| self.spread(move |run| run % 2 == first);
            if let Some((one, other)) = every_other(0).zip(every_other(1)) {
                let _ = write!(text, " (every other run: {one:.2}x, {other:.2}x)");
            }
            text += "\n";
        }
        text
    }

    /// Largest cost per instruction of a generated module over the smallest, by these runs; `None` with fewer
    /// than two modules, without such a run, or if noise hides a cost entirely.
    fn spread(&self, runs: impl Fn(usize) -> bool) -> Option<f64> {
        spread(self.workloads.iter().map(|row| (&*row.name, row.cost(&runs))))
    }
}

/// The largest cost of a generated module over the smallest.
fn spread<'n>(costs: impl Iterator<Item = (&'n str, f64)>) -> Option<f64> {
    let generated = costs.filter(|(name, _)| name.starts_with("generated"));
    let costs: Vec<f64> = generated.map(|(_, cost)| cost).collect();
    let (least, most) = (costs.iter().copied().reduce(f64::min)?, costs.iter().copied().reduce(f64::max)?);
    (costs.len() > 1 && least > 0.0 && most.is_finite()).then(|| most / least)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn usages(seconds: &[u64]) -> Vec<Usage> {
        let usage = |seconds: &u64| Usage {
            user: Duration::from_secs(*seconds),
            max_rss_kib: seconds * 1024,
            ..Usage::default()
        };
        seconds.iter().map(usage).collect()
    }

    fn row(name: &str, plain: &[u64], plugin: &[u64]) -> Row {
        let workload =
            Workload { name: name.into(), module: "m".into(), args: Vec::new(), instructions: 1_000_000 };
        Row::new(&workload, &Runs { plain: usages(plain), plugin: usages(plugin) })
    }

    #[test]
    fn medians_and_ratios() {
        let row = row("sqlite3", &[10, 90, 20], &[30, 25, 99]);
        assert_eq!((row.plain.seconds, row.plugin.seconds, row.time_ratio), (20.0, 30.0, 1.5));
        assert_eq!((row.memory_ratio, row.microseconds_per_instruction), (1.5, 15.0));
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn only_generated_modules_are_compared_with_each_other() {
        let rows = vec![
            row("sqlite3", &[1], &[90]),
            row("generated-100", &[1], &[3]),
            row("generated-1000", &[1], &[4]),
        ];
        let result = BenchResult { schema: "", llvm: "19".into(), runs: 1, workloads: rows };
        assert_eq!(result.spread(|_| true), Some(1.5));
        assert!(result.text().ends_with("within 1.50x\n"), "one run has no halves");
    }

    #[test]
    fn every_other_run_says_what_is_left_to_chance() {
        let rows = vec![
            row("generated-100", &[5, 1, 5, 1], &[8, 3, 7, 4]),
            row("generated-1000", &[5, 1, 5, 1], &[9, 9, 9, 7]),
        ];
        let result = BenchResult { schema: "", llvm: "19".into(), runs: 4, workloads: rows };
        let text = result.text();
        assert!(text.ends_with("within 3.00x (every other run: 2.00x, 3.00x)\n"), "{text}");
    }
}
