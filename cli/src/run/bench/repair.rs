//! `metaloc bench repair`: the kernels proved, repaired and looked at in debuggers: the tables of the debug-headers
//! paper, the share of counters with a true value before and after, values compared, and the ablation.
//!
//! Each kernel is repaired by a process of its own, as `metaloc repair` does it. With `--save` every row is kept as soon
//! as it is there, and a later call goes on with what is missing. What goes wrong with one kernel is said in its row, and
//! the others go on.
//!
//! - [`table`]: what is printed; [`paper`]: the figures beside it.

mod paper;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use metaloc_corpus::kernel_driver;
use metaloc_corpus::kernels::{Configuration, Kernel};
use metaloc_prover::product::document::sha256;
use metaloc_prover::smt::WALL_FACTOR;
use metaloc_toolchain::process::{Exit, Task};
use metaloc_toolchain::{Llvm, atomic, interrupt, plugin};
use metaloc_tracer::survey::Matches;
use metaloc_tracer::{Debugger, Gdb};

use super::locations::{self, Counts};
use super::prove::{configuration, wanted};
use crate::args::{BenchRepair, Format};
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::find_llvm;
use crate::run::prove::VerdictName;
use crate::run::repair::Summary;
use crate::status::Status;
use table::{Row, Table};

/// What a kernel may take beyond the time for its proof: all questions about its variables.
const GRACE: Duration = Duration::from_secs(600);
/// And what the debuggers may take.
const CHECK: Duration = Duration::from_secs(900);

pub fn run(args: &BenchRepair) -> Result<Status> {
    let llvm = find_llvm(&args.kernels.llvm)?;
    let configuration = configuration(&llvm, &args.kernels)?;
    Gdb.find()?;
    let kernels = wanted(&args.only)?;
    let known = match &args.save {
        Some(path) => saved(path)?,
        None => Vec::new(),
    };
    let build = sha256(&std::fs::read(own()?).context("cannot read this program")?)[..12].to_owned();
    let is_known = |kernel: &&Kernel| {
        known
            .iter()
            .any(|row| row.name == kernel.name && row.configuration == configuration.name && row.has(args))
    };
    let (done, open): (Vec<&Kernel>, Vec<&Kernel>) = kernels.iter().partition(is_known);
    let mut rows: Vec<Row> = done
        .iter()
        .flat_map(|kernel| known.iter().filter(|row| row.name == kernel.name))
        .filter(|row| row.configuration == configuration.name)
        .cloned()
        .collect();
    let kept = Mutex::new(known);
    let progress = Progress::new(open.len());
    let bench = Bench { args, llvm: &llvm, configuration: &configuration, build };
    rows.extend(parallel::map(&open, parallel::workers(args.kernels.jobs), |kernel| {
        let row = match bench.row(kernel) {
            Ok(row) => row,
            // Ctrl-C ends all of it.
            Err(error) => {
                interrupt::check()?;
                bench.failed(kernel, &error)
            }
        };
        if let Some(path) = &args.save {
            let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            kept.retain(|old| (&old.name, &old.configuration) != (&row.name, &row.configuration));
            kept.push(row.clone());
            save(path, &kept)?;
        }
        progress.done(&kernel.name);
        Ok(row)
    })?);
    drop(progress);
    rows.sort_by(|left, right| left.name.cmp(&right.name));
    let figures = paper::read(&plugin::root()?.join("regress/repair/paper.tsv"), args.kernels.compiler)?;
    let table = Table::new(configuration.name, rows, figures);
    output::print(&match args.kernels.format {
        Format::Text => table.text(),
        Format::Json => serde_json::to_string_pretty(&table)? + "\n",
    })?;
    if table.failed().next().is_some() {
        return Ok(Status::CouldNotRun);
    }
    let few = table.share_after() < args.at_least;
    Ok(if few || table.untrue() > 0 { Status::Findings } else { Status::Clean })
}

fn own() -> Result<PathBuf> {
    std::env::current_exe().context("where is this program?")
}

/// Rows of earlier calls; none if there is no such file.
fn saved(path: &Path) -> Result<Vec<Row>> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let row = |(number, line)| {
        serde_json::from_str(line)
            .with_context(|| format!("{}:{}: not a saved row", path.display(), number + 1))
    };
    text.lines().enumerate().map(row).collect()
}

/// All rows, one a line, sorted, so that the file depends on what was measured and not on when.
fn save(path: &Path, rows: &[Row]) -> Result<()> {
    let mut rows: Vec<&Row> = rows.iter().collect();
    rows.sort_by_key(|row| (&row.configuration, &row.name));
    let lines = rows.into_iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    Ok(atomic::write(path, (lines.join("\n") + "\n").as_bytes())?)
}

struct Bench<'a> {
    args: &'a BenchRepair,
    llvm: &'a Llvm,
    configuration: &'a Configuration,
    build: String,
}

impl Bench<'_> {
    fn row(&self, kernel: &Kernel) -> Result<Row> {
        let begun = Instant::now();
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        let place = |name: &str| scratch.path().join(name);
        let (object, repaired, proof) = (place("kernel.o"), place("repaired.o"), place("proof.json"));
        self.configuration.compile(&kernel.path, &kernel.defines, "-c", &object)?;
        let mut matches = Vec::new();
        let before = self.survey(kernel, &object, &mut matches)?;
        let kept =
            self.args.proofs.as_ref().map(|folder| self.kept_proof(folder, kernel, &object)).transpose()?;
        let known = kept.as_ref().filter(|kept| kept.exists());
        let mut task = self.repair(kernel, &object).arg("-o").arg(&repaired);
        task = match known {
            Some(known) => task.arg("--proof").arg(known),
            None => task.arg("--write-proof").arg(&proof),
        };
        if self.args.ablation {
            task = task.arg("--ablation");
        }
        task = task.args(["--time", &self.args.limit.to_string()]);
        let mut limit = Duration::from_secs(self.args.limit) * WALL_FACTOR + GRACE;
        if self.args.check {
            let driver = place("driver.c");
            let link = kernel_driver::link_command(self.configuration, kernel, &driver)?;
            task = task.args([
                "--check",
                "{}",
                "--link",
                &link,
                "--check-stops",
                &self.args.check_stops.to_string(),
            ]);
            for debugger in &self.args.debuggers {
                task = task.args(["--debugger", debugger.name()]);
            }
            limit += CHECK;
        }
        let mut row = self.unknown(kernel, before);
        match summary(kernel, &task, limit)? {
            Err(reason) => row.reason = Some(reason),
            Ok(summary) => {
                let Some(function) = summary.functions.into_iter().next() else {
                    bail!("not in its own summary");
                };
                (row.verdict, row.reason) = (function.verdict, function.reason);
                row.check = summary.check;
                if let (Some(kept), None, VerdictName::Proved) = (&kept, known, row.verdict) {
                    let bytes = std::fs::read(&proof).context("the proof was not written")?;
                    atomic::write(kept, &bytes)?;
                }
                if row.is_repaired() {
                    row.stats = Some(function.row);
                    row.variants = summary
                        .ablation
                        .into_iter()
                        .map(|variant| (variant.variant, variant.total))
                        .collect();
                    // There is no output if a debugger shows something untrue.
                    if row.check.as_ref().is_none_or(|check| !check.is_wrong()) {
                        row.after = Some(self.survey(kernel, &repaired, &mut matches)?);
                    }
                }
            }
        }
        row.seconds = begun.elapsed().as_secs_f64();
        Ok(row)
    }

    /// A row of which nothing is known but what there was before.
    fn unknown(&self, kernel: &Kernel, before: Counts) -> Row {
        Row {
            name: kernel.name.clone(),
            configuration: self.configuration.name.clone(),
            build: self.build.clone(),
            verdict: VerdictName::Unknown,
            reason: None,
            error: None,
            seconds: 0.0,
            stats: None,
            variants: Vec::new(),
            before,
            after: None,
            check: None,
        }
    }

    /// A row for a kernel that could not be measured.
    fn failed(&self, kernel: &Kernel, error: &anyhow::Error) -> Row {
        Row { error: Some(format!("{error:#}")), ..self.unknown(kernel, Counts::default()) }
    }

    /// Where the proof of an object is kept: under a digest of what it is a proof of and of who proved it, as a proof of
    /// before a mistake was mended is none.
    fn kept_proof(&self, folder: &Path, kernel: &Kernel, object: &Path) -> Result<PathBuf> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let read =
            |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let mut all = read(object)?;
        all.extend(read(&kernel.path)?);
        for word in
            self.configuration.meaning.iter().chain(&kernel.defines).chain([&self.llvm.version, &self.build])
        {
            all.extend(word.as_bytes());
            all.push(0);
        }
        Ok(folder.join(format!("{}-{}.json", kernel.name, &sha256(&all)[..16])))
    }

    fn repair(&self, kernel: &Kernel, object: &Path) -> Task {
        let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("metaloc"));
        let mut task = Task::new(own).arg("repair").arg(object).arg("--source").arg(&kernel.path).args([
            "--function",
            &kernel.name,
            "--llvm",
            &self.llvm.major.to_string(),
            "--format",
            "json",
        ]);
        for flag in self.configuration.meaning.iter().chain(&kernel.defines) {
            task = task.arg(format!("--flag={flag}"));
        }
        task
    }

    fn survey(&self, kernel: &Kernel, object: &Path, matches: &mut Vec<Matches>) -> Result<Counts> {
        let pairs = locations::look(self.llvm, self.configuration, &Gdb, kernel, object, matches)?;
        Ok(Counts::of(&pairs.1))
    }
}

/// What a process of `metaloc repair` says; the reason if it ran out of time.
fn summary(kernel: &Kernel, task: &Task, limit: Duration) -> Result<Result<Summary, String>> {
    let outcome = task.clone().timeout(limit).run()?;
    match outcome.exit {
        Exit::Code(0 | 1) => {
            let read = serde_json::from_slice(&outcome.stdout);
            Ok(Ok(read.with_context(|| format!("{}: not what `metaloc repair` prints", kernel.name))?))
        }
        Exit::Timeout(_) => Ok(Err(format!("still running after {} s", limit.as_secs()))),
        exit => bail!("{}: {exit}: {}", task.command_line(), outcome.stderr_text().trim()),
    }
}
