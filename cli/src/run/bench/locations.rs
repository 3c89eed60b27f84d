//! `metaloc bench locations`: what a debugger shows of the kernels' counters, by `tracer::survey`.

use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use metaloc_corpus::kernel_driver;
use metaloc_corpus::kernels::{Configuration, Kernel};
use metaloc_toolchain::Llvm;
use metaloc_tracer::program::{Program, undefined_symbols};
use metaloc_tracer::source_loops::for_loops;
use metaloc_tracer::survey::{Matches, Pair, Shown, also, survey};
use metaloc_tracer::{Debugger, Gdb, Limits, Lldb};
use serde::{Deserialize, Serialize};

use super::prove::{configuration, wanted};
use crate::args::{BenchLocations, DebuggerName, Format};
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::find_llvm;
use crate::status::Status;

/// A debugger on a busy machine: it counts the iterations of a whole run.
const ANSWER: Duration = Duration::from_secs(300);

pub fn run(args: &BenchLocations) -> Result<Status> {
    let llvm = find_llvm(&args.kernels.llvm)?;
    let configuration = configuration(&llvm, &args.kernels)?;
    let debugger: &dyn Debugger = match args.debugger {
        DebuggerName::Gdb => &Gdb,
        DebuggerName::Lldb => &Lldb,
    };
    debugger.find()?;
    let kernels = wanted(&args.only)?;
    let progress = Progress::new(kernels.len());
    let rows = parallel::map(&kernels, parallel::workers(args.kernels.jobs), |kernel| {
        let row = row(&llvm, &configuration, debugger, kernel, args.objects.as_deref())
            .with_context(|| kernel.label())?;
        progress.done(&kernel.name);
        Ok(row)
    })?;
    drop(progress);
    let table = Table::new(configuration.name, debugger.name(), rows);
    output::print(&match args.kernels.format {
        Format::Text => table.text(),
        Format::Json => serde_json::to_string_pretty(&table)? + "\n",
    })?;
    let few = table.share(table.total.true_value) < args.at_least;
    let wrong = args.most_wrong.is_some_and(|most| table.total.wrong > most);
    Ok(if few || wrong { Status::Findings } else { Status::Clean })
}

fn row(
    llvm: &Llvm,
    configuration: &Configuration,
    debugger: &dyn Debugger,
    kernel: &Kernel,
    objects: Option<&Path>,
) -> Result<Row> {
    let begun = Instant::now();
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let object = match objects {
        Some(folder) => folder.join(format!("{}.o", kernel.name)),
        None => {
            let object = scratch.path().join("kernel.o");
            configuration.compile(&kernel.path, &kernel.defines, "-c", &object)?;
            object
        }
    };
    let (start, pairs) = look(llvm, configuration, debugger, kernel, &object, &mut Vec::new())?;
    Ok(Row::new(kernel, start, &pairs, begun.elapsed().as_secs_f64()))
}

/// What a debugger shows of the counters in an object of a kernel, and where its function begins: over
/// as many runs as it takes to come to all addresses, if there are so many. `matches` has, by run, what is known of other
/// objects with the same code.
pub(super) fn look(
    llvm: &Llvm,
    configuration: &Configuration,
    debugger: &dyn Debugger,
    kernel: &Kernel,
    object: &Path,
    matches: &mut Vec<Matches>,
) -> Result<(u64, Vec<Pair>)> {
    matches.resize_with(kernel_driver::runs(kernel).max(1), Matches::default);
    let (first, others) = matches.split_at_mut(1);
    let (start, mut pairs) = look_once(llvm, configuration, debugger, (kernel, 0), object, &mut first[0])?;
    for (run, matches) in (1..).zip(others) {
        if pairs.iter().all(|pair| pair.shown != Shown::Unreached) {
            break;
        }
        let (begins, seen) = look_once(llvm, configuration, debugger, (kernel, run), object, matches)?;
        also(&mut pairs, &seen, |address| address.wrapping_sub(begins).wrapping_add(start));
    }
    Ok((start, pairs))
}

/// The same of one run.
fn look_once(
    llvm: &Llvm,
    configuration: &Configuration,
    debugger: &dyn Debugger,
    (kernel, run): (&Kernel, usize),
    object: &Path,
    matches: &mut Matches,
) -> Result<(u64, Vec<Pair>)> {
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let place = |name: &str| scratch.path().join(name);
    let link = |object: &Path, to: &Path| {
        kernel_driver::link(configuration, (kernel, run), object, scratch.path(), to)
    };
    link(object, &place("optimised"))?;
    kernel_driver::compile_plain(llvm, configuration, kernel, &place("plain.o"))?;
    link(&place("plain.o"), &place("plain"))?;
    let optimised = Program::read(&place("optimised"))?;
    let plain = Program::read(&place("plain"))?;
    // What the kernel names and the program has: functions are not among them.
    let mut globals = undefined_symbols(object)?;
    globals.retain(|name| optimised.globals().contains_key(name));
    let source = std::fs::read_to_string(&kernel.path)
        .with_context(|| format!("cannot read {}", kernel.path.display()))?;
    let loops = for_loops(&source);
    let limits = Limits { answer: ANSWER, ..Limits::default() };
    let pairs = survey(debugger, (&optimised, &plain), &kernel.name, &loops, &globals, limits, matches)?;
    Ok((optimised.function(&kernel.name)?.range.start, pairs))
}

/// Pairs of a counter and an address in an innermost loop, by what is shown.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) pairs: usize,
    #[serde(rename = "true")]
    pub(super) true_value: usize,
    pub(super) wrong: usize,
    pub(super) nothing: usize,
    pub(super) unreached: usize,
    pub(super) unmatched: usize,
}

impl Counts {
    pub(super) fn of(pairs: &[Pair]) -> Counts {
        let mut counts = Counts { pairs: pairs.len(), ..Counts::default() };
        for pair in pairs {
            *match pair.shown {
                Shown::True => &mut counts.true_value,
                Shown::Wrong => &mut counts.wrong,
                Shown::Nothing => &mut counts.nothing,
                Shown::Unreached => &mut counts.unreached,
                Shown::Unmatched => &mut counts.unmatched,
            } += 1;
        }
        counts
    }

    fn add(&mut self, other: Counts) {
        self.pairs += other.pairs;
        self.true_value += other.true_value;
        self.wrong += other.wrong;
        self.nothing += other.nothing;
        self.unreached += other.unreached;
        self.unmatched += other.unmatched;
    }
}

/// One kernel.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    #[serde(flatten)]
    counts: Counts,
    seconds: f64,
    /// Of each loop and counter the first wrong value, for people.
    examples: Vec<String>,
    /// What is not true.
    untrue: Vec<Untrue>,
}

/// A pair that does not show a true value.
#[derive(Debug, Serialize)]
struct Untrue {
    /// From the beginning of the function.
    offset: u64,
    counter: String,
    line: u32,
    shown: &'static str,
}

impl Untrue {
    fn of(pair: &Pair, start: u64) -> Option<Untrue> {
        let shown = match pair.shown {
            Shown::True => return None,
            Shown::Wrong => "wrong",
            Shown::Nothing => "nothing",
            Shown::Unreached => "unreached",
            Shown::Unmatched => "unmatched",
        };
        Some(Untrue { offset: pair.pc - start, counter: pair.counter.clone(), line: pair.line, shown })
    }
}

impl Row {
    fn new(kernel: &Kernel, start: u64, pairs: &[Pair], seconds: f64) -> Row {
        let counts = Counts::of(pairs);
        let mut examples: Vec<(u64, &str, String)> = Vec::new();
        for pair in pairs {
            let new = !examples.iter().any(|known| (known.0, known.1) == (pair.header, &*pair.counter));
            if let (Some((printed, possible)), true) = (&pair.example, new) {
                let (first, last) = (possible.first(), possible.last());
                let (first, last) = (first.copied().unwrap_or_default(), last.copied().unwrap_or_default());
                let text =
                    format!("+{:#x}: {} is {printed}, not in {first}..{last}", pair.pc - start, pair.counter);
                examples.push((pair.header, &pair.counter, text));
            }
        }
        let examples = examples.into_iter().map(|known| known.2).collect();
        let untrue = pairs.iter().filter_map(|pair| Untrue::of(pair, start)).collect();
        Row { name: kernel.name.clone(), counts, seconds, examples, untrue }
    }
}

/// `metaloc.bench-locations/1`.
#[derive(Debug, Serialize)]
struct Table {
    schema: &'static str,
    configuration: String,
    debugger: &'static str,
    total: Counts,
    kernels: Vec<Row>,
}

impl Table {
    fn new(configuration: String, debugger: &'static str, kernels: Vec<Row>) -> Table {
        let mut total = Counts::default();
        kernels.iter().for_each(|row| total.add(row.counts));
        Table { schema: "metaloc.bench-locations/1", configuration, debugger, total, kernels }
    }

    /// Percent of all pairs.
    fn share(&self, count: usize) -> f64 {
        100.0 * count as f64 / self.total.pairs.max(1) as f64
    }

    fn text(&self) -> String {
        let mut text = format!("{}, {}\n\n", self.configuration, self.debugger);
        let _ = writeln!(
            text,
            "{:8} {:>6} {:>6} {:>6} {:>8} {:>9} {:>9} {:>6}",
            "kernel", "pairs", "true", "wrong", "nothing", "unreached", "unmatched", "s"
        );
        for Row { name, counts, seconds, examples, .. } in &self.kernels {
            let Counts { pairs, true_value, wrong, nothing, unreached, unmatched } = counts;
            let example = examples.first().map_or("", String::as_str);
            let _ = writeln!(
                text,
                "{name:8} {pairs:>6} {true_value:>6} {wrong:>6} {nothing:>8} {unreached:>9} {unmatched:>9} \
                 {seconds:>6.1}  {example}"
            );
        }
        let Counts { pairs, true_value, wrong, nothing, unreached, unmatched } = self.total;
        let _ = writeln!(
            text,
            "\n{pairs} pairs: {true_value} true ({:.1}%), {wrong} wrong ({:.1}%), {nothing} nothing ({:.1}%), \
             {unreached} unreached, {unmatched} unmatched",
            self.share(true_value),
            self.share(wrong),
            self.share(nothing),
        );
        text
    }
}
