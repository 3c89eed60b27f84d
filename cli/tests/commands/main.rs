//! The real binary through its command line.
//!
//! - [`stand_in`]: a folder with an `opt` that does what its input says, for what a real one does too rarely;
//! - [`report`], [`report_all`], [`explain`], [`confirm`], [`locations`], [`opt`], [`plugin`], [`prove`], [`toolchain`],
//!   [`selftest`]: one file per subcommand;
//! - [`in_llvm`]: the real plugin in the real LLVMs;
//! - [`threads`]: several contexts and threads in one process;
//! - [`trouble`]: bad input, crashes, ctrl-C: one clear error each, and status 2.

mod confirm;
mod explain;
mod in_llvm;
mod locations;
mod opt;
mod plugin;
mod prove;
mod repair;
mod report;
mod report_all;
mod selftest;
mod stand_in;
mod swap;
mod threads;
mod toolchain;
mod trouble;
