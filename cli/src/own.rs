//! A pass on its own regression tests: RUN lines as they stand, with the plugin loaded, on the same text with
//! synthetic locations where it has none.
//!
//! A line that this `opt` does not succeed on (it asks for a build with assertions, or expects to fail) says
//! nothing about locations: it is left out and counted.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use metaloc_corpus::own_tests::{self, OwnLine};
use metaloc_corpus::pass_names::PassNames;
use metaloc_corpus::regress::DEBUGIFY_ARGS;
use metaloc_corpus::{llvm_tests, stock};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Sink, Stdin, Task};

use crate::observe::{Observation, Observer, read_document, restrict};
use crate::pass::Pass;

/// The RUN lines of the tests below `source`, which has `llvm/test/Transforms`, that the new manager can run.
pub fn lines(llvm: &Llvm, source: &Path) -> Result<Vec<OwnLine>> {
    let ask = |arg: &str| -> Result<String> {
        Ok(String::from_utf8_lossy(&stock::output(Task::new(&llvm.opt).arg(arg))?).into_owned())
    };
    let names = PassNames::parse(&ask("-print-passes")?, &ask("--help-hidden")?);
    Ok(own_tests::lines(&llvm_tests::all(source)?, &names)?)
}

/// True if a line runs a pass.
pub fn is_of(pass: &Pass, line: &OwnLine) -> bool {
    !line.line.expects_failure && line.passes.iter().any(|name| pass.is_named(name))
}

impl Observer {
    /// Runs a RUN line; `None` if it is left out.
    pub fn observe_line(&self, pass: &Pass, own: &OwnLine) -> Result<Option<Observation>> {
        let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        let args = own.line.args_for(&own.test);
        let Some(prepared) = self.prepare_test(scratch.path(), own, &args)? else { return Ok(None) };
        let put = |text: &str| text.replace(&*own.test.to_string_lossy(), &prepared.to_string_lossy());
        let stdin = own.line.stdin_for(&own.test).map(|file| put(&file.to_string_lossy()));
        let written = scratch.path().join("report.json");
        let task = Task::new(&self.llvm.opt)
            .args(args.iter().map(|arg| put(arg)))
            .arg(format!("-load-pass-plugin={}", self.plugin.display()))
            .stdin(stdin.map_or(Stdin::Null, |file| Stdin::File(file.into())))
            .stdout(Sink::Null)
            .cwd(scratch.path())
            .env("METALOC_OUT", &written)
            .env_remove("METALOC");
        let outcome = self.swapping(task, pass).run()?;
        if !outcome.exit.success() {
            return Ok(None);
        }
        let document = read_document(&written)?.map(|document| restrict(document, pass, &own.name));
        Ok(document.map(|document| Observation { document: Some(document), trouble: None }))
    }

    /// The test with locations: itself if it has some.
    fn prepare_test(&self, scratch: &Path, own: &OwnLine, args: &[String]) -> Result<Option<PathBuf>> {
        let text = fs::read(&own.test).with_context(|| format!("cannot read {}", own.test.display()))?;
        let has = |what: &str| text.windows(what.len()).any(|bytes| bytes == what.as_bytes());
        let makes_its_own = args.iter().any(|arg| arg.contains("debugify"));
        if has("!llvm.dbg.cu") || makes_its_own {
            return Ok(Some(own.test.clone()));
        }
        let prepared = scratch.join("prepared.bc");
        // How pointers are read is a matter of the text.
        let reading = args.iter().filter(|arg| arg.contains("opaque-pointers"));
        let task = Task::new(&self.llvm.opt).args(DEBUGIFY_ARGS).args(reading);
        let outcome = task.arg(&own.test).arg("-o").arg(&prepared).run()?;
        Ok(outcome.exit.success().then_some(prepared))
    }
}
