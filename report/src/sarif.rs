//! The report as SARIF 2.1.0, for code hosts and editors that show findings at their lines.
//!
//! One rule of the analyzer is one rule there, one error one result. Certain errors have level `error`, likely ones
//! `warning`, notes `note`. The id of an error is a fingerprint, so that a result stays the same from run to run.
//! A site without a line is a logical location only: nothing is guessed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::document::{Confidence, Document, Error};
use crate::text::Parts;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The document as SARIF. `path` says where in LLVM's source a file is, if that is known.
pub fn render(document: &Document, path: &dyn Fn(&str) -> Option<String>) -> String {
    let rules: BTreeSet<&str> = document.errors.iter().map(|error| error.rule.as_str()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let results: Vec<Value> = document.errors.iter().map(|error| result(error, &rules, path)).collect();
    let described = |id: &&str| json!({ "id": id, "shortDescription": { "text": format!("debug-location update error: {}", id.replace('_', " ")) } });
    let notifications: Vec<Value> = document
        .not_run
        .iter()
        .map(|not_run| json!({ "level": "warning", "message": { "text": format!("{}: {}", not_run.input, not_run.detail) } }))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "metaloc",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(described).collect::<Vec<_>>(),
            } },
            "invocations": [{ "executionSuccessful": document.complete, "toolExecutionNotifications": notifications }],
            "columnKind": "utf16CodeUnits",
            "properties": { "llvm": document.llvm, "schema": document.schema },
            "results": results,
        }],
    });
    format!("{log:#}\n")
}

fn result(error: &Error, rules: &[&str], path: &dyn Fn(&str) -> Option<String>) -> Value {
    let level = match error.confidence {
        Confidence::Certain => "error",
        Confidence::Likely => "warning",
        Confidence::Note => "note",
    };
    let parts = Parts::of(error);
    let mut message = format!("{}\n{}", parts.headline, parts.verdict);
    for (word, said) in &parts.rows {
        message += &format!("\n{word}: {said}");
    }
    let mut result = json!({
        "ruleId": error.rule,
        "ruleIndex": rules.binary_search(&error.rule.as_str()).unwrap_or_default(),
        "level": level,
        "message": { "text": message },
        "locations": [location(error, error.site.line, error.site.column, path)],
        "partialFingerprints": { "metaloc/v1": error.id },
        "occurrenceCount": error.occurrences.max(1),
        "properties": { "pass": error.pass, "operation": error.operation, "kind": error.kind },
    });
    if let Some(update) = error.update {
        let mut related = location(error, Some(update.line), Some(update.column), path);
        related["message"] =
            json!({ "text": error.skeleton.as_deref().unwrap_or("the update belongs here") });
        result["relatedLocations"] = json!([related]);
    }
    result
}

fn location(
    error: &Error,
    line: Option<u32>,
    column: Option<u32>,
    path: &dyn Fn(&str) -> Option<String>,
) -> Value {
    let site = &error.site;
    let name = site.function.as_deref().unwrap_or(&site.symbol);
    let mut location = json!({ "logicalLocations": [{ "fullyQualifiedName": name }] });
    if let (Some(file), Some(line)) = (&site.file, line) {
        let mut region = Map::from_iter([("startLine".to_owned(), json!(line))]);
        // Column 0 is DWARF for "not known", and no column to SARIF.
        if let Some(column) = column.filter(|&column| column > 0) {
            region.insert("startColumn".to_owned(), json!(column));
        }
        let uri = path(file).unwrap_or_else(|| file.clone());
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri }, "region": region });
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::summary::{NotRun, Why};

    fn rendered(path: &dyn Fn(&str) -> Option<String>) -> Value {
        let mut document = example::document();
        document.errors.push(example::error_with_source("8899aabbccddeeff"));
        document.errors[1].rule = "a_rule".to_owned();
        let detail = "killed by SIGSEGV".to_owned();
        document.not_run.push(NotRun { input: "a.ll:1".to_owned(), why: Why::Crashed, detail });
        serde_json::from_str(&render(&document, path)).unwrap()
    }

    #[test]
    fn every_error_is_a_result_of_its_rule() {
        let log = rendered(&|_| None);
        let run = &log["runs"][0];
        assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "a_rule");
        for result in run["results"].as_array().unwrap() {
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        }
        assert_eq!(run["results"][0]["level"], "error");
        assert_eq!(run["results"][1]["level"], "warning");
        assert_eq!(run["results"][1]["partialFingerprints"]["metaloc/v1"], "8899aabbccddeeff");
        let notification = &run["invocations"][0]["toolExecutionNotifications"][0];
        assert_eq!(notification["message"]["text"], "a.ll:1: killed by SIGSEGV");
    }

    #[test]
    fn a_site_without_a_line_has_no_physical_location() {
        let log = rendered(&|_| None);
        let of = |number: usize| log["runs"][0]["results"][number]["locations"][0].clone();
        assert!(of(0).get("physicalLocation").is_none());
        assert_eq!(of(0)["logicalLocations"][0]["fullyQualifiedName"], example::error("").site.symbol);
        assert_eq!(of(1)["physicalLocation"]["region"], json!({ "startLine": 777, "startColumn": 5 }));
        assert_eq!(of(1)["physicalLocation"]["artifactLocation"]["uri"], "TailRecursionElimination.cpp");
    }

    #[test]
    fn files_are_where_the_source_has_them() {
        let log = rendered(&|file| Some(format!("llvm/lib/Transforms/Scalar/{file}")));
        let result = &log["runs"][0]["results"][1];
        let uri = "llvm/lib/Transforms/Scalar/TailRecursionElimination.cpp";
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], uri);
        let related = &result["relatedLocations"][0];
        assert_eq!(related["physicalLocation"]["region"]["startLine"], 779);
        assert_eq!(related["message"]["text"], "Line 779 Merge(New, Old)");
    }
}
