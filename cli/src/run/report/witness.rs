//! A witness of an error, run once more, with the function before and after the pass kept.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use metaloc_corpus::llvm_tests::LlvmTest;
use metaloc_corpus::own_tests::OwnLine;
use metaloc_report::{Document, Witness};
use metaloc_toolchain::Llvm;

use super::all;
use crate::args::Report;
use crate::input::Input;
use crate::observe::Observer;
use crate::own::{self, Ran};
use crate::pass::{Pass, Passes};

/// What a witness was run on.
#[derive(Debug, Clone)]
pub enum On {
    /// A file.
    Input(Input),
    /// A RUN line.
    Line(OwnLine),
}

/// Finds the inputs of witnesses again.
#[derive(Debug)]
pub struct Inputs<'a> {
    args: &'a Report,
    llvm: &'a Llvm,
}

impl<'a> Inputs<'a> {
    /// The inputs of a report that was made with these arguments.
    pub fn new(args: &'a Report, llvm: &'a Llvm) -> Inputs<'a> {
        Inputs { args, llvm }
    }

    /// The input of a witness. RUN lines are named `FOLDER/TEST.ll:LINE`, files by their path.
    pub fn find(&self, witness: &Witness) -> Result<On> {
        let name = &witness.input;
        let path = Path::new(name);
        if path.is_file() {
            return Ok(On::Input(Input::open(path)?));
        }
        let Some((test, _)) = name.rsplit_once(':') else { bail!("there is no input {name}") };
        for root in self.roots()? {
            let path = root.join(test);
            if !path.is_file() {
                continue;
            }
            let (lines, _) = own::lines(self.llvm, &[LlvmTest { path, name: test.to_owned() }])?;
            if let Some(line) = lines.into_iter().find(|line| line.name == *name) {
                return Ok(On::Line(line));
            }
        }
        bail!("there is no test {name}: give --llvm-source or --input as for the report")
    }

    /// Folders that tests are named from.
    fn roots(&self) -> Result<Vec<PathBuf>> {
        if self.args.all && !self.args.inputs.is_empty() {
            let absolute = |path: &PathBuf| {
                std::fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))
            };
            return self.args.inputs.iter().map(absolute).collect();
        }
        let source = all::source_of_tests(self.llvm, self.args.llvm_source.as_ref())?;
        Ok(vec![source.join("llvm/test/Transforms")])
    }
}

/// Runs a pass on the input of a witness; the document has the runs on the witness's function. Trouble with the
/// input is an `Err` inside, in words.
pub fn rerun(
    observer: &Observer,
    passes: &Passes,
    (pass, function): (&str, &str),
    on: &On,
) -> Result<std::result::Result<Document, String>> {
    let observer = Observer { keep: Some(format!("{pass}:{function}")), ..observer.clone() };
    match on {
        On::Line(line) => Ok(match observer.observe_line(line, &observer.libraries([pass]))? {
            Ran::Whole(document) => Ok(document),
            Ran::Not(_, Some(document)) => Ok(document),
            Ran::Not(not_run, None) => Err(not_run.detail),
        }),
        On::Input(input) => {
            let pass: Pass = match passes.resolve(pass).map(|found| found.into_iter().next()) {
                Ok(Some(pass)) => pass,
                Ok(None) => return Ok(Err(format!("there is no pass {pass}"))),
                Err(error) => return Ok(Err(error.to_string())),
            };
            let observation = observer.observe(&pass, input)?;
            Ok(observation.document.ok_or(observation.trouble.unwrap_or_default()))
        }
    }
}
