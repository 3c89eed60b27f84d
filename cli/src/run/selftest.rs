//! `metaloc selftest`: observing changes nothing.
//!
//! - [`compare`]: a command with and without the plugin, and what is to be said about the two;
//! - [`observer`]: LLVM's tests and real programs through `opt`;
//! - [`clang`]: a real program through the compiler;
//! - [`swap`]: recompiled passes in place of LLVM's own.

mod clang;
mod compare;
mod observer;
mod swap;

use anyhow::Result;

use crate::args::{Selftest, SelftestWhat};
use crate::status::Status;

pub fn run(args: &Selftest) -> Result<Status> {
    match &args.what {
        SelftestWhat::Observer(args) => observer::run(args),
        SelftestWhat::Clang(args) => clang::run(args),
        SelftestWhat::Swap(args) => swap::run(args),
    }
}
