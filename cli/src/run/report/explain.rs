//! `metaloc report --explain ID`: one error with the function before and after the pass, the instruction, the
//! extra locations and the path on which they are extra.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use metaloc_report::drawing::{self, Highlights};
use metaloc_report::kept_run::{KeptRun, Mark};
use metaloc_report::{Document, Error, Witness, html, merge, text};
use metaloc_source::annotate::Annotator;
use metaloc_toolchain::atomic;
use serde::Serialize;

use super::witness::{self, Inputs};
use crate::args::{Report, ReportFormat};
use crate::observe::Observer;
use crate::output::Output;
use crate::pass::Passes;
use crate::status::Status;

/// Value of the field `schema`.
const SCHEMA: &str = "metaloc.explain/1";

/// One error and the run that shows it.
#[derive(Debug, Serialize)]
struct Explanation<'a> {
    schema: &'static str,
    llvm: &'a str,
    error: &'a Error,
    witness: &'a Witness,
    /// With one mark, that of the error.
    run: KeptRun,
}

/// Explains an error of a report.
pub fn run(
    args: &Report,
    observer: &Observer,
    document: &Document,
    (id, place): (&str, Output),
) -> Result<Status> {
    let error = find(document, id)?;
    let witness = error.witnesses.first().context("the report has no witness of it")?;
    if error.site.file.is_some() && !observer.swapped.contains_key(&error.pass) {
        bail!("the report has lines of {}: give --llvm-source as for the report", error.pass);
    }
    let on = Inputs::new(args, &observer.llvm).find(witness)?;
    let passes = Passes::of(&observer.llvm)?;
    let mut again = match witness::rerun(observer, &passes, (&error.pass, &witness.function), &on)? {
        Ok(document) => document,
        Err(trouble) => bail!("{}: {trouble}", witness.input),
    };
    Annotator::default().annotate(&mut again)?;
    let Some(run) = showing(&again, error, witness) else {
        bail!("{} does not show {} any more, in function {}", witness.input, error.id, witness.function);
    };
    let llvm = &document.llvm;
    let explanation = Explanation { schema: SCHEMA, llvm, error, witness, run };
    if let Some(path) = &args.dot {
        atomic::write(path, explanation.dot().as_bytes())?;
    }
    place.finish(&match args.format {
        ReportFormat::Text | ReportFormat::Sarif => explanation.text(),
        ReportFormat::Html => html::explain(llvm, error, &explanation.run, &explanation.highlights()),
        ReportFormat::Json => serde_json::to_string_pretty(&explanation)? + "\n",
    })?;
    Ok(Status::Clean)
}

/// The error whose id begins like this.
pub fn find<'a>(document: &'a Document, id: &str) -> Result<&'a Error> {
    let found: Vec<&Error> = document.errors.iter().filter(|error| error.id.starts_with(id)).collect();
    match &found[..] {
        [one] => Ok(one),
        [] => bail!("the report has no error {id}, of {}", document.errors.len()),
        several => {
            let ids: Vec<&str> = several.iter().map(|error| error.id.as_str()).collect();
            bail!("{id} may be any of {}", ids.join(", "))
        }
    }
}

/// The run that shows the error as the witness says, or else the first that shows it; with no other mark.
fn showing(again: &Document, error: &Error, witness: &Witness) -> Option<KeptRun> {
    let lines: HashMap<&str, String> =
        again.errors.iter().map(|error| (error.id.as_str(), merge::line_id(error))).collect();
    let is_it = |mark: &&Mark| lines.get(mark.error.as_str()) == Some(&error.id);
    let marked =
        || again.runs.iter().flat_map(|run| run.marks.iter().filter(is_it).map(move |mark| (run, mark)));
    let same = |(run, mark): &(&KeptRun, &Mark)| {
        run.after.at(mark.destination).is_some_and(|inst| inst.name == witness.name)
            && mark.extra == witness.extra
    };
    let (run, mark) = marked().find(same).or_else(|| marked().next())?;
    let mark = Mark { error: error.id.clone(), ..mark.clone() };
    Some(KeptRun { marks: vec![mark], ..run.clone() })
}

impl Explanation<'_> {
    fn highlights(&self) -> (Highlights, Highlights) {
        let (mut before, mut after) = (Highlights::default(), Highlights::default());
        for mark in &self.run.marks {
            before.spots.extend(mark.sources.iter().map(|&spot| (spot, "source".to_owned())));
            after.spots.push((mark.destination, "destination".to_owned()));
            after.path.clone_from(&mark.path);
        }
        (before, after)
    }

    fn text(&self) -> String {
        let (before, after) = self.highlights();
        let KeptRun { pass, function, .. } = &self.run;
        let mut text = text::render_error(self.error);
        text +=
            &format!("before {pass}, function {function}\n{}\n", drawing::draw(&self.run.before, &before));
        text += &format!("after\n{}\n", drawing::draw(&self.run.after, &after));
        for mark in &self.run.marks {
            if let Some(inst) = self.run.after.at(mark.destination) {
                let location = inst.location.as_deref().unwrap_or("no location");
                text += &format!("instruction  {}, at {location}\n", inst.text);
            }
            let extra = if mark.extra.is_empty() { "none".to_owned() } else { mark.extra.join(", ") };
            text += &format!("extra        {extra}\n");
            let names = mark.path.iter().filter_map(|&block| self.run.after.blocks.get(block));
            let names: Vec<&str> = names.map(|block| block.name.as_str()).collect();
            let path = if names.is_empty() {
                "the error is not about a path".to_owned()
            } else {
                names.join(" -> ")
            };
            text += &format!("path         {path}\n");
        }
        text
    }

    fn dot(&self) -> String {
        let (before, after) = self.highlights();
        metaloc_picture::dot(&[
            drawing::picture("before", &self.run.before, &before),
            drawing::picture("after", &self.run.after, &after),
        ])
    }
}
