//! Everything that can go wrong with an input. A message names the file and the reason.
//!
//! Reasons are part of the message, so they are no sources: who prints the chain would say them twice.

use std::io;
use std::path::PathBuf;

/// Why an input could not be read, adapted or made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read.
    #[error("cannot read {path}: {reason}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// The table of known errors is not what it should be.
    #[error("{path} is not a table of known errors: {reason}")]
    Truth {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: serde_json::Error,
    },
    /// An expression in a record or in the header of an input.
    #[error("{place}: {pattern} is not a regular expression: {reason}")]
    Pattern {
        /// Which record or file.
        place: String,
        /// The expression.
        pattern: String,
        /// What is wrong with it.
        reason: regex_lite::Error,
    },
    /// The header of an input.
    #[error("{path}: {reason}")]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: crate::header::HeaderError,
    },
    /// A command line in a record.
    #[error("{place}: cannot read the arguments {args}: {problem}")]
    Arguments {
        /// Which record.
        place: String,
        /// The arguments.
        args: String,
        /// What is wrong with them.
        problem: String,
    },
    /// An input cannot be made for a version of LLVM.
    #[error("{path} cannot be used with LLVM {major}: {reason}")]
    Unadaptable {
        /// The input.
        path: PathBuf,
        /// Version of LLVM.
        major: u32,
        /// Why not.
        reason: String,
    },
    /// A tool could not be run, or failed.
    #[error(transparent)]
    Tool(#[from] metaloc_toolchain::Error),
}

impl Error {
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |reason| Error::Read { path, reason }
    }
}
