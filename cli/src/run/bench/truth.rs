//! `metaloc bench truth`: the known errors, how many of them show, and how many of those are found.
//!
//! Whether an error shows is decided without the plugin, by the location that the stock `opt` leaves on the
//! destination. What is reported about a destination whose location is right is counted apart: it is noise. Also
//! apart are errors that are reported with the operation by which their record has been corrected since.
//! Without `--llvm` three versions are put side by side ([`table`]).

mod table;

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use metaloc_corpus::regress::{self, RegressInput};
use metaloc_corpus::truth::{self, Origin, TruthCase, TruthRecord};
use metaloc_corpus::{Error, ir_text, llvm_tests, stock};
use metaloc_report::Document;
use metaloc_source::annotate::Annotator;
use metaloc_toolchain::llvm::Which;
use metaloc_toolchain::process::{Stdin, Task};
use metaloc_toolchain::{Llvm, plugin};
use serde::Serialize;

use super::reading::Reading;
use crate::args::{BenchTruth, Format, TruthInputs};
use crate::lines::{Lines, LlvmSource};
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::find_plugin;
use crate::status::Status;

/// The versions that show most of the errors, and the one that has mended them.
const SIDE_BY_SIDE: [u32; 3] = [14, 16, 19];

pub fn run(args: &BenchTruth) -> Result<Status> {
    let Some(which) = &args.which else {
        let mut results = Vec::new();
        for major in SIDE_BY_SIDE {
            results.push(measure(args, Llvm::find(&Which::Number(major), None)?)?);
        }
        output::print(&match args.format {
            Format::Text => table::text(&results),
            Format::Json => serde_json::to_string_pretty(&results)? + "\n",
        })?;
        return Ok(Status::Clean);
    };
    let result = measure(args, Llvm::find(which, args.llvm_config.as_deref())?)?;
    output::print(&match args.format {
        Format::Text => result.text(),
        Format::Json => serde_json::to_string_pretty(&result)? + "\n",
    })?;
    let too_few = result.found < args.at_least
        || result.right_line.unwrap_or(0) < args.lines_at_least
        || result.right_variables.unwrap_or(0) < args.variables_at_least;
    Ok(if too_few { Status::Findings } else { Status::Clean })
}

fn measure(args: &BenchTruth, llvm: Llvm) -> Result<BenchResult> {
    let regress = plugin::root()?.join("regress");
    let records = truth::records(&regress.join("llvm-truth.json"))?;
    let own = match args.inputs {
        TruthInputs::Upstream => Vec::new(),
        TruthInputs::Own | TruthInputs::All => regress::inputs(&regress.join("passes"))?,
    };
    let upstream = match (&args.source, args.inputs) {
        (_, TruthInputs::Own) => None,
        (Some(source), _) => Some(source.clone()),
        (None, _) => Some(llvm_tests::source(&output::complain)?),
    };
    let mut bench = Bench { plugin: find_plugin(&llvm)?, llvm, own, upstream, swapped: HashMap::new() };
    if let Some(source) = &args.llvm_source {
        bench.swapped = bench.swap(source, &records)?;
    }
    let progress = Progress::new(records.len());
    let rows = parallel::map(&records, parallel::workers(None), |record| {
        let row = bench.row(record)?;
        progress.done(&record.id);
        Ok(row)
    })?;
    drop(progress);
    Ok(BenchResult::new(&bench.llvm.version, settle(rows)))
}

struct Bench {
    llvm: Llvm,
    plugin: PathBuf,
    own: Vec<RegressInput>,
    upstream: Option<PathBuf>,
    /// Recompiled passes by the name of their source file.
    swapped: HashMap<String, PathBuf>,
}

#[derive(Debug, Serialize)]
struct BenchResult {
    schema: &'static str,
    llvm: String,
    /// Records with an input whose destination has another location than where the error is fixed.
    visible: usize,
    /// Those of them that a report finds on such an input.
    found: usize,
    /// Visible ones that are reported, but as they have been corrected since.
    corrected: usize,
    /// Records reported on an input whose destination is right.
    noise: usize,
    /// Found ones whose line is the one in the table, or is not in it; only with the source of LLVM.
    right_line: Option<usize>,
    /// Those of them whose variables are right, too.
    right_variables: Option<usize>,
    records: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    id: String,
    pass: String,
    operation: String,
    /// The operation by which the record has been corrected since, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    corrected: Option<String>,
    /// The same for records that are one error.
    #[serde(skip)]
    site: String,
    cases: Vec<Case>,
}

/// A record on one input.
#[derive(Debug, Serialize)]
struct Case {
    input: String,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Ran {
        location: String,
        visible: bool,
        found: bool,
        /// Not found, but reported as it was corrected since.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        corrected: bool,
        /// What the report says of the source; only with the source of LLVM.
        #[serde(skip_serializing_if = "Option::is_none")]
        reading: Option<Reading>,
        /// Errors in the report that may be this one: see [`settle`].
        #[serde(skip)]
        matches: Vec<Match>,
    },
    NotRun {
        problem: String,
    },
}

/// An error in a report that may be the known one.
#[derive(Debug)]
struct Match {
    id: String,
    /// It asks for what has been asked for since.
    corrected: bool,
    reading: Option<Reading>,
}

impl Bench {
    /// Compiles the source files of all records; what cannot be swapped is said.
    fn swap(&self, source: &LlvmSource, records: &[TruthRecord]) -> Result<HashMap<String, PathBuf>> {
        let lines = Lines::open(&self.llvm, &self.plugin, source)?;
        let mut stems: Vec<&str> = records.iter().map(TruthRecord::source_stem).collect();
        stems.sort_unstable();
        stems.dedup();
        let libraries = parallel::map(&stems, parallel::workers(None), |stem| {
            let Some(file) = lines.file(stem)? else { return Ok(Err(format!("{stem}.cpp is not there"))) };
            Ok(lines.library(&file)?.map_err(|refusal| refusal.to_string()))
        })?;
        let mut swapped = HashMap::new();
        for (stem, library) in stems.into_iter().zip(libraries) {
            match library {
                Ok(library) => drop(swapped.insert(stem.to_owned(), library)),
                Err(reason) => output::complain(&format!("no lines for {stem}: {reason}")),
            }
        }
        Ok(swapped)
    }

    fn row(&self, record: &TruthRecord) -> Result<Row> {
        let mut cases = Vec::new();
        for case in record.own_cases(&self.own, &self.llvm)? {
            cases.push(self.case(&case)?);
        }
        if let Some(source) = &self.upstream {
            match record.upstream_case(source, &self.llvm) {
                Ok(case) => cases.push(self.case(&case)?),
                Err(Error::Unadaptable { path, reason, .. }) => {
                    cases.push(Case { input: short(&path), outcome: Outcome::NotRun { problem: reason } });
                }
                Err(error) => return Err(error.into()),
            }
        }
        let pass = record.bare_pass().to_owned();
        let operation = record.operation.to_lowercase();
        let corrected = record.corrected.as_ref();
        let corrected =
            corrected.map(|c| format!("reported, as {}: {}", c.operation.to_lowercase(), c.because));
        let (id, site) = (record.id.clone(), format!("{:?}", record.site()));
        Ok(Row { id, pass, operation, corrected, site, cases })
    }

    fn case(&self, case: &TruthCase) -> Result<Case> {
        let (Origin::Own(path) | Origin::Upstream(path)) = &case.origin;
        let outcome = match self.outcome(case)? {
            Ok(outcome) => outcome,
            Err(problem) => Outcome::NotRun { problem },
        };
        Ok(Case { input: short(path), outcome })
    }

    /// An `Err` inside is trouble with this case alone.
    fn outcome(&self, case: &TruthCase) -> Result<std::result::Result<Outcome, String>> {
        let task = Task::new(&self.llvm.opt).args(&case.opt_args).stdin(Stdin::Bytes(case.input.clone()));
        let ir = match stock::output(task.clone().arg("-S").env("METALOC", "off")) {
            Ok(ir) => ir,
            Err(metaloc_toolchain::Error::Failed { exit, .. }) => return Ok(Err(format!("opt: {exit}"))),
            Err(error) => return Err(error.into()),
        };
        let Some(destination) = ir_text::destination(&String::from_utf8_lossy(&ir), &case.probe) else {
            return Ok(Err("the destination is not there".into()));
        };
        let library = self.swapped.get(case.record.source_stem());
        let Some(mut report) = self.report(task, library)? else {
            return Ok(Err("the plugin left no report".into()));
        };
        let surroundings = Annotator::default().annotate(&mut report)?;
        let mut matches = Vec::new();
        let of_record = case.matches(&report, &destination).into_iter().map(|id| (id, false));
        let since = case.corrected_matches(&report, &destination).into_iter().map(|id| (id, true));
        for (id, corrected) in of_record.chain(since) {
            let error = report.errors.iter().find(|error| error.id == id);
            let reading = match (surroundings.get(&id), error) {
                (Some(around), Some(error)) => {
                    Some(Reading::new(&case.record, self.llvm.major, error, around))
                }
                _ => None,
            };
            matches.push(Match { id, corrected, reading });
        }
        Ok(Ok(Outcome::Ran {
            location: destination.location.to_string(),
            visible: case.is_visible(&destination),
            found: false,
            corrected: false,
            reading: None,
            matches,
        }))
    }

    fn report(&self, task: Task, library: Option<&PathBuf>) -> Result<Option<Document>> {
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        let written = scratch.path().join("report.json");
        let task = task.arg(format!("-load-pass-plugin={}", self.plugin.display())).arg("-disable-output");
        let task = task.env("METALOC_OUT", &written).env_remove("METALOC");
        let task = match library {
            Some(library) => task.env("METALOC_SWAP", library),
            None => task.env_remove("METALOC_SWAP"),
        };
        task.run()?;
        match fs::read_to_string(&written) {
            Ok(text) => Ok(Some(Document::from_json(&text).context("the plugin's report")?)),
            Err(_) => Ok(None),
        }
    }
}

/// Says for each case whether it was found. On one input an error of the report counts for one known error
/// only: those with the fewest candidates choose first.
fn settle(mut rows: Vec<Row>) -> Vec<Row> {
    let mut taken: HashMap<(String, String), String> = HashMap::new();
    let mut cases: Vec<(&str, &mut Case)> =
        rows.iter_mut().flat_map(|row| row.cases.iter_mut().map(|case| (row.site.as_str(), case))).collect();
    cases.sort_by_key(|(_, case)| case.matches().len());
    for (site, case) in cases {
        let Case { input, outcome: Outcome::Ran { found, corrected, matches, reading, .. } } = case else {
            continue;
        };
        // The line tells two errors with alike destinations apart.
        let is_elsewhere = |m: &Match| m.reading.as_ref().is_some_and(|reading| reading.line_wrong.is_some());
        matches.sort_by_key(|m| (m.corrected, is_elsewhere(m)));
        let free =
            |m: &&Match| taken.get(&(input.clone(), m.id.clone())).is_none_or(|other| other.as_str() == site);
        if let Some(m) = matches.iter().find(free) {
            taken.insert((input.clone(), m.id.clone()), site.to_owned());
            (*found, *corrected) = (!m.corrected, m.corrected);
            *reading = m.reading.clone();
        }
    }
    rows
}

impl Case {
    fn matches(&self) -> &[Match] {
        match &self.outcome {
            Outcome::Ran { matches, .. } => matches,
            Outcome::NotRun { .. } => &[],
        }
    }
}

/// The last two parts of a path: enough to find it.
fn short(path: &Path) -> String {
    let mut parts: Vec<_> = path.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    parts.reverse();
    parts.join("/")
}

impl Row {
    fn ran(&self) -> impl Iterator<Item = (bool, bool)> {
        self.cases.iter().filter_map(|case| match case.outcome {
            Outcome::Ran { visible, found, .. } => Some((visible, found)),
            Outcome::NotRun { .. } => None,
        })
    }

    fn is_visible(&self) -> bool {
        self.ran().any(|(visible, _)| visible)
    }

    fn is_found(&self) -> bool {
        self.ran().any(|(visible, found)| visible && found)
    }

    fn is_noise(&self) -> bool {
        self.ran().any(|(visible, found)| !visible && found)
    }

    fn is_corrected(&self) -> bool {
        let ran = self
            .cases
            .iter()
            .any(|case| matches!(case.outcome, Outcome::Ran { visible: true, corrected: true, .. }));
        ran && !self.is_found()
    }

    /// The best that was read of the error on an input that shows it.
    fn reading(&self) -> Option<&Reading> {
        let readings = self.cases.iter().filter_map(|case| match &case.outcome {
            Outcome::Ran { visible: true, found: true, reading, .. } => reading.as_ref(),
            _ => None,
        });
        readings.min_by_key(|reading| (reading.line_wrong.is_some(), reading.variables_wrong.is_some()))
    }

    /// Says what is reported in place of the record's operation, if that is so.
    fn why_corrected(&self) -> Option<&str> {
        self.corrected.as_deref().filter(|_| self.is_corrected())
    }

    fn verdict(&self) -> &'static str {
        match (self.is_found(), self.is_visible(), self.is_noise()) {
            (true, _, _) => "found",
            _ if self.is_corrected() => "corrected",
            (_, true, _) => "missed",
            (_, _, true) => "noise",
            _ if self.ran().next().is_none() => "not run",
            _ => "right",
        }
    }
}

impl BenchResult {
    fn new(version: &str, records: Vec<Row>) -> BenchResult {
        let count = |is: fn(&Row) -> bool| records.iter().filter(|row| is(row)).count();
        let read = records.iter().any(|row| row.reading().is_some());
        let right = |is: fn(&Reading) -> bool| {
            read.then(|| records.iter().filter_map(Row::reading).filter(|r| is(r)).count())
        };
        BenchResult {
            right_line: right(|reading| reading.line_wrong.is_none()),
            right_variables: right(Reading::is_right),
            schema: "metaloc.bench-truth/1",
            llvm: version.to_owned(),
            visible: count(Row::is_visible),
            found: count(Row::is_found),
            corrected: count(Row::is_corrected),
            noise: count(Row::is_noise),
            records,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.records {
            let _ = writeln!(text, "{:8} {:20} {:9} {}", row.verdict(), row.id, row.operation, row.pass);
            if let Some(reading) = row.reading() {
                let skeleton = reading.skeleton.as_deref().unwrap_or("no skeleton");
                let line = reading.line.map_or("?".to_owned(), |line| line.to_string());
                let _ = writeln!(text, "           {line}: {skeleton}");
                for wrong in reading.line_wrong.iter().chain(&reading.variables_wrong) {
                    let _ = writeln!(text, "           wrong: {wrong}");
                }
            }
            if let Some(why) = row.why_corrected() {
                let _ = writeln!(text, "           {why}");
            }
            // Where all is well the inputs are of no interest.
            let is_well = ["found", "right", "corrected"].contains(&row.verdict());
            for case in row.cases.iter().filter(|_| !is_well) {
                let _ = match &case.outcome {
                    Outcome::Ran { location, visible, found, .. } => {
                        let shows = if *visible { "shows" } else { "does not show" };
                        let said = if *found { ", reported" } else { "" };
                        writeln!(text, "           {}: {location}, {shows}{said}", case.input)
                    }
                    Outcome::NotRun { problem } => writeln!(text, "           {}: {problem}", case.input),
                };
            }
        }
        text + &self.sum()
    }

    fn sum(&self) -> String {
        let BenchResult { llvm, found, visible, corrected, noise, records, .. } = self;
        let of = records.len();
        let since = if *corrected > 0 { format!(", {corrected} as corrected since") } else { String::new() };
        let mut text = format!(
            "LLVM {llvm}: {found} found of {visible} visible{since}, {noise} reported where right, {of} records\n"
        );
        if let (Some(lines), Some(variables)) = (self.right_line, self.right_variables) {
            let _ = writeln!(
                text,
                "  of those found, {lines} with the right line, {variables} of them with the right variables"
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cases: &[Option<(bool, bool)>]) -> Row {
        let cases = cases.iter().map(|case| Case {
            input: "x.ll".into(),
            outcome: match *case {
                Some((visible, found)) => {
                    let (location, matches) = ("-".into(), Vec::new());
                    Outcome::Ran { location, visible, found, corrected: false, reading: None, matches }
                }
                None => Outcome::NotRun { problem: "no".into() },
            },
        });
        of_cases("s", cases.collect())
    }

    fn of_cases(site: &str, cases: Vec<Case>) -> Row {
        let (id, site, operation) = (site.into(), site.into(), "drop".into());
        Row { id, pass: "p".into(), operation, corrected: None, site, cases }
    }

    #[test]
    fn one_input_is_enough_to_be_found_but_only_one_that_shows_the_error() {
        assert_eq!(row(&[Some((true, false)), Some((true, true))]).verdict(), "found");
        assert_eq!(row(&[Some((true, false)), None]).verdict(), "missed");
        assert_eq!(row(&[Some((true, false)), Some((false, true))]).verdict(), "missed");
        assert_eq!(row(&[Some((false, true))]).verdict(), "noise");
        assert_eq!(row(&[Some((false, false))]).verdict(), "right");
        assert_eq!(row(&[None]).verdict(), "not run");
    }

    #[test]
    fn one_reported_error_is_one_known_error() {
        let row = |site: &str, matches: &[&str]| {
            let one = |id: &&str| {
                let corrected = id.starts_with('c');
                Match { id: (*id).to_owned(), corrected, reading: None }
            };
            let (location, matches) = ("-".into(), matches.iter().map(one).collect());
            let (visible, found, corrected) = (true, false, false);
            let outcome = Outcome::Ran { location, visible, found, corrected, reading: None, matches };
            of_cases(site, vec![Case { input: "x.ll".into(), outcome }])
        };
        let verdicts = |rows| settle(rows).iter().map(Row::verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(vec![row("a", &["1"]), row("b", &["1"])]), ["found", "missed"]);
        assert_eq!(verdicts(vec![row("a", &["1", "2"]), row("b", &["1"])]), ["found", "found"]);
        assert_eq!(verdicts(vec![row("a", &["1"]), row("a", &["1"])]), ["found", "found"]);
        assert_eq!(verdicts(vec![row("a", &[])]), ["missed"]);
        assert_eq!(verdicts(vec![row("a", &["c1"])]), ["corrected"]);
        assert_eq!(verdicts(vec![row("a", &["c1", "1"])]), ["found"], "what the record says counts first");
        assert_eq!(verdicts(vec![row("a", &["c1"]), row("b", &["c1"])]), ["corrected", "missed"]);
    }

    #[test]
    fn the_sum_counts_records_and_not_inputs() {
        let rows = vec![
            row(&[Some((true, true)), Some((true, true))]),
            row(&[Some((true, false))]),
            row(&[Some((false, true))]),
        ];
        let rows = settle(rows);
        let result = BenchResult::new("16.0.6", rows);
        assert_eq!((result.visible, result.found, result.noise), (2, 1, 1));
        let last = result.text().lines().last().unwrap().to_owned();
        assert_eq!(last, "LLVM 16.0.6: 1 found of 2 visible, 1 reported where right, 3 records");
    }
}
