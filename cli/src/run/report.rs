//! `metaloc report`: passes on inputs, one process each, and one report of all.

mod all;
mod confirm;
mod explain;
mod witness;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use metaloc_corpus::llvm_tests;
use metaloc_corpus::own_tests::OwnLine;
use metaloc_report::merge::{self, Merger};
use metaloc_report::{Document, html, sarif, text};
use metaloc_source::annotate::Annotator;
use metaloc_toolchain::{Llvm, plugin};

use self::confirm::Newer;
use super::{find_llvm, find_plugin};
use crate::args::{Report, ReportFormat};
use crate::input::{self, Input};
use crate::lines::{self, Lines, LlvmSource, OfPass};
use crate::observe::{Observation, Observer, restrict};
use crate::output::{self, Output};
use crate::own::{self, Ran};
use crate::parallel;
use crate::pass::{self, Pass};
use crate::progress::Progress;
use crate::status::Status;

pub fn run(args: &Report) -> Result<Status> {
    if args.explain.is_some() && args.format == ReportFormat::Sarif {
        bail!("--explain shows one error as text, json or html: SARIF has no place for graphs");
    }
    let llvm = find_llvm(&args.llvm)?;
    let newer = args.confirm_with.as_ref().map(|which| Newer::find(which, &llvm)).transpose()?;
    let place = Output::open(args.output.as_deref())?;
    let Made { observer, mut document, troubles } = match &args.from {
        Some(path) => read(args, llvm, path)?,
        None => make(args, llvm)?,
    };
    if let Some(id) = &args.explain {
        return explain::run(args, &observer, &document, (id, place));
    }
    if let Some(newer) = newer {
        newer.confirm(args, &observer, &mut document)?;
    }
    place.finish(&render(args, &observer.llvm, &document)?)?;
    for trouble in &troubles {
        output::complain(trouble);
    }
    let found = if document.has_findings() { Status::Findings } else { Status::Clean };
    Ok(if troubles.is_empty() { found } else { Status::CouldNotRun })
}

/// A report and what it was made with.
struct Made {
    observer: Observer,
    document: Document,
    /// What could not be run, in words.
    troubles: Vec<String>,
}

fn make(args: &Report, llvm: Llvm) -> Result<Made> {
    // What is wrong with the arguments is said before anything is built.
    let passes = pass::resolve_all(&llvm, &args.passes)?;
    let jobs = if args.all { Vec::new() } else { jobs(args, &llvm, &passes)? };
    let plugin = find_plugin(&llvm)?;
    let mut observer = Observer { llvm, plugin, swapped: HashMap::new(), keep: None };
    if let Some(source) = args.llvm_source.as_ref().filter(|_| !args.all) {
        observer.swapped = swap(&observer, source, &passes)?;
    }
    let begun = Instant::now();
    let (mut document, troubles) = match args.all {
        // Trouble with some of thousands of inputs is a part of the report, and no reason for another status.
        true => (all::observe(&mut observer, args)?, Vec::new()),
        false => merge(&observer.llvm, observe_all(&observer, &jobs, parallel::workers(args.jobs))?),
    };
    Annotator::default().annotate(&mut document)?;
    let mut document = merge::by_line(document);
    document.stats.seconds = begun.elapsed().as_secs_f64();
    Ok(Made { observer, document, troubles })
}

/// An earlier report, and what is needed to look at its errors again.
fn read(args: &Report, llvm: Llvm, path: &Path) -> Result<Made> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut document = Document::from_json(&text).with_context(|| path.display().to_string())?;
    if document.llvm != llvm.version {
        bail!("{} is of LLVM {}, not {}: give --llvm", path.display(), document.llvm, llvm.version);
    }
    if let Some(id) = &args.explain {
        document.errors = vec![explain::find(&document, id)?.clone()];
    }
    let plugin = find_plugin(&llvm)?;
    let mut observer = Observer { llvm, plugin, swapped: HashMap::new(), keep: None };
    if let Some(source) = &args.llvm_source {
        let with_lines = document.errors.iter().filter(|error| error.site.file.is_some());
        let names: BTreeSet<String> = with_lines.map(|error| error.pass.clone()).collect();
        let passes = pass::resolve_all(&observer.llvm, &Vec::from_iter(names))?;
        observer.swapped = swap(&observer, source, &passes)?;
    }
    Ok(Made { observer, document, troubles: Vec::new() })
}

/// One pass on one input.
#[derive(Debug)]
struct Job {
    pass: Pass,
    on: On,
}

#[derive(Debug)]
enum On {
    Input(Input),
    /// A RUN line of one of the pass's own tests.
    Own(OwnLine),
}

fn jobs(args: &Report, llvm: &Llvm, passes: &[Pass]) -> Result<Vec<Job>> {
    let named = input::named(&args.inputs)?;
    let own = match &args.llvm_source {
        Some(source) if args.inputs.is_empty() => {
            own::lines(llvm, &llvm_tests::all(&lines::tests(llvm, source)?)?)?.0
        }
        _ => Vec::new(),
    };
    let mut jobs = Vec::new();
    for pass in passes {
        let before = jobs.len();
        let of_pass = own.iter().filter(|line| own::is_of(pass, line));
        jobs.extend(of_pass.map(|line| Job { pass: pass.clone(), on: On::Own(line.clone()) }));
        let has_own = jobs.len() > before;
        let inputs = match args.inputs.is_empty() {
            true => kept_inputs(pass, has_own)?,
            false => named.clone(),
        };
        let found = inputs.len();
        let fitting: Vec<_> = inputs.into_iter().filter(|input| input.is_for(llvm.major)).collect();
        if fitting.is_empty() && !has_own {
            bail!("none of the {found} inputs for {} is for LLVM {}", pass.name, llvm.major);
        }
        jobs.extend(fitting.into_iter().map(|input| Job { pass: pass.clone(), on: On::Input(input) }));
    }
    Ok(jobs)
}

/// The inputs in the repository for a pass; there must be some unless there are others.
fn kept_inputs(pass: &Pass, has_others: bool) -> Result<Vec<Input>> {
    let folder = plugin::root()?.join("regress/passes").join(&pass.name);
    // Short names where that is possible: reports name inputs often.
    let here = std::env::current_dir().unwrap_or_default();
    let folder = folder.strip_prefix(here).map(Path::to_owned).unwrap_or(folder);
    let inputs = if folder.is_dir() { input::in_folder(&folder)? } else { Vec::new() };
    if inputs.is_empty() && !has_others {
        bail!("no inputs for {} in {}: give some with --input", pass.name, folder.display());
    }
    Ok(inputs)
}

fn observe_all(observer: &Observer, jobs: &[Job], workers: usize) -> Result<Vec<Observation>> {
    let progress = Progress::new(jobs.len());
    let observations = parallel::map(jobs, workers, |Job { pass, on }| match on {
        On::Input(input) => {
            let observation = observer.observe(pass, input)?;
            progress.done(&input.name());
            Ok(observation)
        }
        On::Own(line) => {
            let ran = observer.observe_line(line, &observer.libraries([pass.name.as_str()]))?;
            progress.done(&line.name);
            let (document, not_run) = match ran {
                Ran::Whole(document) => (Some(document), None),
                Ran::Not(not_run, document) => (document, Some(not_run)),
            };
            let document = document.map(|document| restrict(document, pass, &line.name));
            Ok(Observation { document, trouble: None, not_run })
        }
    })?;
    drop(progress);
    Ok(observations)
}

/// The recompiled files of the passes. Without one the report goes on, without lines.
fn swap(observer: &Observer, source: &LlvmSource, passes: &[Pass]) -> Result<HashMap<String, Vec<PathBuf>>> {
    let lines = Lines::open(&observer.llvm, &observer.plugin, source)?;
    let mut swapped = HashMap::new();
    for pass in passes {
        let of_pass = match pass.legacy {
            true => OfPass {
                refused: vec!["it has no pass of the new manager to swap".to_owned()],
                ..OfPass::default()
            },
            false => lines.libraries_of_pass(&pass.name)?,
        };
        swapped.extend(of_pass.or_say(&pass.name).map(|libraries| (pass.name.clone(), libraries)));
    }
    Ok(swapped)
}

fn merge(llvm: &Llvm, observations: Vec<Observation>) -> (Document, Vec<String>) {
    let mut merger = Merger::new(&llvm.version);
    let mut troubles = Vec::new();
    for Observation { document, trouble, not_run } in observations {
        troubles.extend(trouble);
        if let Some(not_run) = not_run {
            merger.add_not_run(not_run);
        }
        if let Some(document) = document
            && let Err(error) = merger.add(document)
        {
            troubles.push(error.to_string());
        }
    }
    (merger.finish(), troubles)
}

fn render(args: &Report, llvm: &Llvm, document: &Document) -> Result<String> {
    let options = text::Options { notes: args.notes, by_pass: args.all };
    Ok(match args.format {
        ReportFormat::Text => text::render(document, options),
        ReportFormat::Json => document.to_json(),
        ReportFormat::Html => html::render(document, options),
        ReportFormat::Sarif => {
            let paths = args.llvm_source.as_ref().map(|source| lines::paths(llvm, source)).transpose()?;
            let paths = paths.unwrap_or_default();
            sarif::render(document, &|file| paths.get(file).cloned())
        }
    })
}
