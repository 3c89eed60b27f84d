//! `metaloc bench`: figures about the tool itself.
//!
//! - [`truth`]: how many of the known errors it finds;
//! - [`labels`]: how many of what it reports are errors;
//! - [`mutants`]: how many updates that are left out of passes it notices;
//! - [`cost`]: what it costs;
//! - [`prove`]: what is proved of the kernels, and how fast;
//! - [`soundness`]: that no mutant of them is;
//! - [`locations`]: what a debugger shows of their counters;
//! - [`repair`]: the same before and after repair, with all values checked;
//! - [`rewrite`]: how fast debug information is rewritten.

mod cost;
mod labels;
mod locations;
mod mutants;
mod prove;
mod reading;
mod repair;
mod rewrite;
mod soundness;
mod truth;

use anyhow::Result;

use crate::args::{Bench, BenchWhat};
use crate::status::Status;

pub fn run(args: &Bench) -> Result<Status> {
    match &args.what {
        BenchWhat::Truth(args) => truth::run(args),
        BenchWhat::Labels(args) => labels::run(args),
        BenchWhat::Mutants(args) => mutants::run(args),
        BenchWhat::Cost(args) => cost::run(args),
        BenchWhat::Prove(args) => prove::run(args),
        BenchWhat::Soundness(args) => soundness::run(args),
        BenchWhat::Locations(args) => locations::run(args),
        BenchWhat::Repair(args) => repair::run(args),
        BenchWhat::Rewrite(args) => rewrite::run(args),
    }
}
