//! One file per subcommand, and what they share: finding LLVM and the plugin.

mod bench;
mod kept_rows;
mod opt;
mod plugin_path;
mod prove;
mod repair;
mod report;
mod selftest;
mod toolchain;

use std::path::PathBuf;

use anyhow::Result;
use metaloc_toolchain::{Llvm, plugin};

use crate::args::{Args, Command, LlvmArgs};
use crate::output;
use crate::status::Status;

/// Runs a subcommand.
pub fn run(args: Args) -> Result<Status> {
    match args.command {
        Command::Report(args) => report::run(&args),
        Command::Opt(args) => opt::run(&args),
        Command::Prove(args) => prove::run(&args),
        Command::Repair(args) => repair::run(&args),
        Command::PluginPath(args) => plugin_path::run(&args),
        Command::Toolchain(args) => toolchain::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Bench(args) => bench::run(&args),
    }
}

fn find_llvm(args: &LlvmArgs) -> Result<Llvm> {
    Ok(Llvm::find(&args.which, args.llvm_config.as_deref())?)
}

fn find_plugin(llvm: &Llvm) -> Result<PathBuf> {
    Ok(plugin::path(llvm, &output::complain)?)
}
