//! `metaloc report --confirm-with N`: the errors of a report on a newer LLVM, witness by witness.

use std::collections::HashMap;

use anyhow::{Result, bail};
use metaloc_report::confirm::{self, Confirmation, Side, Verdict};
use metaloc_report::{Document, Error, Witness, merge};
use metaloc_source::annotate::Annotator;
use metaloc_toolchain::Llvm;
use metaloc_toolchain::llvm::Which;

use super::witness::{self, Inputs};
use crate::args::Report;
use crate::observe::Observer;
use crate::parallel;
use crate::pass::Passes;
use crate::progress::Progress;
use crate::run::find_plugin;

/// The newer LLVM, found before anything is run.
pub struct Newer {
    observer: Observer,
    passes: Passes,
}

impl Newer {
    pub fn find(which: &Which, than: &Llvm) -> Result<Newer> {
        let llvm = Llvm::find(which, None)?;
        if llvm.major <= than.major {
            bail!("LLVM {} is not newer than {}", llvm.version, than.version);
        }
        let plugin = find_plugin(&llvm)?;
        let passes = Passes::of(&llvm)?;
        Ok(Newer { observer: Observer { llvm, plugin, swapped: HashMap::new(), keep: None }, passes })
    }

    /// Adds what this LLVM says to every error of the report.
    pub fn confirm(&self, args: &Report, older: &Observer, document: &mut Document) -> Result<()> {
        let inputs = Inputs::new(args, &older.llvm);
        let passes = Passes::of(&older.llvm)?;
        let both = Both { older, passes: &passes, newer: self, inputs: &inputs };
        let progress = Progress::new(document.errors.len());
        let confirmations = parallel::map(&document.errors, parallel::workers(args.jobs), |error| {
            let confirmation = both.confirm(error)?;
            progress.done(&error.id);
            Ok(confirmation)
        })?;
        drop(progress);
        for (error, confirmation) in document.errors.iter_mut().zip(confirmations) {
            error.confirmation = confirmation;
        }
        Ok(())
    }
}

struct Both<'a> {
    older: &'a Observer,
    passes: &'a Passes,
    newer: &'a Newer,
    inputs: &'a Inputs<'a>,
}

impl Both<'_> {
    /// The smallest witness that decides speaks; where none does, the smallest says why.
    fn confirm(&self, error: &Error) -> Result<Option<Confirmation>> {
        let mut undecided = None;
        for witness in &error.witnesses {
            let (verdict, reason) = match self.witness(error, witness)? {
                Ok(verdict) => (verdict, None),
                Err(reason) => (Verdict::Unknown, Some(reason)),
            };
            let llvm = self.newer.observer.llvm.version.clone();
            let confirmation = Confirmation { llvm, verdict, input: witness.input.clone(), reason };
            if verdict != Verdict::Unknown {
                return Ok(Some(confirmation));
            }
            undecided.get_or_insert(confirmation);
        }
        Ok(undecided)
    }

    fn witness(&self, error: &Error, witness: &Witness) -> Result<std::result::Result<Verdict, String>> {
        let on = self.inputs.find(witness)?;
        let asked = (error.pass.as_str(), witness.function.as_str());
        let mut old = match witness::rerun(self.older, self.passes, asked, &on)? {
            Ok(document) => document,
            Err(trouble) => return Ok(Err(trouble)),
        };
        Annotator::default().annotate(&mut old)?;
        let new = match witness::rerun(&self.newer.observer, &self.newer.passes, asked, &on)? {
            Ok(document) => document,
            Err(trouble) => return Ok(Err(format!("it cannot be run there: {trouble}"))),
        };
        let ids = old.errors.iter().filter(|known| merge::line_id(known) == error.id);
        let ids: Vec<&str> = ids.map(|known| known.id.as_str()).collect();
        let (old, new) = (side(&old), side(&new));
        Ok(confirm::compare(old, new, &ids, error).map_err(str::to_owned))
    }
}

fn side(document: &Document) -> Side<'_> {
    Side { runs: &document.runs, errors: &document.errors }
}
