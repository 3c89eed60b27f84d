//! The command `metaloc`: reads the arguments, runs one subcommand, turns its outcome into an exit status.
//!
//! - [`args`]: exactly what was typed; reading it has no side effects;
//! - [`run`]: one file per subcommand;
//! - [`pass`]: the pass that a name means; [`input`]: the files that a pass is run on;
//! - [`observe`]: one pass on one input in one process of `opt`;
//! - [`own`]: one pass on its own regression tests;
//! - [`lines`]: the source of LLVM, and passes of it compiled anew;
//! - [`parallel`]: many of them at a time;
//! - [`output`] and [`progress`]: where results and progress go.

mod args;
mod input;
mod lines;
mod made_up;
mod observe;
mod output;
mod own;
mod parallel;
mod pass;
mod progress;
mod run;
mod status;

use std::process::ExitCode;

use clap::Parser;

use crate::status::Status;

fn main() -> ExitCode {
    let args = args::Args::parse();
    metaloc_toolchain::interrupt::install();
    match run::run(args) {
        Ok(status) => status.into(),
        Err(error) if output::is_broken_pipe(&error) => Status::Clean.into(),
        Err(error) => {
            output::complain(&format!("{error:#}"));
            Status::CouldNotRun.into()
        }
    }
}
