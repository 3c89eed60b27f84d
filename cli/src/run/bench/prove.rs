//! `metaloc bench prove`: the kernels through `metaloc prove`, each in a process of its own, so that time and
//! memory are those of one function and a crash is one row.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use metaloc_corpus::kernels::{self, Compiler, Configuration, Flags, Kernel, Target};
use metaloc_proof::Proof;
use metaloc_prover::smt::WALL_FACTOR;
use metaloc_toolchain::process::{Outcome, Task};
use metaloc_toolchain::{Llvm, plugin};
use serde::Serialize;

use crate::args::{BenchProve, Format, KernelArgs, KernelCompiler, KernelFlags, KernelTarget};
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::find_llvm;
use crate::run::prove::{FunctionResult, Queries, Summary, VerdictName};
use crate::status::Status;

/// What a function may take beyond its limit before its process is ended: one last question to the solver.
const GRACE: Duration = Duration::from_secs(30);

pub fn run(args: &BenchProve) -> Result<Status> {
    let llvm = find_llvm(&args.kernels.llvm)?;
    let configuration = configuration(&llvm, &args.kernels)?;
    let kernels = wanted(&args.only)?;
    let progress = Progress::new(kernels.len());
    let rows = parallel::map(&kernels, parallel::workers(args.kernels.jobs), |kernel| {
        let row = row(&llvm.major.to_string(), &configuration, kernel, args.limit)?;
        progress.done(&row.result.name);
        Ok(row)
    })?;
    drop(progress);
    let table = Table::new(configuration.name, args.limit, rows);
    output::print(&match args.kernels.format {
        Format::Text => table.text(),
        Format::Json => serde_json::to_string_pretty(&table)? + "\n",
    })?;
    let fine = table.count(VerdictName::Proved) >= args.at_least && table.count(VerdictName::Refuted) == 0;
    Ok(if fine { Status::Clean } else { Status::Findings })
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
    let all = kernels::tsvc(&plugin::root()?.join("regress/kernels"))?;
    if only.is_empty() {
        return Ok(all);
    }
    let find = |name: &String| {
        all.iter().find(|kernel| kernel.name == *name).cloned().with_context(|| format!("no kernel '{name}'"))
    };
    only.iter().map(find).collect()
}

/// One kernel.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    result: FunctionResult,
    /// Nodes and edges of the product, and paths of the source and of the machine in its edges.
    product: Option<Shape>,
    /// Largest resident set of the prover or of its solver.
    memory_mib: u64,
}

#[derive(Debug, Serialize)]
struct Shape {
    nodes: usize,
    edges: usize,
    source_paths: u64,
    machine_paths: u64,
}

fn row(llvm: &str, configuration: &Configuration, kernel: &Kernel, limit: u64) -> Result<Row> {
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
        .args(["--time", &limit.to_string()])
        .arg("-o")
        .arg(&proof)
        .timeout(Duration::from_secs(limit) * WALL_FACTOR + GRACE);
    for flag in configuration.meaning.iter().chain(&kernel.defines) {
        task = task.arg(format!("--flag={flag}"));
    }
    let outcome = task.run()?;
    let result = read(kernel, &outcome, limit)?;
    let product = if result.verdict == VerdictName::Proved { Some(shape(&proof)?) } else { None };
    Ok(Row { result, product, memory_mib: outcome.usage.max_rss_kib / 1024 })
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

/// The product of a proof; reading it checks the document again.
fn shape(path: &Path) -> Result<Shape> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let proof = Proof::from_json(&bytes).with_context(|| path.display().to_string())?;
    let mut shape = Shape { nodes: 0, edges: 0, source_paths: 0, machine_paths: 0 };
    for function in &proof.functions {
        shape.nodes += function.nodes.len();
        shape.edges += function.edges.len();
        for edge in &function.edges {
            shape.source_paths = shape.source_paths.saturating_add(edge.source.paths.count());
            shape.machine_paths = shape.machine_paths.saturating_add(edge.machine.paths.count());
        }
    }
    Ok(shape)
}

/// `metaloc.bench-prove/1`.
#[derive(Debug, Serialize)]
struct Table {
    schema: &'static str,
    configuration: String,
    limit_seconds: u64,
    proved: usize,
    of: usize,
    /// Mean time of the kernels that were proved.
    mean_seconds: f64,
    most_seconds: f64,
    most_memory_mib: u64,
    /// Kernels that were not proved, by class.
    classes: BTreeMap<String, Vec<String>>,
    kernels: Vec<Row>,
}

impl Table {
    fn new(configuration: String, limit_seconds: u64, kernels: Vec<Row>) -> Table {
        let proved: Vec<f64> = kernels
            .iter()
            .filter(|row| row.result.verdict == VerdictName::Proved)
            .map(|row| row.result.seconds)
            .collect();
        let mut classes = BTreeMap::<String, Vec<String>>::new();
        for row in kernels.iter().filter(|row| row.result.verdict != VerdictName::Proved) {
            classes.entry(class(&row.result).to_owned()).or_default().push(row.result.name.clone());
        }
        Table {
            schema: "metaloc.bench-prove/1",
            configuration,
            limit_seconds,
            proved: proved.len(),
            of: kernels.len(),
            mean_seconds: proved.iter().sum::<f64>() / proved.len().max(1) as f64,
            most_seconds: proved.iter().copied().fold(0.0, f64::max),
            most_memory_mib: kernels.iter().map(|row| row.memory_mib).max().unwrap_or(0),
            classes,
            kernels,
        }
    }

    fn count(&self, verdict: VerdictName) -> usize {
        self.kernels.iter().filter(|row| row.result.verdict == verdict).count()
    }

    fn text(&self) -> String {
        let mut text = format!("{}, {} s for each function\n\n", self.configuration, self.limit_seconds);
        let _ = writeln!(
            text,
            "{:8} {:11} {:11} {:>6} {:>5} {:>7} {:>6} {:>6} {:>5} {:>5} {:>6} {:>5} {:>5} {:>5}",
            "kernel",
            "verdict",
            "class",
            "s",
            "MiB",
            "obligs",
            "rewr",
            "solver",
            "unr",
            "nodes",
            "edges",
            "cand",
            "wrong",
            "cex"
        );
        for row in &self.kernels {
            let result = &row.result;
            let unroll = result.unroll.map_or("-".to_owned(), |unroll| unroll.to_string());
            let (nodes, edges) = row.product.as_ref().map_or(("-".to_owned(), "-".to_owned()), |shape| {
                (shape.nodes.to_string(), shape.edges.to_string())
            });
            let class = if result.verdict == VerdictName::Proved { "" } else { class(result) };
            let _ = writeln!(
                text,
                "{:8} {:11} {:11} {:>6.1} {:>5} {:>7} {:>6} {:>6} {:>5} {:>5} {:>6} {:>5} {:>5} {:>5}",
                result.name,
                result.verdict.text(),
                class,
                result.seconds,
                row.memory_mib,
                result.obligations,
                result.queries.normaliser,
                result.queries.solver,
                unroll,
                nodes,
                edges,
                result.candidates,
                result.retries,
                result.counterexamples,
            );
        }
        let _ = writeln!(
            text,
            "\n{} of {} proved, mean {:.1} s, most {:.1} s, {} MiB at most",
            self.proved, self.of, self.mean_seconds, self.most_seconds, self.most_memory_mib
        );
        for (class, names) in &self.classes {
            let _ = writeln!(text, "{class}: {} ({})", names.len(), names.join(" "));
        }
        text
    }
}

fn class(result: &FunctionResult) -> &str {
    match (&result.class, result.verdict) {
        (Some(class), _) => class,
        (None, verdict) => verdict.text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, verdict: VerdictName, class: Option<&str>, seconds: f64) -> Row {
        let result = FunctionResult {
            name: name.to_owned(),
            verdict,
            class: class.map(str::to_owned),
            reason: None,
            seconds,
            unroll: Some(4),
            obligations: 7,
            queries: Queries { normaliser: 5, solver: 2 },
            counterexamples: 0,
            candidates: 3,
            retries: 1,
        };
        Row { result, product: None, memory_mib: 12 }
    }

    #[test]
    fn the_mean_is_that_of_proofs_and_failures_are_counted_by_class() {
        let table = Table::new(
            "x".into(),
            60,
            vec![
                row("one", VerdictName::Proved, None, 2.0),
                row("two", VerdictName::Proved, None, 4.0),
                row("slow", VerdictName::Unknown, Some("time"), 60.0),
                row("odd", VerdictName::Unsupported, None, 0.1),
            ],
        );
        assert_eq!((table.proved, table.of, table.mean_seconds, table.most_seconds), (2, 4, 3.0, 4.0));
        assert_eq!(table.classes.keys().collect::<Vec<_>>(), ["time", "unsupported"]);
        assert!(table.text().contains("2 of 4 proved, mean 3.0 s"), "{}", table.text());
    }
}
