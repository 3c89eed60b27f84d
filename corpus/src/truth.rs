//! The known errors: what each record says, inputs that show it, and whether a report has found it.
//!
//! A record can be run on LLVM's own test (the probe in the record) and on inputs of ours that name it
//! (`shows=` in their headers). Either way it becomes a [`TruthCase`], which knows what to run, where the
//! destination is, and which location it ought to have.

use std::fs;
use std::path::{Path, PathBuf};

use metaloc_report::document::{Document, Operation, Witness};
use metaloc_toolchain::Llvm;
use regex_lite::Regex;
use serde::Deserialize;

use crate::adapt::adapt;
use crate::ir_text::{DestinationInfo, LocationText, Probe};
use crate::regress::RegressInput;
use crate::shell::{self, Token};
use crate::stock::opaque_pointer_args;
use crate::{Error, Result};

/// One known error, as `llvm-truth.json` has it.
#[derive(Debug, Clone, Deserialize)]
pub struct TruthRecord {
    /// Unique name.
    pub id: String,
    /// `table6`: found by the paper; `table4`: older.
    pub set: String,
    /// Name of the pass as in the paper.
    pub pass_name: String,
    /// The pass as in `-passes=`, parameters and adaptors included.
    pub passes: String,
    /// Source file of the pass.
    pub source_file: String,
    /// Function in it.
    pub function: String,
    /// C++ expression of the destination.
    pub dest: String,
    /// C++ expressions of the sources.
    pub sources: Vec<String>,
    /// The right update: `Preserve`, `Merge` or `Drop`.
    pub operation: String,
    /// `Lost` or `Incorrect`.
    pub bug_type: String,
    /// Line in LLVM 16 that makes or moves the destination.
    pub site_line_16: Option<u32>,
    /// The same in LLVM 14, where 16 has the fix already.
    pub site_line_14: Option<u32>,
    /// LLVM 19's test, below `llvm/test/Transforms`.
    pub test: String,
    /// How to run the test and where its destination is.
    pub probe: RecordProbe,
    /// What has been asked for in place of the operation since; `None` for nearly all.
    pub corrected: Option<Correction>,
    dest_loc_14: Option<String>,
    dest_loc_16: Option<String>,
    dest_loc_19: Option<String>,
    dest_loc_22: Option<String>,
}

/// Why another operation is right than the one that the commit of a record made.
#[derive(Debug, Clone, Deserialize)]
pub struct Correction {
    /// The right update: `Preserve`, `Merge` or `Drop`.
    pub operation: String,
    /// Who says so, where, and about what.
    pub because: String,
}

/// How to run the test of a record and where its destination is.
#[derive(Debug, Clone, Deserialize)]
pub struct RecordProbe {
    /// Arguments of `opt` in shell notation.
    pub opt_args: String,
    /// Function that the destination is in.
    pub function: Option<String>,
    /// Block that it is in.
    pub block: Option<String>,
    /// Expression that its text matches.
    pub dest_regex: String,
    /// `test` if LLVM 19's test does for older versions too, `adapted` if it has to be rewritten by hand.
    pub input: String,
}

/// A record on one input, ready to run with one version of LLVM.
#[derive(Debug, Clone)]
pub struct TruthCase {
    /// The known error.
    pub record: TruthRecord,
    /// Where the input comes from.
    pub origin: Origin,
    /// IR text or bitcode, for standard input.
    pub input: Vec<u8>,
    /// Arguments of `opt`, the pipeline among them.
    pub opt_args: Vec<String>,
    /// Where the destination is afterwards.
    pub probe: Probe,
    /// The location that the destination has where the error is fixed; `None` if the record does not say.
    pub fixed: Option<LocationText>,
    /// The location that the record expects in this version; `None` if it does not say.
    pub expected: Option<LocationText>,
}

/// Where the input of a case comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// LLVM's own test.
    Upstream(PathBuf),
    /// An input of ours.
    Own(PathBuf),
}

/// Reads the table of known errors.
pub fn records(path: &Path) -> Result<Vec<TruthRecord>> {
    let text = fs::read(path).map_err(Error::read(path))?;
    serde_json::from_slice(&text).map_err(|reason| Error::Truth { path: path.to_owned(), reason })
}

impl TruthRecord {
    /// The destination's location in a version of LLVM, on LLVM's test; `None` if that is not known.
    pub fn location_in(&self, major: u32) -> Option<LocationText> {
        let location = match major {
            14 => &self.dest_loc_14,
            16 => &self.dest_loc_16,
            19 => &self.dest_loc_19,
            22 => &self.dest_loc_22,
            _ => &None,
        };
        location.clone().map(LocationText)
    }

    /// The line that makes or moves the destination; `None` if it is not known for this version.
    pub fn site_line_in(&self, major: u32) -> Option<u32> {
        match major {
            14 => self.site_line_14,
            16 => self.site_line_16,
            _ => None,
        }
    }

    /// The source file without folder and suffix.
    pub fn source_stem(&self) -> &str {
        let name = self.source_file.rsplit('/').next().unwrap_or(&self.source_file);
        name.strip_suffix(".cpp").unwrap_or(name)
    }

    /// Whether a version of LLVM has the error in a form that shows; `None` if that is not known.
    pub fn visible_in(&self, major: u32) -> Option<bool> {
        Some(self.location_in(major)? != self.location_in(19)?)
    }

    /// The case of LLVM's own test. `source` is the folder that has `llvm/test/Transforms` of LLVM 19.
    pub fn upstream_case(&self, source: &Path, llvm: &Llvm) -> Result<TruthCase> {
        let path = source.join("llvm/test/Transforms").join(&self.test);
        let major = llvm.major;
        if self.probe.input == "adapted" && major < 19 {
            let reason = "the pass of older versions does not reach the place on this test".into();
            return Err(Error::Unadaptable { path, major, reason });
        }
        let text = fs::read_to_string(&path).map_err(Error::read(&path))?;
        let mut opt_args = self.split_args()?;
        opt_args.extend(opaque_pointer_args(&text, major));
        let input = adapt(&text, major).into_owned().into_bytes();
        let pattern = Regex::new(&self.probe.dest_regex).map_err(|reason| Error::Pattern {
            place: self.id.clone(),
            pattern: self.probe.dest_regex.clone(),
            reason,
        })?;
        let probe = Probe { function: self.probe.function.clone(), block: self.probe.block.clone(), pattern };
        // Where the input had to be rewritten, the locations in the record are those of the rewritten one.
        let said = |major| self.location_in(major).filter(|_| self.probe.input != "adapted");
        let (fixed, expected) = (said(19), said(major));
        Ok(TruthCase {
            record: self.clone(),
            origin: Origin::Upstream(path),
            input,
            opt_args,
            probe,
            fixed,
            expected,
        })
    }

    /// The cases of our own inputs that name this record and can run with an LLVM.
    pub fn own_cases(&self, inputs: &[RegressInput], llvm: &Llvm) -> Result<Vec<TruthCase>> {
        let usable = inputs.iter().filter(|input| input.header.llvm.contains(llvm.major));
        let mut cases = Vec::new();
        for input in usable {
            for shown in input.header.shows.iter().filter(|shown| shown.record == self.id) {
                let prepared = input.prepare(llvm)?;
                let expected =
                    self.visible_in(llvm.major).map(|wrong| if wrong { &shown.wrong } else { &shown.right });
                cases.push(TruthCase {
                    record: self.clone(),
                    origin: Origin::Own(input.path.clone()),
                    input: prepared.input,
                    opt_args: prepared.opt_args,
                    probe: shown.probe.clone(),
                    fixed: Some(shown.right.clone()),
                    expected: expected.cloned(),
                });
            }
        }
        Ok(cases)
    }

    fn split_args(&self) -> Result<Vec<String>> {
        let failed = |problem: String| Error::Arguments {
            place: self.id.clone(),
            args: self.probe.opt_args.clone(),
            problem,
        };
        let tokens = shell::split(&self.probe.opt_args).map_err(|error| failed(error.to_string()))?;
        // `opt` takes no pass plugin where passes are named the legacy way.
        let legacy = format!("-{}", self.bare_pass());
        tokens
            .into_iter()
            .map(|token| match token {
                Token::Word(word) if word == legacy => Ok(format!("-passes={}", self.passes)),
                Token::Word(word) => Ok(word),
                _ => Err(failed("more than one command".into())),
            })
            .collect()
    }

    /// What makes two records the same error: the paper counts one of them in both tables.
    pub fn site(&self) -> (&str, Option<u32>, &str) {
        (&self.source_file, self.site_line_16, &self.dest)
    }

    /// The name of the pass alone: `simple-loop-unswitch` for `loop-mssa(simple-loop-unswitch<nontrivial>)`.
    pub fn bare_pass(&self) -> &str {
        let innermost = self.passes.rsplit('(').next().unwrap_or(&self.passes);
        innermost.split(['<', ')', ',']).next().unwrap_or(innermost)
    }
}

impl TruthCase {
    /// Whether the error shows in a destination: its location is not the one it has where it is fixed.
    pub fn is_visible(&self, destination: &DestinationInfo) -> bool {
        self.fixed.as_ref().is_some_and(|fixed| *fixed != destination.location)
    }

    /// Ids of the errors in a report of this case that may be the known one: same pass, same operation, and a
    /// witness that may be the destination. Instructions without a name are told apart by opcode and function
    /// only, so one reported error must not count for two records.
    pub fn matches(&self, report: &Document, destination: &DestinationInfo) -> Vec<String> {
        self.asking_for(&self.record.operation, report, destination).map(|error| error.id.clone()).collect()
    }

    /// The same for those that ask for what has been asked for since, if anything. A merge of a single location is
    /// none.
    pub fn corrected_matches(&self, report: &Document, destination: &DestinationInfo) -> Vec<String> {
        let Some(Correction { operation, .. }) = &self.record.corrected else { return Vec::new() };
        let is_whole =
            |error: &&metaloc_report::Error| error.operation != Operation::Merge || error.sources.len() > 1;
        let errors = self.asking_for(operation, report, destination).filter(is_whole);
        errors.map(|error| error.id.clone()).collect()
    }

    fn asking_for<'a>(
        &'a self,
        operation: &'a str,
        report: &'a Document,
        destination: &'a DestinationInfo,
    ) -> impl Iterator<Item = &'a metaloc_report::Error> {
        let is_destination = |witness: &Witness| {
            witness.function == destination.function
                && same_name(witness.name.as_deref(), destination.name.as_deref())
        };
        report.errors.iter().filter(move |error| {
            error.pass == self.record.bare_pass()
                && format!("{:?}", error.operation).eq_ignore_ascii_case(operation)
                && error.destination.opcode == destination.opcode
                && error.witnesses.iter().any(is_destination)
        })
    }
}

/// Whether a witness is the instruction of this name. Numbers are given anew at each printing (`%0`), so a
/// report may leave them out.
fn same_name(witness: Option<&str>, printed: Option<&str>) -> bool {
    let proper = |name: Option<&str>| {
        name.map(|name| name.trim_start_matches('%').to_owned())
            .filter(|name| !name.bytes().all(|byte| byte.is_ascii_digit()))
    };
    proper(witness) == proper(printed)
}

#[cfg(test)]
mod tests {
    use metaloc_report::document::{Actual, Confidence, Destination, Error as Reported, Kind, Site, Source};

    use super::*;

    fn record() -> TruthRecord {
        let json = r#"{ "id": "t", "set": "table6", "pass_name": "SimpleLoopUnswitch", "dest": "D", "sources": ["S"],
            "passes": "loop-mssa(simple-loop-unswitch<nontrivial>)", "source_file": "x.cpp", "function": "f",
            "operation": "Drop", "bug_type": "Incorrect", "site_line_16": null, "test": "a.ll",
            "probe": { "opt_args": "-passes='a<b>' -x", "function": "f", "block": null, "dest_regex": "^br", "input": "test" },
            "dest_loc_14": null, "dest_loc_16": "3:1@f", "dest_loc_19": "-", "dest_loc_22": "-" }"#;
        serde_json::from_str(json).unwrap()
    }

    fn case() -> TruthCase {
        TruthCase {
            record: record(),
            origin: Origin::Own("x.ll".into()),
            input: Vec::new(),
            opt_args: Vec::new(),
            probe: Probe { function: None, block: None, pattern: Regex::new("^br").unwrap() },
            fixed: Some(LocationText::none()),
            expected: None,
        }
    }

    fn destination(name: Option<&str>) -> DestinationInfo {
        DestinationInfo {
            function: "f".into(),
            block: None,
            name: name.map(str::to_owned),
            opcode: "add".into(),
            location: LocationText("3:1@f".into()),
        }
    }

    fn report(pass: &str, operation: Operation, witness: (&str, Option<&str>)) -> Document {
        let site = Site { function: None, file: None, line: None, column: None, symbol: "s".into() };
        let destination = Destination { variable: None, opcode: "add".into(), name: None, location: None };
        let witness = Witness {
            input: "-".into(),
            function: witness.0.into(),
            size: 1,
            name: witness.1.map(str::to_owned),
            extra: Vec::new(),
            path: Vec::new(),
        };
        let error = Reported {
            id: "e".into(),
            pass: pass.into(),
            operation,
            actual: Actual::Preserve,
            kind: Kind::Incorrect,
            rule: "r".into(),
            site,
            destination,
            sources: Vec::new(),
            update: None,
            skeleton: None,
            confidence: Confidence::Certain,
            occurrences: 1,
            witnesses: vec![witness],
            trace: None,
            confirmation: None,
        };
        Document { errors: vec![error], ..Document::empty("16") }
    }

    #[test]
    fn a_record_knows_where_it_shows() {
        assert_eq!(record().visible_in(16), Some(true));
        assert_eq!(record().visible_in(22), Some(false));
        assert_eq!(record().visible_in(14), None);
        assert_eq!(record().visible_in(15), None);
        assert_eq!(record().bare_pass(), "simple-loop-unswitch");
        assert_eq!(record().split_args().unwrap(), ["-passes=a<b>", "-x"]);
        let mut legacy = record();
        legacy.probe.opt_args = "-simple-loop-unswitch -x".into();
        assert_eq!(
            legacy.split_args().unwrap(),
            ["-passes=loop-mssa(simple-loop-unswitch<nontrivial>)", "-x"]
        );
    }

    #[test]
    fn visible_is_any_other_location_than_the_fixed_one() {
        assert!(case().is_visible(&destination(None)));
        assert!(!case().is_visible(&DestinationInfo { location: LocationText::none(), ..destination(None) }));
        let unknown = TruthCase { fixed: None, ..case() };
        assert!(!unknown.is_visible(&destination(None)));
    }

    #[test]
    fn found_needs_pass_operation_function_and_name() {
        let pass = "simple-loop-unswitch";
        let found = |pass, operation, witness, name| {
            !case().matches(&report(pass, operation, witness), &destination(name)).is_empty()
        };
        assert!(found(pass, Operation::Drop, ("f", Some("%x")), Some("%x")));
        assert!(!found("licm", Operation::Drop, ("f", Some("%x")), Some("%x")));
        assert!(!found(pass, Operation::Merge, ("f", Some("%x")), Some("%x")));
        assert!(!found(pass, Operation::Drop, ("g", Some("%x")), Some("%x")));
        assert!(!found(pass, Operation::Drop, ("f", Some("%y")), Some("%x")));
        assert!(!found(pass, Operation::Drop, ("f", None), Some("%x")));
        assert!(found(pass, Operation::Drop, ("f", None), Some("%0")));
        assert!(found(pass, Operation::Drop, ("f", Some("%7")), Some("%0")));
    }

    #[test]
    fn what_was_corrected_since_is_no_match_of_the_record_but_one_of_its_own() {
        let because = "a later paper".to_owned();
        let corrected = Some(Correction { operation: "Merge".into(), because });
        let record = TruthRecord { corrected, ..record() };
        let corrected = TruthCase { record, ..case() };
        let report = |operation, sources: usize| {
            let mut report = report("simple-loop-unswitch", operation, ("f", None));
            let source = Source {
                variable: None,
                opcode: "add".into(),
                name: None,
                location: None,
                link: "move".into(),
            };
            report.errors[0].sources = vec![source; sources];
            report
        };
        let asked = |case: &TruthCase, report: &Document| {
            let destination = destination(None);
            let found = (case.matches(report, &destination), case.corrected_matches(report, &destination));
            (found.0.len(), found.1.len())
        };
        assert_eq!(asked(&corrected, &report(Operation::Merge, 2)), (0, 1));
        assert_eq!(asked(&corrected, &report(Operation::Merge, 1)), (0, 0), "one location is not merged");
        assert_eq!(asked(&corrected, &report(Operation::Drop, 2)), (1, 0));
        assert_eq!(asked(&corrected, &report(Operation::Preserve, 2)), (0, 0));
        assert_eq!(asked(&case(), &report(Operation::Merge, 2)), (0, 0), "nobody has corrected this one");
    }
}
