//! `metaloc toolchain`: which LLVMs are there, and getting more.

use anyhow::Result;
use metaloc_toolchain::install::{self, Cost, Entry, State};

use crate::args::{Toolchain, ToolchainAction};
use crate::output;
use crate::status::Status;

pub fn run(args: &Toolchain) -> Result<Status> {
    match &args.action {
        ToolchainAction::List => {
            let lines: String = install::list().iter().map(line).collect();
            output::print(&lines)?;
        }
        ToolchainAction::Add { majors } => {
            for major in majors {
                let llvm = install::add(*major, &output::complain)?;
                output::print(&format!("LLVM {} {}\n", llvm.version, llvm.opt.display()))?;
            }
        }
    }
    Ok(Status::Clean)
}

fn line(Entry { major, state }: &Entry) -> String {
    match state {
        State::Installed(llvm) => {
            format!("{major}  installed    {}  {}\n", llvm.version, llvm.opt.display())
        }
        State::Installable { version, cost: Cost { download, disk } } => {
            format!("{major}  installable  {version}  {download} to download, {disk} on disk\n")
        }
        State::Unavailable(error) => format!("{major}  unavailable  {error}\n"),
    }
}
