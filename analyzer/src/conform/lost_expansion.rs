//! No location on what was put next to something.
//!
//! "Replace or expand an instruction" (HowToUpdateDebugInfo): of the instructions that an expansion makes,
//! only the last one replaces anything, and for the others the place is the only link (10 of the paper's
//! errors; PRs 91443, 96045, 97038, 97519).
//!
//! The place is read off P': the nearest instruction on either side that was in the block in P, or that
//! replaced one that was. Between these two in P:
//!
//! - located instructions that are gone and that nothing replaced: the destination is part of the
//!   expansion of one of them, and whichever it is, a location is lost. Likely; the first is named.
//! - nothing, and what follows replaced an instruction: part of the expansion of that one. Likely. If that
//!   one had no location, nothing is said in either case. Nor is it if one of those that are gone had none and was replaced
//!   by temporaries alone, which are gone as well: its expansion went on, and this may be the rest of it.
//! - nothing is said either if an instruction without a location is gone, here or elsewhere, that did the same with the
//!   same operands, and none like it whose location is not to be found on one that was made: that one was made anew in
//!   another place, with the location that it had (CodeGenPrepare's sinkAndCmp0Expression).
//! - nothing, and what follows is older than the run, in the middle of the block, and uses the destination, or
//!   what was made from it: an operand is prepared (frozen, cast), and IRBuilder would have given it that
//!   location. Likely. So is the step of a new induction variable in front of that of an old one of the same loop
//!   (PR 97519). If it does not use it, but is a cast or a freeze of the instruction right in front of it, then
//!   it belongs to that one: a value is prepared for all its uses (PR 97038). Likely. Otherwise the place is no link
//!   but chance: a note.
//! - whatever of these it is, where the pass said behind which instruction (`insertAfter`), that one is named, if it was
//!   in the block and has a location (PR 97038): there the place was chosen by it, and not by what happens to follow.
//! - nothing for what was computed for a write without a location that went (`lineage/stored.rs`).
//! - the start of a block, or its terminator: that is where code goes that belongs nowhere. A note at the
//!   start, nothing at the end. A `freeze` at the start is likely all the same if what follows uses it: it does
//!   nothing but to prepare an operand.

use metaloc_record::{Inst, InstFlags, InstId};

use super::{Case, is_cast};
use crate::changes::At;
use crate::finding::{Confidence, Finding, Link, Source};
use crate::lineage::Origin;

/// How far to look for a neighbour: expansions are short, and a block may be long.
const MAX_STEPS: usize = 16;

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let has_place = case.is(InstFlags::PHI) || case.is(InstFlags::TERMINATOR);
    if has_place || case.destination.stored || is_linked(case) {
        return None;
    }
    let (nearest, confidence) = neighbour(case).filter(|(nearest, _)| case.is_real(nearest.loc))?;
    if confidence == Confidence::Likely && is_bare_one_elsewhere(case) {
        return None;
    }
    let old = put_behind(case).unwrap_or(nearest);
    let source = Source { inst: old.id, loc: old.loc, link: Link::Position, via: None };
    Some(case.lost("lost_expansion", vec![source], confidence))
}

/// True if the destination is part of the expansion of an instruction that had no location itself.
pub(super) fn is_of_bare(case: &Case<'_, '_>) -> bool {
    neighbour(case)
        .is_some_and(|(old, confidence)| confidence == Confidence::Likely && !case.is_real(old.loc))
}

/// True if what does the same with the same operands is gone, was replaced by nothing, and had no location.
fn is_bare_one_elsewhere(case: &Case<'_, '_>) -> bool {
    let (lookup, inst) = (case.run.lookup, case.inst());
    let operands = lookup.operands(inst.id);
    let alike = |old: &Inst| {
        old.opcode == inst.opcode
            && !case.lineage.replaced_by.contains_key(&old.id)
            && lookup.noted_operands(old.id) == operands
    };
    // Constants and arguments all look the same: what has a location was made anew, too, if something like it has that.
    let has_its_location = |old: &Inst| {
        let mut made = case.lineage.destinations.iter().filter(|made| made.origin == Origin::Created);
        made.any(|made| made.inst.opcode == old.opcode && made.inst.loc == old.loc)
    };
    let (mut is_one, mut are_known) = (false, true);
    for old in case.changes.gone().filter(|old| alike(old)) {
        is_one |= !old.loc.is_some();
        are_known &= !old.loc.is_some() || has_its_location(old);
    }
    !operands.is_empty() && is_one && are_known
}

/// What took over from an instruction of P is gone as well, and nothing took over from that.
fn has_no_heir(case: &Case<'_, '_>, inst: InstId) -> bool {
    let mut at = inst;
    for _ in 0..MAX_STEPS {
        match case.lineage.replaced_by.get(&at) {
            Some(by) if case.changes.after(by.inst).is_some() => return false,
            Some(by) => at = by.inst,
            None => return true,
        }
    }
    false
}

/// Something stronger than the place is known.
fn is_linked(case: &Case<'_, '_>) -> bool {
    case.destination.sources.iter().any(|s| s.link <= Link::Split)
}

/// The located instruction of the block that the pass itself names for the place.
pub(super) fn put_behind<'c>(case: &'c Case<'_, '_>) -> Option<&'c Inst> {
    let was = case.changes.was(*case.lineage.put_behind.get(&case.inst().id)?)?;
    let here = case.placements.was(case.block) == Some(was.at.block);
    (here && case.is_real(was.inst.loc)).then_some(&was.inst)
}

fn neighbour<'a>(case: &Case<'_, 'a>) -> Option<(&'a Inst, Confidence)> {
    let was = case.placements.was(case.block)?;
    let old = &case.changes.block_before(was)?.insts;
    let insts = &case.changes.block_after(case.block)?.insts;
    let at = case.destination.at.position as usize;
    // Position in P and whether the instruction itself was there.
    let place = |position: usize| {
        let inst = &insts[position];
        let own = case.changes.origin(inst.id, At { block: case.block, position: position as u32 });
        let stands_for = || case.lineage.replaced.get(&inst.id).and_then(|old| case.changes.before(*old));
        let place = own.or_else(stands_for).filter(|place| place.block == was)?;
        Some((place.position as usize, own.is_some()))
    };
    let previous = (0..at).rev().take(MAX_STEPS).find_map(place).map(|p| p.0);
    let from = previous.map_or(0, |p| p + 1);
    // What replaced something further up tells nothing about the place here.
    let next = (at + 1..insts.len()).take(MAX_STEPS).find_map(|i| place(i).filter(|p| p.0 >= from))?;
    if !next.1 && !case.is_real(old[next.0].loc) {
        return Some((&old[next.0], Confidence::Likely));
    }
    let phi = |inst: &&Inst| inst.flags.has(InstFlags::PHI);
    let free = |inst: &&Inst| case.is_gone(inst.id) && !case.lineage.replaced_by.contains_key(&inst.id);
    let between = old.get(from..next.0)?;
    let mut gone = between.iter().filter(|i| !phi(i) && free(i)).peekable();
    let following = &old[next.0];
    if gone.peek().is_some() || !next.1 {
        let first = gone.peek().copied().unwrap_or(following);
        let left_nothing =
            |i: &&Inst| !phi(i) && !i.loc.is_some() && case.is_gone(i.id) && has_no_heir(case, i.id);
        let bare = gone.find(|i| !case.is_real(i.loc)).or_else(|| between.iter().find(left_nothing));
        return Some((bare.unwrap_or(first), Confidence::Likely));
    }
    if following.flags.has(InstFlags::TERMINATOR) || phi(&following) {
        return None;
    }
    let starts = old[..next.0].iter().all(|i| phi(&i)) && !case.is_opcode(case.inst(), "freeze");
    if !starts && is_for(case, following.id) {
        return Some((following, Confidence::Likely));
    }
    if is_step_beside(case, following.id) {
        return Some((following, Confidence::Likely));
    }
    if let Some(prepared) = prepared(case, &insts[..at]) {
        return Some((prepared, Confidence::Likely));
    }
    Some((following, Confidence::Note))
}

/// True if the destination is the step of a new induction variable and what follows is that of an old one in the same
/// loop: each uses a PHI of the header, and the new PHI uses the destination.
fn is_step_beside(case: &Case<'_, '_>, following: InstId) -> bool {
    let (lookup, id) = (case.run.lookup, case.inst().id);
    let phis = lookup.operands(id).into_iter().flatten();
    let mut headers = phis.filter_map(|used| {
        let phi = case.lineage.destination(used)?;
        let steps = phi.inst.flags.has(InstFlags::PHI) && lookup.operands(used).contains(&Some(id));
        steps.then(|| case.changes.block_before(phi.at.block)).flatten()
    });
    let Some(header) = headers.next() else { return false };
    let phis = header.insts.iter().take_while(|inst| inst.flags.has(InstFlags::PHI));
    let used = lookup.operands(following);
    phis.into_iter().any(|phi| used.contains(&Some(phi.id)))
}

/// The instruction right in front of the destination, if that is older and the destination does nothing but to cast or
/// to freeze its value.
fn prepared<'a>(case: &Case<'_, 'a>, in_front: &'a [Inst]) -> Option<&'a Inst> {
    let inst = case.inst();
    if !is_cast(inst) && !case.is_opcode(inst, "freeze") {
        return None;
    }
    let (position, last) = in_front.iter().enumerate().next_back()?;
    let place = At { block: case.block, position: position as u32 };
    let older = case.changes.origin(last.id, place).is_some() && !last.flags.has(InstFlags::PHI);
    let operands = case.run.lookup.operands(inst.id);
    (older && case.is_real(last.loc) && operands == [Some(last.id)]).then_some(last)
}

/// True if an instruction uses the destination, or something that the run has made from it.
fn is_for(case: &Case<'_, '_>, user: InstId) -> bool {
    let mut open = vec![user];
    let mut seen = open.clone();
    while let Some(inst) = open.pop() {
        for operand in case.run.lookup.operands(inst).into_iter().flatten() {
            if operand == case.inst().id {
                return true;
            }
            let made = case.changes.was(operand).is_none() && case.changes.after(operand).is_some();
            if made && seen.len() < MAX_STEPS && !seen.contains(&operand) {
                seen.push(operand);
                open.push(operand);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// LoopStrengthReduce, PR 97519: the step of the new counter.
    #[test]
    fn in_front_of_the_step_of_the_old_counter() {
        let judge = |used: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1: %1 br @1
                 b1 -> b1 b2: %2 phi(-+%5) @2, %3 sitofp(%2) @3, %4 call!(%3) @4, %5 add({used}+-) @5, %6 br @6
                 b2: %7 ret @7
                 after
                 b0 -> b1: %1 br @1
                 b1 -> b1 b2: %8 phi(-+%9) @2, %2 phi(-+%5) @2, %4 call!(%8) @4, %9 fadd(%8+-), %5 add({used}+-) @5, %6 br @6
                 b2: %7 ret @7
                 events
                 create %8
                 insert %8 b1 %2
                 set %8 @2
                 create %9
                 insert %9 b1 %5
                 replace %3 %8
                 remove %3 b1
                 erase %3"
            ))
        };
        assert_eq!(judge("%2"), ["lost_expansion likely lost preserve %9 <- %5"]);
        assert_eq!(judge("%4"), ["lost_expansion note lost preserve %9 <- %5"]);
    }

    /// InferAddressSpaces, PR 97038: a cast behind the instruction whose value it casts.
    #[test]
    fn behind_what_it_casts() {
        let judge = |opcode: &str, operand: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 mul @1, %2 inttoptr @2, %3 add @3, %4 load(%2) @4, %5 ret @5
                 after
                 b0: %1 mul @1, %2 inttoptr @2, %6 {opcode}({operand}), %3 add @3, %4 load(%6) @4, %5 ret @5
                 events
                 create %6
                 insert %6 b0 %3"
            ))
        };
        assert_eq!(judge("addrspacecast", "%2"), ["lost_expansion likely lost preserve %6 <- %2"]);
        assert_eq!(judge("addrspacecast", "%1"), ["lost_expansion note lost preserve %6 <- %3"]);
        assert_eq!(judge("getelementptr", "%2"), ["lost_expansion note lost preserve %6 <- %3"]);
    }

    /// InferAddressSpaces, PR 97038: the one user of the cast stands right behind it.
    #[test]
    fn put_behind_an_instruction() {
        let judge = |events: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 load @1, %2 load(%1) @2, %3 add(%1), %4 ret @4
                 after
                 b0: %1 load @1, %6 addrspacecast(%1), %2 load(%6) @2, %3 add(%1), %4 ret @4
                 events
                 create %6
                 insert %6 b0 %2
                 {events}"
            ))
        };
        assert_eq!(judge("behind %6 %1"), ["lost_expansion likely lost preserve %6 <- %1"]);
        // Behind what was made and put behind it.
        let two = "create %7 add\ninsert %7 b0 %2\nbehind %7 %1\nbehind %6 %7";
        assert_eq!(judge(two), ["lost_expansion likely lost preserve %6 <- %1"]);
        // It was put in front of the user, has been put elsewhere since, or behind what has no location.
        for events in ["", "behind %6 %1\nremove %6 b0\ninsert %6 b0 %2", "behind %6 %3"] {
            assert_eq!(judge(events), ["lost_expansion likely lost preserve %6 <- %2"], "{events}");
        }
    }

    /// DivRemPairs, PR 96045: rem => mul, sub.
    #[test]
    fn between_the_place_and_the_replacement() {
        let found = Scene::judge(
            "before
             b0: %1 urem @1, %2 ret @2
             after
             b0: %3 mul, %4 sub @1, %2 ret @2
             events
             create %3
             insert %3 b0 %2
             create %4
             insert %4 b0 %2
             set %4 @1
             replace %1 %4
             erase %1",
        );
        assert_eq!(found, ["lost_expansion likely lost preserve %3 <- %1"]);
    }

    /// IndVarSimplify, PR 91443.
    #[test]
    fn in_front_of_what_is_gone() {
        let found = Scene::judge(
            "before
             b0: %1 add @1, %2 fadd @2, %3 ret @3
             after
             b0: %1 add @1, %4 add, %3 ret @3
             events
             create %4
             insert %4 b0 %2
             replace %2 -
             erase %2",
        );
        assert_eq!(found, ["lost_expansion likely lost preserve %4 <- %2"]);
    }

    #[test]
    fn in_the_middle_and_at_the_start() {
        let judge = |insts: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 add @1, %2 udiv @2, %3 ret @3
                 after
                 b0: {insts}
                 events
                 create %4"
            ))
        };
        let start = judge("%4 trunc, %1 add(%4) @1, %2 udiv @2, %3 ret @3");
        assert_eq!(start, ["lost_expansion note lost preserve %4 <- %1"]);
        let operand = judge("%4 freeze, %1 add(%4) @1, %2 udiv @2, %3 ret @3");
        assert_eq!(operand, ["lost_expansion likely lost preserve %4 <- %1"]);
        let middle = judge("%1 add @1, %4 freeze, %2 udiv(%1+%4) @2, %3 ret @3");
        assert_eq!(middle, ["lost_expansion likely lost preserve %4 <- %2"]);
        assert_eq!(judge("%1 add @1, %2 udiv @2, %4 freeze, %3 ret(%4) @3"), [""; 0]);
    }

    /// LoopIdiomRecognize freezes a bit position for later, in front of an instruction that has no need of it.
    #[test]
    fn in_front_of_what_does_not_use_it() {
        let judge = |user: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 add @1, %2 shl @2, %3 ret @3
                 after
                 b0: %1 add @1, %4 freeze, %5 zext(%4) @2, %2 shl{user} @2, %3 ret @3
                 events
                 create %4
                 create %5
                 set %5 @2"
            ))
        };
        assert_eq!(judge(""), ["lost_expansion note lost preserve %4 <- %2"]);
        assert_eq!(judge("(%1)"), ["lost_expansion note lost preserve %4 <- %2"]);
        assert_eq!(judge("(%5)"), ["lost_expansion likely lost preserve %4 <- %2"]);
    }

    /// NewGVN marks a block that is never reached by a store to null; mem2reg keeps `!nonnull` as an assumption.
    #[test]
    fn a_marker_is_never_seen() {
        let judge = |opcode: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 add @1, %2 load @2, %3 ret @3
                 after
                 b0: %4 {opcode}, %3 ret @3
                 events
                 create %4
                 erase %1
                 erase %2"
            ))
        };
        assert_eq!(judge("store"), ["lost_expansion likely lost preserve %4 <- %1"]);
        assert_eq!(judge("store?"), [""; 0]);
    }

    /// InstCombine: (x | c) & d with no location on the `and`, which is what is replaced.
    #[test]
    fn part_of_what_had_no_location() {
        let found = Scene::judge(
            "before
             b0: %1 load @1, %2 or @2, %3 and, %4 ret @4
             after
             b0: %1 load @1, %5 and, %6 or, %4 ret @4
             events
             create %5
             create %6
             replace %3 %6
             erase %3
             erase %2",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// InstCombine: x + y * -z => x - y * z. The product was replaced by a negated one that did not last.
    #[test]
    fn part_of_what_a_temporary_replaced() {
        let judge = |loc: &str, events: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 load @1, %2 mul(%1+%1) {loc}, %3 add @3, %4 add(%2+%3) @4, %5 ret(%4) @5
                 after
                 b0: %1 load @1, %6 mul(%1+-), %8 sub @4, %5 ret(%8) @5
                 events
                 create %6
                 insert %6 b0 %2
                 create %7 sub(%6)
                 insert %7 b0 %2
                 replace %2 %7
                 erase %2
                 create %8
                 insert %8 b0 %4
                 set %8 @4
                 replace %4 %8
                 erase %4
                 {events}
                 erase %7
                 erase %3"
            ))
        };
        assert_eq!(judge("", ""), [""; 0]);
        let lost = ["lost_expansion likely lost preserve %6 <- %3"];
        assert_eq!(judge("@2", ""), lost);
        // Its place was taken by something that is left.
        assert_eq!(judge("", "replace %7 %8"), lost);
        // All that is gone was replaced.
        let sum = "create %9 sub\nreplace %3 %9\nerase %9";
        assert_eq!(judge("", sum), [""; 0]);
        assert_eq!(judge("@2", sum), ["lost_expansion likely lost preserve %6 <- %4"]);
    }

    /// CodeGenPrepare puts an `and` in front of the comparison that uses it, with its location.
    #[test]
    fn put_elsewhere_by_making_it_anew() {
        let judge_with = |old: &str, new: &str, other: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1 b2: %1 load @1, {old}, %3 br @3
                 b1 -> b2: %4 store @4, %5 icmp(%2) @5, %6 br @6
                 b2: %7 ret @7
                 after
                 b0 -> b1 b2: %1 load @1, %3 br @3
                 b1 -> b2: %4 store @4, %8 {new}, %5 icmp(%8) @5, %6 br @6
                 b2: %10 {other}, %7 ret @7
                 events
                 create %10
                 set %10 @9
                 create %8
                 insert %8 b1 %5
                 remove %2 b0
                 erase %2
                 remove %9 b0
                 erase %9"
            ))
        };
        let judge = |old: &str, new: &str| judge_with(old, new, "xor @9");
        assert_eq!(judge("%2 and(%1+-), %9 or(%1+-) @9", "and(%1+-)"), [""; 0]);
        let lost = ["lost_expansion likely lost preserve %8 <- %5"];
        // It had a location, does something else or that with something else, or there were two.
        assert_eq!(judge("%2 and(%1+-) @2, %9 or @9", "and(%1+-)"), lost);
        assert_eq!(judge("%2 and(%1+-), %9 or @9", "or(%1+-)"), lost);
        assert_eq!(judge("%2 and(%1+-), %9 or @9", "and(-+-)"), lost);
        let two = "%2 and(%1+-), %9 and(%1+-) @9";
        assert_eq!(judge(two, "and(%1+-)"), lost);
        // The second one has what stands for it.
        assert_eq!(judge_with(two, "and(%1+-)", "and(%1+-) @9"), [""; 0]);
    }

    /// What a replacement stands for tells apart the instructions that are gone.
    #[test]
    fn several_that_are_gone() {
        let judge = |replaces: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 add @1, %2 fadd @2, %3 fcmp @3, %4 ret @4
                 after
                 b0: %1 add @1, %5 add, %6 icmp @3, %4 ret @4
                 events
                 create %5
                 create %6
                 set %6 @3
                 {replaces}
                 erase %2
                 erase %3"
            ))
        };
        assert_eq!(judge("replace %3 %6"), ["lost_expansion likely lost preserve %5 <- %2"]);
        assert_eq!(judge("replace %3 -"), ["lost_expansion likely lost preserve %5 <- %2"]);
        // Its place was taken by what replaced it.
        assert_eq!(judge("replace %2 %6"), ["lost_expansion likely lost preserve %5 <- %2"]);
    }
}
