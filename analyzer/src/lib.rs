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

use metaloc_record::{BlockId, PassRun, StackId};
use rustc_hash::FxHashSet;

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
    let placements = Placements::new(run, &changes, &lineage);
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
    let mut findings: Vec<Finding> = Vec::new();
    let mut shown: FxHashSet<StackId> = FxHashSet::default();
    for destination in &lineage.destinations {
        let block = changes.block_after(destination.at.block).id;
        if !is_open(run, changes, destination, block) {
            continue;
        }
        let loc = destination.inst.loc;
        let placement =
            if loc.is_some() { placements.of_location(block, loc, scratch) } else { Placement::Unclear };
        let sources_conform = matches!(placement, Placement::OffPath(_))
            && destination.sources.len() > 1
            && placements.conform(block, &source_blocks(changes, destination), scratch);
        let locations = run.locations;
        let case =
            Case { destination, block, placement, sources_conform, changes, placements, lineage, locations };
        let Some(mut finding) = conform::check(&case) else { continue };
        // Asked last, since most destinations give no finding: code that is never reached misleads nobody.
        // What is lost there is lost in other functions as well.
        if finding.kind == Kind::Incorrect && !placements.is_reachable(block) {
            continue;
        }
        // A path costs a walk through the function; one for each site is what a report shows.
        if let Placement::OffPath(off_path) = &case.placement
            && shown.insert(finding.site)
        {
            finding.path = placements.path(block, loc, off_path);
        }
        findings.push(finding);
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

fn source_blocks(changes: &Changes<'_>, destination: &Destination<'_>) -> Vec<BlockId> {
    let sources = destination.sources.iter().filter_map(|s| changes.before(s.inst));
    sources.map(|at| changes.block_before(at.block).id).collect()
}
