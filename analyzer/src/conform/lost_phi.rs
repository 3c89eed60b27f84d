//! No location on a PHI that stands for something.
//!
//! A PHI that replaces a located value, or that takes the place of a located PHI, is judged like any
//! instruction (paper, PRs 91443, 91581, 91839, 97519, 97662). Likely, never certain: a PHI is executed on
//! the edges, and LLVM creates most of them without a location.
//!
//! If it is a new induction variable and what it replaces is a cast of a located PHI of its block, it stands for that
//! PHI in another type, and that one's location is named (PR 97519). If the PHI that was cast has none, that is the one it
//! has to have: nothing is lost.
//!
//! A PHI behind a loop that is one located value of the loop whichever way control comes (LCSSA) stands for it there, and
//! all paths have passed it: "get the debug location from the original instruction" (LLVM's LCSSA). Likely. Not one that
//! only another PHI uses: where an edge is split, a PHI is split with it, and stands for nothing by itself. A note where all
//! that uses it was made in the run: then it took over from nothing, and hands the value on to what was sunk, or to a store
//! that was put there.
//!
//! A note in another block, even if all paths share the two: there LLVM takes no location on purpose ("it
//! is still potentially incorrect to propagate", GVN).
//!
//! Not meant are PHIs with a meaning of their own:
//! - one that took over from another PHI of its block, or from a temporary that had the location: of two with
//!   the same value one is enough, and the one that stays is there for its own reason. A note;
//! - those of SSA construction, which stand for a variable: where the run took away stores as well, the
//!   loads that a PHI replaces were reads of the variable, here and elsewhere. A note;
//! - those of SSA repair, which join an instruction that lives on with its copies: not linked at all;
//! - a new induction variable: where PHIs of the block went away and none of them had a location, the new
//!   one takes their place, whatever else it replaces.

use metaloc_record::{InstFlags, InstId};

use super::{Case, is_cast};
use crate::changes::At;
use crate::finding::{Confidence, Finding, Link, Source};
use crate::lineage::Passage;

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if !case.is(InstFlags::PHI) {
        return None;
    }
    let replaced: Vec<Source> = case.sources_by(Link::Replace).copied().collect();
    if replaced.is_empty() {
        let found = in_place_of(case).map(|source| (source, Confidence::Likely)).or_else(|| closed(case));
        return found.map(|(source, confidence)| case.lost("lost_phi", vec![source], confidence));
    }
    case.common_location(replaced.iter())?;
    let from = case.source_block(replaced[0].inst)?;
    if !case.placements.passes(case.block, from) || case.placements.leaves_loop(case.block, from) {
        return None;
    }
    let phi = |s: &Source| case.source_inst(s.inst).is_some_and(|i| i.flags.has(InstFlags::PHI));
    if !replaced.iter().any(phi) && is_new_induction_variable(case) {
        return None;
    }
    let took_over = case.destination.passage == Passage::Kept;
    let here = !took_over && replaced.iter().all(|s| case.stays(s.inst) && !(phi(s) && case.is_gone(s.inst)));
    let confidence = if here && !case.changes.loses_stores() { Confidence::Likely } else { Confidence::Note };
    let sources = match cast_of_phi(case, &replaced) {
        Some(phi) if case.is_real(phi.loc) => vec![phi],
        Some(phi) if !phi.loc.is_some() => return None,
        _ => replaced,
    };
    Some(case.lost("lost_phi", sources, confidence))
}

/// For an induction variable, which uses its own step, the PHI of the block whose cast it replaced.
fn cast_of_phi(case: &Case<'_, '_>, replaced: &[Source]) -> Option<Source> {
    let [cast] = replaced else { return None };
    case.source_inst(cast.inst).filter(|inst| is_cast(inst))?;
    let (lookup, id) = (case.run.lookup, case.inst().id);
    let mut used = lookup.operands(id).into_iter().flatten();
    if !used.any(|step| lookup.operands(step).contains(&Some(id))) {
        return None;
    }
    let noted = lookup.noted_operands(cast.inst);
    let operand =
        if noted.is_empty() { lookup.operands(cast.inst).first().copied() } else { noted.first().copied() };
    let operand = operand??;
    let block = case.changes.block_before(case.block)?;
    let mut phis = block.insts.iter().take_while(|i| i.flags.has(InstFlags::PHI));
    let phi = phis.find(|i| i.id == operand)?;
    Some(Source { inst: phi.id, loc: phi.loc, link: Link::Operand, via: None })
}

/// The one located PHI of the block that is gone and whose place nothing else took.
fn in_place_of(case: &Case<'_, '_>) -> Option<Source> {
    let block = case.changes.block_before(case.placements.was(case.destination.placed)?)?;
    let phis = block.insts.iter().take_while(|i| i.flags.has(InstFlags::PHI));
    let mut gone = phis.filter(|i| case.is_real(i.loc) && case.is_gone(i.id) && !is_taken(case, i.id));
    let old = gone.next().filter(|_| gone.next().is_none())?;
    Some(Source { inst: old.id, loc: old.loc, link: Link::Position, via: None })
}

/// The value of a loop that the PHI hands on behind it.
fn closed(case: &Case<'_, '_>) -> Option<(Source, Confidence)> {
    let source = *case.sources_by(Link::Operand).next()?;
    let from = case.source_block(source.inst)?;
    let (placements, block) = (case.placements, case.block);
    if !placements.leaves_loop(block, from) || !placements.passes(block, from) {
        return None;
    }
    match used_by(case) {
        By::Phis => None,
        By::New => Some((source, Confidence::Note)),
        By::Older => Some((source, Confidence::Likely)),
    }
}

/// What uses a PHI, the most telling first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// What was there before the run, or more than a few.
    Older,
    /// What was made in it.
    New,
    /// Other PHIs only.
    Phis,
}

fn used_by(case: &Case<'_, '_>) -> By {
    let by = |user: InstId| {
        let home = case.run.lookup.home(user).and_then(|block| case.changes.block_after(block));
        let found = home.and_then(|block| {
            let (inst, position) = block.insts.iter().zip(0u32..).find(|(inst, _)| inst.id == user)?;
            Some((inst, At { block: block.id, position }))
        });
        match found {
            Some((inst, at)) if !inst.flags.has(InstFlags::PHI) => {
                if case.changes.origin(user, at).is_some() { By::Older } else { By::New }
            }
            _ => By::Phis,
        }
    };
    match case.run.lookup.users(case.inst().id) {
        Some(users) => users.into_iter().map(by).min().unwrap_or(By::Phis),
        None => By::Older,
    }
}

/// True if an instruction that is no new one took over: identical instructions were sunk to the PHI that
/// joined them, and a PHI of their operands came to be in front of it.
fn is_taken(case: &Case<'_, '_>, old: InstId) -> bool {
    case.lineage.replaced_by.get(&old).is_some_and(|by| !by.created)
}

fn is_new_induction_variable(case: &Case<'_, '_>) -> bool {
    let Some(block) = case.changes.block_before(case.block) else { return false };
    let phis = block.insts.iter().filter(|i| i.flags.has(InstFlags::PHI));
    let mut gone = phis.filter(|i| case.is_gone(i.id)).peekable();
    gone.peek().is_some() && gone.all(|i| !case.is_real(i.loc))
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// LoopLoadElimination, PR 91839; the load stays behind without uses.
    #[test]
    fn replaces_a_load() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 phi @2, %3 load @3, %4 br @4
             b2: %5 ret @5
             after
             b0 -> b1: %6 load, %1 br @1
             b1 -> b1 b2: %7 phi, %2 phi @2, %3 load @3, %4 br @4
             b2: %5 ret @5
             events
             create %6
             insert %6 b0 %1
             create %7
             insert %7 b1 %2
             replace %3 %7",
        );
        assert_eq!(found, ["lost_phi likely lost preserve %7 <- %3"]);
    }

    /// LCSSA: a value of a loop, handed on at its exit.
    fn closed(phi: &str, skip: &str, header: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 {skip}: %1 br @1
             b1 -> {header} b2: %2 add @2, %3 sub @3, %4 br @4
             b2: %5 call!(%2) @5, %6 ret @6
             after
             b0 -> b1 {skip}: %1 br @1
             b1 -> {header} b2: %2 add @2, %3 sub @3, %4 br @4
             b2: %7 {phi}, %5 call!(%7) @5, %6 ret @6
             events
             create %7
             insert %7 b2 %5"
        ))
    }

    #[test]
    fn hands_on_a_value_of_a_loop() {
        assert_eq!(closed("phi(%2)", "", "b1"), ["lost_phi likely lost preserve %7 <- %2"]);
        assert_eq!(closed("phi(%2) @2", "", "b1"), [""; 0]);
    }

    #[test]
    fn joins_two_or_what_is_no_loop_or_not_always_passed() {
        assert_eq!(closed("phi(%2+%3)", "", "b1"), [""; 0]);
        assert_eq!(closed("phi(%2+-)", "b2", "b1"), [""; 0]);
        assert_eq!(closed("phi(%2+%2)", "b2", "b1"), [""; 0]);
        assert_eq!(closed("phi(%2)", "", ""), [""; 0]);
    }

    /// LICM: the value is an operand of what was sunk behind the loop, or of a store that was put there.
    #[test]
    fn hands_on_a_value_to_what_was_made() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 sub(%2) @3, %4 br @4
             b2: %5 phi(%3) @3, %6 ret(%5) @6
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %4 br @4
             b2: %7 phi(%2), %8 sub(%7) @0, %6 ret(%8) @6
             events
             clone %8 %3
             insert %8 b2 %6
             set %8 @0
             create %7
             insert %7 b2 %5
             replace %5 %8
             remove %5 b2
             erase %5
             remove %3 b1
             erase %3",
        );
        assert_eq!(found, ["lost_phi note lost preserve %7 <- %2"]);
    }

    /// A PHI of the exit is split with the edge that it is on.
    #[test]
    fn part_of_a_phi() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b1 b2: %2 add @2, %4 br @4
             b2: %5 phi(%2+-) @5, %6 ret @6
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b1 b3: %2 add @2, %4 br @4
             b3 -> b2: %7 phi(%2), %8 br @4
             b2: %5 phi(%7+-) @5, %6 ret @6
             events
             create %8
             insert %8 b3
             set %8 @4
             create %7
             insert %7 b3 %8",
        );
        assert_eq!(found, ["split_phi note lost preserve %7 <- %5"]);
    }

    /// IndVarSimplify, PR 91443: the old PHI went away, its uses went elsewhere.
    #[test]
    fn takes_the_place_of_a_located_phi() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 phi @2, %4 br @4
             b2: %5 ret @5
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %7 phi, %4 br @4
             b2: %5 ret @5
             events
             create %7
             insert %7 b1 %2
             replace %2 -
             erase %2",
        );
        assert_eq!(found, ["lost_phi likely lost preserve %7 <- %2"]);
    }

    /// The wide induction variable of IndVarSimplify replaces a sign extension.
    #[test]
    fn new_induction_variable() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 phi, %3 sext @3, %4 br @4
             b2: %5 ret @5
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %7 phi, %4 br @4
             b2: %5 ret @5
             events
             create %7
             insert %7 b1 %2
             replace %3 %7
             erase %3
             erase %2",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// LoopStrengthReduce, PR 97519: a counter in another type.
    #[test]
    fn stands_for_the_phi_that_was_cast() {
        let judge_of = |old: &str, cast: &str, step: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1: %1 br @1
                 b1 -> b1 b2: %2 phi {old}, %3 {cast}(%2) @3, %4 call!(%3) @4, %5 br @5
                 b2: %6 ret @6
                 after
                 b0 -> b1: %1 br @1
                 b1 -> b1 b2: %7 phi(-+%8), %2 phi {old}, %4 call!(%7) @4, %8 fadd({step}+-) @4, %5 br @5
                 b2: %6 ret @6
                 events
                 create %7
                 insert %7 b1 %2
                 create %8
                 insert %8 b1 %5
                 set %8 @4
                 replace %3 %7
                 remove %3 b1
                 erase %3"
            ))
        };
        let judge = |cast: &str, step: &str| judge_of("@2", cast, step);
        assert_eq!(judge("sitofp", "%7"), ["lost_phi likely lost preserve %7 <- %2"]);
        assert_eq!(judge("fneg", "%7"), ["lost_phi likely lost preserve %7 <- %3"]);
        // NewGVN's PHIs of operands count nothing.
        assert_eq!(judge("sitofp", "%4"), ["lost_phi likely lost preserve %7 <- %3"]);
        // It has the location of the PHI: none. What is no counter or no cast of it stands for what it replaced.
        assert_eq!(judge_of("", "sitofp", "%7"), [""; 0]);
        assert_eq!(judge_of("", "fneg", "%7"), ["lost_phi likely lost preserve %7 <- %3"]);
        assert_eq!(judge_of("", "sitofp", "%4"), ["lost_phi likely lost preserve %7 <- %3"]);
        assert_eq!(judge_of("@0", "sitofp", "%7"), ["lost_phi likely lost preserve %7 <- %3"]);
    }

    /// SimpleLoopUnswitch, PR 97662: the loop was copied after the PHI had taken the place of the select, and only the copy
    /// of the PHI is left.
    #[test]
    fn a_copy_of_what_replaced_something() {
        let copied = |update: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1: %1 br @1
                 b1 -> b1 b2: %3 select @3, %4 call! @4, %5 br @5
                 b2: %6 ret @6
                 after
                 b0 -> b8: %1 br @1
                 b8 -> b8 b2: %9 phi, %14 call! @4, %15 br @5
                 b2: %6 ret @6
                 events
                 create %7
                 insert %7 b1 %3
                 {update}
                 replace %3 %7
                 remove %3 b1
                 erase %3
                 clone %9 %7
                 insert %9 b8
                 clone %14 %4
                 insert %14 b8
                 clone %15 %5
                 insert %15 b8
                 erase %7
                 erase %4
                 erase %5"
            ))
        };
        assert_eq!(copied(""), ["lost_phi likely lost preserve %9 <- %3"]);
        assert_eq!(copied("drop %7"), [""; 0]);
    }

    #[test]
    fn promoted_variable_is_a_note() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 alloca @1, %2 br @2
             b1 -> b2: %3 store @3, %4 br @4
             b2: %5 load @5, %6 ret @6
             after
             b0 -> b1 b2: %2 br @2
             b1 -> b2: %4 br @4
             b2: %7 phi, %6 ret @6
             events
             create %7
             insert %7 b2 %5
             replace %5 %7
             erase %5
             erase %3
             erase %1",
        );
        assert_eq!(found, ["lost_phi note lost preserve %7 <- %5"]);
    }
}
