//! The arguments as they were typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use metaloc_toolchain::llvm::Which;

use crate::lines::LlvmSource;

/// Finds debug-location update errors in the passes of an unmodified LLVM.
///
/// Exit status: 0 nothing wrong found, 1 findings, 2 could not run.
#[derive(Debug, Parser)]
#[command(name = "metaloc", version, after_help = "Example: metaloc report tailcallelim --llvm 16")]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Report(Report),
    Opt(Opt),
    Prove(Prove),
    Repair(Repair),
    PluginPath(PluginPath),
    Toolchain(Toolchain),
    Selftest(Selftest),
    Bench(Bench),
}

/// Which LLVM to use.
#[derive(Debug, clap::Args)]
pub struct LlvmArgs {
    /// Debian's LLVM of this major version, or the path of an `opt`
    #[arg(long = "llvm", value_name = "N|OPT", default_value = "19")]
    pub which: Which,

    /// The llvm-config that belongs to the `opt`, if it is not beside it
    #[arg(long, value_name = "PATH")]
    pub llvm_config: Option<PathBuf>,
}

/// Run passes on inputs and report the debug locations that they get wrong
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc report tailcallelim --llvm 16
  metaloc report tailcallelim --llvm 16 --llvm-source auto
  metaloc report LICMPass 'simple-loop-unswitch<nontrivial>' --input tests/ --format json -o report.json
  metaloc report --all --llvm 19 -j 2 --format json -o all.json
  metaloc report --explain 3f0a --from all.json
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
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write the report here instead of to standard output
    #[arg(short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print notes too, not only count them
    #[arg(long)]
    pub notes: bool,
}

/// How to print a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
}

/// Run the stock opt with the plugin loaded; findings are printed on standard error after it
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc opt --llvm 16 -- -passes='default<O2>' -S in.ll -o out.ll

Exit status: 0 no errors, 1 errors (certain or likely), 2 opt failed.")]
pub struct Opt {
    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Print notes too, not only count them
    #[arg(long)]
    pub notes: bool,

    /// Arguments of opt
    #[arg(last = true, required = true, value_name = "OPT-ARGUMENTS")]
    pub arguments: Vec<std::ffi::OsString>,
}

/// Show that the code in an object behaves as its unoptimised source does
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc prove s000.o --source s000.c --flag=-fwrapv -o proof.json
  metaloc prove s000.o --source s000.c --flag=-fwrapv --graph s000.svg
  metaloc prove --check proof.json --solver cvc5

Each function is proved, refuted (with an input that was run), unknown or unsupported.
Exit status: 0 all functions proved (or all obligations confirmed), 1 not all, 2 could not run.")]
pub struct Prove {
    /// A relocatable object for x86-64 or i386, or a linked one for x86-64
    #[arg(value_name = "OBJECT", conflicts_with = "check")]
    pub object: Option<PathBuf>,

    /// What it was compiled from: .c, or .ll
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub source: Option<PathBuf>,

    /// Only this function
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,

    /// A flag of the compiler that changes what the source means: -fwrapv, -DN=8; -m32 follows from the object
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
    /// The shortest path of the source first, whatever the runs say: for comparison, gives up on most loops so far
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

    /// A flag of the compiler that changes what the source means: -fwrapv, -DN=8
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    pub flags: Vec<String>,

    /// Print what was improved, by function and in total
    #[arg(long)]
    pub stats: bool,

    /// How far values are spread from where the two programs correspond
    #[arg(long, value_enum, default_value_t = Spread::All)]
    pub variant: Spread,

    /// Run the program under debuggers and compare what they print: {} is the program, its arguments follow
    #[arg(long, value_name = "RUN-COMMAND")]
    pub check: Option<String>,

    /// With --check, how an object of the source becomes the program: a command with {object} and {program}
    #[arg(long, value_name = "COMMAND", requires = "check")]
    pub link: Option<String>,

    /// With --check, only this debugger; default: both
    #[arg(long = "debugger", value_enum, requires = "check")]
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

/// A solver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SolverName {
    Z3,
    Cvc5,
    Bitwuzla,
}

/// Print the path of the plugin, built if need be, for build systems
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: METALOC_OUT=reports/ clang-19 -O2 -g -fpass-plugin=$(metaloc plugin-path) -c t.c"
)]
pub struct PluginPath {
    #[command(flatten)]
    pub llvm: LlvmArgs,
}

/// List or install LLVM versions
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc toolchain add 16")]
pub struct Toolchain {
    #[command(subcommand)]
    pub action: ToolchainAction,
}

#[derive(Debug, Subcommand)]
pub enum ToolchainAction {
    /// Show which versions are installed, and what the others would cost
    #[command(after_help = "Example: metaloc toolchain list")]
    List,
    /// Install a version with apt, after saying what it costs
    #[command(after_help = "Example: metaloc toolchain add 16")]
    Add {
        /// Major version
        #[arg(value_name = "N", required = true)]
        majors: Vec<u32>,
    },
}

/// Check that observing changes nothing, byte by byte, and that instructions mean what the processor does
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc selftest observer --llvm 19 --sample 300")]
pub struct Selftest {
    #[command(subcommand)]
    pub what: SelftestWhat,
}

#[derive(Debug, Subcommand)]
pub enum SelftestWhat {
    Observer(SelftestObserver),
    Clang(SelftestClang),
    Swap(SelftestSwap),
    Objects(SelftestObjects),
    #[command(name = "x86")]
    X86(SelftestX86),
}

/// LLVM's own transformation tests through opt, and real programs
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc selftest observer --llvm 16 --sample 1000

The tests are those of LLVM 19, fetched once (160 MB). Left out, and counted: what differs between two runs
without the plugin, and, with another LLVM than 19, what fails without it.
Exit status: 0 all identical, 1 something differs, 2 something could not be run.")]
pub struct SelftestObserver {
    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Only this many tests, the same ones each time
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,

    /// Run sqlite3, lua and zlib through default<O0>, O1, O2, O3 and Os instead of the tests
    #[arg(long, conflicts_with = "sample")]
    pub programs: bool,

    /// Use an opt of LLVM 19 that is linked statically; it is linked once, from Debian's archives (a minute)
    #[arg(long = "static")]
    pub static_opt: bool,

    /// A folder that has llvm/test/Transforms of LLVM 19, instead of fetching it
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,

    /// Number of tests at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Lua through clang: the same objects, and one report per translation unit
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc selftest clang --llvm 19

Exit status: 0 all identical, 1 something differs, 2 something could not be run.")]
pub struct SelftestClang {
    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Number of compilers at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Recompiled source files swapped into opt: LLVM's own tests give the same as without
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc selftest swap tailcallelim licm --llvm 16
  metaloc selftest swap --file BasicBlockUtils --sample 50 --llvm 16
  metaloc selftest swap --all --llvm 16

The tests are those of the same LLVM that run the pass; for a file that is not a pass's, all of them.
Exit status: 0 all identical, 1 something differs, 2 something could not be run.")]
pub struct SelftestSwap {
    /// Passes, named as for report
    #[arg(value_name = "PASS", required_unless_present_any = ["files", "all"])]
    pub passes: Vec<String>,

    /// Source files of lib/Transforms, without suffix
    #[arg(long = "file", value_name = "NAME")]
    pub files: Vec<String>,

    /// All source files of lib/Transforms: takes long, each is compiled once
    #[arg(long, conflicts_with_all = ["passes", "files"])]
    pub all: bool,

    /// With --all, only the files in this folder of lib/Transforms
    #[arg(long, value_name = "NAME", requires = "all")]
    pub folder: Option<String>,

    /// At most this many RUN lines for each file, the same ones each time
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,

    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Where the source is: Debian's source package, or a folder that has llvm/
    #[arg(long, value_name = "auto|DIR", default_value = "auto")]
    pub llvm_source: LlvmSource,

    /// Number of tests at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Broken objects, programs and debug sections through repair: refused or repaired, never a panic or a hang
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc selftest objects --mutants 10000

Objects and programs of gcc-12 and clang-19, for x86-64 and i386, with DWARF 4 and 5, are changed in a few bytes, most of
them in debug sections. Each is repaired with made-up claims about all variables of a function, and an output is read
and repaired again. The same seed makes the same mutants.
Exit status: 0, 1 if one panics or takes longer than 10 s, 2 something could not be run.")]
pub struct SelftestObjects {
    /// How many
    #[arg(long, value_name = "N", default_value = "10000")]
    pub mutants: NonZeroUsize,

    /// Which ones
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub llvm: LlvmArgs,
}

/// Every row of the instruction table that proofs rest on, judged by this processor in 64-bit and 32-bit mode
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc selftest x86
  metaloc selftest x86 --states 300 --only Pshuf --only Imul

Each state is an instruction with random operands in random registers, flags and memory; all results are
compared: registers, defined flags, memory, where control goes, faults.
Exit status: 0 no mismatch, 1 a row disagrees with the processor, 2 something could not be run.")]
pub struct SelftestX86 {
    /// States for each row
    #[arg(long, value_name = "N", default_value = "10000")]
    pub states: NonZeroUsize,

    /// Which states
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,

    /// Only rows with this in their name, which is that of iced's `Code`
    #[arg(long, value_name = "PART")]
    pub only: Vec<String>,

    /// How many rows at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// Measure: how many known errors are found, what observing costs, what is proved
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc bench truth")]
pub struct Bench {
    #[command(subcommand)]
    pub what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub enum BenchWhat {
    Truth(BenchTruth),
    Labels(BenchLabels),
    Mutants(BenchMutants),
    Cost(BenchCost),
    Prove(BenchProve),
    Soundness(BenchSoundness),
    Locations(BenchLocations),
    Repair(BenchRepair),
    Rewrite(BenchRewrite),
}

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

/// The kernels of regress/kernels, compiled and proved: verdicts, times and search effort
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  metaloc bench prove --compiler gcc-12 --flags paper --target i386
  metaloc bench prove --only s000,vpv,sum1d --at-least 3 --format json
  metaloc bench prove --save regress/kernels/tables/gcc-12-paper.tsv
  metaloc bench prove --only s000,vpv --confirm cvc5 --every 5
  metaloc bench prove --set steps

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
    /// Examples in the papers' figures
    Figures,
    /// Loop nests, with and without a store, at the compiler's factor and unrolled by 8
    Nests,
    /// One loop, unrolled by 2, 4, 8, 16, 32 and 64
    Steps,
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
  metaloc bench repair --target i386 --variant none --variant forward --variant reversible --save i386.jsonl

Beside T, U, V, O, M and I stand the paper's figures for the same function, of an older compiler. With --save a row is
kept as soon as it is measured, and rows that are there are not measured again.
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

    /// With --check, only this debugger; default: both
    #[arg(long = "debugger", value_enum, requires = "check")]
    pub debuggers: Vec<DebuggerName>,

    /// With --check, how often to stop at each pc
    #[arg(long, value_name = "N", default_value = "8", requires = "check")]
    pub check_stops: u32,

    /// Repair again, spreading values less far: the ablation
    #[arg(long = "variant", value_enum)]
    pub variants: Vec<Spread>,

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
  metaloc bench rewrite big --runs 5 --at-least 50

Every thousandth, hundredth and tenth function with variables is claimed something of. Times are those of the
processor, reading and writing of files not included; memory is the largest resident set of a process that does nothing else.
Exit status: 0, 1 if it is slower than asked for, 2 something could not be run.")]
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

    /// One run, with every nth function; prints seconds
    #[arg(long, hide = true)]
    pub one: Option<NonZeroUsize>,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A debugger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DebuggerName {
    /// gdb
    Gdb,
    /// lldb 19
    Lldb,
}

impl DebuggerName {
    /// As it is written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DebuggerName::Gdb => "gdb",
            DebuggerName::Lldb => "lldb",
        }
    }
}

/// How kernels are compiled and worked on.
#[derive(Debug, clap::Args)]
pub struct KernelArgs {
    /// What compiles the kernels
    #[arg(long, value_enum, default_value_t = KernelCompiler::Gcc12)]
    pub compiler: KernelCompiler,

    /// With which flags beside -O3 -msse4.2
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
    /// As in the papers: -fwrapv -fno-strict-aliasing -fno-builtin and so on
    Paper,
    /// None
    Default,
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

/// User and system time and memory of opt at default<O2>, plain and with the plugin, runs interleaved
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc bench cost --llvm 19 --runs 5 --format json")]
pub struct BenchCost {
    #[command(flatten)]
    pub llvm: LlvmArgs,

    /// Runs of each kind; the medians are printed
    #[arg(long, value_name = "N", default_value = "5")]
    pub runs: NonZeroUsize,

    /// Only workloads whose name contains this: sqlite3, or generated-100, -1000, -10000
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example() {
        fn check(command: &clap::Command) {
            let help = command.clone().render_long_help().to_string();
            assert!(help.contains("Example"), "{}", command.get_name());
            command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(check);
        }
        check(&Args::command());
    }

    #[test]
    fn opt_arguments_come_after_two_dashes() {
        let args = Args::try_parse_from(["metaloc", "opt", "--llvm", "16", "--", "-passes=licm", "--llvm"]);
        let Command::Opt(opt) = args.unwrap().command else { panic!() };
        assert_eq!(opt.llvm.which, Which::Number(16));
        assert_eq!(opt.arguments, ["-passes=licm", "--llvm"]);
        assert!(Args::try_parse_from(["metaloc", "opt", "-passes=licm"]).is_err());
    }
}
