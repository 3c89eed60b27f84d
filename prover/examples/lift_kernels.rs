//! Compiles all kernels of `regress/kernels` with gcc-12 and clang-19, and says for each configuration how many
//! functions become graphs on both sides and why the others do not. With `--judge` the arrays are made small,
//! and both graphs are run against the compiled function on random inputs.
//!
//! `cargo run --release -p metaloc-prover --example lift_kernels -- [--judge] [--verbose] [--with=PART-OF-CONFIGURATION] [KERNEL...]`

#[path = "../tests/judging/mod.rs"]
mod judging;
#[path = "../tests/kernels/mod.rs"]
mod kernels;

use kernels::{Configuration, Kernel, Outcome};
use std::collections::BTreeMap;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| arguments.iter().any(|argument| argument == name);
    let (judge, verbose) = (flag("--judge"), flag("--verbose"));
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let kernels: Vec<Kernel> = kernels::all()
        .into_iter()
        .filter(|kernel| wanted.is_empty() || wanted.iter().any(|name| **name == kernel.name))
        .collect();
    println!("{} kernels", kernels.len());
    let with = arguments.iter().find_map(|argument| argument.strip_prefix("--with=")).unwrap_or("");
    for configuration in kernels::configurations().iter().filter(|known| known.name.contains(with)) {
        report(configuration, &kernels, judge, verbose);
    }
}

fn report(configuration: &Configuration, kernels: &[Kernel], judge: bool, verbose: bool) {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut graphs, mut merged, mut same, mut undefined) = (0, Vec::new(), 0, 0);
    for kernel in kernels {
        let mut note = |reason: String| reasons.entry(reason).or_default().push(kernel.label());
        match kernels::try_kernel(configuration, kernel, judge) {
            Outcome::Graphs { merged: one_region, tallies } => {
                graphs += 1;
                merged.extend(one_region.then(|| kernel.label()));
                for (side, tally) in tallies {
                    same += tally.same;
                    undefined += tally.undefined;
                    if !tally.wrong.is_empty() {
                        note(format!("WRONG {side}: {}", tally.wrong[0]));
                    } else if tally.same == 0 {
                        note(format!("{side} never returned: {tally:?}"));
                    }
                }
            }
            Outcome::Refused(side, reason) => {
                note(format!("{side}: {}", if verbose { reason } else { class(&reason) }))
            }
        }
    }
    println!(
        "{:28} graphs on both sides: {graphs} of {}, {} with one region for all but the frame ({})",
        configuration.name,
        kernels.len(),
        merged.len(),
        merged.join(" ")
    );
    if judge {
        println!("{:28} runs: {same} as the compiled function, {undefined} undefined", "");
    }
    for (reason, names) in reasons {
        println!("    {:3}  {reason}: {}", names.len(), names.join(" "));
    }
}

/// A reason without its place.
fn class(reason: &str) -> String {
    reason.split(" at ").next().unwrap_or(reason).to_owned()
}
