//! Finding, installing and running tools: the only crate that starts processes.
//!
//! - [`process`]: a child process with its input, its two pipes, its end and what it cost;
//! - [`interrupt`]: ctrl-C ends every child and lets temporary files be cleaned up;
//! - [`atomic`]: files and folders that are there as a whole or not at all;
//! - [`cache`]: where things that are made once are kept;
//! - [`llvm`]: one LLVM, found by number or by the path of its `opt`;
//! - [`plugin`]: our plugin, built once per LLVM;
//! - [`install`]: Debian's packages of LLVM;
//! - [`sources`]: LLVM's sources from Debian's source packages;
//! - [`recompile`]: one source file of LLVM as a library of its own.

pub mod atomic;
pub mod cache;
pub mod error;
pub mod install;
pub mod interrupt;
pub mod llvm;
pub mod plugin;
pub mod process;
pub mod recompile;
pub mod sources;

pub use error::Error;
pub use llvm::Llvm;

/// Result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// Takes what there is to say while something slow happens: this crate prints nothing itself.
pub type Notice<'a> = &'a (dyn Fn(&str) + Sync);
