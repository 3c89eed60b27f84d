//! What was typed after `metaloc selftest`: the tool judged by stock tools and by the processor.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Subcommand;

use super::LlvmArgs;
use crate::lines::LlvmSource;

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
  metaloc selftest swap --all --sample 3 --llvm 19 --save swap19.tsv

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

    /// Keep what came of each file in this file, and take what it has
    #[arg(long, value_name = "FILE.tsv")]
    pub save: Option<PathBuf>,

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
  metaloc selftest x86 --states 300 --broken

Each state is an instruction with random operands in random registers, flags and memory; all results are
compared: registers, defined flags, memory, where control goes, faults.
Exit status: 0 no mismatch, 1 a row disagrees with the processor (with --broken: a row that the processor agrees with
however it is broken), 2 something could not be run.")]
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

    /// Break each row on purpose, one operation at a time, and list what the processor does not notice
    #[arg(long)]
    pub broken: bool,

    /// How many rows at a time; default: one per core
    #[arg(short, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}
