//! Benches of what is reported of passes, and of what observing them costs.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use metaloc_toolchain::llvm::Which;

use crate::args::{Format, LlvmArgs};
use crate::lines::LlvmSource;

/// Known errors: how many show in what a pass leaves behind, and how many of those a report finds
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench truth
  metaloc bench truth --llvm 16 --at-least 30
  metaloc bench truth --llvm-source auto

Without --llvm, LLVM 14, 16 and 19 are put side by side.
Exit status: 0, 1 if fewer were found than asked for, 2 something could not be run.")]
pub struct BenchTruth {
    /// Debian's LLVM of this major version, or the path of an `opt`; default: 14, 16 and 19
    #[arg(long = "llvm", value_name = "N|OPT")]
    pub which: Option<Which>,

    /// The llvm-config that belongs to the `opt`, if it is not beside it
    #[arg(long, value_name = "PATH", requires = "which")]
    pub llvm_config: Option<PathBuf>,

    /// Which inputs show the errors
    #[arg(long, value_enum, default_value_t = TruthInputs::All)]
    pub inputs: TruthInputs,

    /// A folder that has llvm/test/Transforms of LLVM 19, instead of fetching it
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,

    /// Compare lines and variables too: Debian's source package of this LLVM, or a folder that has llvm/
    #[arg(long, value_name = "auto|DIR")]
    pub llvm_source: Option<LlvmSource>,

    /// Fail if fewer are found
    #[arg(long, value_name = "N", default_value_t = 0, requires = "which")]
    pub at_least: usize,

    /// Fail if fewer of those found have the right line
    #[arg(long, value_name = "N", default_value_t = 0, requires_all = ["llvm_source", "which"])]
    pub lines_at_least: usize,

    /// Fail if fewer of those with the right line have the right variables
    #[arg(long, value_name = "N", default_value_t = 0, requires_all = ["llvm_source", "which"])]
    pub variables_at_least: usize,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Precision: of the reported sites that people have judged, how many are errors
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench labels
  metaloc bench labels --draw batch-2 --count 40 --from all19.json --from all16.json

--draw writes two files: NAME.json for the judge, who sees neither rule nor confidence, and NAME.key.json.
What is unclear or not judged yet counts against us.")]
pub struct BenchLabels {
    /// Draw a new batch of this name from reports, instead of printing the precision
    #[arg(long, value_name = "NAME", requires = "from")]
    pub draw: Option<String>,

    /// A report (JSON) to draw from
    #[arg(long, value_name = "REPORT", requires = "draw")]
    pub from: Vec<PathBuf>,

    /// How many sites to draw
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub count: usize,

    /// Decides which; it stays the same, so that nobody can choose
    #[arg(long, value_name = "N", default_value_t = 20_250_613)]
    pub seed: u64,

    /// Where the labels are; default: regress/labels
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Mutants of passes: each statement that sets a location left out or confused, and whether a report notices
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench mutants tailcallelim licm
  metaloc bench mutants --file LoopUtils --sample 1000
  metaloc bench mutants --all --format json

A file is compiled once with all its mutants in it, and one is chosen at run time. A mutant is shown if opt -S
prints something else than the file as it is, with the file swapped in and nothing observed; it is found if a
report then has an error more about an instruction whose location differs, certain or likely, with the operation
of the statement. The tests are those that run the pass; for other files a sample of all, spread over the folders.
Exit status: 0, 1 if fewer were found than asked for, 2 something could not be run.")]
pub struct BenchMutants {
    /// Passes, named as for report
    #[arg(value_name = "PASS", required_unless_present_any = ["files", "all"])]
    pub passes: Vec<String>,

    /// Source files of lib/Transforms, without suffix
    #[arg(long = "file", value_name = "NAME")]
    pub files: Vec<String>,

    /// All source files of lib/Transforms/Scalar and Utils: takes about an hour
    #[arg(long, conflicts_with_all = ["passes", "files"])]
    pub all: bool,

    /// At most this many RUN lines for each file, the same ones each time
    #[arg(long, value_name = "N", default_value_t = 500)]
    pub sample: usize,

    /// At most this many of them for each mutant, of those that come by it, smallest first
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub lines: usize,

    /// Keep what came of each file's mutants in this file, and take what it has
    #[arg(long, value_name = "FILE.tsv")]
    pub save: Option<PathBuf>,

    /// Fail if fewer are found
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub at_least: usize,

    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Where the source is: Debian's source package, or a folder that has llvm/
    #[arg(long, value_name = "auto|DIR", default_value = "auto")]
    pub llvm_source: LlvmSource,

    /// Number of tests at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Which inputs show the known errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TruthInputs {
    /// Those in regress/
    Own,
    /// LLVM's own tests, fetched once (160 MB)
    Upstream,
    /// Both; a record is found if one of them finds it
    All,
}

/// User and system time and memory of opt at default<O2>, plain and with the plugin, runs interleaved
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: metaloc bench cost --llvm 19 --runs 5 --format json
         metaloc bench cost --counted --only generated")]
pub struct BenchCost {
    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Runs of each kind; the medians are printed
    #[arg(long, value_name = "N", default_value = "5")]
    pub runs: NonZeroUsize,

    /// Count the instructions that are executed, under valgrind, instead of measuring time and memory: 30 times as slow,
    /// but it does not depend on what else the machine does
    #[arg(long, conflicts_with = "runs")]
    pub counted: bool,

    /// Only workloads whose name contains this: sqlite3, or generated-100, -1000, -10000
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
