//! The location of what happens to follow, on what stands for others.
//!
//! `IRBuilder` gives what it makes the location of the instruction in front of which it stands. If that one has nothing
//! to do with what is made, a debugger shows its line where that of the old instruction is due: "the location of the shl
//! instruction should be the same as the location of the add instruction" (HowToUpdateDebugInfo, "when to preserve").
//! MemCpyOpt sets the location of the memset that it makes of stores for that reason, and of one that it moves.
//!
//! Asked of two kinds, of which it is known what they stand for:
//!
//! - a write, where what went wrote to the same object. In another block, all paths have to pass what went, which had one
//!   location (a loop that LoopIdiomRecognize makes a memset of, in front of it; [`super::lost_write`] says why a loop is no
//!   matter);
//! - a compare that only the terminator of the block uses, which is older, if just one compare went from the block and
//!   nothing replaced it: the condition was made anew ("the new loop exit condition should reuse the debug location of the
//!   original loop exit condition", IndVarSimplify).
//!
//! What follows has to be older than the run, to live on, and not to be a source itself; nothing that went from the block
//! had its location. Likely: for a write the link is the object, for a compare the place. Not asked of any value that took
//! over from another of its block: LLVM makes many of them for their users, with the locations of these (address
//! computations, extracted elements).

use metaloc_record::{Inst, InstFlags};

use super::Case;
use crate::changes::{At, Changes};
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

/// Worth asking about: it was made, has the location of what follows, and stands for what had another, or may do so.
pub(super) fn is_open(changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    let linked = |s: &Source| s.link == Link::Write;
    let sources = &destination.sources;
    if destination.origin != Origin::Created || sources.iter().any(|s| s.loc == destination.inst.loc) {
        return false;
    }
    let At { block, position } = destination.at;
    let next = changes.block_after(block).and_then(|block| block.insts.get(position as usize + 1));
    if next.is_none_or(|next| next.loc != destination.inst.loc) {
        return false;
    }
    sources.iter().any(linked) || (is_compare(destination.inst) && sources.is_empty())
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if !is_open(case.changes, case.destination) || case.destination.updates.merged || case.is(InstFlags::PHI)
    {
        return None;
    }
    if !is_borrowed(case)? {
        return None;
    }
    let source = write(case).or_else(|| condition(case))?;
    let finding = case.finding("borrowed", Operation::Preserve, Confidence::Likely, None);
    Some(Finding { sources: vec![source], kind: Kind::Incorrect, ..finding })
}

/// True if the location is that of what follows, behind what else was made there with the same one.
pub(super) fn is_borrowed(case: &Case<'_, '_>) -> Option<bool> {
    let insts = &case.changes.block_after(case.block)?.insts;
    let next = case.destination.at.position as usize + 1;
    let place = |position: usize| At { block: case.block, position: position as u32 };
    let origin = |position: usize| case.changes.origin(insts[position].id, place(position));
    let made = |position: &usize| insts[*position].loc == case.inst().loc && origin(*position).is_none();
    let following = (next..insts.len()).find(|position| !made(position))?;
    let older = origin(following).is_some_and(|was| was.block == case.block);
    let old = &case.changes.block_before(case.block)?.insts;
    let went = |inst: &Inst| inst.loc == case.inst().loc && case.is_gone(inst.id);
    Some(older && insts[following].loc == case.inst().loc && !old.iter().any(went))
}

fn write(case: &Case<'_, '_>) -> Option<Source> {
    let sources: Vec<Source> = case.sources_by(Link::Write).copied().collect();
    let here = sources.iter().all(|s| case.source_block(s.inst) == Some(case.block));
    let passes =
        |s: &Source| case.source_block(s.inst).is_some_and(|from| case.placements.passes(case.block, from));
    if !here && (case.common_location(sources.iter()).is_none() || !sources.iter().all(passes)) {
        return None;
    }
    // In its block the first one counts; elsewhere they are all alike.
    let position = |s: &&Source| case.changes.before(s.inst).map(|at| at.position);
    sources.iter().min_by_key(position).copied()
}

fn condition(case: &Case<'_, '_>) -> Option<Source> {
    let insts = &case.changes.block_after(case.block)?.insts;
    let end = insts.last()?;
    let place = At { block: case.block, position: insts.len() as u32 - 1 };
    let older = case.changes.origin(end.id, place).is_some_and(|was| was.block == case.block);
    if !is_compare(case.inst()) || !case.destination.sources.is_empty() || !older {
        return None;
    }
    let old = &case.changes.block_before(case.block)?.insts;
    let mut went = old.iter().filter(|inst| is_compare(inst) && case.is_gone(inst.id));
    let only = went.next().filter(|inst| case.is_real(inst.loc) && went.next().is_none())?;
    if case.lineage.replaced_by.contains_key(&only.id) {
        return None;
    }
    let users = case.run.lookup.users(case.inst().id)?;
    (users == [end.id]).then_some(Source { inst: only.id, loc: only.loc, link: Link::Position, via: None })
}

fn is_compare(inst: &Inst) -> bool {
    matches!(inst.opcode.name(), "icmp" | "fcmp")
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

    /// IndVarSimplify: the test of the loop is made anew, in front of the branch.
    fn tested(loc: &str, user: &str, event: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 icmp(%2) @3, %4 br(%3) @4
             b2: %6 ret @6
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %5 icmp(%2) {loc}, %4 br({user}) @4
             b2: %6 ret @6
             events
             create %5
             insert %5 b1 %4
             set %5 {loc}
             {event}
             remove %3 b1
             erase %3"
        ))
    }

    #[test]
    fn of_a_condition() {
        assert_eq!(tested("@4", "%5", "set %5 @4"), ["borrowed likely incorrect preserve %5 <- %3"]);
        assert_eq!(tested("@3", "%5", "set %5 @3"), [""; 0]);
        // The branch decides by something else.
        assert_eq!(tested("@4", "%2", "set %5 @4"), [""; 0]);
        // Something else took over from the old one.
        assert_eq!(tested("@4", "%5", "replace %3 %2"), [""; 0]);
    }
}
