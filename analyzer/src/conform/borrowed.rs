//! The location of what happens to follow, on a write that stands for others.
//!
//! `IRBuilder` gives what it makes the location of the instruction in front of which it stands. If that one has nothing
//! to do with what is made, a debugger shows its line where that of the old instruction is due: "the location of the shl
//! instruction should be the same as the location of the add instruction" (HowToUpdateDebugInfo, "when to preserve").
//! MemCpyOpt sets the location of the memset that it makes of stores for that reason, and of one that it moves.
//!
//! Asked of writes only, where what went wrote to the same object: of a value that replaced others it is often hard to
//! say which of them it is. In another block, all paths have to pass what went, which had one location (a loop that
//! LoopIdiomRecognize makes a memset of, in front of it; [`super::lost_write`] says why a loop is no matter). What
//! follows has to be older than the run, to live on, and not to be a source itself; nothing that went from the block
//! had its location. Likely, since the link is the object.

use super::Case;
use crate::changes::At;
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

/// Worth asking about: it was made, has a location, and stands for writes that had another.
pub(super) fn is_open(destination: &Destination<'_>) -> bool {
    destination.origin == Origin::Created
        && destination.sources.iter().any(|s| s.link == Link::Write)
        && destination.sources.iter().all(|s| s.loc != destination.inst.loc)
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let sources: Vec<Source> = case.sources_by(Link::Write).copied().collect();
    if !is_open(case.destination) || case.destination.updates.merged {
        return None;
    }
    let here = sources.iter().all(|s| case.source_block(s.inst) == Some(case.block));
    let passes =
        |s: &Source| case.source_block(s.inst).is_some_and(|from| case.placements.passes(case.block, from));
    if !here && (case.common_location(sources.iter()).is_none() || !sources.iter().all(passes)) {
        return None;
    }
    let insts = &case.changes.block_after(case.block)?.insts;
    let next = case.destination.at.position as usize + 1;
    let following = insts.get(next)?;
    let place = At { block: case.block, position: next as u32 };
    let older = case.changes.origin(following.id, place).is_some_and(|was| was.block == case.block);
    if !older || following.loc != case.inst().loc {
        return None;
    }
    let old = &case.changes.block_before(case.block)?.insts;
    if old.iter().any(|inst| inst.loc == case.inst().loc && case.is_gone(inst.id)) {
        return None;
    }
    // In its block the first one counts; elsewhere they are all alike.
    let position = |s: &&Source| case.changes.before(s.inst).map(|at| at.position);
    let first = *sources.iter().min_by_key(position)?;
    let finding = case.finding("borrowed", Operation::Preserve, Confidence::Likely, None);
    Some(Finding { sources: vec![first], kind: Kind::Incorrect, ..finding })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// MemCpyOpt: a memset in front of the return.
    fn joined(before: &str, after: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %1 store^1 @1, %2 store^1 @2, {before} %3 load @3, %4 ret @4
             after
             b0: {after}, %4 ret @4
             events
             create %5
             insert %5 b0 %4
             remove %1 b0
             erase %1
             remove %2 b0
             erase %2
             remove %6 b0
             erase %6"
        ))
    }

    #[test]
    fn the_location_of_the_return() {
        let found = joined("", "%3 load @3, %5 call^1 @4");
        assert_eq!(found, ["borrowed likely incorrect preserve %5 <- %1"]);
    }

    /// LoopIdiomRecognize: a memset in front of the loop.
    #[test]
    fn the_location_of_the_branch_in_front_of_the_loop() {
        let judge = |skip: &str, second: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1 {skip}: %1 br @1
                 b1 -> b1 b2: %2 store^1 @2, {second} %3 br @3
                 b2: %4 ret @4
                 after
                 b0 -> b1 {skip}: %5 call^1 @1, %1 br @1
                 b1 -> b1 b2: %3 br @3
                 b2: %4 ret @4
                 events
                 create %5
                 insert %5 b0 %1
                 remove %2 b1
                 erase %2
                 remove %6 b1
                 erase %6"
            ))
        };
        assert_eq!(judge("", ""), ["borrowed likely incorrect preserve %5 <- %2"]);
        assert_eq!(judge("b2", ""), [""; 0]);
        assert_eq!(judge("", "%6 store^1 @6,"), [""; 0]);
    }

    #[test]
    fn the_location_of_a_store() {
        assert_eq!(joined("", "%3 load @3, %5 call^1 @2"), [""; 0]);
    }

    #[test]
    fn of_another_object() {
        assert_eq!(joined("", "%3 load @3, %5 call^2 @4"), [""; 0]);
    }

    /// Something else that went had the location too: the write may stand for that.
    #[test]
    fn of_something_that_went() {
        assert_eq!(joined("%6 load @4,", "%3 load @3, %5 call^1 @4"), [""; 0]);
    }

    /// It is that of what comes before it, and not of what follows.
    #[test]
    fn somebody_chose_it() {
        assert_eq!(joined("", "%3 load @3, %5 call^1 @3"), [""; 0]);
    }
}
