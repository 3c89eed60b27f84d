//! Benches of proofs and repairs over the kernels of `regress/kernels`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::args::{DebuggerName, Format, LlvmArgs, SearchOrder, SolverName};

/// How kernels are compiled and worked on.
#[derive(Debug, clap::Args)]
pub struct KernelArgs {
    /// What compiles the kernels
    #[arg(long, value_enum, default_value_t = KernelCompiler::Gcc12)]
    pub compiler: KernelCompiler,

    /// With which flags
    #[arg(long, value_enum, default_value_t = KernelFlags::Paper)]
    pub flags: KernelFlags,

    /// For which processor, and where the code may be loaded
    #[arg(long, value_enum, default_value_t = KernelTarget::X86_64)]
    pub target: KernelTarget,

    /// How many at a time; default: one per core
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    #[command(flatten)]
    pub llvm: LlvmArgs,
}

/// A compiler of kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KernelCompiler {
    /// Debian's gcc 12
    #[value(name = "gcc-12")]
    Gcc12,
    /// The clang of the LLVM that makes the IR
    #[value(name = "clang-19")]
    Clang19,
}

/// Flags for kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KernelFlags {
    /// As in the papers: -O3 -msse4.2 -fwrapv -fno-strict-aliasing -fno-builtin and so on
    Paper,
    /// -O3 -msse4.2
    Default,
    /// -O2
    Plain,
}

/// What kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KernelTarget {
    /// x86-64 at a fixed address: -fno-pic
    #[value(name = "x86-64")]
    X86_64,
    /// x86-64, position-independent: -fpie
    #[value(name = "x86-64-pie")]
    X86_64Pie,
    /// i386 at a fixed address, as in the papers: -m32 -fno-pic
    #[value(name = "i386")]
    I386,
    /// i386, position-independent: -m32 -fpie
    #[value(name = "i386-pie")]
    I386Pie,
}

/// The kernels of regress/kernels, compiled and proved: verdicts, times and search effort
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench prove --compiler gcc-12 --flags paper --target i386
  metaloc bench prove --only s000,vpv,sum1d --at-least 3 --format json
  metaloc bench prove --save regress/kernels/tables/gcc-12-paper.tsv
  metaloc bench prove --only s000,vpv --confirm cvc5 --every 5
  metaloc bench prove --set steps
  metaloc bench prove --set plain --flags plain --target x86-64-pie

Each kernel is proved by a process of its own, as `metaloc prove` does it. Classes of failure: time, memory,
correlation (none was left), obligation (one was not shown), unsupported.
With --save a table grows kernel by kernel, each row with the commit that it is of; rows that are there already are
not made again, so that a sweep can be stopped and gone on with.
Exit status: 0, 1 if a kernel is refuted or fewer are proved than asked for, 2 something could not be run.")]
pub struct BenchProve {
    /// Which kernels
    #[arg(long, value_enum, default_value_t = KernelSet::Tsvc)]
    pub set: KernelSet,

    /// Only these of them
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Keep the rows in this file, and take those that it has
    #[arg(long, value_name = "FILE.tsv")]
    pub save: Option<PathBuf>,

    /// Ask this solver for the obligations of each proof again, with 60 s for each
    #[arg(long, value_enum, value_name = "SOLVER")]
    pub confirm: Option<SolverName>,

    /// Ask it for one in so many only
    #[arg(long, value_name = "N", default_value = "1", requires = "confirm")]
    pub every: NonZeroUsize,

    /// How the search picks what to try next
    #[arg(long, value_enum, default_value_t = SearchOrder::Ranked)]
    pub order: SearchOrder,

    /// Seconds of processor time for each function, the solver's included
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub limit: u64,

    /// Fail if fewer are proved
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub at_least: usize,

    #[command(flatten)]
    pub kernels: KernelArgs,
}

/// Kernels that are proved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KernelSet {
    /// The 76 loops of TSVC
    Tsvc,
    /// Loops over floating-point numbers, vectorised and not
    Floats,
    /// Examples in the papers' figures
    Figures,
    /// Loop nests, with and without a store, at the compiler's factor and unrolled by 8
    Nests,
    /// One loop, unrolled by 2, 4, 8, 16, 32 and 64
    Steps,
    /// Functions as users write them; with --flags plain as they compile them
    Plain,
}

/// Mutants of proved kernels that behave differently: none may be proved
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc bench soundness --mutants 1100 --seed 1

Eleven kinds of mutants, as many of each: ten of the machine code, one of the source. A mutant counts if running
it shows that it behaves differently. The kernels themselves are proved in the same run. The same seed makes the
same mutants.
Exit status: 0, 1 if a mutant is proved, a kernel is not, or a kind has too few mutants, 2 something could not be
run.")]
pub struct BenchSoundness {
    /// How many mutants that behave differently
    #[arg(long, value_name = "N", default_value = "1100")]
    pub mutants: NonZeroUsize,

    /// Which ones
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// Mutants of these kernels; default: twelve that are proved fast
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Seconds of processor time for each mutant
    #[arg(long, value_name = "SECONDS", default_value = "10")]
    pub limit: u64,

    #[command(flatten)]
    pub kernels: KernelArgs,
}

/// The counters of the kernels' loops in a debugger: the share with a true value, a wrong one, nothing
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench locations --compiler clang-19 --flags default --target x86-64-pie
  metaloc bench locations --compiler gcc-12 --target i386 --debugger lldb --format json
  metaloc bench locations --only s000 --objects repaired/

Every pair of a counter and an address in an innermost loop is looked at while the kernel runs under the debugger. A
value is true if the counter has it, in an unoptimised build, in one of the iterations that this one of the machine
covers; these are found by comparing memory, or else by counting.
Exit status: 0, 1 if a share is not as asked for, 2 something could not be run.")]
pub struct BenchLocations {
    /// Only these kernels
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<String>,

    /// The debugger
    #[arg(long, value_enum, default_value_t = DebuggerName::Gdb)]
    pub debugger: DebuggerName,

    /// Objects to look at instead of compiling: DIR/KERNEL.o, of the same source, compiler and flags
    #[arg(long, value_name = "DIR")]
    pub objects: Option<PathBuf>,

    /// Fail if the share with a true value is below this many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    pub at_least: f64,

    /// Fail if more pairs have a wrong value
    #[arg(long, value_name = "N")]
    pub most_wrong: Option<usize>,

    #[command(flatten)]
    pub kernels: KernelArgs,
}

/// The kernels proved and repaired: the paper's tables, counters with a true value before and after, values checked
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench repair --only s000,s271 --check
  metaloc bench repair --compiler clang-19 --check --save clang.jsonl -j 1
  metaloc bench repair --target i386 --ablation --proofs proofs --save i386.jsonl

Beside T, U, V, O, M and I stand the paper's figures for the same function, of an older compiler. With --save a row is
kept as soon as it is measured, and rows that are there are not measured again. A proof is kept under a digest of object,
source, flags and this program; what is not proved is tried again.
A kernel that cannot be measured has a row that says why, and the others go on; the exit status is 2 then. Where a row has
less than the paper's for the same code, the reason follows it, and so does the reason for a check that ended early.

Exit status: 0, 1 if a value is not true or the share is below what is asked for, 2 something could not be run.")]
pub struct BenchRepair {
    /// Only these kernels
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Seconds for the proof of each function
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub limit: u64,

    /// Compare all values with an unoptimised build, under gdb and lldb
    #[arg(long)]
    pub check: bool,

    /// With --check, only these debuggers: gdb, lldb or gdb,lldb; default: both, in one row
    #[arg(long = "debugger", value_enum, value_delimiter = ',', requires = "check")]
    pub debuggers: Vec<DebuggerName>,

    /// With --check, how often to stop at each pc
    #[arg(long, value_name = "N", default_value = "8", requires = "check")]
    pub check_stops: u32,

    /// Count also what spreading values less far would improve
    #[arg(long)]
    pub ablation: bool,

    /// Keep proofs in this folder, and use those that are there
    #[arg(long, value_name = "DIR")]
    pub proofs: Option<PathBuf>,

    /// Keep rows here, and go on with those that are not there
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,

    /// Fail if the share with a true value is below this many percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    pub at_least: f64,

    #[command(flatten)]
    pub kernels: KernelArgs,
}

/// The speed of rewriting debug information, without any proof: made-up claims about functions of a real program
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench rewrite target/release/metaloc
  metaloc bench rewrite big --runs 5 --at-least 50 --at-most 10

Every thousandth, hundredth, tenth function with variables, and each of them, is claimed something of. Times are those of the
processor, reading and writing of files not included; memory is the largest resident set of a process that does nothing else.
Exit status: 0, 1 if it is slower or takes more memory than asked for, 2 something could not be run.")]
pub struct BenchRewrite {
    /// A program or object with debug information
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Runs of each kind; the medians are printed
    #[arg(long, value_name = "N", default_value = "3")]
    pub runs: NonZeroUsize,

    /// Fail if a kind is slower than this many MB of debug sections a second
    #[arg(long, value_name = "MB", default_value_t = 0.0)]
    pub at_least: f64,

    /// Fail if a kind takes more than this many times the size of the debug sections
    #[arg(long, value_name = "FACTOR", default_value_t = f64::INFINITY)]
    pub at_most: f64,

    /// One run, with every nth function; prints seconds
    #[arg(long, hide = true)]
    pub one: Option<NonZeroUsize>,

    /// Keep what the last run writes, which changes most: for readelf and llvm-dwarfdump to look at
    #[arg(short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}
