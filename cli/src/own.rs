//! LLVM's regression tests as inputs: RUN lines as they stand, with the plugin loaded, on the same text with
//! synthetic locations where it has none.
//!
//! A line that this `opt` does not succeed on (it asks for a build with assertions, or for a target that is not
//! there) says nothing about locations: it is left out and said.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use metaloc_corpus::own_tests::{self, LeftOut, OwnLine};
use metaloc_corpus::pass_names::PassNames;
use metaloc_corpus::regress::DEBUGIFY_ARGS;
use metaloc_corpus::{llvm_tests::LlvmTest, stock};
use metaloc_report::{Document, NotRun, Why, pass_names};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Exit, Outcome, Sink, Stdin, Task};

use crate::observe::{Observer, complaint, read_document, swapping};
use crate::pass::Pass;

/// No test of LLVM takes a tenth of this, not even in unoptimised code.
const PATIENCE: Duration = Duration::from_secs(120);

/// The RUN lines that the new manager of this LLVM can run, and the others.
pub fn lines(llvm: &Llvm, tests: &[LlvmTest]) -> Result<(Vec<OwnLine>, Vec<LeftOut>)> {
    let ask = |arg: &str| -> Result<String> {
        Ok(String::from_utf8_lossy(&stock::output(Task::new(&llvm.opt).arg(arg))?).into_owned())
    };
    let names = PassNames::parse(&ask("-print-passes")?, &ask("--help-hidden")?);
    Ok(own_tests::lines(tests, &names)?)
}

/// True if a line runs a pass.
pub fn is_of(pass: &Pass, line: &OwnLine) -> bool {
    line.passes.iter().any(|name| pass.is_named(name))
}

/// The RUN lines that say something about a source file: those that name a pass of it, or all of them.
pub fn lines_for<'a>(lines: &'a [OwnLine], stem: &str) -> Vec<&'a OwnLine> {
    let passes = passes_of(stem);
    let fits =
        |line: &&OwnLine| passes.is_empty() || line.passes.iter().any(|pass| passes.contains(pass.as_str()));
    lines.iter().filter(fits).collect()
}

/// The passes that are written in a source file.
pub fn passes_of(stem: &str) -> BTreeSet<&'static str> {
    pass_names::all().filter(|row| row.source == stem).map(|row| row.name).collect()
}

/// What came of a RUN line.
#[derive(Debug)]
pub enum Ran {
    /// What the plugin wrote.
    Whole(Document),
    /// It did not get to its end; what a crashing `opt` had found until then is kept.
    Not(NotRun, Option<Document>),
}

impl Ran {
    fn not(input: &str, why: Why, detail: String) -> Ran {
        Ran::Not(NotRun { input: input.to_owned(), why, detail }, None)
    }
}

impl Observer {
    /// Runs a RUN line with these recompiled passes.
    pub fn observe_line(&self, own: &OwnLine, libraries: &[&Path]) -> Result<Ran> {
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        match self.prepare_test(scratch.path(), own)? {
            Ok(prepared) => self.run_line(scratch.path(), &prepared, own, libraries),
            Err(not_run) => Ok(Ran::Not(not_run, None)),
        }
    }

    /// Runs a RUN line on its test as prepared by [`Observer::prepare_test`].
    pub fn run_line(
        &self,
        scratch: &Path,
        prepared: &Path,
        own: &OwnLine,
        libraries: &[&Path],
    ) -> Result<Ran> {
        let written = scratch.join("report.json");
        let mut task = self
            .line_task(scratch, prepared, own)
            .stdout(Sink::Null)
            .env("METALOC_OUT", &written)
            .env_remove("METALOC");
        // Nobody looks at the result, and printing it takes longer than many a pass.
        if !own.line.raw_args().iter().any(|arg| is_flag(arg, "disable-output")) {
            task = task.arg("-disable-output");
        }
        let outcome = self.keeping(swapping(task, libraries)?).run()?;
        let document = read_document(&written)?;
        // The next line of the same test writes to the same place.
        let _ = fs::remove_file(&written);
        let document = document.map(|document| named(document, &own.name));
        Ok(match (not_run(&own.name, &outcome), document) {
            (Some(not_run), document) => {
                // A line that was refused did not do what the test is about.
                let document = document.filter(|_| not_run.why == Why::Crashed);
                Ran::Not(not_run, document.map(told))
            }
            (None, Some(document)) => Ran::Whole(document),
            (None, None) => Ran::not(&own.name, Why::Failed, "opt ran no pass".to_owned()),
        })
    }

    /// A RUN line on its test as prepared, with the plugin loaded.
    pub fn line_task(&self, scratch: &Path, prepared: &Path, own: &OwnLine) -> Task {
        let put = |text: &str| text.replace(&*own.test.to_string_lossy(), &prepared.to_string_lossy());
        let stdin = own.line.stdin_for(&own.test).map(|file| put(&file.to_string_lossy()));
        Task::new(&self.llvm.opt)
            .args(own.line.args_for(&own.test).iter().map(|arg| put(arg)))
            .arg(format!("-load-pass-plugin={}", self.plugin.display()))
            .stdin(stdin.map_or(Stdin::Null, |file| Stdin::File(file.into())))
            .cwd(scratch)
            .timeout(PATIENCE)
    }

    /// The test with locations: itself if it has some.
    pub fn prepare_test(
        &self,
        scratch: &Path,
        own: &OwnLine,
    ) -> Result<std::result::Result<PathBuf, NotRun>> {
        let text = fs::read(&own.test).with_context(|| format!("cannot read {}", own.test.display()))?;
        let has = |what: &str| text.windows(what.len()).any(|bytes| bytes == what.as_bytes());
        let args = own.line.args_for(&own.test);
        let makes_its_own = args.iter().any(|arg| arg.contains("debugify"));
        if has("!llvm.dbg.cu") || makes_its_own {
            return Ok(Ok(own.test.clone()));
        }
        let reading = reading(&args);
        // Lines of one test that read it alike share the result.
        let prepared = scratch.join(format!("prepared{}.bc", reading.concat().replace(['-', '='], "_")));
        if prepared.exists() {
            return Ok(Ok(prepared));
        }
        let task = Task::new(&self.llvm.opt).args(DEBUGIFY_ARGS).args(&reading).timeout(PATIENCE);
        let outcome = task.arg(&own.test).arg("-o").arg(&prepared).run()?;
        Ok(match not_run(&own.name, &outcome) {
            Some(not_run) => Err(not_run),
            None => Ok(prepared),
        })
    }
}

/// True for a flag with one dash or two.
pub fn is_flag(arg: &str, name: &str) -> bool {
    arg.trim_start_matches('-') == name && arg.starts_with('-')
}

/// How pointers are read is a matter of the text.
fn reading(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).filter(|arg| arg.contains("opaque-pointers")).collect()
}

/// Says why a process of `opt` is no use; `None` if it is.
fn not_run(input: &str, outcome: &Outcome) -> Option<NotRun> {
    let why = match outcome.exit {
        Exit::Code(0) => return None,
        Exit::Code(_) => Why::Failed,
        Exit::Signal(_) => Why::Crashed,
        Exit::Timeout(_) => Why::TimedOut,
    };
    let said = complaint(outcome).map(|said| format!(": {said}")).unwrap_or_default();
    let detail = format!("{}{said}", outcome.exit);
    Some(NotRun { input: input.to_owned(), why, detail })
}

/// Witnesses under the name of the RUN line.
fn named(mut document: Document, input: &str) -> Document {
    for witness in document.errors.iter_mut().flat_map(|error| &mut error.witnesses) {
        input.clone_into(&mut witness.input);
    }
    document
}

/// What a line had found when it crashed. Which line that is is said by name, among those that were not run; the report of
/// all the others is not incomplete for it.
fn told(document: Document) -> Document {
    Document { complete: true, ..document }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_a_process_ended_is_told_apart() {
        let outcome = |exit| Outcome {
            exit,
            stdout: Vec::new(),
            stderr: b"opt: error: no\n".to_vec(),
            usage: Default::default(),
        };
        let why = |exit| not_run("a.ll:1", &outcome(exit)).map(|not_run| not_run.why);
        assert_eq!(why(Exit::Code(0)), None);
        assert_eq!(why(Exit::Code(1)), Some(Why::Failed));
        assert_eq!(why(Exit::Signal(11)), Some(Why::Crashed));
        assert_eq!(why(Exit::Timeout(PATIENCE)), Some(Why::TimedOut));
        let said = not_run("a.ll:1", &outcome(Exit::Code(1))).unwrap().detail;
        assert_eq!(said, "exit status 1: opt: error: no");
    }
}
