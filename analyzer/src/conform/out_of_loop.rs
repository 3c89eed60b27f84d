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
//! stand for their blocks. A sink is likely, since nothing but the rule above is violated.

use metaloc_record::InstFlags;

use super::Case;
use crate::finding::{Confidence, Finding, Link, Operation};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let link = if case.is(InstFlags::PHI) { return None } else { [Link::Clone, Link::Move] };
    let source = case.destination.sources.iter().find(|s| link.contains(&s.link))?;
    if source.loc != case.inst().loc || case.destination.updates.set || case.destination.updates.merged {
        return None;
    }
    let from = case.source_block(source.inst)?;
    // Stays in its loop, or the loop is gone and there is nothing to be outside of.
    let still_loops = case.placements.in_loop_after(from);
    if from == case.block || !still_loops || !case.placements.leaves_loop(case.block, from) {
        return None;
    }
    if case.placements.is_copy(from, case.block) || case.changes.had(case.block, case.inst().loc) {
        return None;
    }
    if !case.placements.comes_before(from, case.block) && case.placements.passes(case.block, from) {
        return None;
    }
    Some(case.finding("out_of_loop", Operation::Drop, Confidence::Likely))
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
