//! Control-flow conformance analysis: what the location of an instruction ought to be after a pass.
//!
//! A pure function of [`metaloc_record`] types: no LLVM, no process, no file, so that the same code can
//! judge inside a compiler and in a test.
//!
//! - [`changes`]: what a run touched;
//! - [`lineage`]: destinations and their sources (the paper's Algorithm 1);
//! - [`cfg`](mod@cfg), [`location_sets`], [`placement`]: paths, and the locations on them (Algorithm 2);
//! - [`conform`]: the rules, one file each (Algorithm 3);
//! - [`finding`]: what comes out.

pub mod cfg;
pub mod changes;
pub mod conform;
pub mod finding;
pub mod lineage;
pub mod location_sets;
pub mod placement;

#[cfg(test)]
pub(crate) mod scene;

pub use finding::{Actual, Confidence, Finding, Kind, Link, Operation, Source};

use std::cell::RefCell;

use metaloc_record::{BlockId, LocId, PassRun};

use changes::Changes;
use conform::Case;
use lineage::{Destination, Lineage};
use location_sets::{Scratch, is_real};
use placement::{Placement, Placements};

/// What judging one pass run of one function gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What is wrong, or worth a note.
    pub findings: Vec<Finding>,
    /// Destinations that were looked at.
    pub judged: usize,
    /// Destinations that came from another function and cannot be judged.
    pub foreign: usize,
}

thread_local! {
    /// Judging happens once per pass run: buffers the size of a function are not allocated anew each time.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Judges one run of one pass on one function.
pub fn judge(run: &PassRun<'_>) -> Judgement {
    let changes = Changes::new(run);
    if changes.changed().is_empty() {
        return Judgement::default();
    }
    let lineage = Lineage::new(run, &changes);
    let placements = Placements::new(run, &changes, &lineage.copies);
    let findings = SCRATCH.with_borrow_mut(|scratch| findings(run, &changes, &lineage, &placements, scratch));
    Judgement { findings, judged: lineage.destinations.len(), foreign: lineage.foreign }
}

fn findings(
    run: &PassRun<'_>,
    changes: &Changes<'_>,
    lineage: &Lineage<'_>,
    placements: &Placements<'_, '_>,
    scratch: &mut Scratch,
) -> Vec<Finding> {
    let block = |d: &Destination<'_>| changes.block_after(d.at.block).id;
    let open: Vec<&Destination<'_>> =
        lineage.destinations.iter().filter(|d| is_open(run, changes, d, block(d))).collect();
    let asked: Vec<(BlockId, LocId)> = open.iter().map(|d| (block(d), d.inst.loc)).collect();
    let placed = if asked.iter().any(|(_, loc)| loc.is_some()) {
        placements.of_locations(&asked, scratch)
    } else {
        vec![Placement::Unclear; asked.len()]
    };
    let conform = sources_conform(changes, placements, &open, &placed, scratch);
    let mut findings = Vec::new();
    for ((destination, placement), sources_conform) in open.iter().zip(&placed).zip(conform) {
        let case = Case {
            destination,
            block: block(destination),
            placement,
            sources_conform,
            changes,
            placements,
            lineage,
            locations: run.locations,
        };
        // Asked last, since most destinations give no finding: code that is never reached misleads nobody.
        findings.extend(conform::check(&case).filter(|_| placements.is_reachable(case.block)));
    }
    findings
}

/// True unless it is plain that nothing can be said against the destination's location: it has one that
/// the same block had in P, or line 0, or none that anybody could have expected.
fn is_open(run: &PassRun<'_>, changes: &Changes<'_>, destination: &Destination<'_>, block: BlockId) -> bool {
    let loc = destination.inst.loc;
    if conform::has_no_code(destination.inst) {
        return false;
    }
    if !loc.is_some() {
        return conform::is_lost(destination);
    }
    if !is_real(run.locations, loc) {
        return false;
    }
    !changes.had(block, loc)
}

/// The determination rule for destinations off their path that have several sources.
fn sources_conform(
    changes: &Changes<'_>,
    placements: &Placements<'_, '_>,
    open: &[&Destination<'_>],
    placed: &[Placement],
    scratch: &mut Scratch,
) -> Vec<bool> {
    let several =
        |(d, p): (&&Destination<'_>, &Placement)| d.sources.len() > 1 && matches!(p, Placement::OffPath(_));
    let numbers: Vec<usize> = (0..open.len()).filter(|n| several((&open[*n], &placed[*n]))).collect();
    let asked: Vec<(BlockId, Vec<BlockId>)> = numbers
        .iter()
        .map(|n| {
            let sources = open[*n].sources.iter().filter_map(|s| changes.before(s.inst));
            let blocks = sources.map(|at| changes.block_before(at.block).id).collect();
            (changes.block_after(open[*n].at.block).id, blocks)
        })
        .collect();
    let mut conform = vec![false; open.len()];
    for (number, answer) in numbers.into_iter().zip(placements.conform(&asked, scratch)) {
        conform[number] = answer;
    }
    conform
}
