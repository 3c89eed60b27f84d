//! `metaloc bench mutants`: updates of locations left out of passes, or confused, and whether a report notices.
//!
//! What is measured is LLVM's own updates, hundreds of them, that nobody chose for us. A file is compiled once
//! with all its mutants in it ([`metaloc_source::mutants`]); [`trial`] runs them; [`saved`] keeps what came of them.

mod saved;
mod trial;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_corpus::own_tests::{self, OwnLine};
use metaloc_corpus::{llvm_tests, regress};
use metaloc_report::Operation;
use metaloc_source::mutants::{Mutant, Mutated, PRELUDE};
use metaloc_source::statement::SourceFile;
use metaloc_toolchain::plugin;
use serde::Serialize;

use self::saved::Saved;
use self::trial::{Outcome, Report, Trials};
use crate::args::{BenchMutants, Format};
use crate::lines::{self, Lines};
use crate::observe::Observer;
use crate::output;
use crate::own;
use crate::parallel;
use crate::run::{find_llvm, find_plugin};
use crate::status::Status;

/// Which RUN lines are in a sample. Any number would do; this one stays.
const SEED: u64 = 1;

pub fn run(args: &BenchMutants) -> Result<Status> {
    let llvm = find_llvm(&args.llvm)?;
    let plugin = find_plugin(&llvm)?;
    let lines = Lines::open(&llvm, &plugin, &args.llvm_source)?;
    let files = match args.all {
        true => lines.files()?.into_iter().filter(|file| is_wanted(file)).collect(),
        false => lines.named(&args.files, &args.passes)?,
    };
    let (tests, _) = own::lines(&llvm, &llvm_tests::all(&lines::tests(&llvm, &args.llvm_source)?)?)?;
    let inputs = regress::inputs(&plugin::root()?.join("regress/passes"))?;
    let tests = Tests { llvm: tests, own: own_tests::own_lines(&inputs, llvm.major) };
    let observer =
        Observer { llvm: llvm.clone(), plugin: plugin.clone(), swapped: Default::default(), keep: None };
    let mut result =
        BenchResult { schema: "metaloc.mutants/1", llvm: llvm.version.clone(), files: Vec::new() };
    let title = format!("LLVM {}, {} RUN lines, {} for a mutant", llvm.version, args.sample, args.lines);
    let mut saved = args.save.as_deref().map(|path| Saved::open(path, &title)).transpose()?;
    for file in &files {
        let of_file = mutants_of(args, &observer, &lines, file, &tests, saved.as_mut())?;
        if let (Some(of_file), Format::Text) = (&of_file, args.format) {
            output::print(&of_file.text())?;
        }
        result.files.extend(of_file);
    }
    let total = result.count(|_| true);
    output::print(&match args.format {
        Format::Text => result.text(),
        Format::Json => serde_json::to_string_pretty(&result)? + "\n",
    })?;
    if total == 0 {
        bail!("no statement in these files sets a location");
    }
    let found = result.count(|row| matches!(row.outcome, Outcome::Found(_)));
    Ok(if found < args.at_least { Status::Findings } else { Status::Clean })
}

/// What mutants are run on.
struct Tests {
    /// RUN lines of LLVM's tests, of which a sample is run.
    llvm: Vec<OwnLine>,
    /// The inputs of our own, all of which are.
    own: Vec<OwnLine>,
}

fn is_wanted(file: &Path) -> bool {
    let folder = file.parent().and_then(Path::file_name);
    let transforms = file.components().any(|part| part.as_os_str() == "Transforms");
    transforms && folder.is_some_and(|folder| folder == "Scalar" || folder == "Utils")
}

/// `None` for a file that sets no location.
fn mutants_of(
    args: &BenchMutants,
    observer: &Observer,
    lines: &Lines<'_>,
    file: &Path,
    tests: &Tests,
    saved: Option<&mut Saved>,
) -> Result<Option<OfFile>> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let parsed = SourceFile::parse(text).context("the parser of C++ cannot be had")?;
    let Mutated { text, mutants } = parsed.mutated();
    if mutants.is_empty() {
        return Ok(None);
    }
    let name = format!("{}.cpp", lines::stem(file));
    let outcomes = match saved.as_ref().and_then(|saved| saved.outcomes(&name, &mutants)) {
        Some(known) => known,
        None => {
            let measured = measured(args, observer, lines, file, tests, &text, &mutants)?;
            if let Some(saved) = saved {
                saved.keep(&name, &mutants, &measured)?;
            }
            measured
        }
    };
    let rows = mutants.iter().zip(outcomes).map(|(mutant, outcome)| Row::new(mutant, outcome)).collect();
    Ok(Some(OfFile { file: name, mutants: rows }))
}

/// What comes of each mutant of a file, whose text has them all.
fn measured(
    args: &BenchMutants,
    observer: &Observer,
    lines: &Lines<'_>,
    file: &Path,
    tests: &Tests,
    text: &str,
    mutants: &[Mutant],
) -> Result<Vec<Outcome>> {
    let name = lines::stem(file);
    let library: PathBuf = match lines.library_of_text(file, text, PRELUDE)? {
        Ok(library) => library,
        Err(refusal) => {
            output::complain(&format!("no mutants of {name}: {refusal}"));
            return Ok(vec![Outcome::NotRun { reason: refusal.to_string() }; mutants.len()]);
        }
    };
    let workers = parallel::workers(args.jobs);
    let all = own::lines_for(&tests.llvm, &name);
    // A helper is used by passes in many folders: half of the lines are spread over all of them, to see which.
    let is_helper = own::passes_of(&name).is_empty();
    let chosen = spread(all.clone(), if is_helper { args.sample / 2 } else { args.sample });
    let mut trials = Trials::new(observer, &library)?;
    let reaching = trials.add(&chosen, workers)?;
    trials.add(&own::lines_for(&tests.own, &name), workers)?;
    if is_helper {
        let folders: BTreeSet<String> = reaching.iter().map(|line| folder(line)).collect();
        let known: BTreeSet<&str> = chosen.iter().map(|line| line.name.as_str()).collect();
        let near = |line: &&OwnLine| folders.contains(&folder(line)) && !known.contains(line.name.as_str());
        let more =
            spread(all.into_iter().filter(near).collect(), args.sample - chosen.len().min(args.sample));
        trials.add(&more, workers)?;
    }
    trials.all(mutants, args.lines, workers)
}

/// The same lines each time, as many of each folder as of any other.
fn spread(lines: Vec<&OwnLine>, count: usize) -> Vec<&OwnLine> {
    llvm_tests::spread(lines, |line| &line.name, |line| folder(line), SEED, count)
}

fn folder(line: &OwnLine) -> String {
    line.name.split('/').next().unwrap_or_default().to_owned()
}

#[derive(Debug, Serialize)]
struct BenchResult {
    schema: &'static str,
    llvm: String,
    files: Vec<OfFile>,
}

#[derive(Debug, Serialize)]
struct OfFile {
    file: String,
    mutants: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    line: u32,
    column: u32,
    function: Option<String>,
    statement: String,
    operation: Operation,
    change: &'static str,
    #[serde(flatten)]
    outcome: Outcome,
}

impl Row {
    fn new(mutant: &Mutant, outcome: Outcome) -> Row {
        Row {
            line: mutant.line,
            column: mutant.column,
            function: mutant.function.clone(),
            statement: mutant.text.clone(),
            operation: mutant.operation,
            change: mutant.change.name(),
            outcome,
        }
    }
}

impl BenchResult {
    fn count(&self, which: impl Fn(&Row) -> bool) -> usize {
        self.files.iter().flat_map(|file| &file.mutants).filter(|row| which(row)).count()
    }

    fn text(&self) -> String {
        let figures = Figures::of(self.files.iter().flat_map(|file| &file.mutants));
        let mut text = format!("LLVM {}, {} files: {}\n", self.llvm, self.files.len(), figures.text());
        if figures.shown > 0 {
            let share = |count: usize| 100.0 * count as f64 / figures.shown as f64;
            let (errors, both) = (share(figures.found), share(figures.found + figures.noted));
            let _ = writeln!(
                text,
                "of those shown, {errors:.1}% are reported as errors, {both:.1}% as errors or notes"
            );
        }
        text
    }
}

impl OfFile {
    fn text(&self) -> String {
        let mut text = format!("{}: {}\n", self.file, Figures::of(&self.mutants).text());
        for row in &self.mutants {
            let word = match &row.outcome {
                Outcome::Found(report) if report.elsewhere.is_empty() => continue,
                outcome => outcome.word(),
            };
            let _ = writeln!(
                text,
                "  {word:<10}  line {} {} {}: {}\n              {}",
                row.line,
                row.change,
                row.operation.name(),
                row.outcome.detail(),
                row.statement
            );
        }
        text
    }
}

/// Numbers of mutants.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    total: usize,
    reached: usize,
    shown: usize,
    noted: usize,
    found: usize,
    elsewhere: usize,
}

impl Figures {
    fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Figures {
        let mut figures = Figures::default();
        for row in rows {
            figures.total += 1;
            let report: Option<&Report> = match &row.outcome {
                Outcome::NotRun { .. } | Outcome::Unreached => continue,
                Outcome::Equivalent { .. } => None,
                Outcome::Missed(report) | Outcome::Noted(report) | Outcome::Found(report) => Some(report),
            };
            figures.reached += 1;
            figures.shown += usize::from(report.is_some());
            figures.noted += usize::from(matches!(row.outcome, Outcome::Noted(_)));
            figures.found += usize::from(matches!(row.outcome, Outcome::Found(_)));
            figures.elsewhere += usize::from(report.is_some_and(|report| !report.elsewhere.is_empty()));
        }
        figures
    }

    fn text(&self) -> String {
        let Figures { total, reached, shown, noted, found, elsewhere } = self;
        let noted = match noted {
            0 => String::new(),
            count => format!(" and {count} as a note only"),
        };
        let elsewhere = match elsewhere {
            0 => String::new(),
            count => format!(", {count} with a new report elsewhere"),
        };
        format!("{found} found{noted} of {shown} shown of {reached} reached of {total} mutants{elsewhere}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: Outcome) -> Row {
        let mutant = Mutant {
            number: 1,
            line: 7,
            column: 3,
            function: None,
            text: "I->dropLocation();".to_owned(),
            operation: Operation::Drop,
            change: metaloc_source::mutants::Change::Delete,
        };
        Row::new(&mutant, outcome)
    }

    #[test]
    fn what_is_missed_and_what_is_equivalent_is_listed() {
        let report = |input: &str, said: &str, elsewhere: Vec<String>| Report {
            input: input.to_owned(),
            said: said.to_owned(),
            elsewhere,
        };
        let rows = vec![
            row(Outcome::Found(report("a.ll:1", "e", Vec::new()))),
            row(Outcome::Equivalent { lines: 4 }),
            row(Outcome::Unreached),
            row(Outcome::Noted(report("c.ll:1", "n", Vec::new()))),
            row(Outcome::Missed(report("b.ll:2", "not reported", vec!["x".to_owned()]))),
        ];
        let file = OfFile { file: "A.cpp".into(), mutants: rows };
        let text = file.text();
        let first = "A.cpp: 1 found and 1 as a note only of 3 shown of 4 reached of 5 mutants, 1 with a new report elsewhere\n";
        assert!(text.starts_with(first), "{text}");
        assert!(text.contains("equivalent  line 7 delete drop: on 4 RUN lines"), "{text}");
        assert!(
            text.contains("missed      line 7 delete drop: not reported (b.ll:2); elsewhere: x"),
            "{text}"
        );
        assert!(text.contains("noted       line 7 delete drop: n (c.ll:1)"), "{text}");
        assert!(text.contains("unreached   line 7"), "{text}");
        assert!(!text.contains("found       line"), "{text}");
        let all = BenchResult { schema: "s", llvm: "19".into(), files: vec![file] };
        let last = "of those shown, 33.3% are reported as errors, 66.7% as errors or notes\n";
        assert!(all.text().ends_with(last), "{}", all.text());
    }
}
