//! The types of `metaloc.report/1`. Fields may be added; those here stay.

use serde::{Deserialize, Serialize};

use crate::confirm::Confirmation;
use crate::kept_run::KeptRun;
use crate::summary::{NotRun, PassSummary, Reached};

/// Value of the field `schema`.
pub const SCHEMA: &str = "metaloc.report/1";

/// One report: of one process, or of many merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of the LLVM that ran, for example `16.0.6`.
    pub llvm: String,
    /// False if the compiler ended before the plugin could finish: what is here was found until then.
    pub complete: bool,
    /// What was found, most certain first.
    pub errors: Vec<Error>,
    /// What each pass did and was found to do, by name.
    pub passes: Vec<PassSummary>,
    /// Inputs that did not run to their end, by name.
    pub not_run: Vec<NotRun>,
    /// How much was looked at.
    pub stats: Stats,
    /// Where the plugin saw events in recompiled passes: `statements` are counted from this, and then it goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<Reached>,
    /// Runs that were asked for, in the plugin's documents only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<KeptRun>,
}

impl Document {
    /// A report of nothing.
    pub fn empty(llvm: impl Into<String>) -> Document {
        Document {
            schema: SCHEMA.to_owned(),
            llvm: llvm.into(),
            complete: true,
            errors: Vec::new(),
            passes: Vec::new(),
            not_run: Vec::new(),
            stats: Stats::default(),
            reached: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Counts the errors of each pass anew.
    pub fn count_errors(&mut self) {
        for summary in &mut self.passes {
            let count = |confidence| {
                let of_pass = self.errors.iter().filter(|error| error.pass == summary.pass);
                of_pass.filter(|error| error.confidence == confidence).count() as u64
            };
            summary.certain = count(Confidence::Certain);
            summary.likely = count(Confidence::Likely);
            summary.notes = count(Confidence::Note);
        }
    }

    /// Reads a document; one of another schema is refused, however much it looks like one of ours.
    pub fn from_json(text: &str) -> Result<Document, crate::ReadError> {
        #[derive(Deserialize)]
        struct Schema {
            schema: String,
        }
        let Schema { schema } = serde_json::from_str(text)?;
        if schema != SCHEMA {
            return Err(crate::ReadError::OtherSchema(schema));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The document as text, for people to read too, with a newline at the end.
    pub fn to_json(&self) -> String {
        // Only a map with keys that are not strings, or a failing Serialize, could make this fail.
        let mut text = serde_json::to_string_pretty(self).expect("a report is always JSON");
        text.push('\n');
        text
    }

    /// True if something is wrong for certain or likely: notes do not count.
    pub fn has_findings(&self) -> bool {
        self.errors.iter().any(|error| error.confidence != Confidence::Note)
    }
}

/// One debug-location update error: one site in a pass and one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Error {
    /// Stable from run to run for the same site.
    pub id: String,
    /// Name of the pass as in `-passes=`.
    pub pass: String,
    /// The right update.
    pub operation: Operation,
    /// What the pass did.
    pub actual: Actual,
    /// What is the consequence.
    pub kind: Kind,
    /// Name of the rule that found it; see the analyzer's `conform` modules.
    pub rule: String,
    /// The statement that creates, clones or moves the destination.
    pub site: Site,
    /// The instruction whose location is wrong.
    pub destination: Destination,
    /// The instructions whose locations count.
    pub sources: Vec<Source>,
    /// Where the skeleton's statement belongs; `None` without the pass's source.
    pub update: Option<Update>,
    /// `Line 779 Drop(AccRecInstrNew)`; `None` without the pass's source.
    pub skeleton: Option<String>,
    /// How sure this is.
    pub confidence: Confidence,
    /// How many pass runs showed it; `witnesses` keeps the smallest.
    pub occurrences: u64,
    /// Inputs that show it, smallest first.
    pub witnesses: Vec<Witness>,
    /// Where the plugin saw it in a recompiled pass: lines and variables are read from this, and then it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// What a newer LLVM makes of it, if one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
}

/// A place in a recompiled pass, in the terms of its code map: addresses are relative to the library, and
/// variables are numbered within their function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Path of the library.
    pub module: String,
    /// Return address of the call that created, cloned or moved the destination.
    pub pc: u64,
    /// Return address, in the same run of the function, of the last call that was about the destination.
    pub update_pc: u64,
    /// True if that call does nothing but make an instruction.
    pub direct: bool,
    /// Variables that held the destination later on.
    pub destination: Vec<u32>,
    /// For each source, the variables that hold it after the last call.
    pub sources: Vec<Vec<u32>>,
    /// For each source, the variables that held it at the first.
    pub sources_at_site: Vec<Vec<u32>>,
}

/// The three updates of LLVM's HowToUpdateDebugInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The destination keeps the location of its one source.
    Preserve,
    /// The destination gets the merged location of its sources.
    Merge,
    /// The destination has no location.
    Drop,
}

impl Operation {
    /// As in the document.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Preserve => "preserve",
            Operation::Merge => "merge",
            Operation::Drop => "drop",
        }
    }
}

/// What a pass did with a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Actual {
    /// The location of one source.
    Preserve,
    /// A merged location.
    Merge,
    /// No location, or line 0.
    Drop,
    /// A location that is none of its sources'.
    Other,
}

/// The two kinds of error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A location is missing that should be there.
    Lost,
    /// A location is there that misleads.
    Incorrect,
}

/// How sure a finding is. Only the first two change the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Follows from what was observed, with no assumption.
    Certain,
    /// Follows from what was observed and one assumption that the rule names.
    Likely,
    /// Worth knowing; LLVM's rules ask for nothing here.
    Note,
}

impl Confidence {
    /// As in the document.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Note => "note",
        }
    }
}

/// A place in the code of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// C++ function; `None` without the pass's source.
    pub function: Option<String>,
    /// Source file of the pass.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Column in it.
    pub column: Option<u32>,
    /// Exported symbol, or else library, and offset of the return address; always known.
    pub symbol: String,
}

/// The instruction whose location is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// C++ variable; `None` without the pass's source.
    pub variable: Option<String>,
    /// Opcode as in the IR.
    pub opcode: String,
    /// `%name` in the function after the pass; `None` if the instruction has no result.
    pub name: Option<String>,
    /// The location that it has, `None` for none.
    pub location: Option<String>,
}

/// An instruction that a destination came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// C++ variable; `None` without the pass's source.
    pub variable: Option<String>,
    /// Opcode as in the IR.
    pub opcode: String,
    /// `%name`, where it could still be read.
    pub name: Option<String>,
    /// Its location before the pass, `None` for none.
    pub location: Option<String>,
    /// How it is linked to the destination: clone, move, replace, terminator, position, ...
    pub link: String,
}

/// Where an update belongs in the source of the pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// Line of the statement to add.
    pub line: u32,
    /// Column of the statement to add.
    pub column: u32,
}

/// One input that shows an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The module's identifier: the input file, or `-`.
    pub input: String,
    /// The function in it.
    pub function: String,
    /// Number of instructions in the function before the pass: smaller is better to look at.
    pub size: u64,
    /// The destination's name in this witness.
    pub name: Option<String>,
    /// Locations on paths through the destination that are on no path through a source.
    pub extra: Vec<String>,
    /// A path through the destination in the function after the pass that shows the first extra location.
    pub path: Vec<String>,
}

/// How much was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Processes, that is, inputs.
    pub inputs: u64,
    /// Runs of passes that are not managers or adaptors.
    pub pass_runs: u64,
    /// Those of them that changed something.
    pub changed_runs: u64,
    /// Calls recorded.
    pub events: u64,
    /// Destinations judged.
    pub judged: u64,
    /// Wall time in the plugin's process or in the whole run.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::summary::{Statements, Why};
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    fn schema() -> jsonschema::Validator {
        let schema: Value = serde_json::from_str(include_str!("../schemas/report-1.json")).unwrap();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        jsonschema::draft202012::new(&schema).unwrap()
    }

    fn full() -> Document {
        let mut document = example::document();
        document.errors.push(example::error_with_source("8899aabbccddeeff"));
        document.passes[0].statements = Some(Statements { total: 12, reached: 5 });
        let detail = "killed by SIGSEGV".to_owned();
        document.not_run.push(NotRun { input: "a.ll:1".to_owned(), why: Why::Crashed, detail });
        document.reached.push(Reached { module: "/cache/Pass.so".to_owned(), pcs: BTreeSet::from([16, 80]) });
        document.runs.push(example::run());
        document.errors[1].confirmation = Some(Confirmation {
            llvm: "22.1.8".to_owned(),
            verdict: crate::confirm::Verdict::Unknown,
            input: "a.ll".to_owned(),
            reason: Some("it changes nothing here".to_owned()),
        });
        document
    }

    #[test]
    fn documents_follow_the_schema_and_come_back_the_same() {
        for document in [full(), Document::empty("22.1.8")] {
            let text = document.to_json();
            let value: Value = serde_json::from_str(&text).unwrap();
            let complaints: Vec<_> = schema().iter_errors(&value).map(|e| e.to_string()).collect();
            assert_eq!(complaints, [""; 0]);
            assert_eq!(Document::from_json(&text).unwrap(), document);
        }
    }

    /// The schema is strict: with any field gone, or one too many, a document is none.
    #[test]
    fn the_schema_refuses_missing_and_unknown_fields() {
        let schema = schema();
        let whole = serde_json::to_value(full()).unwrap();
        let objects = ["", "/stats", "/errors/1", "/errors/1/site", "/errors/1/destination", "/not_run/0"];
        let nested = [
            "/passes/0",
            "/passes/0/statements",
            "/reached/0",
            "/errors/1/confirmation",
            "/runs/0",
            "/runs/0/after",
            "/runs/0/after/blocks/0",
            "/runs/0/after/blocks/0/instructions/0",
            "/runs/0/marks/0",
            "/runs/0/marks/0/destination",
        ];
        let nested = nested.into_iter().chain([
            "/errors/1/sources/0",
            "/errors/1/update",
            "/errors/1/witnesses/0",
            "/errors/1/trace",
        ]);
        for pointer in objects.into_iter().chain(nested) {
            let fields: Vec<_> =
                whole.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
            // The plugin's own, which a report for people has not.
            for field in fields
                .into_iter()
                .filter(|field| !["trace", "reached", "runs", "confirmation"].contains(&field.as_str()))
            {
                let mut broken = whole.clone();
                broken.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(&field);
                assert!(!schema.is_valid(&broken), "{pointer} without {field}");
            }
            let mut broken = whole.clone();
            broken.pointer_mut(pointer).unwrap()["surprise"] = json!(1);
            assert!(!schema.is_valid(&broken), "{pointer} with a surprise");
        }
    }

    #[test]
    fn a_foreign_text_is_no_report() {
        let other = Document { schema: "metaloc.report/2".to_owned(), ..full() }.to_json();
        let error = Document::from_json(&other).unwrap_err().to_string();
        assert_eq!(error, r#"a document of schema "metaloc.report/2", not "metaloc.report/1""#);
        assert!(Document::from_json("[1, 2").unwrap_err().to_string().starts_with("not a report: "));
        assert!(Document::from_json(r#"{"schema": "metaloc.report/1"}"#).is_err());
    }

    #[test]
    fn errors_are_counted_by_pass_and_confidence() {
        let mut document = full();
        document.passes.push(PassSummary::new("other"));
        document.count_errors();
        let counts = |p: &PassSummary| (p.certain, p.likely, p.notes);
        assert_eq!(document.passes.iter().map(counts).collect::<Vec<_>>(), [(1, 1, 0), (0, 0, 0)]);
    }

    #[test]
    fn notes_are_no_findings() {
        let mut document = example::document();
        assert!(document.has_findings());
        document.errors[0].confidence = Confidence::Note;
        assert!(!document.has_findings());
    }
}
