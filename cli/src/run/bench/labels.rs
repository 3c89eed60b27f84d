//! `metaloc bench labels`: how many of the reported sites are errors, judged by people.
//!
//! A batch is two files in `regress/labels/`: `NAME.json` for the judge, who sees claim, site and witness but
//! neither rule nor confidence, and `NAME.key.json` with those. `--draw` writes both from reports; the judge fills
//! in `label`, `reason` and `deciding`; without `--draw` the two are put together and the precision is printed.
//! What is unclear, and what is not judged yet, counts against us. `NAME.second.json`, if it is there, has some of
//! the sites judged again by somebody who has not seen the first judgement.

mod draw;
mod tally;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_report::text::short;
use metaloc_report::{Actual, Confidence, Document, Error, Operation};
use metaloc_toolchain::{atomic, plugin};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::args::{BenchLabels, Format};
use crate::output;
use crate::status::Status;

use draw::draw;
use tally::Tally;

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

impl Label {
    fn word(self) -> &'static str {
        match self {
            Label::Error => "error",
            Label::Intended => "intended",
            Label::Unclear => "unclear",
        }
    }
}

/// What the judge does not see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Key {
    llvm: String,
    id: String,
    rule: String,
    confidence: Confidence,
}

/// What was drawn and judged together.
#[derive(Debug)]
struct Batch {
    name: String,
    sites: Vec<(Site, Key)>,
    /// What a second judge said, by the site's id.
    second: BTreeMap<String, Label>,
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
    let judged: Vec<Site> =
        batches(folder)?.into_iter().flat_map(|batch| batch.sites).map(|(site, _)| site).collect();
    reported.retain(|(llvm, error)| !is_judged(&judged, llvm, error));
    let drawn = draw(reported, args.seed, args.count);
    let count = drawn.len();
    let (sites, keys): (Vec<Site>, Vec<Key>) =
        drawn.into_iter().map(|(llvm, error)| apart(llvm, error)).unzip();
    atomic::write(&sheet, (serde_json::to_string_pretty(&sites)? + "\n").as_bytes())?;
    atomic::write(&key, (serde_json::to_string_pretty(&keys)? + "\n").as_bytes())?;
    output::print(&format!("{count} sites for the judge in {}\n", sheet.display()))?;
    Ok(Status::Clean)
}

/// True for a site that was judged, with whatever witness, and for one that another LLVM shows in the same way.
fn is_judged(judged: &[Site], llvm: &str, error: &Error) -> bool {
    let what = apart(llvm.to_owned(), error.clone()).0.what();
    judged.iter().any(|site| site.llvm == llvm && site.id == error.id || site.what() == what)
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

/// All batches in a folder.
fn batches(folder: &Path) -> Result<Vec<Batch>> {
    let mut sheets: Vec<PathBuf> = Vec::new();
    if folder.is_dir() {
        let cannot_read = || format!("cannot read {}", folder.display());
        for entry in fs::read_dir(folder).with_context(cannot_read)? {
            let path = entry.with_context(cannot_read)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // One dot: a sheet, not what belongs to it.
            if name.strip_suffix(".json").is_some_and(|name| !name.contains('.')) {
                sheets.push(path);
            }
        }
    }
    sheets.sort();
    sheets.iter().map(|sheet| batch(sheet)).collect()
}

fn batch(sheet: &Path) -> Result<Batch> {
    let sites = read_sheet(sheet)?;
    let keys: Vec<Key> = read(&sheet.with_extension("key.json"))?;
    if sites.len() != keys.len() {
        bail!("{} has {} sites, its key {}", sheet.display(), sites.len(), keys.len());
    }
    let second = read_second(&sheet.with_extension("second.json"), &sites)?;
    let with_key = |site: Site| {
        let key = keys.iter().find(|key| key.llvm == site.llvm && key.id == site.id);
        let key = key.with_context(|| format!("{}: {} has no key", sheet.display(), site.id))?.clone();
        Ok((site, key))
    };
    let sites = sites.into_iter().map(with_key).collect::<Result<_>>()?;
    let name = sheet.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Batch { name, sites, second })
}

/// Second judgements by id; none if there is no such file.
fn read_second(sheet: &Path, first: &[Site]) -> Result<BTreeMap<String, Label>> {
    if !sheet.exists() {
        return Ok(BTreeMap::new());
    }
    let mut second = BTreeMap::new();
    for site in read_sheet(sheet)? {
        if !first.iter().any(|known| known.llvm == site.llvm && known.id == site.id) {
            bail!("{}: {} is not in the batch", sheet.display(), site.id);
        }
        second.extend(site.label.map(|label| (site.id, label)));
    }
    Ok(second)
}

fn read_sheet(sheet: &Path) -> Result<Vec<Site>> {
    let sites: Vec<Site> = read(sheet)?;
    for site in &sites {
        if site.label.is_some() && (site.reason.is_none() || site.deciding.is_none()) {
            bail!("{}: {} is judged without a reason and a line that decides", sheet.display(), site.id);
        }
    }
    Ok(sites)
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn error(id: &str, pass: &str, confidence: &str) -> Error {
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
    fn a_site_that_another_llvm_shows_too_is_not_judged_again() {
        let judged = [apart("19".to_owned(), error("a", "gvn", "likely")).0];
        assert!(is_judged(&judged, "16", &error("a", "gvn", "likely")));
        let mut same_site = error("a", "gvn", "likely");
        same_site.witnesses[0].function = "other".to_owned();
        assert!(is_judged(&judged, "19", &same_site), "another witness of the same site");
        assert!(!is_judged(&judged, "16", &same_site), "an id of another LLVM says nothing");
        assert!(!is_judged(&judged, "19", &error("b", "gvn", "likely")));
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
        assert_eq!(batches(folder.path()).unwrap()[0].sites.len(), 1);
    }

    #[test]
    fn a_second_judgement_is_of_a_site_of_the_batch() {
        let folder = tempfile::tempdir().unwrap();
        let (site, key) = apart("19".to_owned(), error("a", "gvn", "certain"));
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        write("b.json", serde_json::to_string(&[&site]).unwrap());
        write("b.key.json", serde_json::to_string(&[&key]).unwrap());
        let because = Some("because".to_owned());
        let judged =
            Site { label: Some(Label::Intended), reason: because.clone(), deciding: because, ..site };
        write("b.second.json", serde_json::to_string(&[&judged]).unwrap());
        assert_eq!(batches(folder.path()).unwrap()[0].second, [("a".to_owned(), Label::Intended)].into());
        write("b.second.json", serde_json::to_string(&[&Site { id: "c".into(), ..judged }]).unwrap());
        let said = batches(folder.path()).unwrap_err().to_string();
        assert!(said.ends_with("c is not in the batch"), "{said}");
    }
}
