//! `metaloc bench prove`: the kernels through `metaloc prove`, each in a process of its own, so that time and
//! memory are those of one function and a crash is one row.
//!
//! - [`table`]: the rows as a table, for people and as JSON; [`saved`]: rows that are kept in a file.

mod saved;
mod table;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use metaloc_corpus::kernels::{self, Compiler, Configuration, Flags, Kernel, Target};
use metaloc_prover::smt::WALL_FACTOR;
use metaloc_toolchain::process::{Outcome, Task};
use metaloc_toolchain::{Llvm, plugin};

use crate::args::{BenchProve, Format, KernelArgs, KernelCompiler, KernelFlags, KernelSet, KernelTarget};
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::find_llvm;
use crate::run::prove::check;
use crate::run::prove::{FunctionResult, Queries, Summary, VerdictName};
use crate::status::Status;
use saved::Saved;
use table::{Asked, Row, Shape, Table};

/// What a function may take beyond its limit before its process is ended: one last question to the solver.
const GRACE: Duration = Duration::from_secs(30);
/// For each obligation that another solver is asked for.
const CONFIRMING: Duration = Duration::from_secs(60);

pub fn run(args: &BenchProve) -> Result<Status> {
    let llvm = find_llvm(&args.kernels.llvm)?;
    let configuration = configuration(&llvm, &args.kernels)?;
    let kernels = wanted_of(args.set, &args.only)?;
    let asked = Asked {
        configuration: configuration.name.clone(),
        limit_seconds: args.limit,
        order: args.order.name(),
    };
    let saved = args.save.as_deref().map(|path| Saved::open(path, &asked.title())).transpose()?;
    let progress = Progress::new(kernels.len());
    let rows = parallel::map(&kernels, parallel::workers(args.kernels.jobs), |kernel| {
        let known = saved.as_ref().and_then(|saved| saved.row(&kernel.label()));
        let row = match known.filter(|row| args.confirm.is_none() || !row.could_be_confirmed()) {
            Some(row) => row,
            None => row(&llvm.major.to_string(), &configuration, kernel, args)?,
        };
        if let Some(saved) = &saved {
            saved.keep(&row)?;
        }
        progress.done(&row.kernel);
        Ok(row)
    })?;
    drop(progress);
    let table = Table::new(asked, rows);
    output::print(&match args.kernels.format {
        Format::Text => table.text(),
        Format::Json => serde_json::to_string_pretty(&table)? + "\n",
    })?;
    let fine = table.count(VerdictName::Proved) >= args.at_least && table.count(VerdictName::Refuted) == 0;
    Ok(if fine && table.unconfirmed() == 0 { Status::Clean } else { Status::Findings })
}

/// The compiler, the flags and the target asked for.
pub(super) fn configuration(llvm: &Llvm, args: &KernelArgs) -> Result<Configuration> {
    let compiler = match args.compiler {
        KernelCompiler::Gcc12 => Compiler::Gcc12,
        KernelCompiler::Clang19 => Compiler::Clang,
    };
    let flags = match args.flags {
        KernelFlags::Paper => Flags::Paper,
        KernelFlags::Default => Flags::Default,
        KernelFlags::Plain => Flags::Plain,
    };
    let target = match args.target {
        KernelTarget::X86_64 => Target::Fixed,
        KernelTarget::X86_64Pie => Target::Pie,
        KernelTarget::I386 => Target::I386,
        KernelTarget::I386Pie => Target::I386Pie,
    };
    Ok(Configuration::new(llvm, compiler, flags, target)?)
}

/// The TSVC kernels of these names; all without a name.
pub(super) fn wanted(only: &[String]) -> Result<Vec<Kernel>> {
    wanted_of(KernelSet::Tsvc, only)
}

/// The kernels of a set that have one of these names; all without a name.
fn wanted_of(set: KernelSet, only: &[String]) -> Result<Vec<Kernel>> {
    let folder = plugin::root()?.join("regress/kernels");
    let mut all = match set {
        KernelSet::Tsvc => kernels::tsvc(&folder)?,
        KernelSet::Floats => kernels::floats(&folder)?,
        KernelSet::Figures => kernels::figures(&folder)?,
        KernelSet::Nests => kernels::nests(&folder)?,
        KernelSet::Steps => kernels::steps(&folder)?,
        KernelSet::Plain => kernels::plain(&folder)?,
    };
    if let Some(name) = only.iter().find(|name| !all.iter().any(|kernel| kernel.name == **name)) {
        bail!("no kernel '{name}'");
    }
    if !only.is_empty() {
        all.retain(|kernel| only.contains(&kernel.name));
        all.sort_by_key(|kernel| only.iter().position(|name| *name == kernel.name));
    }
    Ok(all)
}

fn row(llvm: &str, configuration: &Configuration, kernel: &Kernel, args: &BenchProve) -> Result<Row> {
    let limit = args.limit;
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let object = scratch.path().join(&kernel.name).with_extension("o");
    configuration.compile(&kernel.path, &kernel.defines, "-c", &object)?;
    let proof = scratch.path().join("proof.json");
    let own = std::env::current_exe().context("where is this program?")?;
    let mut task = Task::new(own)
        .arg("prove")
        .arg(object)
        .arg("--source")
        .arg(&kernel.path)
        .args(["--function", &kernel.name, "--llvm", llvm, "--format", "json"])
        .args(["--time", &limit.to_string(), "--order", args.order.name()])
        .arg("-o")
        .arg(&proof)
        .timeout(Duration::from_secs(limit) * WALL_FACTOR + GRACE);
    for flag in configuration.meaning.iter().chain(&kernel.defines) {
        task = task.arg(format!("--flag={flag}"));
    }
    let outcome = task.run()?;
    let result = read(kernel, &outcome, limit)?;
    let (mut product, mut confirmed) = (None, None);
    if result.verdict == VerdictName::Proved {
        let proof = check::read(&proof)?;
        product = Some(Shape::of(&proof));
        if let Some(solver) = args.confirm {
            let mut solver = check::solver(solver, CONFIRMING)?;
            let counts = check::confirm(&proof, &mut solver, args.every.get(), |_| Ok(()))?;
            confirmed = Some(counts);
        }
    }
    let memory_mib = outcome.usage.max_rss_kib / 1024;
    Ok(Row { kernel: kernel.label(), result, product, memory_mib, confirmed, commit: None })
}

/// What a process of `metaloc prove` says, or what its end says.
fn read(kernel: &Kernel, outcome: &Outcome, limit: u64) -> Result<FunctionResult> {
    use metaloc_toolchain::process::Exit;
    let ended = |class: &str, reason: String| FunctionResult {
        name: kernel.name.clone(),
        verdict: VerdictName::Unknown,
        class: Some(class.to_owned()),
        reason: Some(reason),
        seconds: outcome.usage.wall.as_secs_f64(),
        unroll: None,
        obligations: 0,
        queries: Queries { normaliser: 0, solver: 0 },
        counterexamples: 0,
        candidates: 0,
        retries: 0,
    };
    match outcome.exit {
        Exit::Code(0 | 1) => {
            let summary: Summary = serde_json::from_slice(&outcome.stdout)
                .with_context(|| format!("{}: not what `metaloc prove` prints", kernel.name))?;
            let found = summary.functions.into_iter().find(|function| function.name == kernel.name);
            found.with_context(|| format!("{}: not in its own summary", kernel.name))
        }
        Exit::Timeout(_) => Ok(ended("time", format!("still running {} s after its limit", GRACE.as_secs()))),
        exit => bail!("{} within {limit} s: {exit}: {}", kernel.label(), outcome.stderr_text().trim()),
    }
}
