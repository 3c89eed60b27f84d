//! Everything that can go wrong with a tool. A message names the file or program and the reason.

use std::io;
use std::path::PathBuf;

/// Why a tool could not be found, run or built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started at all.
    #[error("cannot start {program}: {source}")]
    Start {
        /// What was to be started.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The program was started and could not be waited for, or its pipes could not be read.
    #[error("lost track of {program}: {source}")]
    Wait {
        /// What was started.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The user pressed ctrl-C, or the process was told to end.
    #[error("interrupted")]
    Interrupted,
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file or folder could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
