//! `metaloc selftest observer`: `opt` prints the same with and without the plugin.
//!
//! A RUN line that names its passes the legacy way is run as it stands, with the plugin loaded by the dynamic
//! linker since `opt` takes no pass plugin then, and once more in the words of the new manager if there are any.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use metaloc_corpus::llvm_tests::{self, LlvmTest};
use metaloc_corpus::pass_names::{Manager, PassNames};
use metaloc_corpus::run_line::OptLine;
use metaloc_corpus::{programs, static_opt, stock};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::llvm::Which;
use metaloc_toolchain::process::{Stdin, Task};

use super::compare::{Baseline, Shown, Tally, Verdict, compare};
use crate::args::SelftestObserver;
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::{find_llvm, find_plugin};
use crate::status::Status;

pub fn run(args: &SelftestObserver) -> Result<Status> {
    let mut llvm = find_llvm(&args.llvm)?;
    if args.static_opt {
        let opt = static_opt::path(&llvm, &output::complain)?;
        llvm = Llvm::find(&Which::Opt(opt), None)?;
    }
    let plugin = find_plugin(&llvm)?;
    let check = Check { llvm, plugin, workers: parallel::workers(args.jobs) };
    let (tally, things) = if args.programs {
        (check.programs()?, "runs of programs")
    } else {
        (check.tests(args.source.as_deref(), args.sample)?, "RUN lines")
    };
    output::print(&tally.text(&check.llvm.version, things))?;
    if tally.compared() == 0 {
        bail!("nothing was compared");
    }
    Ok(if tally.has_differences() { Status::Findings } else { Status::Clean })
}

/// The order of the tests in a sample. Any number would do; this one stays.
const SEED: u64 = 1;

/// No test of LLVM takes a tenth of this.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a run of a program may take without the plugin; sqlite3 takes half a minute if nothing else runs.
const PATIENCE_WITH_PROGRAMS: Duration = Duration::from_secs(1200);

/// The LLVM that the tests are of. There, failing is a result like any other; elsewhere it says that the
/// input, or an option, is too new or too old.
const TESTS_OF: u32 = 19;

const LEVELS: [&str; 5] = ["O0", "O1", "O2", "O3", "Os"];

struct Check {
    llvm: Llvm,
    plugin: PathBuf,
    workers: usize,
}

/// A plain RUN line.
struct Item {
    name: String,
    test: PathBuf,
    line: OptLine,
    loading: Loading,
}

/// How the plugin gets into `opt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loading {
    /// By `opt` itself.
    Plugin,
    /// By the dynamic linker.
    Preload,
}

impl Check {
    fn tests(&self, source: Option<&Path>, sample: Option<usize>) -> Result<Tally> {
        let source = match source {
            Some(source) => std::path::absolute(source).context("no current folder")?,
            None => llvm_tests::source(&output::complain)?,
        };
        let mut tally = Tally::default();
        let names = self.pass_names()?;
        let mut items = Vec::new();
        for test in llvm_tests::all(&source)? {
            collect(&test, &names, &mut items, &mut tally)?;
        }
        let wanted = sample.unwrap_or(items.len());
        let items = llvm_tests::sample(items, |item| &item.name, SEED, usize::MAX);
        let progress = Progress::new(wanted);
        let mut rest = &items[..];
        // Those left out do not count: the sample is filled up, in its fixed order.
        while tally.compared() < wanted && !rest.is_empty() {
            let (batch, after) = rest.split_at(rest.len().min(wanted - tally.compared()));
            rest = after;
            let verdicts = parallel::map(batch, self.workers, |item| {
                let verdict = self.run_line(item)?;
                if !matches!(verdict, Verdict::LeftOut(_)) {
                    progress.done(&item.name);
                }
                Ok(verdict)
            })?;
            batch.iter().zip(verdicts).for_each(|(item, verdict)| tally.add(&item.name, verdict));
        }
        Ok(tally)
    }

    fn pass_names(&self) -> Result<PassNames> {
        let ask = |arg: &str| -> Result<String> {
            let said = stock::output(Task::new(&self.llvm.opt).arg(arg))?;
            Ok(String::from_utf8_lossy(&said).into_owned())
        };
        Ok(PassNames::parse(&ask("-print-passes")?, &ask("--help-hidden")?))
    }

    fn run_line(&self, item: &Item) -> Result<Verdict> {
        let baseline = if self.llvm.major == TESTS_OF { Baseline::Any } else { Baseline::Succeeding };
        let stdin = item.line.stdin_for(&item.test).map_or(Stdin::Null, Stdin::File);
        let task = Task::new(&self.llvm.opt).args(item.line.args_for(&item.test)).stdin(stdin);
        self.compare(baseline, task, item.line.shows_stderr, item.loading, PATIENCE)
    }

    fn programs(&self) -> Result<Tally> {
        let units = programs::units(&output::complain)?;
        let compiling = Progress::new(units.len());
        let modules = parallel::map(&units, self.workers, |unit| {
            let path = unit.bitcode(&self.llvm)?;
            compiling.done(&unit.name());
            Ok(path)
        })?;
        drop(compiling);
        let mut runs: Vec<(String, Task)> = Vec::new();
        for (unit, module) in units.iter().zip(&modules) {
            for level in LEVELS {
                let pipeline = format!("-passes=default<{level}>");
                let task = Task::new(&self.llvm.opt).arg(pipeline).arg(module).args(["-o", "-"]);
                runs.push((format!("{} {level}", unit.name()), task));
            }
        }
        let progress = Progress::new(runs.len());
        let verdicts = parallel::map(&runs, self.workers, |(name, task)| {
            let verdict =
                self.compare(Baseline::Any, task.clone(), false, Loading::Plugin, PATIENCE_WITH_PROGRAMS)?;
            progress.done(name);
            Ok(verdict)
        })?;
        let mut tally = Tally::default();
        runs.iter().zip(verdicts).for_each(|((name, _), verdict)| tally.add(name, verdict));
        Ok(tally)
    }

    fn compare(
        &self,
        baseline: Baseline,
        task: Task,
        with_stderr: bool,
        loading: Loading,
        patience: Duration,
    ) -> Result<Verdict> {
        let plain = |folder: &Path, before: usize| {
            let task = task.clone().cwd(folder).timeout(patience);
            let task = match before {
                0 => task,
                _ => task.env("GLIBC_TUNABLES", format!("glibc.malloc.tcache_count={before}")),
            };
            Ok(Shown::of(task.env_remove("METALOC_OUT").run()?, with_stderr))
        };
        let observed = |folder: &Path| {
            let task = match loading {
                Loading::Plugin => task.clone().arg(format!("-load-pass-plugin={}", self.plugin.display())),
                Loading::Preload => task.clone().env("LD_PRELOAD", &self.plugin).env("METALOC_PRELOAD", "1"),
            };
            // Slower than without, and the machine may be busy: that is not what is measured here.
            let task = task.cwd(folder).timeout(patience * 10);
            let task = task.env("METALOC_OUT", folder.join("report.json")).env_remove("METALOC");
            let task = task.env("METALOC_AUDIT", "1");
            Ok(Shown::of(task.run()?, with_stderr))
        };
        compare(baseline, plain, observed)
    }
}

/// The plain lines of a test; the others are counted.
fn collect(test: &LlvmTest, names: &PassNames, items: &mut Vec<Item>, tally: &mut Tally) -> Result<()> {
    for (run, class) in test.lines()? {
        let Ok(line) = class else {
            tally.leave_out("are not plain opt lines", 1);
            continue;
        };
        let name = format!("{}:{}", test.name, run.line);
        let mut add = |name, line, loading| items.push(Item { name, test: test.path.clone(), line, loading });
        match names.manager(line.raw_args()) {
            Manager::New => add(name, line, Loading::Plugin),
            Manager::Translated(args) => {
                add(
                    format!("{name} with {}", args.last().map_or("", String::as_str)),
                    line.with_args(args),
                    Loading::Plugin,
                );
                add(name, line, Loading::Preload);
            }
            Manager::Legacy(_) => add(name, line, Loading::Preload),
        }
    }
    Ok(())
}
