//! Control-flow conformance analysis: what the location of an instruction ought to be after a pass.
//!
//! A pure function of [`metaloc_record`] types: no LLVM, no process, no file, so that the same code can
//! judge inside a compiler and in a test.
//!
//! - [`changes`]: what a run touched; [`inst_map`]: tables by instruction;
//! - [`lineage`]: destinations and their sources (the paper's Algorithm 1);
//! - [`cfg`](mod@cfg), [`location_sets`], [`placement`]: paths, and the locations on them (Algorithm 2);
//! - [`view`], [`outline`], [`memory`]: which part of a function that takes, and what is kept between runs;
//! - [`conform`]: the rules, one file each (Algorithm 3);
//! - [`finding`]: what comes out.

pub mod cfg;
pub mod changes;
pub mod conform;
pub mod finding;
pub mod inst_map;
pub mod lineage;
pub mod location_sets;
pub mod memory;
pub mod outline;
pub mod placement;
pub mod view;

#[cfg(test)]
pub(crate) mod edits;
#[cfg(test)]
pub(crate) mod scene;

pub use finding::{Actual, Confidence, Finding, Kind, Link, Operation, Source};
pub use memory::Memory;

use std::cell::{LazyCell, RefCell};

use metaloc_record::{BlockId, PassRun};

use changes::Changes;
use conform::Case;
use lineage::{Destination, Lineage, uses};
use location_sets::{Scratch, is_real};
use placement::{Placement, Placements};

/// What judging one pass run of one function gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What is wrong, or worth a note.
    pub findings: Vec<Finding>,
    /// Destinations that were looked at.
    pub judged: usize,
    /// Instructions that came from another function, of which only their scope is judged.
    pub foreign: usize,
}

thread_local! {
    /// Judging happens once per pass run: buffers the size of a function are not allocated anew each time.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Judges one run of one pass on one function. `memory` is what the last call on the same function left in it,
/// or an empty one.
pub fn judge(run: &PassRun<'_>, memory: &mut Memory) -> Judgement {
    judge_and(run, memory, |judgement, _| judgement)
}

/// The same, for somebody who wants to see paths: what the judgement worked out is still at hand.
pub fn judge_and<R>(
    run: &PassRun<'_>,
    memory: &mut Memory,
    show: impl FnOnce(Judgement, &dyn Paths) -> R,
) -> R {
    judge_within(run, memory, Extent::Region, show)
}

/// Judges without a memory and without regions, in the time of the whole function: what [`judge`] is audited
/// against.
pub fn judge_whole(run: &PassRun<'_>) -> Judgement {
    judge_within(run, &mut Memory::default(), Extent::Function, |judgement, _| judgement)
}

/// The paths that findings are about. They are walks through the whole function, so they are asked for what a
/// report shows only.
pub trait Paths {
    /// From the entry of P' through the destination of a finding, one that did not have the location. Empty if
    /// the finding is not about a path.
    fn of(&self, finding: &Finding) -> Vec<BlockId>;
}

/// How much of a function to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    Region,
    Function,
}

fn judge_within<R>(
    run: &PassRun<'_>,
    memory: &mut Memory,
    extent: Extent,
    show: impl FnOnce(Judgement, &dyn Paths) -> R,
) -> R {
    let mut changes = Changes::new(run);
    if changes.changed().is_empty() {
        return show(Judgement::default(), &NoPaths);
    }
    let mut lineage = Lineage::new(run, &changes);
    let asked =
        lineage.destinations.iter().enumerate().filter(|(_, d)| is_worth_linking(run, &changes, &lineage, d));
    let asked: Vec<usize> = asked.map(|(at, _)| at).collect();
    uses::link(run, &mut changes, &mut lineage, &asked);
    let open: Vec<&Destination<'_>> =
        lineage.destinations.iter().filter(|d| is_open(run, &changes, &lineage, d)).collect();
    let mut judgement = Judgement {
        findings: Vec::new(),
        judged: lineage.destinations.len(),
        foreign: lineage.strangers.len(),
    };
    judgement.findings.extend(conform::strangers(run, &lineage));
    if open.is_empty() {
        return show(judgement, &NoPaths);
    }
    memory.catch_up(run.before, run.locations);
    let placements = match extent {
        Extent::Region => Placements::new(run, &changes, &lineage, memory, &open),
        Extent::Function => Placements::of_function(run, &changes, &lineage, memory),
    };
    SCRATCH.with_borrow_mut(|scratch| {
        let findings = open.iter().filter_map(|d| finding(run, &changes, &lineage, &placements, d, scratch));
        judgement.findings.extend(findings);
    });
    let whole = LazyCell::new(|| Placements::of_function(run, &changes, &lineage, memory));
    show(judgement, &PathsThrough { changes: &changes, whole: &whole })
}

/// Of a run without findings.
struct NoPaths;

impl Paths for NoPaths {
    fn of(&self, _: &Finding) -> Vec<BlockId> {
        Vec::new()
    }
}

struct PathsThrough<'c, 'a, F> {
    changes: &'c Changes<'a>,
    whole: &'c LazyCell<Placements<'c, 'a>, F>,
}

impl<'c, 'a, F: FnOnce() -> Placements<'c, 'a>> Paths for PathsThrough<'c, 'a, F> {
    fn of(&self, finding: &Finding) -> Vec<BlockId> {
        let Some(at) = self.changes.after(finding.destination).filter(|_| finding.off_path) else {
            return Vec::new();
        };
        let block = self.changes.block_after(at.block);
        let inst = block.and_then(|block| block.insts.get(at.position as usize));
        let extra = finding.extra.first().copied();
        inst.map_or_else(Vec::new, |inst| self.whole.path(at.block, inst.loc, extra))
    }
}

fn finding<'c, 'a>(
    run: &'c PassRun<'a>,
    changes: &'c Changes<'a>,
    lineage: &'c Lineage<'a>,
    placements: &'c Placements<'c, 'a>,
    destination: &'c Destination<'a>,
    scratch: &mut Scratch,
) -> Option<Finding> {
    let (block, loc) = (destination.at.block, destination.inst.loc);
    let placement =
        if loc.is_some() { placements.of_location(block, loc, scratch) } else { Placement::Unclear };
    let matters = !loc.is_some()
        || matches!(placement, Placement::OffPath(_))
        || conform::is_open_merge(changes, destination);
    let sources_conform = matters
        && destination.sources.len() > 1
        && placements.conform(block, &source_blocks(changes, destination), scratch);
    let case = Case { destination, block, placement, sources_conform, changes, placements, lineage, run };
    let mut finding = conform::check(&case)?;
    // Asked last, since most destinations give no finding: code that is never reached misleads nobody, and what
    // no code comes from does not either.
    if run.lookup.is_marker(finding.destination) {
        return None;
    }
    if !placements.is_reachable(block) {
        match finding.kind {
            Kind::Incorrect => return None,
            // What is lost there may be lost elsewhere as well: only there it is an error.
            Kind::Lost => finding.confidence = Confidence::Note,
        }
    }
    finding.off_path = matches!(case.placement, Placement::OffPath(_));
    Some(finding)
}

/// True unless it is plain that nothing can be said against the destination's location: it has one that
/// the same block had in P, or line 0, or none that anybody could have expected.
fn is_open(
    run: &PassRun<'_>,
    changes: &Changes<'_>,
    lineage: &Lineage<'_>,
    destination: &Destination<'_>,
) -> bool {
    let loc = destination.inst.loc;
    if conform::has_no_code(destination.inst) {
        return false;
    }
    if !loc.is_some() {
        return conform::is_open_without(destination);
    }
    if !is_real(run.locations, loc) {
        return false;
    }
    !changes.had(destination.at.block, loc) || conform::is_open_with(run, changes, lineage, destination)
}

/// Open, or perhaps so once it has more sources: without a location, or a new write.
fn is_worth_linking(
    run: &PassRun<'_>,
    changes: &Changes<'_>,
    lineage: &Lineage<'_>,
    destination: &Destination<'_>,
) -> bool {
    let may_open = !destination.inst.loc.is_some() || uses::is_new_write(destination);
    is_open(run, changes, lineage, destination) || (may_open && !conform::has_no_code(destination.inst))
}

fn source_blocks(changes: &Changes<'_>, destination: &Destination<'_>) -> Vec<BlockId> {
    destination.sources.iter().filter_map(|s| changes.before(s.inst)).map(|at| at.block).collect()
}
