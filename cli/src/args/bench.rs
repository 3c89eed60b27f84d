//! What was typed after `metaloc bench`: measurements of passes and their reports, and of kernels.

mod kernels;
mod passes;

use clap::Subcommand;

pub use kernels::{
    BenchLocations, BenchProve, BenchRepair, BenchRewrite, BenchSoundness, KernelArgs, KernelCompiler,
    KernelFlags, KernelSet, KernelTarget,
};
pub use passes::{BenchCost, BenchLabels, BenchMutants, BenchTruth, TruthInputs};

/// Measure: how many known errors are found, what observing costs, what is proved
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: metaloc bench truth")]
pub struct Bench {
    #[command(subcommand)]
    pub what: BenchWhat,
}

#[derive(Debug, Subcommand)]
pub enum BenchWhat {
    Truth(BenchTruth),
    Labels(BenchLabels),
    Mutants(BenchMutants),
    Cost(BenchCost),
    Prove(BenchProve),
    Soundness(BenchSoundness),
    Locations(BenchLocations),
    Repair(BenchRepair),
    Rewrite(BenchRewrite),
}
