//! Exit statuses, the same for every subcommand.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 0: nothing wrong was found.
    Clean,
    /// 1: there are findings, certain or likely ones.
    Findings,
    /// 2: something could not be run; whatever else was found is printed all the same.
    CouldNotRun,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(match status {
            Status::Clean => 0,
            Status::Findings => 1,
            Status::CouldNotRun => 2,
        })
    }
}
