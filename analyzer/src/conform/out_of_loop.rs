//! A location that left its loop.
//!
//! HowToUpdateDebugInfo, "when to preserve": "LICM. E.g., if an instruction is moved from the loop body to
//! the preheader, the rule for dropping locations applies." What ran in every iteration runs once, and the
//! line would be shown where the source has no such step. LLVM fixed the same for sinking (commit
//! c0a986a) and for a condition that unswitching takes out of the loop (PR 97662).
//!
//! The paper's relation allows it where all paths through the destination pass the loop body; LLVM's guide does not.
//! A branch that goes where it left the loop anyway (trivial unswitching) is no finding, one that goes where a copy
//! of the loop was made is: it chooses between the two. Nor is it one where the block was copied to the same place,
//! as LoopRotate does with the header: what is moved along is part of the first iteration. Copies of whole blocks
//! (peeling, unrolling) stand for their blocks.
//!
//! Likely, since all paths may well pass both places. A note for an instruction that is moved down: LLVM
//! sinks out of loops with the location in InstCombine, and a step that is shown once at the end is what
//! the last iteration did.

use metaloc_record::{BlockId, InstFlags};

use super::{Case, off_path};
use crate::finding::{Confidence, Finding, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let source = source(case)?;
    let from = case.source_block(source.inst)?;
    let placements = case.placements;
    // The loop has to be there still, and the destination in none that took its place.
    if !placements.goes_up_in_depth(from, case.block) || !placements.leaves_loop(case.block, from) {
        return None;
    }
    let placed = case.destination.placed;
    if placements.is_copy(from, placed)
        || placements.is_copy(from, case.block)
        || case.changes.had(case.block, case.inst().loc)
    {
        return None;
    }
    let down = placements.comes_before(from, case.block);
    let at_once = placements.passes(case.block, from) || is_trivial_unswitch(case, from);
    if !down && at_once && !chooses_version(case, from) && !is_hoisted_alone(case, from) {
        return None;
    }
    let sunk = down && case.destination.origin == Origin::Moved;
    let confidence = if sunk { Confidence::Note } else { Confidence::Likely };
    let mut finding = case.finding("out_of_loop", Operation::Drop, confidence, Some(source));
    // What was taken out of the loop comes first, whatever else the destination stands for.
    finding.sources.sort_by_key(|s| *s != source);
    Some(finding)
}

/// What the destination was moved or copied from, with its location and nothing called to change that. A
/// call that is created with the location of a call that is gone is a copy as well: LLVM copies calls
/// with `CallInst::Create(Call, Bundles)`.
fn source(case: &Case<'_, '_>) -> Option<Source> {
    let updates = case.destination.updates;
    if case.is(InstFlags::PHI) || updates.merged {
        return None;
    }
    if case.destination.origin == Origin::Created {
        let owner = off_path::owner(case).filter(|s| case.is(InstFlags::CALL) && case.is_gone(s.inst))?;
        return case.source_inst(owner.inst)?.flags.has(InstFlags::CALL).then_some(owner);
    }
    let mut sources = case.destination.sources.iter();
    let source = sources.find(|s| matches!(s.link, Link::Clone | Link::Move))?;
    (source.loc == case.inst().loc && !updates.set).then_some(*source)
}

/// Taken out of the loop while the rest of its block stays there, all of it.
fn is_hoisted_alone(case: &Case<'_, '_>, from: BlockId) -> bool {
    let copied_here = |d: &Destination<'_>| {
        let of_block = |s: &Source| s.link == Link::Clone && case.source_block(s.inst) == Some(from);
        d.at.block == case.block && d.origin == Origin::Cloned && d.sources.iter().any(of_block)
    };
    case.destination.origin == Origin::Moved
        && !case.is(InstFlags::TERMINATOR)
        && !case.lineage.destinations.iter().any(copied_here)
}

/// A branch that is taken out of a loop of which the run made a copy: what it decides is which of the two is run,
/// before anything of an iteration, and the line is still there in each of them.
fn chooses_version(case: &Case<'_, '_>, from: BlockId) -> bool {
    case.is(InstFlags::TERMINATOR)
        && case.destination.origin == Origin::Moved
        && case.lineage.copies.iter().any(|(old, _)| *old == from)
}

/// A branch that is taken out of the loop and still leaves to where it left the loop: the way that it
/// decides is the way that it was on.
fn is_trivial_unswitch(case: &Case<'_, '_>, from: BlockId) -> bool {
    let (Some(old), Some(new)) = (case.changes.block_before(from), case.changes.block_after(case.block))
    else {
        return false;
    };
    let (old, mut new) = (&old.successors, new.successors.iter());
    case.is(InstFlags::TERMINATOR)
        && new.any(|to| case.placements.was(*to).is_some_and(|was| old.contains(&was)))
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// LICM, commit c0a986a: a call sunk from a loop tested at the bottom to its exit.
    #[test]
    fn sunk_out_of_the_loop() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 call! @2, %3 add @3, %4 br @4
             b2: %5 phi @5, %6 ret @6
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %3 add @3, %4 br @4
             b2: %7 call! @2, %6 ret @6
             events
             create %7
             clone %7 %2
             insert %7 b2 %5
             replace %5 %7
             erase %5
             erase %2",
        );
        assert_eq!(found, ["out_of_loop likely incorrect drop %7 <- %2 %5"]);
    }

    #[test]
    fn a_call_sunk_by_creating_it_anew() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 call! @2, %3 add @3, %4 br @4
             b2: %5 phi @5, %6 ret @6
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %3 add @3, %4 br @4
             b2: %7 call! @2, %6 ret @6
             events
             create %7
             set %7 @2
             insert %7 b2
             replace %5 %7
             erase %5
             erase %2",
        );
        assert_eq!(found, ["out_of_loop likely incorrect drop %7 <- %2 %5"]);
    }

    /// SimpleLoopUnswitch, trivial: the second of two exits, after the first.
    #[test]
    fn an_exit_branch_that_is_unswitched() {
        let found = Scene::judge(
            "before
             b0 -> b1: %0 br @1
             b1 -> b2 b4: %1 br @2
             b2 -> b3 b4: %2 load @3, %3 br @4
             b3 -> b1: %4 call! @5, %5 br @6
             b4: %6 ret @7
             after
             b0 -> b5 b6: %1 br @2
             b5 -> b7 b4: %3 br @4
             b7 -> b1: %0 br @1
             b1 -> b2: %9 br @2
             b2 -> b3: %2 load @3, %11 br @4
             b3 -> b1: %4 call! @5, %5 br @6
             b4 -> b6: %8 br @7
             b6: %6 ret @7
             events
             move %0 b0 b5
             create %7
             insert %7 b0
             move %6 b4 b6
             create %8
             insert %8 b4
             set %8 @7
             remove %7 b0
             erase %7
             move %1 b1 b0
             create %9
             set %9 @2
             insert %9 b1
             move %0 b5 b7
             create %10
             insert %10 b5
             remove %10 b5
             erase %10
             move %3 b2 b5
             create %11
             set %11 @4
             insert %11 b2",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    fn unswitched(copied: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 add @2, %3 br @3
             b2 -> b3: %4 call! @4, %5 br @5
             b3 -> b1 b4: %6 br @6
             b4: %7 ret @7
             after
             b0 -> b5 b6: %3 br @3
             b5 -> b11: %21 br
             b11 -> b13: {copied} @2, %13 br @3
             b13 -> b11 b4: %16 br @6
             b6 -> b1: %1 br @1
             b1 -> b2: %2 add @2, %22 br @3
             b2 -> b3: %4 call! @4, %5 br @5
             b3 -> b1 b4: %6 br @6
             b4: %7 ret @7
             events
             move %1 b0 b6
             create %12
             clone %12 %2
             insert %12 b11
             create %16
             clone %16 %6
             insert %16 b13
             create %13
             clone %13 %3
             insert %13 b11
             create %21
             insert %21 b5
             move %3 b1 b0
             create %22
             insert %22 b1
             set %22 @3"
        ))
    }

    /// SimpleLoopUnswitch, PR 97662: every path passes the loop's header, and yet the branch is not of an iteration.
    #[test]
    fn a_branch_that_chooses_between_two_versions_of_the_loop() {
        assert_eq!(unswitched("%12 add"), ["out_of_loop likely incorrect drop %3 <- %3"]);
    }

    fn hoisted(branch: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 icmp @3, %4 br @4
             b2: %6 ret @6
             after
             b0 -> b1: %2 add @2, {branch} %1 br @1
             b1 -> b1 b2: %3 icmp @3, %4 br @4
             b2: %6 ret @6
             events
             move %2 b1 b0
             {events}"
        ))
    }

    /// LICM without the update; every path passes the body, but not once.
    #[test]
    fn hoisted_alone() {
        assert_eq!(hoisted("", ""), ["out_of_loop likely incorrect drop %2 <- %2"]);
    }

    /// LoopRotate hoists what is invariant from the header, and copies the rest to the same place.
    #[test]
    fn hoisted_with_the_block() {
        let found = hoisted("%7 icmp @3,", "create %7\n clone %7 %3\n insert %7 b0 %1");
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn moved_within_the_loop() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2: %2 add @2, %3 br @3
             b2 -> b1 b3: %4 br @4
             b3: %6 ret @6
             after
             b0 -> b1: %1 br @1
             b1 -> b2: %3 br @3
             b2 -> b1 b3: %2 add @2, %4 br @4
             b3: %6 ret @6
             events
             move %2 b1 b2",
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
