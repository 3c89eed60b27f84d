//! `metaloc bench labels`: how many of the reported sites are errors, judged by people.
//!
//! A batch is two files in `regress/labels/`: `NAME.json` for the judge, who sees claim, site and witness but
//! neither rule nor confidence, and `NAME.key.json` with those. `--draw` writes both from reports; the judge fills
//! in `label`, `reason` and `deciding`; without `--draw` the two are put together and the precision is printed.
//! What is unclear, and what is not judged yet, counts against us.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_corpus::llvm_tests::sample;
use metaloc_report::text::short;
use metaloc_report::{Actual, Confidence, Document, Error, Operation};
use metaloc_toolchain::{atomic, plugin};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::args::{BenchLabels, Format};
use crate::output;
use crate::status::Status;

/// A site to be judged. Nothing here says how the tool came to it, or how sure it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Site {
    llvm: String,
    id: String,
    pass: String,
    /// The update that the report asks for.
    operation: Operation,
    actual: Actual,
    symbol: String,
    destination: String,
    location: Option<String>,
    sources: Vec<String>,
    input: String,
    function: String,
    #[serde(default)]
    label: Option<Label>,
    /// Why, in a sentence or two.
    #[serde(default)]
    reason: Option<String>,
    /// `File.cpp:LINE` of LLVM's source of that version that decides it.
    #[serde(default)]
    deciding: Option<String>,
}

impl Site {
    /// What makes it another site than one that was judged already, of this LLVM or another.
    fn what(&self) -> (String, Operation, String, String) {
        (self.pass.clone(), self.operation, self.function.clone(), self.destination.clone())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Label {
    /// The pass gets it wrong.
    Error,
    /// LLVM's rules allow what the pass does, or it is done on purpose.
    Intended,
    /// It cannot be decided.
    Unclear,
}

/// What the judge does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    llvm: String,
    id: String,
    rule: String,
    confidence: Confidence,
}

pub fn run(args: &BenchLabels) -> Result<Status> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => plugin::root()?.join("regress/labels"),
    };
    if let Some(name) = &args.draw {
        return draw_batch(args, &folder, name);
    }
    let batches = batches(&folder)?;
    if batches.is_empty() {
        bail!("{} has no labels", folder.display());
    }
    let tally = Tally::new(&batches);
    output::print(&match args.format {
        Format::Text => tally.text(),
        Format::Json => serde_json::to_string_pretty(&tally)? + "\n",
    })?;
    Ok(Status::Clean)
}

fn draw_batch(args: &BenchLabels, folder: &Path, name: &str) -> Result<Status> {
    let mut reported = Vec::new();
    for path in &args.from {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let document = Document::from_json(&text).with_context(|| path.display().to_string())?;
        reported.extend(document.errors.into_iter().map(|error| (document.llvm.clone(), error)));
    }
    let (sheet, key) = (folder.join(format!("{name}.json")), folder.join(format!("{name}.key.json")));
    if sheet.exists() {
        bail!("{} is there already: a batch is drawn once", sheet.display());
    }
    let known: BTreeSet<_> = batches(folder)?.iter().flatten().map(|(site, _)| site.what()).collect();
    reported.retain(|(llvm, error)| !known.contains(&apart(llvm.clone(), error.clone()).0.what()));
    let drawn = draw(reported, args.seed, args.count);
    let count = drawn.len();
    let (sites, keys): (Vec<Site>, Vec<Key>) =
        drawn.into_iter().map(|(llvm, error)| apart(llvm, error)).unzip();
    atomic::write(&sheet, (serde_json::to_string_pretty(&sites)? + "\n").as_bytes())?;
    atomic::write(&key, (serde_json::to_string_pretty(&keys)? + "\n").as_bytes())?;
    output::print(&format!("{count} sites for the judge in {}\n", sheet.display()))?;
    Ok(Status::Clean)
}

/// Half certain and half likely ones, one after the other from each pass that has some, in an order that only the
/// seed decides; what one half lacks the other gets. Notes claim nothing and are not drawn.
fn draw(reported: Vec<(String, Error)>, seed: u64, count: usize) -> Vec<(String, Error)> {
    let certain = count.div_ceil(2);
    let of = |confidence| {
        reported.iter().filter(|(_, error)| error.confidence == confidence).cloned().collect::<Vec<_>>()
    };
    let mut first = in_turn(of(Confidence::Certain), seed);
    let mut second = in_turn(of(Confidence::Likely), seed);
    let from_second = count.saturating_sub(certain.min(first.len())).min(second.len());
    first.truncate(count - from_second);
    second.truncate(from_second);
    first.append(&mut second);
    // The judge must not see from the order which are which.
    sample(first, |(_, error)| &error.id, seed, count)
}

/// The first site of each pass, then the second of each that has one, and so on. Sites of two LLVMs with the same
/// witness are one.
fn in_turn(reported: Vec<(String, Error)>, seed: u64) -> Vec<(String, Error)> {
    let all = reported.len();
    let mut seen = BTreeSet::new();
    let mut turns: BTreeMap<usize, Vec<(String, Error)>> = BTreeMap::new();
    let mut of_pass: BTreeMap<String, usize> = BTreeMap::new();
    for (llvm, error) in sample(reported, |(_, error)| &error.id, seed, all) {
        let witness = error.witnesses.first().map(|witness| (witness.function.clone(), witness.name.clone()));
        if !seen.insert((error.pass.clone(), error.operation, witness)) {
            continue;
        }
        let turn = of_pass.entry(error.pass.clone()).or_default();
        turns.entry(*turn).or_default().push((llvm, error));
        *turn += 1;
    }
    turns.into_values().flat_map(|turn| sample(turn, |(_, error)| &error.pass, seed, all)).collect()
}

fn apart(llvm: String, error: Error) -> (Site, Key) {
    let named = |opcode: &str, name: Option<&str>| match name {
        Some(name) => format!("{opcode} {name}"),
        None => opcode.to_owned(),
    };
    let witness = error.witnesses.first();
    let source = |source: &metaloc_report::Source| {
        let location = source.location.as_deref().map_or("no location".to_owned(), short);
        format!("{} at {location} by {}", named(&source.opcode, source.name.as_deref()), source.link)
    };
    let site = Site {
        llvm: llvm.clone(),
        id: error.id.clone(),
        pass: error.pass,
        operation: error.operation,
        actual: error.actual,
        symbol: error.site.symbol,
        destination: named(&error.destination.opcode, error.destination.name.as_deref()),
        // Where a machine keeps LLVM's tests is nobody's business.
        location: error.destination.location.as_deref().map(short),
        sources: error.sources.iter().map(source).collect(),
        input: witness.map(|witness| witness.input.clone()).unwrap_or_default(),
        function: witness.map(|witness| witness.function.clone()).unwrap_or_default(),
        label: None,
        reason: None,
        deciding: None,
    };
    (site, Key { llvm, id: error.id, rule: error.rule, confidence: error.confidence })
}

/// All batches in a folder, each site with its key.
fn batches(folder: &Path) -> Result<Vec<Vec<(Site, Key)>>> {
    let mut sheets: Vec<PathBuf> = Vec::new();
    if folder.is_dir() {
        let cannot_read = || format!("cannot read {}", folder.display());
        for entry in fs::read_dir(folder).with_context(cannot_read)? {
            let path = entry.with_context(cannot_read)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.ends_with(".json") && !name.ends_with(".key.json") {
                sheets.push(path);
            }
        }
    }
    sheets.sort();
    sheets.iter().map(|sheet| batch(sheet)).collect()
}

fn batch(sheet: &Path) -> Result<Vec<(Site, Key)>> {
    let sites: Vec<Site> = read(sheet)?;
    let keys: Vec<Key> = read(&sheet.with_extension("key.json"))?;
    if sites.len() != keys.len() {
        bail!("{} has {} sites, its key {}", sheet.display(), sites.len(), keys.len());
    }
    let with_key = |site: Site| {
        let key = keys.iter().find(|key| key.llvm == site.llvm && key.id == site.id);
        let key = key.with_context(|| format!("{}: {} has no key", sheet.display(), site.id))?.clone();
        if site.label.is_some() && (site.reason.is_none() || site.deciding.is_none()) {
            bail!("{}: {} is judged without a reason and a line that decides", sheet.display(), site.id);
        }
        Ok((site, key))
    };
    sites.into_iter().map(with_key).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// Counts by confidence and by rule.
#[derive(Debug, Default, Serialize)]
struct Tally {
    schema: &'static str,
    by_confidence: BTreeMap<String, Counts>,
    by_rule: BTreeMap<String, Counts>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
struct Counts {
    error: usize,
    intended: usize,
    unclear: usize,
    not_judged: usize,
}

impl Tally {
    fn new(batches: &[Vec<(Site, Key)>]) -> Tally {
        let mut tally = Tally { schema: "metaloc.bench-labels/1", ..Tally::default() };
        for (site, key) in batches.iter().flatten() {
            let confidence = format!("{:?}", key.confidence).to_lowercase();
            for counts in [
                tally.by_confidence.entry(confidence).or_default(),
                tally.by_rule.entry(key.rule.clone()).or_default(),
            ] {
                match site.label {
                    Some(Label::Error) => counts.error += 1,
                    Some(Label::Intended) => counts.intended += 1,
                    Some(Label::Unclear) => counts.unclear += 1,
                    None => counts.not_judged += 1,
                }
            }
        }
        tally
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let mut all = Counts::default();
        let _ = writeln!(text, "{:18} error intended unclear open  precision", "");
        for (name, counts) in &self.by_confidence {
            all = all.plus(*counts);
            let _ = writeln!(text, "{}", counts.line(name));
        }
        let _ = writeln!(text, "{}", all.line("all"));
        for (name, counts) in &self.by_rule {
            let _ = writeln!(text, "{}", counts.line(name));
        }
        text
    }
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            error: self.error + other.error,
            intended: self.intended + other.intended,
            unclear: self.unclear + other.unclear,
            not_judged: self.not_judged + other.not_judged,
        }
    }

    fn line(self, name: &str) -> String {
        let Counts { error, intended, unclear, not_judged } = self;
        let of = error + intended + unclear + not_judged;
        let share = 100.0 * error as f64 / of.max(1) as f64;
        format!("{name:18} {error:5} {intended:8} {unclear:7} {not_judged:4}  {error} of {of} ({share:.0}%)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(id: &str, pass: &str, confidence: &str) -> Error {
        let text = format!(
            r#"{{ "id": "{id}", "pass": "{pass}", "operation": "drop", "actual": "preserve", "kind": "incorrect",
            "rule": "off_path", "update": null, "skeleton": null, "confidence": "{confidence}", "occurrences": 1,
            "witnesses": [ {{ "input": "a.ll:1", "function": "{id}", "size": 1, "name": null, "extra": [],
            "path": [] }} ],
            "site": {{ "function": null, "file": null, "line": null, "column": null, "symbol": "s+0x1" }},
            "destination": {{ "variable": null, "opcode": "add", "name": "%x", "location": "/home/me/a.c:1:1" }},
            "sources": [ {{ "opcode": "add", "name": null, "location": "/home/me/a.c:2:1", "link": "clone",
            "variable": null }} ] }}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn reported() -> Vec<(String, Error)> {
        let pass = |number: usize| if number < 30 { "big" } else { ["gvn", "licm", "dce"][number % 3] };
        let confidence = |number: usize| ["certain", "likely", "note"][(number / 3) % 3];
        let one = |number| ("19".to_owned(), error(&format!("e{number}"), pass(number), confidence(number)));
        (0..60).map(one).collect()
    }

    #[test]
    fn a_draw_is_the_same_each_time_and_takes_passes_in_turn() {
        let drawn = draw(reported(), 7, 8);
        assert_eq!(drawn, draw(reported(), 7, 8));
        let mut reversed = reported();
        reversed.reverse();
        assert_eq!(drawn, draw(reversed, 7, 8));
        assert_ne!(drawn, draw(reported(), 8, 8));
        for confidence in [Confidence::Certain, Confidence::Likely] {
            let of: BTreeSet<&str> = drawn
                .iter()
                .filter(|(_, error)| error.confidence == confidence)
                .map(|(_, error)| error.pass.as_str())
                .collect();
            assert_eq!(of.len(), 4, "one of each pass, though half of all are of one");
        }
    }

    #[test]
    fn what_one_half_lacks_the_other_gets() {
        let few: Vec<_> =
            reported().into_iter().filter(|(_, e)| e.confidence != Confidence::Certain).collect();
        assert_eq!(draw(few, 7, 8).len(), 8);
        let twice = vec![("16".to_owned(), error("a", "gvn", "likely")); 2];
        assert_eq!(draw(twice, 7, 8).len(), 1, "the same witness is the same site");
    }

    #[test]
    fn the_judge_does_not_see_the_key() {
        let (site, key) = apart("19".to_owned(), error("a", "gvn", "certain"));
        let shown = serde_json::to_string(&site).unwrap();
        assert!(!shown.contains("off_path") && !shown.contains("certain"), "{shown}");
        assert_eq!(
            (site.location.as_deref(), site.sources.join(" ")),
            (Some("a.c:1:1"), "add at a.c:2:1 by clone".to_owned())
        );
        assert_eq!((key.rule.as_str(), key.confidence), ("off_path", Confidence::Certain));
    }

    #[test]
    fn what_is_not_an_error_counts_against_us() {
        let labels = [Some(Label::Error), Some(Label::Unclear), None, Some(Label::Intended)];
        let batch = labels.map(|label| {
            let (site, key) = apart("19".to_owned(), error("a", "gvn", "certain"));
            (Site { label, ..site }, key)
        });
        let text = Tally::new(&[batch.to_vec()]).text();
        let line = text.lines().find(|line| line.starts_with("certain")).unwrap();
        assert!(line.ends_with("1 of 4 (25%)"), "{line}");
    }

    #[test]
    fn a_site_that_another_llvm_shows_too_is_not_judged_again() {
        let what = |llvm: &str, id: &str| apart(llvm.to_owned(), error(id, "gvn", "likely")).0.what();
        assert_eq!(what("19", "a"), what("16", "a"));
        assert_ne!(what("19", "a"), what("19", "b"), "another function");
    }

    #[test]
    fn a_label_needs_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let (site, key) = apart("19".to_owned(), error("a", "gvn", "certain"));
        let sheet = folder.path().join("b.json");
        let write = |site: &Site| fs::write(&sheet, serde_json::to_string(&[site]).unwrap()).unwrap();
        fs::write(folder.path().join("b.key.json"), serde_json::to_string(&[&key]).unwrap()).unwrap();
        write(&Site { label: Some(Label::Error), ..site.clone() });
        let said = batches(folder.path()).unwrap_err().to_string();
        assert!(said.ends_with("a is judged without a reason and a line that decides"), "{said}");
        let because = Some("because".to_owned());
        write(&Site { label: Some(Label::Error), reason: because.clone(), deciding: because, ..site });
        assert_eq!(batches(folder.path()).unwrap()[0].len(), 1);
    }
}
