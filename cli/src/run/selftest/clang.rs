//! `metaloc selftest clang`: the compiler writes the same objects with and without the plugin, and one
//! report per translation unit.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use metaloc_corpus::programs::{self, Unit};
use metaloc_report::Document;
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;

use super::compare::{Baseline, Shown, Tally, Verdict, compare};
use crate::args::SelftestClang;
use crate::output;
use crate::parallel;
use crate::progress::Progress;
use crate::run::{find_llvm, find_plugin};
use crate::status::Status;

pub fn run(args: &SelftestClang) -> Result<Status> {
    let llvm = find_llvm(&args.llvm)?;
    let plugin = find_plugin(&llvm)?;
    let units: Vec<Unit> =
        programs::units(&output::complain)?.into_iter().filter(|unit| unit.program.name == "lua").collect();
    let progress = Progress::new(units.len());
    let verdicts = parallel::map(&units, parallel::workers(args.jobs), |unit| {
        let verdict = check(&llvm, &plugin, unit)?;
        progress.done(&unit.name());
        Ok(verdict)
    })?;
    drop(progress);
    let mut tally = Tally::default();
    units.iter().zip(verdicts).for_each(|(unit, verdict)| tally.add(&unit.name(), verdict));
    output::print(&tally.text(&llvm.version, "objects"))?;
    Ok(if tally.has_differences() { Status::Findings } else { Status::Clean })
}

fn check(llvm: &Llvm, plugin: &Path, unit: &Unit) -> Result<Verdict> {
    let reports = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
    let compile = |folder: &Path, plugin: Option<&Path>| -> Result<Shown> {
        let object = folder.join("unit.o");
        let mut task = Task::new(llvm.clang()?).args(["-O2", "-g", "-c", "-w"]).args(unit.compile_args());
        task = task.arg("-o").arg(&object).cwd(&unit.folder).env_remove("METALOC").env_remove("METALOC_OUT");
        if let Some(plugin) = plugin {
            task = task.arg(format!("-fpass-plugin={}", plugin.display())).env("METALOC_OUT", reports.path());
        }
        let mut shown = Shown::of(task.run()?, true);
        // The object is the output here; a compiler that fails has none.
        shown.stdout = fs::read(&object).unwrap_or_default();
        Ok(shown)
    };
    let verdict = compare(
        Baseline::Succeeding,
        |folder, _| compile(folder, None),
        |folder| compile(folder, Some(plugin)),
    )?;
    Ok(match (verdict, report_problem(reports.path())?) {
        (Verdict::Identical, Some(problem)) => Verdict::Differs(problem),
        (verdict, _) => verdict,
    })
}

/// What is wrong with the folder of reports of one compiler process; `None` if it has one whole report.
fn report_problem(folder: &Path) -> Result<Option<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let [file] = &files[..] else { return Ok(Some(format!("{} reports instead of one", files.len()))) };
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(match Document::from_json(&text) {
        Ok(document) if document.complete => None,
        Ok(_) => Some("the report is not complete".into()),
        Err(error) => Some(format!("the report cannot be read: {error}")),
    })
}
