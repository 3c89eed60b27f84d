//! `metaloc opt`: the stock `opt` with the plugin loaded, everything else passed through.

use anyhow::{Context, Result};
use metaloc_report::text;
use metaloc_toolchain::process::{Sink, Stdin, Task};

use super::{find_llvm, find_plugin};
use crate::args::Opt;
use crate::observe::read_document;
use crate::output;
use crate::status::Status;

pub fn run(args: &Opt) -> Result<Status> {
    let llvm = find_llvm(&args.llvm)?;
    let plugin = find_plugin(&llvm)?;
    let scratch = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let written = scratch.path().join("report.json");
    let task = Task::new(&llvm.opt).arg(format!("-load-pass-plugin={}", plugin.display()));
    let task = task.args(&args.arguments).env("METALOC_OUT", &written);
    let outcome = task.stdin(Stdin::Inherit).stdout(Sink::Inherit).stderr(Sink::Inherit).run()?;
    let mut status = Status::Clean;
    // Nothing is written if METALOC=off, or if opt had nothing to run (`--version`).
    if let Some(document) = read_document(&written)? {
        output::print_on_stderr(&text::render(
            &document,
            text::Options { notes: args.notes, by_pass: false },
        ));
        if document.has_findings() {
            status = Status::Findings;
        }
    }
    if !outcome.exit.success() {
        output::complain(&format!("{}: {}", llvm.opt.display(), outcome.exit));
        status = Status::CouldNotRun;
    }
    Ok(status)
}
