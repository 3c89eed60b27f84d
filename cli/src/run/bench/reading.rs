//! Whether a report says the line and the variables of a known error.
//!
//! The table has the names of the version that has the fix. Where the function of another version has no such
//! variable there is nothing to be said, and saying nothing is right.

use metaloc_corpus::truth::TruthRecord;
use metaloc_report::Error;
use metaloc_source::annotate::Surroundings;
use serde::Serialize;

/// What was read of one error.
#[derive(Debug, Clone, Serialize)]
pub struct Reading {
    /// First line of the site's statement.
    pub line: Option<u32>,
    /// Expression of the destination.
    pub destination: Option<String>,
    /// Expressions of the sources.
    pub sources: Vec<Option<String>>,
    /// The update in words.
    pub skeleton: Option<String>,
    /// What is wrong with the line; `None` if nothing is.
    pub line_wrong: Option<String>,
    /// What is wrong with the variables; `None` if nothing is.
    pub variables_wrong: Option<String>,
}

impl Reading {
    /// Compares an error of a report with a record.
    pub fn new(record: &TruthRecord, major: u32, error: &Error, around: &Surroundings) -> Reading {
        let sources: Vec<_> = error.sources.iter().map(|source| source.variable.clone()).collect();
        let destination = error.destination.variable.clone();
        Reading {
            line: error.site.line,
            line_wrong: line_wrong(record.site_line_in(major), error.site.line, around.last_line),
            variables_wrong: variables_wrong(record, destination.as_deref(), &sources, around),
            destination,
            sources,
            skeleton: error.skeleton.clone(),
        }
    }

    /// Nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.line_wrong.is_none() && self.variables_wrong.is_none()
    }
}

/// The table has the first line of a statement, or that of a call in it.
fn line_wrong(expected: Option<u32>, first: Option<u32>, last: Option<u32>) -> Option<String> {
    let expected = expected?;
    let Some(first) = first else { return Some(format!("no line instead of {expected}")) };
    let within = (first..=last.unwrap_or(first)).contains(&expected);
    (!within).then(|| format!("line {first} instead of {expected}"))
}

fn variables_wrong(
    record: &TruthRecord,
    destination: Option<&str>,
    sources: &[Option<String>],
    around: &Surroundings,
) -> Option<String> {
    let expected = |name: &'_ str| {
        // `S0 (then ...)`: what is in parentheses explains.
        let name = name.split(" (").next().unwrap_or(name);
        // The table has iterators without the star.
        [name.to_owned(), format!("*{name}")].into_iter().find(|name| around.expressions.contains(name))
    };
    let wanted = expected(&record.dest);
    if wanted.as_deref() != destination {
        let said = |name: Option<&str>| name.unwrap_or("none").to_owned();
        return Some(format!("destination {} instead of {}", said(destination), said(wanted.as_deref())));
    }
    // Several variables may hold one instruction, and any of them will do.
    let is_said = |name: &String| around.sources.iter().any(|names| names.contains(name));
    let missing = record.sources.iter().filter_map(|name| expected(name)).find(|name| !is_said(name))?;
    let said: Vec<_> = sources.iter().map(|source| source.as_deref().unwrap_or("none")).collect();
    Some(format!("sources {} without {missing}", said.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> TruthRecord {
        let json = r#"{ "id": "t", "set": "table6", "pass_name": "P", "dest": "D (new)", "sources": ["S", "T"],
            "passes": "p", "source_file": "x.cpp", "function": "f", "operation": "Merge", "bug_type": "Lost",
            "site_line_16": 7, "test": "a.ll",
            "probe": { "opt_args": "-x", "function": "f", "block": null, "dest_regex": "^br", "input": "test" } }"#;
        serde_json::from_str(json).unwrap()
    }

    fn wrong(destination: Option<&str>, sources: &[&str], exists: &[&str]) -> Option<String> {
        let sources: Vec<_> = sources.iter().map(|name| Some((*name).to_owned())).collect();
        let around = Surroundings {
            last_line: None,
            expressions: exists.iter().map(|name| (*name).to_owned()).collect(),
            sources: sources.iter().map(|source| source.iter().cloned().collect()).collect(),
        };
        variables_wrong(&record(), destination, &sources, &around)
    }

    #[test]
    fn every_name_of_the_table_must_be_said() {
        let all = ["D", "S", "T"];
        assert_eq!(wrong(Some("D"), &["T", "S"], &all), None);
        assert_eq!(wrong(Some("E"), &["T", "S"], &all).unwrap(), "destination E instead of D");
        assert_eq!(wrong(None, &["T", "S"], &all).unwrap(), "destination none instead of D");
        assert_eq!(wrong(Some("D"), &["S"], &all).unwrap(), "sources S without T");
    }

    #[test]
    fn a_name_that_the_version_has_not_need_not_be_said() {
        assert_eq!(wrong(None, &["S"], &["S"]), None);
        assert_eq!(wrong(Some("X"), &["S"], &["S"]).unwrap(), "destination X instead of none");
    }

    #[test]
    fn lines_count_where_the_table_has_one() {
        assert_eq!(line_wrong(Some(7), Some(7), None), None);
        assert_eq!(line_wrong(Some(7), Some(6), Some(7)), None);
        assert_eq!(line_wrong(None, Some(7), None), None);
        assert_eq!(line_wrong(Some(7), Some(8), Some(9)).unwrap(), "line 8 instead of 7");
        assert_eq!(line_wrong(Some(7), None, None).unwrap(), "no line instead of 7");
        assert_eq!((record().site_line_in(16), record().site_line_in(19)), (Some(7), None));
    }
}
