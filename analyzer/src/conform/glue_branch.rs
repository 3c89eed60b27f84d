//! A branch that stands for nothing and was given a location.
//!
//! A branch that a pass creates at the end of a block of its own making, to get to code that was there
//! before, is no part of the program. If it is given the location of an instruction that is in a loop
//! which the branch is outside of, a debugger shows that line when the loop is entered, before anything
//! of it was executed. All that had the location has to be in the loop, and the loop has to be the run's
//! own work: in front of an older loop it is LLVM's custom to give a branch the location of the loop
//! (paper, PR 86269: TailRecursionElimination gave the branch in its new entry block
//! the location of the recursive call). An update that has to go, rather than one that is missing.
//!
//! Likely, since a location was set on purpose. Where the paths do not even pass the owner of the
//! location, [`super::off_path`] has it first.

use metaloc_record::{BlockId, InstFlags};

use super::{Case, off_path};
use crate::finding::{Confidence, Finding, Operation};
use crate::lineage::Origin;

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let destination = case.destination;
    let alone = destination.sources.is_empty() && case.changes.block_before(case.block).is_none();
    if destination.origin != Origin::Created || !case.is(InstFlags::TERMINATOR) || !alone {
        return None;
    }
    if case.changes.block_after(case.block).map(|block| block.successors.len()) != Some(1) {
        return None;
    }
    let owner = off_path::owner(case).filter(|owner| case.is_gone(owner.inst))?;
    let blocks = case.placements.blocks_with(case.inst().loc);
    let in_front = |from: &BlockId| {
        case.placements.made_loop(*from)
            && case.placements.leaves_loop(case.block, *from)
            && case.placements.comes_before(case.block, *from)
    };
    if !blocks.iter().all(in_front) {
        return None;
    }
    Some(case.finding("glue_branch", Operation::Drop, Confidence::Likely, Some(owner)))
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    fn new_entry(loc: &str, set: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %1 call! @1, %2 ret @2
             after
             b1 -> b0: %3 br {loc}
             b0 -> b0: %4 br @1
             events
             create %3
             insert %3 b1
             {set}
             create %4
             insert %4 b0 %2
             set %4 @1
             remove %2 b0
             erase %2
             remove %1 b0
             erase %1"
        ))
    }

    #[test]
    fn branch_in_a_new_entry_with_the_location_of_the_call() {
        assert_eq!(new_entry("@1", "set %3 @1"), ["glue_branch likely incorrect drop %3 <- %1"]);
    }

    #[test]
    fn branch_in_a_new_entry_without_location() {
        assert_eq!(new_entry("", "drop %1"), [""; 0]);
    }

    /// LoopUnroll splits the preheader again and again.
    #[test]
    fn branch_in_front_of_an_older_loop() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 add @7, %2 br @2
             b1 -> b1 b2: %3 add @3, %4 br @1
             b2: %6 ret @6
             after
             b0 -> b5: %1 add @7, %8 br @2
             b5 -> b1: %9 br @1
             b1 -> b1 b2: %3 add @3, %10 br @1
             b2: %6 ret @6
             events
             create %9
             insert %9 b5
             set %9 @1
             create %8
             insert %8 b0
             set %8 @2
             create %10
             insert %10 b1
             set %10 @1
             erase %2
             erase %4",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// SplitBlock gives its branch the location of the first instruction that it moves.
    #[test]
    fn branch_between_the_halves_of_a_block() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 sub @3, %4 br @4
             b2: %6 ret @6
             after
             b0 -> b1: %1 br @1
             b1 -> b7: %2 add @2, %7 br @3
             b7 -> b1 b2: %3 sub @3, %4 br @4
             b2: %6 ret @6
             events
             move %3 b1 b7
             move %4 b1 b7
             create %7
             insert %7 b1
             set %7 @3",
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
