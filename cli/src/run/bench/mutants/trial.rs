//! The mutants of one file on RUN lines.
//!
//! Every line is run once as it is, which says which mutants it comes by and what it prints. A mutant is tried on
//! the lines that come by it. Only where it prints something else is it observed, and its report compared with
//! that of the file as it is: what is new is due to the mutant.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use metaloc_corpus::discriminators;
use metaloc_corpus::ir_text::{self, DestinationInfo};
use metaloc_corpus::own_tests::OwnLine;
use metaloc_report::{Confidence, Document, Error, Operation};
use metaloc_source::annotate::Annotator;
use metaloc_source::mutants::Mutant;
use metaloc_toolchain::process::{Exit, Sink};
use serde::Serialize;
use tempfile::TempDir;

use crate::observe::{Observer, read_document};
use crate::own::is_flag;
use crate::parallel;
use crate::progress::Progress;

/// So many lines that show a mutant are observed before it counts as missed.
const CHANCES: usize = 6;

/// What came of a mutant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// The file cannot be swapped.
    NotRun { reason: String },
    /// No line comes by it.
    Unreached,
    /// On this many lines that come by it, nothing is printed otherwise.
    Equivalent { lines: usize },
    /// It is reported, with the operation that was left out.
    Found(Report),
    /// The same, but only as a note, which nobody has to look at.
    Noted(Report),
    /// It is not.
    Missed(Report),
}

/// What a report says of a mutant that shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The line that shows it.
    pub input: String,
    /// The error, or what is there instead.
    pub said: String,
    /// New reports about instructions whose locations do not differ.
    pub elsewhere: Vec<String>,
}

impl Outcome {
    /// In one word.
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::NotRun { .. } => "not run",
            Outcome::Unreached => "unreached",
            Outcome::Equivalent { .. } => "equivalent",
            Outcome::Found(_) => "found",
            Outcome::Noted(_) => "noted",
            Outcome::Missed(_) => "missed",
        }
    }

    /// What else there is to say.
    pub fn detail(&self) -> String {
        match self {
            Outcome::NotRun { reason } => reason.clone(),
            Outcome::Unreached => "no RUN line comes by".to_owned(),
            Outcome::Equivalent { lines } => format!("on {lines} RUN lines"),
            Outcome::Found(Report { input, said, elsewhere })
            | Outcome::Noted(Report { input, said, elsewhere })
            | Outcome::Missed(Report { input, said, elsewhere }) => {
                let also = match elsewhere.as_slice() {
                    [] => String::new(),
                    some => format!("; elsewhere: {}", some.join(", ")),
                };
                format!("{said} ({input}){also}")
            }
        }
    }
}

/// RUN lines that have been run once.
pub struct Trials<'a> {
    observer: &'a Observer,
    library: &'a Path,
    lines: Vec<Line<'a>>,
    scratch: TempDir,
}

struct Line<'a> {
    own: &'a OwnLine,
    prepared: PathBuf,
    size: u64,
    reached: BTreeSet<u32>,
    printed: Printed,
    /// The report of the file as it is; `None` if there is none.
    observed: OnceLock<Option<Document>>,
}

/// What `opt` prints, and how it ends.
#[derive(Debug, PartialEq, Eq)]
struct Printed {
    exit: Exit,
    text: Vec<u8>,
}

/// How near a line comes to reporting a mutant, best first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Noticed {
    Rightly(String),
    AsNote(String),
    Otherwise(String),
    Not,
}

impl Printed {
    /// The same to anybody who looks at lines: see [`discriminators`].
    fn is_as(&self, other: &Printed) -> bool {
        let text = |printed: &Printed| String::from_utf8_lossy(&printed.text).into_owned();
        self == other
            || (self.exit == other.exit && discriminators::differ_in_nothing_else(&text(self), &text(other)))
    }
}

impl<'a> Trials<'a> {
    /// No lines yet.
    pub fn new(observer: &'a Observer, library: &'a Path) -> Result<Trials<'a>> {
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        Ok(Trials { observer, library, lines: Vec::new(), scratch })
    }

    /// Runs lines once as they are; those that come by a mutant are kept and returned.
    pub fn add(&mut self, chosen: &[&'a OwnLine], workers: usize) -> Result<Vec<&'a OwnLine>> {
        let progress = Progress::new(chosen.len());
        let scratch = self.scratch.path();
        let lines = parallel::map(chosen, workers, |own| {
            let folder = tempfile::Builder::new().tempdir_in(scratch).context("no temporary folder")?.keep();
            let line = first(self.observer, self.library, own, &folder)?;
            progress.done(&own.name);
            Ok(line)
        })?;
        drop(progress);
        let lines: Vec<Line<'_>> = lines.into_iter().flatten().collect();
        let reaching = lines.iter().map(|line| line.own).collect();
        self.lines.extend(lines);
        self.lines.sort_by(|a, b| (a.size, &a.own.name).cmp(&(b.size, &b.own.name)));
        Ok(reaching)
    }

    /// What comes of each mutant.
    pub fn all(&self, mutants: &[Mutant], at_most: usize, workers: usize) -> Result<Vec<Outcome>> {
        let progress = Progress::new(mutants.len());
        parallel::map(mutants, workers, |mutant| {
            let outcome = self.one(mutant, at_most)?;
            progress.done(&mutant.text);
            Ok(outcome)
        })
    }

    fn one(&self, mutant: &Mutant, at_most: usize) -> Result<Outcome> {
        let lines: Vec<&Line<'_>> =
            self.lines.iter().filter(|line| line.reached.contains(&mutant.number)).take(at_most).collect();
        if lines.is_empty() {
            return Ok(Outcome::Unreached);
        }
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        let run = Run { observer: self.observer, library: self.library, scratch: scratch.path() };
        let mut best: Option<(Noticed, String, Vec<String>)> = None;
        let mut chances = CHANCES;
        for line in &lines {
            let printed = run.printed(line.own, &line.prepared, mutant.number, None)?;
            if printed.is_as(&line.printed) || run.printed(line.own, &line.prepared, 0, None)? != line.printed
            {
                continue;
            }
            let (noticed, elsewhere) = self.noticed(&run, line, mutant, &printed)?;
            let is_found = matches!(noticed, Noticed::Rightly(_));
            if best.as_ref().is_none_or(|(before, ..)| noticed < *before) {
                best = Some((noticed, line.own.name.clone(), elsewhere));
            }
            chances -= 1;
            if is_found || chances == 0 {
                break;
            }
        }
        let Some((noticed, input, elsewhere)) = best else {
            return Ok(Outcome::Equivalent { lines: lines.len() });
        };
        let report = |said| Report { input, said, elsewhere };
        Ok(match noticed {
            Noticed::Rightly(error) => Outcome::Found(report(error)),
            Noticed::AsNote(error) => Outcome::Noted(report(error)),
            Noticed::Otherwise(error) => Outcome::Missed(report(format!("another operation: {error}"))),
            Noticed::Not => Outcome::Missed(report("not reported".to_owned())),
        })
    }

    fn noticed(
        &self,
        run: &Run<'_>,
        line: &Line<'_>,
        mutant: &Mutant,
        printed: &Printed,
    ) -> Result<(Noticed, Vec<String>)> {
        let before = match line.observed.get() {
            Some(known) => known,
            None => {
                let document = run.observed(line.own, &line.prepared, 0)?;
                line.observed.get_or_init(|| document)
            }
        };
        let Some(mut after) = run.observed(line.own, &line.prepared, mutant.number)? else {
            return Ok((Noticed::Not, Vec::new()));
        };
        Annotator::default().annotate(&mut after)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let relocated = ir_text::relocated(&text(&line.printed.text), &text(&printed.text));
        let mut best = Noticed::Not;
        let mut elsewhere = Vec::new();
        for error in new_errors(before.as_ref(), &after) {
            let said = describe(error);
            if !is_about(error, relocated.as_deref()) {
                elsewhere.push(said);
                continue;
            }
            let noticed = judge(error, mutant.operation, said);
            best = best.min(noticed);
        }
        Ok((best, elsewhere))
    }
}

/// The line as it is; `None` if it is no use: it cannot be prepared or fails.
fn first<'a>(
    observer: &Observer,
    library: &Path,
    own: &'a OwnLine,
    folder: &Path,
) -> Result<Option<Line<'a>>> {
    let Ok(prepared) = observer.prepare_test(folder, own)? else { return Ok(None) };
    let reached = folder.join("reached");
    let run = Run { observer, library, scratch: folder };
    let printed = run.printed(own, &prepared, 0, Some(&reached))?;
    if !printed.exit.success() {
        return Ok(None);
    }
    let numbers = fs::read_to_string(&reached).unwrap_or_default();
    let reached: BTreeSet<u32> = numbers.lines().filter_map(|line| line.parse().ok()).collect();
    if reached.is_empty() {
        return Ok(None);
    }
    let size = fs::metadata(&own.test).map_or(0, |data| data.len());
    Ok(Some(Line { own, prepared, size, reached, printed, observed: OnceLock::new() }))
}

/// How to run a line.
struct Run<'a> {
    observer: &'a Observer,
    library: &'a Path,
    scratch: &'a Path,
}

impl Run<'_> {
    /// With the file swapped in and nothing observed. Mutant 0 is the file as it is.
    fn printed(&self, own: &OwnLine, input: &Path, mutant: u32, reached: Option<&Path>) -> Result<Printed> {
        let mut task = self.observer.line_task(self.scratch, input, own);
        if !own.line.raw_args().iter().any(|arg| is_flag(arg, "S")) {
            task = task.arg("-S");
        }
        task = task
            .stderr(Sink::Null)
            .env("METALOC", "swap")
            .env("METALOC_SWAP", self.library)
            .env("METALOC_MUTANT", mutant.to_string())
            .env_remove("METALOC_OUT");
        task = match reached {
            Some(path) => task.env("METALOC_MUTANTS_REACHED", path),
            None => task.env_remove("METALOC_MUTANTS_REACHED"),
        };
        let outcome = task.run()?;
        Ok(Printed { exit: outcome.exit, text: outcome.stdout })
    }

    fn observed(&self, own: &OwnLine, input: &Path, mutant: u32) -> Result<Option<Document>> {
        let written = self.scratch.join("report.json");
        let task = self
            .observer
            .line_task(self.scratch, input, own)
            .stdout(Sink::Null)
            .stderr(Sink::Null)
            .env("METALOC_OUT", &written)
            .env("METALOC_SWAP", self.library)
            .env("METALOC_MUTANT", mutant.to_string())
            .env_remove("METALOC")
            .env_remove("METALOC_MUTANTS_REACHED");
        task.run()?;
        let document = read_document(&written)?;
        let _ = fs::remove_file(&written);
        Ok(document)
    }
}

/// Errors of `after` that `before` does not have, or not as often.
fn new_errors<'a>(before: Option<&Document>, after: &'a Document) -> Vec<&'a Error> {
    let known = |error: &Error| {
        let same = before.into_iter().flat_map(|document| &document.errors).find(|e| e.id == error.id);
        same.map_or(0, |same| same.occurrences)
    };
    after.errors.iter().filter(|error| error.occurrences > known(error)).collect()
}

/// True if the error is about an instruction that was printed with another location. Where the texts differ in more
/// than that, every new error may be.
fn is_about(error: &Error, relocated: Option<&[DestinationInfo]>) -> bool {
    let Some(relocated) = relocated else { return true };
    let is_it = |inst: &DestinationInfo| {
        let location = match (&error.destination.location, inst.location.0.as_str()) {
            (None, "-") => true,
            (None, _) | (Some(_), "-") => false,
            (Some(text), printed) => {
                let place = printed.split('@').next().unwrap_or_default();
                text.split(" @[").next().is_some_and(|text| text.ends_with(&format!(":{place}")))
            }
        };
        let name = match (&error.destination.name, &inst.name) {
            (Some(a), Some(b)) => a == b,
            (a, b) => a.is_none() == b.is_none() && error.destination.opcode == inst.opcode,
        };
        // Locations may be merged with others by a later pass of the line; the name is enough then.
        name && (location || error.destination.name.is_some())
    };
    // A temporary that stood between may be what is reported; it is printed under the name of nothing.
    relocated.iter().any(is_it)
}

fn judge(error: &Error, operation: Operation, said: String) -> Noticed {
    if error.operation != operation {
        Noticed::Otherwise(said)
    } else if error.confidence == Confidence::Note {
        Noticed::AsNote(said)
    } else {
        Noticed::Rightly(said)
    }
}

fn describe(error: &Error) -> String {
    let place = match (&error.site.file, error.site.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => error.site.symbol.clone(),
    };
    let name = error.destination.name.as_deref().unwrap_or(&error.destination.opcode);
    format!(
        "{} {} {} {name} at {place} ({})",
        error.pass,
        error.operation.name(),
        error.confidence.name(),
        error.rule
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_corpus::ir_text::LocationText;

    fn error(name: Option<&str>, location: Option<&str>) -> Error {
        let text = format!(
            r#"{{ "id": "e", "pass": "p", "operation": "drop", "actual": "other", "kind": "lost",
            "rule": "r", "update": null, "skeleton": null, "confidence": "likely", "occurrences": 2,
            "witnesses": [], "sources": [],
            "site": {{ "function": null, "file": null, "line": null, "column": null, "symbol": "s+0x1" }},
            "destination": {{ "variable": null, "opcode": "br", "name": {}, "location": {} }} }}"#,
            serde_json::to_string(&name).unwrap(),
            serde_json::to_string(&location).unwrap()
        );
        serde_json::from_str(&text).unwrap()
    }

    fn relocated(name: Option<&str>, location: &str) -> DestinationInfo {
        DestinationInfo {
            function: "f".into(),
            block: None,
            name: name.map(str::to_owned),
            opcode: "br".into(),
            location: LocationText(location.into()),
        }
    }

    #[test]
    fn an_error_is_matched_with_what_is_printed() {
        let about = |error: &Error, inst: DestinationInfo| is_about(error, Some(&[inst]));
        let branch = error(None, Some("a.ll:3:1 @[ b.ll:1:1 ]"));
        assert!(about(&branch, relocated(None, "3:1@f")));
        assert!(!about(&branch, relocated(None, "13:1@f")));
        assert!(!about(&branch, relocated(None, "-")));
        assert!(!about(&branch, relocated(Some("%x"), "3:1@f")));
        assert!(about(&error(None, None), relocated(None, "-")));
        assert!(about(&error(Some("%x"), None), relocated(Some("%x"), "-")));
        assert!(!about(&error(Some("%x"), None), relocated(Some("%y"), "-")));
        assert!(!is_about(&branch, Some(&[])));
        assert!(is_about(&branch, None));
    }

    #[test]
    fn what_was_there_before_is_not_new() {
        let document = |occurrences: &[u64]| {
            let mut document = Document::empty("19");
            for &occurrences in occurrences {
                document.errors.push(Error { occurrences, ..error(None, None) });
            }
            document
        };
        let count =
            |before: &[u64], after: &[u64]| new_errors(Some(&document(before)), &document(after)).len();
        assert_eq!((count(&[], &[1]), count(&[1], &[1]), count(&[1], &[2]), count(&[1], &[])), (1, 0, 1, 0));
    }

    #[test]
    fn the_operation_counts_first_and_a_note_is_not_enough() {
        let judged = |confidence, operation| {
            judge(&Error { confidence, ..error(None, None) }, operation, String::new())
        };
        let order = [
            judged(Confidence::Likely, Operation::Drop),
            judged(Confidence::Note, Operation::Drop),
            judged(Confidence::Certain, Operation::Merge),
            Noticed::Not,
        ];
        assert!(order.is_sorted() && order[0] == Noticed::Rightly(String::new()), "{order:?}");
    }
}
