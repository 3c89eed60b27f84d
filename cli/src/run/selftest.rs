//! `metaloc selftest`: observing changes nothing, repair survives what it is given, and what instructions mean is what the processor does.
//!
//! - [`compare`]: a command with and without the plugin, and what is to be said about the two;
//! - [`observer`]: LLVM's tests and real programs through `opt`;
//! - [`clang`]: a real program through the compiler;
//! - [`swap`]: recompiled passes in place of LLVM's own;
//! - [`objects`]: broken objects through repair;
//! - `x86`: the table of instructions, judged by the processor.

mod clang;
mod compare;
mod objects;
mod observer;
mod swap;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86;

use anyhow::Result;

use crate::args::{Selftest, SelftestWhat};
use crate::status::Status;

pub fn run(args: &Selftest) -> Result<Status> {
    match &args.what {
        SelftestWhat::Observer(args) => observer::run(args),
        SelftestWhat::Clang(args) => clang::run(args),
        SelftestWhat::Swap(args) => swap::run(args),
        SelftestWhat::Objects(args) => objects::run(args),
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        SelftestWhat::X86(args) => x86::run(args),
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        SelftestWhat::X86(_) => {
            anyhow::bail!("only an x86-64 processor under Linux can judge its instructions")
        }
    }
}
