//! A location that left its loop.
//!
//! HowToUpdateDebugInfo, "when to preserve": "LICM. E.g., if an instruction is moved from the loop body to
//! the preheader, the rule for dropping locations applies." What ran in every iteration runs once, and the
//! line would be shown where the source has no such step. LLVM fixed the same for sinking (commit
//! c0a986a) and for a condition that unswitching takes out of the loop (PR 97662).
//!
//! The paper's relation allows it where all paths through the destination pass the loop body. So this is
//! no finding for a hoist from a block that every path passes anyway, as LoopRotate does it from the
//! header: there it is executed at once in either place. Copies of whole blocks (peeling, unrolling)
//! stand for their blocks.
//!
//! Likely, since all paths may well pass both places. A note for an instruction that is moved down: LLVM
//! sinks out of loops with the location in InstCombine, and a step that is shown once at the end is what
//! the last iteration did.

use metaloc_record::{BlockId, InstFlags};

use super::{Case, off_path};
use crate::finding::{Confidence, Finding, Link, Operation, Source};
use crate::lineage::Origin;

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
    if !down && (placements.passes(case.block, from) || is_trivial_unswitch(case, from)) {
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

    /// LoopRotate hoists what is invariant from the header.
    #[test]
    fn hoisted_from_a_block_that_every_path_passes() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %4 br @4
             b2: %6 ret @6
             after
             b0 -> b1: %2 add @2, %1 br @1
             b1 -> b1 b2: %4 br @4
             b2: %6 ret @6
             events
             move %2 b1 b0",
        );
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
