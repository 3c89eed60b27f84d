//! The arguments as they were typed: one file for each command that has many, and here what they share.

mod bench;
mod prove;
mod repair;
mod report;
mod selftest;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use metaloc_toolchain::llvm::Which;

pub use bench::{
    Bench, BenchCost, BenchLabels, BenchLocations, BenchMutants, BenchProve, BenchRepair, BenchRewrite,
    BenchSoundness, BenchTruth, BenchWhat, KernelArgs, KernelCompiler, KernelFlags, KernelSet, KernelTarget,
    TruthInputs,
};
pub use prove::{Prove, SearchOrder, SolverName};
pub use repair::{Repair, Spread, TableFormat};
pub use report::{Report, ReportFormat};
pub use selftest::{
    Selftest, SelftestClang, SelftestObjects, SelftestObserver, SelftestSwap, SelftestWhat, SelftestX86,
};

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

/// How to print a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// One JSON document
    Json,
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
