//! What was typed after `metaloc prove`.

use std::path::PathBuf;

use clap::ValueEnum;

use super::{Format, LlvmArgs};

/// Show that the code in an object behaves as its unoptimised source does
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc prove s000.o --source s000.c --flag=-fwrapv -o proof.json
  metaloc prove s000.o --source s000.c --flag=-fwrapv --graph s000.svg
  metaloc prove --check proof.json --solver cvc5

Each function is proved, refuted (with an input that was run), unknown or unsupported.
Exit status: 0 all functions proved (or all obligations confirmed), 1 not all, 2 could not run.")]
pub struct Prove {
    /// A relocatable object for x86-64 or i386, a linked one for x86-64, or an i386 executable
    #[arg(value_name = "OBJECT", conflicts_with = "check")]
    pub object: Option<PathBuf>,

    /// What it was compiled from: .c, or .ll
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub source: Option<PathBuf>,

    /// Only this function
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,

    /// A flag of the compiler that changes what the source means: -fwrapv, -DN=8; -m32 follows from the object.
    /// -fwrapv with -fno-wrapv-pointer: numbers wrap around, and addresses of elements do not (gcc's -fwrapv; clang
    /// before 20 takes -fwrapv for both)
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,

    /// Write the proof here
    #[arg(short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Draw the product graphs of what is proved, with their invariants, as .svg or .dot
    #[arg(long, value_name = "FILE")]
    pub graph: Option<PathBuf>,

    /// How to print what came of each function
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Seconds of processor time for each function, the solver's included
    #[arg(long, value_name = "N", default_value = "60")]
    pub time: u64,

    /// Seconds of processor time for each question to the solver
    #[arg(long, value_name = "N", default_value = "10")]
    pub query_time: u64,

    /// How the search picks what to try next
    #[arg(long, value_enum, default_value_t = SearchOrder::Ranked)]
    pub order: SearchOrder,

    /// Check this proof instead, without a search
    #[arg(long, value_name = "PROOF")]
    pub check: Option<PathBuf>,

    /// The solver that checks
    #[arg(long, value_enum, default_value_t = SolverName::Z3)]
    pub solver: SolverName,

    #[command(flatten)]
    pub llvm: LlvmArgs,
}

/// How a search picks what to try next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchOrder {
    /// What fits the runs of both programs, and relates most, first
    Ranked,
    /// The least unrolled path of the source first, and the last choice taken back when it was wrong: for comparison
    Static,
}

impl SearchOrder {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            SearchOrder::Ranked => "ranked",
            SearchOrder::Static => "static",
        }
    }
}

/// A solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SolverName {
    Z3,
    Cvc5,
    Bitwuzla,
}
