//! A location on paths that did not have it.
//!
//! Definition 3.2 of the paper: no path of P' has a location that the path it came from did not have.
//! Whoever steps through the program is told otherwise that a line is executed which is not. The
//! location of such an instruction is to be dropped (PRs 95742, 97384; commits 368681f, c0a986a).
//!
//! How sure:
//! - certain for what was moved or copied with its location and nothing was called to keep it, if the
//!   wrong path has a location of its own to prove it;
//! - likely without such a proof, for a call (it keeps a location, but line 0), and for an access to
//!   memory: LLVM has dropped these as well (368681f), yet some locations are kept for crash reports
//!   (paper, section 5.5);
//! - likely for a created instruction that was given the location by a call: somebody meant it;
//! - a note for a PHI, which is executed on the edges, and for an access to memory whose location was
//!   chosen by a call.

use metaloc_record::InstFlags;

use super::Case;
use crate::finding::{Confidence, Finding, Link, Operation, Source};
use crate::lineage::Origin;

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let off_path = case.off_path()?;
    let confidence = confidence(case, !off_path.extra.is_empty());
    let unexplained = case.destination.sources.iter().all(|s| s.loc != case.inst().loc);
    let owner = if unexplained { owner(case) } else { None };
    let mut finding = case.finding("off_path", Operation::Drop, confidence, owner);
    finding.extra = off_path.extra.clone();
    Some(finding)
}

fn confidence(case: &Case<'_, '_>, proved: bool) -> Confidence {
    let updates = case.destination.updates;
    let chosen = updates.set || updates.merged || case.destination.origin == Origin::Created;
    let memory = case.is(InstFlags::MEMORY);
    if case.is(InstFlags::PHI) || (memory && chosen) || (chosen && !proved) {
        Confidence::Note
    } else if chosen || memory || case.is(InstFlags::CALL) || !proved {
        Confidence::Likely
    } else {
        Confidence::Certain
    }
}

/// The instruction of P whose location the destination was given: the first one that had it, one that is
/// gone before one that is still there.
pub(super) fn owner(case: &Case<'_, '_>) -> Option<Source> {
    let loc = case.inst().loc;
    let blocks = case.placements.blocks_with(loc);
    let insts = blocks.iter().filter_map(|id| case.changes.block_before(*id)).flat_map(|block| &block.insts);
    let mut with = insts.filter(|inst| inst.loc == loc);
    let inst = with.clone().find(|inst| case.is_gone(inst.id)).or_else(|| with.next())?;
    Some(Source { inst: inst.id, loc, link: Link::Update, via: None })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// SpeculativeExecution, PR 97384.
    #[test]
    fn hoisted_from_one_side_of_a_branch() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b2: %2 add @2, %3 br @3
             b2: %5 phi @5, %6 ret @6
             after
             b0 -> b1 b2: %2 add @2, %1 br @1
             b1 -> b2: %3 br @3
             b2: %5 phi @5, %6 ret @6
             events
             move %2 b1 b0",
        );
        assert_eq!(found, ["off_path likely incorrect drop %2 <- %2"]);
    }

    #[test]
    fn hoisted_above_an_else_with_its_own_location_is_certain() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 br @4
             b3: %6 ret @6
             after
             b0 -> b1 b2: %2 add @2, %1 br @1
             b1 -> b3: %3 br @3
             b2 -> b3: %4 br @4
             b3: %6 ret @6
             events
             move %2 b1 b0",
        );
        assert_eq!(found, ["off_path certain incorrect drop %2 <- %2"]);
    }

    #[test]
    fn a_dropped_location_is_right_there() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 br @4
             b3: %6 ret @6
             after
             b0 -> b1 b2: %2 add, %1 br @1
             b1 -> b3: %3 br @3
             b2 -> b3: %4 br @4
             b3: %6 ret @6
             events
             move %2 b1 b0
             hoist %2",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// HowToUpdateDebugInfo: preserve "if the destination block already contains an instruction with an
    /// identical debug location".
    #[test]
    fn a_location_that_the_block_had_already_is_right_there() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @2
             b1 -> b2: %2 add @2, %3 br @3
             b2: %6 ret @6
             after
             b0 -> b1 b2: %2 add @2, %1 br @2
             b1 -> b2: %3 br @3
             b2: %6 ret @6
             events
             move %2 b1 b0",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// The paper's motivating program, section 2.2, after TailRecursionElimination of LLVM 16.
    #[test]
    fn copied_to_the_other_branch() {
        let found = Scene::judge(
            "before
             b0 -> b1 b5: %1 br @2
             b1 -> b2 b3: %2 sub @3, %3 br @4
             b2 -> b5: %4 call! @5:20, %5 add @5:35, %6 br @5:13
             b3 -> b5: %7 call! @7:20, %8 mul @7:35, %9 br @7:13
             b5: %10 phi, %11 ret @11
             after
             b9 -> b0: %20 br
             b0 -> b1 b5: %21 phi, %1 br @2
             b1 -> b2 b3: %2 sub @3, %3 br @4
             b2 -> b0: %5 add @5:35, %22 br @5:13
             b3: %7 call! @7:20, %8 mul @7:35, %23 add @5:35, %24 ret @11
             b5: %10 phi, %25 ret @11
             events
             create %23
             clone %23 %5
             insert %23 b3 %9",
        );
        assert_eq!(found, ["off_path certain incorrect drop %23 <- %5"]);
    }

    /// Unrolling lays out iterations one after the other; copies of blocks stand for their blocks.
    #[test]
    fn unrolled_sides_of_a_diamond_are_right() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 br @2
             b2 -> b4: %3 add @3, %4 br @4
             b3 -> b4: %5 mul @5, %6 br @6
             b4 -> b1 b5: %7 br @7
             b5: %8 ret @8
             after
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 br @2
             b2 -> b4: %3 add @3, %4 br @4
             b3 -> b4: %5 mul @5, %6 br @6
             b4 -> b11: %7 br @7
             b11 -> b12 b13: %12 br @2
             b12 -> b14: %13 add @3, %14 br @4
             b13 -> b14: %15 mul @5, %16 br @6
             b14 -> b5: %17 br @7
             b5: %8 ret @8
             events
             clone %12 %2
             insert %12 b11
             clone %13 %3
             insert %13 b12
             clone %14 %4
             insert %14 b12
             clone %15 %5
             insert %15 b13
             clone %16 %6
             insert %16 b13
             clone %17 %7
             insert %17 b14",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// A block folded into its only predecessor, whose branch was found to be constant in the same run.
    #[test]
    fn a_folded_branch_is_no_hoist() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 mul @4, %5 br @5
             b3: %6 ret @6
             after
             b0 -> b3: %2 add @2, %3 br @3
             b3: %6 ret @6
             events
             move %2 b1 b0
             move %3 b1 b0
             erase %1
             erase %4
             erase %5",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// SimplifyCFG: one side is done in any case, and a select decides by the condition of the branch.
    fn speculated(condition: &str, loc: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 icmp @1, %2 icmp @2, %3 br(%1) @3
             b1 -> b2: %4 add @4, %5 br @5
             b2: %6 phi(%4+-) @6, %7 ret(%6) @7
             after
             b0: %1 icmp @1, %2 icmp @2, %4 add {loc}, %8 select({condition}+%4+-) @3, %7 ret(%8) @7
             events
             move %4 b1 b0
             drop %4
             create %8
             insert %8 b0 %3
             set %8 @3
             replace %6 %8
             remove %6 b2
             erase %6
             remove %3 b0
             erase %3
             remove %5 b1
             erase %5
             move %7 b2 b0"
        ))
    }

    #[test]
    fn in_front_of_a_select() {
        assert_eq!(speculated("%1", "@4"), ["off_path likely incorrect drop %4 <- %4"]);
        assert_eq!(speculated("%1", ""), [""; 0]);
        // It decides something else: the branch may have been found to go one way.
        assert_eq!(speculated("%2", "@4"), [""; 0]);
    }

    /// SimplifyCFG: two tests in a row become one, which is still made where the first was.
    fn tested_at_once(to: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b3: %1 br @1
             b1 -> b2 b3: %2 add @2, %3 br @3
             b2: %4 ret @4
             b3: %5 ret @5
             after
             b0 -> {to}: %9 add @2, %1 br @1
             b2: %4 ret @4
             b3: %5 ret @5
             events
             clone %9 %2
             insert %9 b0 %1
             remove %2 b1
             erase %2
             remove %3 b1
             erase %3"
        ))
    }

    #[test]
    fn in_front_of_the_same_branch() {
        assert_eq!(tested_at_once("b2 b3"), ["off_path likely incorrect drop %9 <- %2"]);
        // The way around is not taken any more.
        assert_eq!(tested_at_once("b2"), [""; 0]);
    }

    /// SimplifyCFG: the invoke of what does not unwind becomes a call, and what is behind it comes to be in front of a
    /// `select` on the older decision, which has nothing to do with it.
    #[test]
    fn behind_a_decision_that_went() {
        let judge = |moved: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1 b2: %1 icmp @1, %2 br(%1) @2
                 b1 -> b2: %3 add @3, %4 br @4
                 b2 -> b3 b4: %5 phi(%3+-) @5, %6 invoke(%5) @6
                 b3: %7 store @7, %8 ret @8
                 b4: %9 landingpad @9, %10 resume @10
                 after
                 b0: %1 icmp @1, {moved}, %11 select(%1+%3+-) @2, %12 call!(%11) @6, %7 store @7, %8 ret @8
                 events
                 create %11
                 insert %11 b0 %2
                 set %11 @2
                 replace %5 %11
                 remove %5 b2
                 erase %5
                 remove %2 b0
                 erase %2
                 create %12
                 insert %12 b0
                 set %12 @6
                 remove %6 b2
                 erase %6
                 move %3 b1 b0
                 move %7 b3 b0
                 move %8 b3 b0
                 remove %4 b1
                 erase %4"
            ))
        };
        assert_eq!(judge("%3 add"), [""; 0]);
        // Whichever way the invoke went, the older decision avoided this.
        assert_eq!(judge("%3 add @3"), ["off_path likely incorrect drop %3 <- %3"]);
    }

    /// Both branches become a `select`: the second one avoided what is in front of the two now, and still does.
    #[test]
    fn behind_another_decision_that_is_still_made() {
        let judge = |condition: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1 b2: %1 icmp @1, %2 icmp @2, %3 br(%1) @3
                 b1 -> b2: %4 br @4
                 b2 -> b3 b4: %5 phi @5, %6 br(%2) @6
                 b3 -> b4: %7 add @7, %8 br @8
                 b4: %9 phi(%7+%5) @9, %10 ret(%9) @10
                 after
                 b0: %1 icmp @1, %2 icmp @2, %11 select(%1) @3, %7 add @7, %12 select({condition}+%7+%11) @6, %10 ret(%12) @10
                 events
                 create %11
                 insert %11 b0 %3
                 set %11 @3
                 replace %5 %11
                 remove %5 b2
                 erase %5
                 remove %3 b0
                 erase %3
                 remove %4 b1
                 erase %4
                 create %12
                 insert %12 b0
                 set %12 @6
                 replace %9 %12
                 remove %9 b4
                 erase %9
                 remove %6 b2
                 erase %6
                 remove %8 b3
                 erase %8
                 move %7 b3 b0
                 move %10 b4 b0"
            ))
        };
        assert_eq!(judge("%2"), ["off_path likely incorrect drop %7 <- %7"]);
        assert_eq!(judge("-"), [""; 0]);
    }

    /// LoopRotate: the latch is folded into the block in front of it, which may leave the loop.
    #[test]
    fn a_latch_in_front_of_the_exit() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2: %2 call! @2, %3 br @3
             b2 -> b3 b4: %4 icmp @4, %5 br @5
             b3 -> b1: %6 add @6, %7 br @7
             b4: %8 ret @8
             after
             b0 -> b1: %1 br @1
             b1 -> b2: %2 call! @2, %3 br @3
             b2 -> b1 b4: %4 icmp @4, %6 add @6, %5 br @5
             b4: %8 ret @8
             events
             move %6 b3 b2
             remove %7 b3
             erase %7",
        );
        assert_eq!(found, ["off_path likely incorrect drop %6 <- %6"]);
    }
}
