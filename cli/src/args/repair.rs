//! What was typed after `metaloc repair`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;

use super::{DebuggerName, LlvmArgs};

/// Write what a proof says about variables into the debug information of an object
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc repair s000.o --source s000.c --flag=-fwrapv -o s000.repaired.o --stats
  metaloc repair s000.o --source s000.c --flag=-fwrapv --proof s000.json -o s000.repaired.o --stats --format csv
  metaloc repair s000.o --source s000.c --flag=-fwrapv -o s000.repaired.o --check '{} 100' \\
      --link 'gcc-12 -no-pie main.c {object} -o {program}'

Functions that are proved equal to their source are repaired, the others are listed with the reason. Every value that is
written has been shown right at its pc; --write-proof keeps these obligations with the proof. --check does not believe
that: it runs the repaired program and an unoptimised build of the source side by side under gdb and lldb, and compares
every value that is printed with the one that the unoptimised program has at the corresponding point.
Exit status: 0 the output was written, changed or not, 1 --check saw a value that is not true (nothing is written), 2
could not run.")]
pub struct Repair {
    /// An ELF object or program with debug information
    #[arg(value_name = "OBJECT")]
    pub object: PathBuf,

    /// What it was compiled from: .c, or .ll
    #[arg(long, value_name = "FILE")]
    pub source: PathBuf,

    /// Write the repaired object here
    #[arg(short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// A proof by `metaloc prove`; without it, the functions are proved first
    #[arg(long, value_name = "PROOF")]
    pub proof: Option<PathBuf>,

    /// Write the proof with all locations and their obligations here
    #[arg(long, value_name = "FILE")]
    pub write_proof: Option<PathBuf>,

    /// Only this function
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,

    /// A flag of the compiler that changes what the source means: -fwrapv, -DN=8; for gcc's -fwrapv also
    /// -fno-wrapv-pointer (see `metaloc prove --help`)
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,

    /// Print what was improved, by function and in total
    #[arg(long)]
    pub stats: bool,

    /// How far values are spread from where the two programs correspond
    #[arg(long, value_enum, default_value_t = Spread::All)]
    pub variant: Spread,

    /// With --stats or JSON, say also what spreading less would have counted
    #[arg(long)]
    pub ablation: bool,

    /// Run the program under debuggers and compare what they print: {} is the program, its arguments follow
    #[arg(long, value_name = "RUN-COMMAND")]
    pub check: Option<String>,

    /// With --check, how an object of the source becomes the program: a command with {object} and {program}
    #[arg(long, value_name = "COMMAND", requires = "check")]
    pub link: Option<String>,

    /// With --check, only these debuggers: gdb, lldb or gdb,lldb; default: both
    #[arg(long = "debugger", value_enum, value_delimiter = ',', requires = "check")]
    pub debuggers: Vec<DebuggerName>,

    /// With --check, how often to stop at each pc
    #[arg(long, value_name = "N", default_value = "8", requires = "check")]
    pub check_stops: u32,

    /// How to print
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,

    /// Seconds for the proof of each function
    #[arg(long, value_name = "N", default_value = "60")]
    pub time: u64,

    /// Seconds for each question to the solver
    #[arg(long, value_name = "N", default_value = "10")]
    pub query_time: u64,

    /// Functions at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    #[command(flatten)]
    pub llvm: LlvmArgs,
}

/// How far values are spread (the paper's ablation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Spread {
    /// Only where the two programs correspond
    None,
    /// On, while the places it speaks of stay as they are
    Forward,
    /// And over steps that can be undone
    Reversible,
    /// And to places that will hold it at the next corresponding point
    All,
}

impl Spread {
    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Spread::None => "none",
            Spread::Forward => "forward",
            Spread::Reversible => "reversible",
            Spread::All => "all",
        }
    }
}

/// How to print a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// Comma-separated values
    Csv,
}
