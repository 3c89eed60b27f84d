//! The rules: for each destination at most one finding, by the first rule that has one.
//!
//! What is checked, in this order:
//!
//! - [`off_path`]: a location on paths that did not have it (paper, Drop);
//! - [`unmerged`]: the same, but the destination stands for several instructions (paper, Merge);
//! - [`out_of_loop`]: a location that left its loop (HowToUpdateDebugInfo, LICM);
//! - [`glue_branch`]: a branch that stands for nothing and was given a location (paper, PR 86269);
//! - [`borrowed`]: the location of what happens to follow, on what stands for others (ours);
//! - [`lost_terminator`]: no location on what took the place of a terminator (paper, Preserve);
//! - [`lost_phi`]: no location on a PHI that stands for something (paper, Preserve);
//! - [`lost_replacement`]: no location on what replaced something (paper, Preserve);
//! - [`lost_write`]: no location on a write that stands for others (ours);
//! - [`lost_part`]: no location on a part of what replaced something (ours);
//! - [`lost_expansion`]: no location on what was put next to something (ours);
//! - [`lost_merge`]: no location where several were due to be merged (paper, section 5.5);
//! - [`exit_value`]: not the location of a loop's value, on what gives it in front of the loop (paper, Preserve);
//! - [`bare_call`]: no location on a call that must have one (LLVM's verifier);
//! - notes (ours): [`half_merged`], [`merged_operand`] and [`shared_operand`], not the merged location on what is there for
//!   several, [`split_phi`], not that of the PHI that a PHI is a part of, and [`unlinked`], no location on what stands for
//!   nothing that is known.
//!
//! Of what came from another function only one thing is asked, [`other_function`]: a location of this one.
//!
//! What is accepted everywhere: no location where a drop is due; line 0 where a drop or a merge is; any location that
//! every path through the destination had before the run; whatever has no code ([`has_no_code`],
//! [`metaloc_record::Lookup::is_marker`]).

use metaloc_record::{BlockId, Inst, InstFlags, InstId, LocId, Opcode, PassRun};

use crate::changes::Changes;
use crate::finding::{Actual, Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Lineage, Origin, Passage};
use crate::location_sets::is_real;
use crate::placement::{OffPath, Placement, Placements};

mod bare_call;
mod borrowed;
mod exit_value;
mod glue_branch;
mod half_merged;
mod lost_expansion;
mod lost_merge;
mod lost_part;
mod lost_phi;
mod lost_replacement;
mod lost_terminator;
mod lost_write;
mod merged_operand;
mod off_path;
mod other_function;
mod out_of_loop;
mod shared_operand;
mod split_phi;
mod unlinked;
mod unmerged;

/// One destination with everything that a rule may ask.
pub struct Case<'c, 'a> {
    /// The destination.
    pub destination: &'c Destination<'a>,
    /// Its block in P'.
    pub block: BlockId,
    /// What is known about its location on its paths; `Unclear` if it has none.
    pub placement: Placement,
    /// True if L_dst is a subset of L_src for all its sources together.
    pub sources_conform: bool,
    /// The two functions.
    pub changes: &'c Changes<'a>,
    /// Their paths.
    pub placements: &'c Placements<'c, 'a>,
    /// Everything else that the run made.
    pub lineage: &'c Lineage<'a>,
    /// The run as it was recorded.
    pub run: &'c PassRun<'a>,
}

/// The first finding that a rule has about a destination.
pub fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if is_real(case.run.locations, case.inst().loc) {
        let for_notes_only = case.changes.had(case.block, case.inst().loc)
            && !is_open_for_errors(case.changes, case.lineage, case.destination);
        let error = || {
            unmerged::check(case)
                .or_else(|| merged_operand::check(case))
                .or_else(|| off_path::check(case))
                .or_else(|| out_of_loop::check(case))
                .or_else(|| glue_branch::check(case))
                .or_else(|| borrowed::check(case))
                .or_else(|| exit_value::check(case))
        };
        let found = if for_notes_only { None } else { error() };
        found
            .or_else(|| half_merged::check(case))
            .or_else(|| split_phi::check(case))
            .or_else(|| shared_operand::check(case))
    } else if is_lost(case.destination) {
        lost_terminator::check(case)
            .or_else(|| lost_phi::check(case))
            .or_else(|| lost_replacement::check(case))
            .or_else(|| lost_write::check(case))
            .or_else(|| lost_part::check(case))
            .or_else(|| lost_expansion::check(case))
            .or_else(|| lost_merge::check(case))
            .or_else(|| exit_value::check(case))
            .or_else(|| bare_call::check(case))
            .or_else(|| merged_operand::check(case))
            .or_else(|| shared_operand::check(case))
            .or_else(|| split_phi::check(case))
            .or_else(|| unlinked::check(case))
    } else {
        lost_merge::check(case)
            .or_else(|| bare_call::check(case))
            .or_else(|| merged_operand::check(case))
            .or_else(|| shared_operand::check(case))
    }
}

/// What is wrong with instructions from other functions.
pub fn strangers<'c>(run: &'c PassRun<'_>, lineage: &'c Lineage<'_>) -> impl Iterator<Item = Finding> + 'c {
    other_function::check(run, lineage)
}

/// Something may be said about a destination that has no location.
pub fn is_open_without(destination: &Destination<'_>) -> bool {
    is_lost(destination)
        || lost_merge::is_open(destination)
        || bare_call::is_open(destination)
        || merged_operand::is_open(destination)
        || shared_operand::is_open(destination)
}

/// What a destination stands for together matters, though no path is known to lack its location.
pub fn is_open_merge(changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    unmerged::is_open(changes, destination)
}

/// Something may be said about a destination that has a location which its block had.
pub fn is_open_with(
    run: &PassRun<'_>,
    changes: &Changes<'_>,
    lineage: &Lineage<'_>,
    destination: &Destination<'_>,
) -> bool {
    is_open_for_errors(changes, lineage, destination)
        || half_merged::is_open(changes, destination)
        || shared_operand::is_open_with(run, changes, destination)
}

fn is_open_for_errors(changes: &Changes<'_>, lineage: &Lineage<'_>, destination: &Destination<'_>) -> bool {
    borrowed::is_open(changes, destination) || exit_value::is_open(changes, lineage, destination)
}

/// Created without a location, or a copy of what was, and nobody asked for that. Any other copy and a moved instruction
/// had a location unless a call took it away; a line 0 was asked for.
pub fn is_lost(destination: &Destination<'_>) -> bool {
    let made = match destination.origin {
        Origin::Created => true,
        Origin::Cloned => matches!(destination.passage, Passage::Lost(_)),
        Origin::Moved => false,
    };
    made && destination.inst.loc == LocId::NONE
        && !destination.updates.dropped
        && destination.passage != Passage::Dropped
}

/// No machine code comes from it at its place, so that no debugger ever stops there: intrinsics without
/// code, static allocas (code of the frame), and `unreachable`.
pub fn has_no_code(inst: &Inst) -> bool {
    let name = inst.opcode.name();
    inst.flags.has(InstFlags::NO_CODE) || name == "alloca" || name == "unreachable"
}

/// True for an instruction that gives its operand in another type.
fn is_cast(inst: &Inst) -> bool {
    const CASTS: [&str; 13] = [
        "trunc",
        "zext",
        "sext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "fptrunc",
        "fpext",
        "ptrtoint",
        "inttoptr",
        "bitcast",
        "addrspacecast",
    ];
    CASTS.contains(&inst.opcode.name())
}

impl<'a> Case<'_, 'a> {
    fn inst(&self) -> &'a Inst {
        self.destination.inst
    }

    fn is(&self, flags: InstFlags) -> bool {
        self.inst().flags.has(flags)
    }

    fn is_real(&self, loc: LocId) -> bool {
        is_real(self.run.locations, loc)
    }

    /// Sources by a kind of link.
    fn sources_by(&self, link: Link) -> impl Iterator<Item = &Source> {
        self.destination.sources.iter().filter(move |s| s.link == link)
    }

    /// The instruction of P behind a source.
    fn source_inst(&self, source: InstId) -> Option<&Inst> {
        self.changes.was(source).map(|was| &was.inst)
    }

    /// The block of P that an instruction was in.
    fn source_block(&self, source: InstId) -> Option<BlockId> {
        self.changes.before(source).map(|at| at.block)
    }

    /// True if an instruction of P is not in P' any more.
    fn is_gone(&self, inst: InstId) -> bool {
        self.changes.is_gone(inst)
    }

    /// True if the destination was made in the block that the source was in, in the rest or in a copy.
    fn stays(&self, source: InstId) -> bool {
        let placed = self.destination.placed;
        self.source_block(source).is_some_and(|from| {
            self.placements.was(placed) == Some(from) || self.placements.is_copy(from, placed)
        })
    }

    /// A source that is known by what it writes to alone, and that the destination is in front of.
    fn is_hoisted_write(&self, source: &Source) -> bool {
        let from = || self.source_block(source.inst);
        source.link == Link::Write
            && from().is_some_and(|from| self.placements.comes_before(self.block, from))
    }

    fn is_opcode(&self, inst: &Inst, name: &str) -> bool {
        inst.opcode == Opcode::from_name(name)
    }

    /// The one location that all of these sources had, if they had one.
    fn common_location<'s>(&self, sources: impl Iterator<Item = &'s Source>) -> Option<LocId> {
        let mut locations = sources.map(|s| s.loc);
        let first = locations.next().filter(|loc| self.is_real(*loc))?;
        locations.all(|loc| loc == first).then_some(first)
    }

    fn off_path(&self) -> Option<&OffPath> {
        match &self.placement {
            Placement::OffPath(off_path) => Some(off_path),
            Placement::OnPath | Placement::Unclear => None,
        }
    }

    /// A finding with the sources of the destination, and with the one that a rule found by itself.
    fn finding(
        &self,
        rule: &'static str,
        operation: Operation,
        confidence: Confidence,
        owner: Option<Source>,
    ) -> Finding {
        let loc = self.inst().loc;
        let mut sources = self.destination.sources.clone();
        if operation == Operation::Drop {
            // What the destination stands for beside its source matters where locations are merged.
            let copied = sources.iter().any(|s| matches!(s.link, Link::Clone | Link::Move));
            sources.retain(|s| match s.link {
                Link::Write | Link::Operand | Link::Use => false,
                Link::Terminator => !copied,
                _ => true,
            });
        }
        sources.extend(owner.filter(|owner| !sources.contains(owner)));
        sources.sort_by_key(|s| s.link);
        let actual = if !self.is_real(loc) {
            Actual::Drop
        } else if self.destination.updates.merged {
            Actual::Merge
        } else if sources.iter().any(|s| s.loc == loc) {
            Actual::Preserve
        } else {
            Actual::Other
        };
        let kind = if operation == Operation::Preserve { Kind::Lost } else { Kind::Incorrect };
        Finding {
            rule,
            operation,
            actual,
            kind,
            confidence,
            destination: self.inst().id,
            sources,
            site: self.destination.site,
            extra: Vec::new(),
            off_path: false,
        }
    }

    fn lost(&self, rule: &'static str, sources: Vec<Source>, confidence: Confidence) -> Finding {
        let finding = self.finding(rule, Operation::Preserve, confidence, None);
        let site = match self.destination.passage {
            Passage::Lost(site) => site,
            Passage::Direct | Passage::Kept | Passage::Dropped => finding.site,
        };
        Finding { sources, site, ..finding }
    }
}

#[cfg(test)]
mod tests {
    use crate::finding::{Actual, Link};
    use crate::scene::Scene;

    /// What the pass did: given the location of an instruction that it did not come from, the destination has
    /// preserved that one's.
    #[test]
    fn a_location_that_was_taken_over_is_preserved_from_its_owner() {
        let scene = Scene::read(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 sub @4, %5 br @5
             b3: %6 ret @6
             after
             b0 -> b1 b2: %7 mul @2, %1 br @1
             b1 -> b3: %3 br @3
             b2 -> b3: %4 sub @4, %5 br @5
             b3: %6 ret @6
             events
             create %7
             insert %7 b0 %1
             set %7 @2
             erase %2",
        );
        let findings = crate::judge(&scene.run(), &mut crate::Memory::default()).findings;
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].actual, Actual::Preserve);
        assert_eq!(findings[0].sources.iter().map(|s| s.link).collect::<Vec<_>>(), [Link::Update]);
    }
}
