//! What was typed after `metaloc report`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use metaloc_toolchain::llvm::Which;

use super::LlvmArgs;
use crate::lines::LlvmSource;

/// Run passes on inputs and report the debug locations that they get wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc report tailcallelim --llvm 16
  metaloc report tailcallelim --llvm 16 --llvm-source auto
  metaloc report LICMPass 'simple-loop-unswitch<nontrivial>' --input tests/ --format json -o report.json
  metaloc report --all --llvm 19 -j 2 --format json -o all.json
  metaloc report --explain 3f0a --from all.json --format html -o 3f0a.html
  metaloc report tailcallelim licm --llvm 16 --confirm-with 22

Inputs are .ll, .bc and .c files. One without debug information gets synthetic locations (debugify).
Exit status: 0 no errors, 1 errors (certain or likely), 2 something could not be run.")]
pub struct Report {
    /// Name as in -passes= (tailcallelim), class (TailCallElimPass) or source file (TailRecursionElimination)
    #[arg(required_unless_present_any = ["all", "from"], value_name = "PASS")]
    pub passes: Vec<String>,

    /// All passes: every RUN line of LLVM's transformation tests (fetched once, 160 MB), or of those in --input
    #[arg(long, conflicts_with = "passes")]
    pub all: bool,

    /// With --all, only this many tests, the same ones each time
    #[arg(long, value_name = "N", requires = "all")]
    pub sample: Option<usize>,

    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// A file, or a folder with .ll, .bc and .c files; default: the inputs in regress/ for the pass
    #[arg(long = "input", value_name = "FILE|DIR")]
    pub inputs: Vec<PathBuf>,

    /// Say lines and variables of the pass, from its source: `auto` fetches Debian's source package once
    /// (130 to 160 MB), or a folder that has llvm/
    #[arg(long, value_name = "auto|DIR")]
    pub llvm_source: Option<LlvmSource>,

    /// Say of each error what a newer LLVM makes of it on the same input: it makes the change (confirmed), it shows
    /// the same error, or nothing certain can be said
    #[arg(long, value_name = "N|OPT", conflicts_with = "explain")]
    pub confirm_with: Option<Which>,

    /// Show one error instead: both control-flow graphs, the instruction, the extra locations and the path on
    /// which they are extra. The beginning of an id is enough
    #[arg(long, value_name = "ID")]
    pub explain: Option<String>,

    /// With --explain or --confirm-with, take this report (JSON) instead of running the passes again
    #[arg(long, value_name = "REPORT", conflicts_with = "passes")]
    pub from: Option<PathBuf>,

    /// With --explain, write both graphs here in the language of graphviz
    #[arg(long, value_name = "FILE", requires = "explain")]
    pub dot: Option<PathBuf>,

    /// Number of `opt` processes at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// How to print the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,

    /// Write the report here instead of to standard output
    #[arg(short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print notes too, not only count them
    #[arg(long)]
    pub notes: bool,
}

/// How to print a report, or an explanation of one error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code hosts and editors; not with --explain
    Sarif,
    /// A page that needs nothing else; with --explain, both control-flow graphs as pictures
    Html,
}
