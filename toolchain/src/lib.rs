//! Finding, installing and running tools: the only crate that starts processes.
//!
//! - [`process`]: a child process with its input, its two pipes, its end and what it cost;
//! - [`interrupt`]: ctrl-C ends every child and lets temporary files be cleaned up.

pub mod error;
pub mod interrupt;
pub mod process;

pub use error::Error;

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;
