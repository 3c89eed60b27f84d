//! One pass on one input, in one process of `opt` with the plugin loaded.
//!
//! Preparing (compiling C, synthetic locations, an earlier pipeline) happens in stock processes of their
//! own, so that only the pass asked for is observed. Trouble with one input is a value, not an error: the
//! other inputs go on, and what a crashing `opt` had found until then is kept.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_corpus::regress::{CLANG_ARGS, DEBUGIFY_ARGS};
use metaloc_report::{Document, NotRun};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Exit, Outcome, Task};
use tempfile::TempDir;

use crate::input::{Input, Kind};
use crate::pass::Pass;

/// What every observation needs.
#[derive(Debug, Clone)]
pub struct Observer {
    pub llvm: Llvm,
    pub plugin: PathBuf,
    /// The recompiled files of passes, by the name of the pass.
    pub swapped: HashMap<String, Vec<PathBuf>>,
    /// `PASS:FUNCTION` whose runs the document is to keep.
    pub keep: Option<String>,
}

/// What came of one input.
#[derive(Debug, Default)]
pub struct Observation {
    /// What the plugin wrote, restricted to the pass asked for.
    pub document: Option<Document>,
    /// What went wrong, in one or more lines, the input named.
    pub trouble: Option<String>,
    /// A test of LLVM that is no use with this `opt`.
    pub not_run: Option<NotRun>,
}

impl Observer {
    /// Runs a pass on an input. An error here is one that ends the whole run.
    pub fn observe(&self, pass: &Pass, input: &Input) -> Result<Observation> {
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        match self.observe_in(&scratch, pass, input)? {
            Ok(observation) => Ok(observation),
            Err(trouble) => Ok(Observation { trouble: Some(trouble), ..Observation::default() }),
        }
    }

    fn observe_in(&self, scratch: &TempDir, pass: &Pass, input: &Input) -> Result<Attempt<Observation>> {
        let prepared = match self.prepare(scratch, input)? {
            Ok(prepared) => prepared,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let pipeline = match pipeline(pass, input) {
            Ok(pipeline) => pipeline,
            Err(error) => return Ok(Err(format!("{}: {error}", input.name()))),
        };
        let written = scratch.path().join("report.json");
        let task = match pass.legacy {
            false => {
                let plugin = format!("-load-pass-plugin={}", self.plugin.display());
                self.opt(input).arg(plugin).arg(format!("-passes={pipeline}"))
            }
            true => self.legacy(input, &pass.name),
        };
        let task = task.args(&input.header.args);
        let task = self.keeping(swapping(task, &self.libraries([pass.name.as_str()]))?);
        let task =
            task.arg("-disable-output").arg(&prepared).env("METALOC_OUT", &written).env_remove("METALOC");
        let outcome = task.run()?;
        let mut trouble = None;
        if !outcome.exit.success() {
            trouble = Some(self.explain(input, &prepared, &outcome)?);
        }
        let document = match read_document(&written) {
            Ok(document) => document.map(|document| restrict(document, pass, &input.name())),
            Err(error) => return Ok(Err(format!("{}: {error:#}", input.name()))),
        };
        if document.is_none() && trouble.is_none() {
            trouble = Some(format!("{}: the plugin left no report", input.name()));
        }
        Ok(Ok(Observation { document, trouble, not_run: None }))
    }

    /// With the runs kept that somebody wants to see.
    pub fn keeping(&self, task: Task) -> Task {
        match &self.keep {
            Some(keep) => task.env("METALOC_RUNS", keep),
            None => task.env_remove("METALOC_RUNS"),
        }
    }

    /// The recompiled files of passes.
    pub fn libraries<'a>(&'a self, passes: impl IntoIterator<Item = &'a str>) -> Vec<&'a Path> {
        each_once(passes.into_iter().filter_map(|pass| self.swapped.get(pass)).flatten())
    }

    /// A file that `opt` can read, with debug information.
    fn prepare(&self, scratch: &TempDir, input: &Input) -> Result<Attempt<PathBuf>> {
        let mut path = input.path.clone();
        let mut steps = Vec::new();
        if input.kind == Kind::C {
            steps.push(Task::new(self.llvm.clang()?).args(CLANG_ARGS));
        }
        if let Some(pipeline) = &input.header.prepare {
            steps.push(self.opt(input).arg(format!("-passes={pipeline}")));
        }
        // After the preparing pipeline: then every instruction that the pass meets has a line of its own.
        // A module that has debug information already is left as it is.
        if matches!(input.kind, Kind::Bitcode | Kind::Text { has_debug_info: false, .. }) {
            steps.push(self.opt(input).args(DEBUGIFY_ARGS));
        }
        for (number, step) in steps.into_iter().enumerate() {
            let next = scratch.path().join(format!("prepared-{number}.bc"));
            let outcome = step.arg(&path).arg("-o").arg(&next).run()?;
            if !outcome.exit.success() {
                return Ok(Err(self.explain(input, &path, &outcome)?));
            }
            path = next;
        }
        Ok(Ok(path))
    }

    fn opt(&self, input: &Input) -> Task {
        let task = Task::new(&self.llvm.opt);
        let opaque = matches!(input.kind, Kind::Text { has_opaque_pointers: true, .. });
        // Later versions have opaque pointers by default, or nothing else.
        if opaque && self.llvm.major == 14 { task.arg("-opaque-pointers") } else { task }
    }

    /// A pass named as a flag, with the plugin loaded by the dynamic linker.
    fn legacy(&self, input: &Input, pass: &str) -> Task {
        let task = self.opt(input).arg(format!("-{pass}"));
        // There the new manager is asked first, for flags too.
        let task = if self.llvm.major == 14 { task.arg("-enable-new-pm=0") } else { task };
        task.env("LD_PRELOAD", &self.plugin).env("METALOC_PRELOAD", "1")
    }

    /// Says why a tool failed on an input: the program crashed, the input is at fault, or the run is.
    fn explain(&self, input: &Input, given: &Path, outcome: &Outcome) -> Result<String> {
        let name = input.name();
        let version = &self.llvm.version;
        if let Exit::Signal(_) = outcome.exit {
            let said = complaint(outcome).map(|said| format!(" ({said})")).unwrap_or_default();
            return Ok(format!(
                "{name}: opt of LLVM {version} crashed, {}{said}; what it had done until then is reported",
                outcome.exit
            ));
        }
        let said = complaint(outcome).unwrap_or_else(|| outcome.exit.to_string());
        let ours = given == input.path && input.kind != Kind::C;
        if !ours || self.can_read(&self.opt(input), given)? {
            return Ok(format!("{name}: {said}"));
        }
        for newer in Llvm::installed().iter().filter(|newer| newer.major > self.llvm.major) {
            if self.can_read(&Task::new(&newer.opt), given)? {
                return Ok(format!(
                    "{name} is IR of a newer LLVM: {version} cannot read it, {} can ({said})",
                    newer.version
                ));
            }
        }
        Ok(format!("{name} is not IR that LLVM {version} can read: {said}"))
    }

    fn can_read(&self, opt: &Task, path: &Path) -> Result<bool> {
        let outcome = opt.clone().args(["-passes=verify", "-disable-output"]).arg(path).run()?;
        Ok(outcome.exit.success())
    }
}

/// Passes may be written in the same file, which is swapped once.
fn each_once<'a>(libraries: impl Iterator<Item = &'a PathBuf>) -> Vec<&'a Path> {
    let mut kept: Vec<&Path> = Vec::new();
    for library in libraries {
        if !kept.contains(&library.as_path()) {
            kept.push(library);
        }
    }
    kept
}

/// With recompiled files swapped in, or none.
pub fn swapping(task: Task, libraries: &[&Path]) -> Result<Task> {
    Ok(match libraries {
        [] => task.env_remove("METALOC_SWAP"),
        _ => task.env("METALOC_SWAP", std::env::join_paths(libraries).context("METALOC_SWAP")?),
    })
}

/// Trouble with this input, or the value.
type Attempt<T> = std::result::Result<T, String>;

/// Parameters that the user typed win over those that the input asks for.
fn pipeline(pass: &Pass, input: &Input) -> Result<String> {
    let Some(wanted) = &input.header.pass else { return Ok(pass.pipeline.clone()) };
    if pass.has_parameters() {
        return Ok(pass.pipeline.clone());
    }
    let innermost = wanted.rsplit('(').next().unwrap_or(wanted);
    let base = innermost.split(['<', ')']).next().unwrap_or(innermost);
    if !pass.is_named(base) {
        bail!("the input is for the pass {base}, not {}", pass.name);
    }
    Ok(wanted.clone())
}

/// Reads what the plugin wrote; `None` if it wrote nothing.
pub fn read_document(path: &Path) -> Result<Option<Document>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    Ok(Some(Document::from_json(&text).context("the plugin's report")?))
}

/// Only what the pass did, and inputs under the name that the user knows.
pub fn restrict(mut document: Document, pass: &Pass, input: &str) -> Document {
    document.errors.retain(|error| pass.reports_as(&error.pass));
    document.passes.retain(|summary| pass.reports_as(&summary.pass));
    for error in &mut document.errors {
        for witness in &mut error.witnesses {
            witness.input = input.to_owned();
        }
    }
    document
}

/// The line of a tool's output that says what is wrong.
pub fn complaint(outcome: &Outcome) -> Option<String> {
    let text = outcome.stderr_text();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = |line: &&str| {
        ["error:", "LLVM ERROR", "Assertion", "Stack dump"].iter().any(|word| line.contains(word))
    };
    let line = lines().find(telling).or_else(|| lines().find(|line| !line.starts_with("PLEASE submit")))?;
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_corpus::header::Header;

    fn pass(pipeline: &str) -> Pass {
        let name = pipeline.split('<').next().unwrap().to_owned();
        Pass { aliases: vec![name.clone()], pipeline: pipeline.to_owned(), legacy: false, name }
    }

    #[test]
    fn a_file_with_two_passes_is_swapped_once() {
        let libraries = ["GVN.so", "LICM.so", "LICM.so"].map(PathBuf::from);
        assert_eq!(each_once(libraries.iter()), [Path::new("GVN.so"), Path::new("LICM.so")]);
    }

    fn input(pass: Option<&str>) -> Input {
        let header = Header { pass: pass.map(str::to_owned), ..Header::default() };
        Input { path: "x.ll".into(), kind: Kind::Bitcode, header }
    }

    #[test]
    fn typed_parameters_win() {
        let wanted = input(Some("gvn<no-pre>"));
        assert_eq!(pipeline(&pass("gvn<pre>"), &wanted).unwrap(), "gvn<pre>");
        assert_eq!(pipeline(&pass("gvn"), &wanted).unwrap(), "gvn<no-pre>");
        assert_eq!(pipeline(&pass("gvn"), &input(None)).unwrap(), "gvn");
        let nested = input(Some("function(loop-mssa(licm<allowspeculation>))"));
        assert_eq!(pipeline(&pass("licm"), &nested).unwrap(), "function(loop-mssa(licm<allowspeculation>))");
        let error = pipeline(&pass("licm"), &wanted).unwrap_err().to_string();
        assert_eq!(error, "the input is for the pass gvn, not licm");
    }

    fn outcome(stderr: &str) -> Outcome {
        Outcome {
            exit: Exit::Code(1),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
            usage: Default::default(),
        }
    }

    #[test]
    fn the_telling_line_is_found() {
        let said = "warning: x\nopt: in.ll:1:1: error: expected top-level entity\nfoo\n^\n";
        assert_eq!(complaint(&outcome(said)).unwrap(), "opt: in.ll:1:1: error: expected top-level entity");
        let crash = "PLEASE submit a bug report\nLLVM ERROR: broken\nStack dump:\n";
        assert_eq!(complaint(&outcome(crash)).unwrap(), "LLVM ERROR: broken");
        assert_eq!(complaint(&outcome("\n")), None);
    }
}
