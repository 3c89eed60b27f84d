//! No location on what took the place of a terminator.
//!
//! A terminator has no uses, so nothing but its place connects it to the one that it replaces. It stays
//! in the block, so the location is to be preserved (HowToUpdateDebugInfo, "when to preserve"; PRs 96889,
//! 97085, 97145, 97389, 97662, 98789).
//!
//! Certain if the old terminator of the very block was erased; likely if it was moved away, or if the
//! block is the rest or a copy of the old one. What counts is the block that the new one was put into
//! first: later on blocks may have been merged.
//!
//! If the rest of the block was split off, what decides there now has the location of what the rest begins with, as the
//! branch has that `splitBasicBlock` leaves there. Likely.
//!
//! In a new block that is a copy of an older one, what ends it stands for what ended that one (jump threading
//! copies all but the terminator, which it knows the way of). Likely.
//!
//! The same where nothing of the older block is left in the copy ([`crate::lineage`], `ends`).
//!
//! A branch on the condition of a `select` of the block, which went and which nothing replaced, stands for the `select` as
//! well as for what ended the block: what decided in one place and jumped in another does both now (JumpThreading), and
//! the two are to be merged. Likely.
//!
//! A terminator that decides something does not stand for one that goes to the only place there is. If one of its kind
//! went elsewhere in the run, and all paths pass that, it was taken from there (unswitching, PR 98789). Likely.
//!
//! A branch in the middle of an edge stands for nothing: a note, since LLVM's helpers give it a location all the same.
//!
//! The same for one that came from another function in the same run and is gone (a `ret` that was inlined).
//!
//! What took the place of an `unreachable` is owed nothing: control never came there.

use metaloc_record::{Block, BlockId, Inst, InstFlags};

use super::{Case, has_no_code};
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if !case.is(InstFlags::TERMINATOR) {
        return None;
    }
    let mut sources: Vec<_> =
        case.sources_by(Link::Terminator).chain(case.sources_by(Link::Split)).copied().collect();
    if sources.is_empty() {
        sources.extend(copied(case));
    }
    if sources.is_empty() {
        // What joins the parts of an edge is owed nothing; that it is mostly given a location is a custom.
        let place: Vec<Source> = case.sources_by(Link::Position).copied().collect();
        let known = case.common_location(place.iter()).is_some();
        return known.then(|| case.lost("lost_terminator", place, Confidence::Note));
    }
    case.common_location(sources.iter())?;
    if sources.iter().all(|s| case.source_inst(s.inst).is_some_and(has_no_code)) {
        return None;
    }
    let Some(mut from) = case.source_block(sources[0].inst) else {
        // A temporary: it was in the block that the destination was put into.
        return Some(case.lost("lost_terminator", sources, Confidence::Certain));
    };
    if let Some((source, block)) = decided_elsewhere(case, from) {
        (sources, from) = (vec![source], block);
        return case
            .placements
            .passes(case.block, from)
            .then(|| case.lost("lost_terminator", sources, Confidence::Likely));
    }
    if !case.placements.passes(case.block, from) {
        return None;
    }
    if let Some(select) = unfolded(case, from).filter(|select| select.loc != sources[0].loc) {
        sources.push(select);
        let finding = case.finding("lost_terminator", Operation::Merge, Confidence::Likely, None);
        return Some(Finding { sources, kind: Kind::Lost, ..finding });
    }
    let confidence = if !case.stays(sources[0].inst) {
        Confidence::Note
    } else if from == case.block && sources[0].link == Link::Terminator && case.is_gone(sources[0].inst) {
        Confidence::Certain
    } else {
        Confidence::Likely
    };
    Some(case.lost("lost_terminator", sources, confidence))
}

/// The terminator of the block that the destination's block is a copy of, if that is one block, and if the copy leads to
/// where the original led, or to a copy of that. Otherwise it goes on in the next block, or in the rest of the original, and
/// what ended that is still to come.
fn copied(case: &Case<'_, '_>) -> Option<Source> {
    let placed = case.destination.placed;
    let mut originals = case.lineage.copies.iter().filter(|(_, into)| *into == placed).map(|(old, _)| *old);
    let old = originals.next()?;
    let block = case.changes.block_before(old)?;
    let goes_on =
        |to: &BlockId| case.placements.is_copy(old, *to) || case.lineage.splits.get(to) == Some(&old);
    let led = |to: &BlockId| {
        let mut led = block.successors.iter();
        !goes_on(to) && led.any(|old| old == to || case.placements.is_copy(*old, *to))
    };
    if originals.any(|other| other != old) || !case.changes.block_after(placed)?.successors.iter().all(led) {
        return None;
    }
    let last = block.insts.last()?;
    Some(Source { inst: last.id, loc: last.loc, link: Link::Terminator, via: None })
}

/// The `select` whose condition the destination decides by: it was in the block, went, and nothing replaced it.
pub(super) fn unfolded(case: &Case<'_, '_>, from: BlockId) -> Option<Source> {
    let (old, new) = (case.changes.block_before(from)?, case.changes.block_after(case.block)?);
    if from != case.block || old.successors.len() != 1 || new.successors.len() != 2 {
        return None;
    }
    let lookup = case.run.lookup;
    let condition = lookup.operands(case.inst().id).into_iter().flatten().next();
    let is_it = |inst: &&Inst| {
        case.is_opcode(inst, "select")
            && case.is_gone(inst.id)
            && !case.lineage.replaced_by.contains_key(&inst.id)
            && lookup.noted_operands(inst.id).first() == Some(&condition)
    };
    let mut selects = old.insts.iter().filter(is_it);
    let select = selects.next().filter(|select| case.is_real(select.loc) && selects.next().is_none())?;
    Some(Source { inst: select.id, loc: select.loc, link: Link::Operand, via: None })
}

/// Where a terminator decides something in place of one that did not: the one of the same kind that went elsewhere in
/// the run, if there is just one that all paths pass.
fn decided_elsewhere(case: &Case<'_, '_>, from: BlockId) -> Option<(Source, BlockId)> {
    let decides = |block: Option<&Block>| block.is_some_and(|block| block.successors.len() > 1);
    if decides(case.changes.block_before(from)) || !decides(case.changes.block_after(case.block)) {
        return None;
    }
    let gone = case.changes.rewired().iter().filter_map(|&id| {
        let last = case.changes.block_before(id)?.insts.last()?;
        let fits = last.opcode == case.inst().opcode && case.is_real(last.loc) && case.is_gone(last.id);
        (fits && case.placements.passes(case.block, id)).then_some((last, id))
    });
    let mut gone = gone.filter(|(_, id)| decides(case.changes.block_before(*id)));
    let (last, id) = gone.next()?;
    let source = Source { inst: last.id, loc: last.loc, link: Link::Terminator, via: None };
    gone.next().is_none().then_some((source, id))
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// InlineFunction: the `ret` of what is inlined becomes a branch behind the call.
    fn inlined(kind: &str, ret: &str, branch: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %1 call! @1, %2 ret @2
             after
             b0 -> b1: %3 add @7'g@1, %5 br {branch}
             b1: %2 ret @2
             events
             move %2 b0 b1
             create %3
             clone %3 %98
             set %3 @7'g@1
             insert %3 b0
             create %4 {kind}
             clone %4 %99
             {ret}
             insert %4 b0
             create %5
             insert %5 b0 %4
             remove %4 b0
             erase %4
             remove %1 b0
             erase %1"
        ))
    }

    #[test]
    fn in_place_of_one_from_another_function() {
        assert_eq!(inlined("ret", "set %4 @8'g@1", ""), ["lost_terminator certain lost preserve %5 <- %4"]);
        assert_eq!(inlined("ret", "set %4 @8'g@1", "@8'g@1"), [""; 0]);
        // It had none itself, or control never came there.
        assert_eq!(inlined("unreachable", "set %4 @8'g@1", ""), [""; 0]);
        assert_eq!(inlined("ret", "set %4", ""), [""; 0]);
    }

    fn folded(loc: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 icmp @1, %2 br @2
             b1 -> b2: %3 br @3
             b2: %4 ret @4
             after
             b0 -> b2: %1 icmp @1, %5 br {loc}
             b2: %4 ret @4
             events
             {events}"
        ))
    }

    /// UnifyFunctionExitNodes: a branch to the one block that ends with `unreachable`.
    fn unified(opcode: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1: %2 {opcode} @2
             b2: %3 {opcode} @3
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %5 br
             b2 -> b3: %6 br
             b3: %4 {opcode}
             events
             create %4
             insert %4 b3
             remove %2 b1
             erase %2
             create %5
             insert %5 b1
             remove %3 b2
             erase %3
             create %6
             insert %6 b2"
        ))
    }

    #[test]
    fn in_place_of_a_return() {
        let found = [
            "lost_terminator certain lost preserve %5 <- %2",
            "lost_terminator certain lost preserve %6 <- %3",
            "lost_merge note lost merge %4 <- %2 %3",
        ];
        assert_eq!(unified("ret"), found);
    }

    #[test]
    fn in_place_of_what_is_never_reached() {
        assert_eq!(unified("unreachable"), [""; 0]);
    }

    #[test]
    fn erased_before_the_creation() {
        let found = folded("", "remove %2 b0\n erase %2\n create %5\n insert %5 b0");
        assert_eq!(found, ["lost_terminator certain lost preserve %5 <- %2"]);
    }

    #[test]
    fn erased_after_the_creation() {
        let found = folded("", "create %5\n insert %5 b0 %2\n remove %2 b0\n erase %2");
        assert_eq!(found, ["lost_terminator certain lost preserve %5 <- %2"]);
    }

    #[test]
    fn with_its_location() {
        assert_eq!(
            folded("@2", "create %5\n insert %5 b0 %2\n set %5 @2\n remove %2 b0\n erase %2"),
            [""; 0]
        );
    }

    /// SimpleLoopUnswitch, PR 98789: the switch in the preheader is the one of the loop.
    #[test]
    fn a_switch_taken_out_of_a_loop() {
        let unswitched = |kind: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1: %1 br @1
                 b1 -> b2 b3: %2 {kind} @2
                 b2 -> b1: %3 call! @3, %4 br @4
                 b3: %5 ret @5
                 after
                 b0 -> b6 b3: %7 switch
                 b6 -> b1: %1 br @1
                 b1 -> b2: %8 br @2
                 b2 -> b1: %3 call! @3, %4 br @4
                 b3: %5 ret @5
                 events
                 move %1 b0 b6
                 create %9
                 insert %9 b0
                 remove %9 b0
                 erase %9
                 create %7
                 insert %7 b0
                 remove %2 b1
                 erase %2
                 create %8
                 insert %8 b1
                 set %8 @2"
            ))
        };
        assert_eq!(unswitched("switch"), ["lost_terminator likely lost preserve %7 <- %2"]);
        // Not of its kind: the place is all that is known.
        assert_eq!(unswitched("br"), ["lost_terminator likely lost preserve %7 <- %1"]);
    }

    /// SplitBlockAndInsertIfThen: the branch is that of the instruction at which the block was split.
    #[test]
    fn in_place_of_the_branch_of_a_split() {
        let split = |loc: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 add @1, %2 call! {loc}, %3 ret @3
                 after
                 b0 -> b1 b2: %1 add @1, %5 br
                 b2 -> b1: %6 br @0
                 b1: %2 call! {loc}, %3 ret @3
                 events
                 move %2 b0 b1
                 move %3 b0 b1
                 create %4
                 insert %4 b0
                 create %6
                 insert %6 b2
                 create %5
                 insert %5 b0 %4
                 remove %4 b0
                 erase %4"
            ))
        };
        assert_eq!(split("@2"), ["lost_terminator likely lost preserve %5 <- %2"]);
        assert_eq!(split(""), ["lost_terminator likely lost preserve %5 <- %3"]);
    }

    /// JumpThreading: all that the block did is known on the way through the new one.
    fn bypassing(before: &str, to: &str, rest: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             {before}
             b1 -> b2: %2 br @2
             b2 -> b3 b4: %4 phi @4, %5 br @5
             b3: %6 ret @6
             b4: %7 ret @7
             after
             b0 -> b8 {rest}: %1 br @1
             b1 -> b2: %2 br @2
             b8 -> {to}: %9 br
             b2 -> b3 b4: %4 phi @4, %5 br @5
             b3: %6 ret @6
             b4: %7 ret @7
             events
             create %9
             insert %9 b8"
        ))
    }

    #[test]
    fn around_a_block() {
        let found = ["lost_terminator likely lost preserve %9 <- %5"];
        assert_eq!(bypassing("b0 -> b2 b1: %1 br @1", "b3", "b1"), found);
        // The edge was split, and the block is still to come.
        let split = ["lost_terminator note lost preserve %9 <- %1"];
        assert_eq!(bypassing("b0 -> b2 b1: %1 br @1", "b2", "b1"), split);
        // It led there by itself as well: which way it is, is not known.
        assert_eq!(bypassing("b0 -> b2 b3: %1 br @1", "b3", ""), split);
    }

    /// JumpThreading, unfoldSelectInstr.
    fn unfolded(condition: &str, end: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 icmp @2, %3 select({condition}+-+-) @3, %4 br {end}
             b2 -> b3: %5 br @5
             b3: %6 phi(%3+-) @6, %7 ret @7
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b8 b3: %2 icmp @2, %9 br(%2)
             b8 -> b3: %4 br {end}
             b2 -> b3: %5 br @5
             b3: %6 phi(-+-+-) @6, %7 ret @7
             events
             remove %4 b1
             insert %4 b8
             create %9
             insert %9 b1
             remove %3 b1
             erase %3"
        ))
    }

    #[test]
    fn in_place_of_a_select() {
        assert_eq!(unfolded("%2", "@4"), ["lost_terminator likely lost merge %9 <- %4 %3"]);
        assert_eq!(unfolded("%2", "@3"), ["lost_terminator likely lost preserve %9 <- %4"]);
        // It decided by something else.
        assert_eq!(unfolded("%1", "@4"), ["lost_terminator likely lost preserve %9 <- %4"]);
    }

    fn threaded(to: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b2: %1 br @1
             b1 -> b2: %2 br @2
             b2 -> b3 b4: %3 add @3, %4 sub @4, %5 br @5
             b3: %6 ret @6
             b4: %7 ret @7
             after
             b0 -> b8: %1 br @1
             b1 -> b2: %2 br @2
             b2 -> b3 b4: %3 add @3, %4 sub @4, %5 br @5
             b8 -> {to}: %13 add @3, %14 sub @4, %15 br
             b9 -> b3: %16 sub @4, %17 br @5
             b3: %6 ret @6
             b4: %7 ret @7
             events
             create %15
             insert %15 b8
             create %13
             clone %13 %3
             insert %13 b8 %15
             create %14
             clone %14 %4
             insert %14 b8 %15
             create %17
             clone %17 %5
             insert %17 b9
             create %16
             clone %16 %4
             insert %16 b9 %17"
        ))
    }

    /// JumpThreading: the way out of the copy is known.
    #[test]
    fn the_end_of_a_copied_block() {
        assert_eq!(threaded("b3"), ["lost_terminator likely lost preserve %15 <- %5"]);
        // The copy was cut in two, and this is where.
        assert_eq!(threaded("b9"), [""; 0]);
    }

    /// PGOMemOPSizeOpt: a call is copied for some sizes, and each copy goes on behind the call.
    #[test]
    fn a_copy_that_leads_to_the_rest_of_the_original() {
        let found = Scene::judge(
            "before
             b0: %1 call! @1, %2 ret @2
             after
             b0 -> b1 b3: %7 switch @1
             b1 -> b2: %1 call! @1, %4 br @2
             b3 -> b2: %5 call! @1, %6 br
             b2: %2 ret @2
             events
             move %1 b0 b1
             move %2 b0 b1
             create %3
             insert %3 b0
             move %2 b1 b2
             create %4
             insert %4 b1
             set %4 @2
             create %7
             insert %7 b0 %3
             set %7 @1
             remove %3 b0
             erase %3
             create %5
             clone %5 %1
             insert %5 b3
             create %6
             insert %6 b3",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn erased_through_a_temporary_copy() {
        let found = folded(
            "",
            "move %2 b0 b1\n clone %9 %2\n insert %9 b0\n remove %9 b0\n erase %9\n create %5\n insert %5 b0\n erase %2",
        );
        assert_eq!(found, ["lost_terminator certain lost preserve %5 <- %2"]);
    }

    /// SimplifyCFG folds a branch without location in b1, then merges b1 into b0.
    #[test]
    fn what_counts_is_where_it_was_created() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 br
             b2: %3 ret @3
             b3: %4 ret @4
             after
             b0 -> b2: %5 br
             b2: %3 ret @3
             events
             create %5
             insert %5 b1
             remove %2 b1
             erase %2
             remove %1 b0
             erase %1
             move %5 b1 b0",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// As above, but the branch without location is moved first and folded then.
    #[test]
    fn what_counts_is_the_terminator_that_was_there() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 br
             b2: %3 ret @3
             b3: %4 ret @4
             after
             b0 -> b2: %5 br
             b2: %3 ret @3
             events
             remove %1 b0
             erase %1
             move %2 b1 b0
             create %5
             insert %5 b0
             remove %2 b0
             erase %2",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// The inliner, where the callee never returns: nothing leads to the branch in place of the invoke.
    #[test]
    fn in_dead_code_it_is_a_note() {
        let scene = |after: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1: %1 add @1, %2 br @2
                 b1 -> b2: %3 switch @3
                 b2: %4 ret @4
                 after
                 {after}
                 b1 -> b2: %5 br
                 b2: %4 ret @4
                 events
                 create %5
                 insert %5 b1 %3
                 remove %3 b1
                 erase %3"
            ))
        };
        assert_eq!(
            scene("b0 -> b1: %1 add @1, %2 br @2"),
            ["lost_terminator certain lost preserve %5 <- %3"]
        );
        assert_eq!(scene("b0: %1 add @1, %2 ret @2"), ["lost_terminator note lost preserve %5 <- %3"]);
    }

    /// The fresh branch of a split stands for nothing.
    #[test]
    fn split_block() {
        let found = Scene::judge(
            "before
             b0: %1 add @1, %2 sub @2, %3 ret @3
             after
             b0 -> b1: %1 add @1, %4 br
             b1: %2 sub @2, %3 ret @3
             events
             move %2 b0 b1
             move %3 b0 b1
             create %4
             insert %4 b0",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// SimpleLoopUnswitch, PR 98789: the branch was moved to the preheader.
    #[test]
    fn moved_to_another_block() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 br @2
             b2 -> b1: %3 br @3
             b3: %4 ret @4
             after
             b0 -> b1 b3: %2 br @2
             b1 -> b2: %5 br
             b2 -> b1: %3 br @3
             b3: %4 ret @4
             events
             remove %1 b0
             erase %1
             move %2 b1 b0
             create %5
             insert %5 b1",
        );
        assert_eq!(found, ["lost_terminator likely lost preserve %5 <- %2"]);
    }
}
