//! The real binary through its command line.
//!
//! - [`stand_in`]: a folder with an `opt` that does what its input says, for what a real one does too rarely;
//! - [`report`], [`opt`], [`plugin`], [`toolchain`]: one file per subcommand;
//! - [`trouble`]: bad input, crashes, ctrl-C: one clear error each, and status 2.

mod opt;
mod plugin;
mod report;
mod stand_in;
mod toolchain;
mod trouble;
