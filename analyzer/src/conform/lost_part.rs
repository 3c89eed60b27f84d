//! No location on a part of what replaced something.
//!
//! "Replace or expand an instruction" (HowToUpdateDebugInfo): of the instructions that an expansion makes only one
//! replaces anything. The others are known by their uses: all of them are in the expansion (PR 91839, a cast of the
//! value that a PHI joins in place of a load).
//!
//! Likely in the block of what was replaced. In another block, likely for an instruction of the same kind that a PHI
//! joins with others in place of the old one, if all paths through it pass that and it left no loop: the old one is
//! still executed there, only earlier on its way (GVN and JumpThreading put loads into predecessors, and keep their
//! location). Anything else in another block is not judged here. Nor is it if one of its kind without a location went from
//! the block: it may stand for that (SLPVectorizer's compares are those of the scalars).

use metaloc_record::{Inst, InstFlags};

use super::Case;
use crate::finding::{Confidence, Finding, Link, Source};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let source = *case.sources_by(Link::Use).next()?;
    if !case.is_real(source.loc) || may_stand_for_another(case) {
        return None;
    }
    let fits = case.stays(source.inst) || is_moved_up(case, &source);
    fits.then(|| case.lost("lost_part", vec![source], Confidence::Likely))
}

fn may_stand_for_another(case: &Case<'_, '_>) -> bool {
    let block = case.placements.was(case.block).and_then(|was| case.changes.block_before(was));
    let is_it =
        |inst: &Inst| inst.opcode == case.inst().opcode && !case.is_real(inst.loc) && case.is_gone(inst.id);
    block.is_some_and(|block| block.insts.iter().any(is_it))
}

fn is_moved_up(case: &Case<'_, '_>, source: &Source) -> bool {
    let (Some(old), Some(from)) = (case.source_inst(source.inst), case.source_block(source.inst)) else {
        return false;
    };
    let joins = |by| case.lineage.destination(by).is_some_and(|d| d.inst.flags.has(InstFlags::PHI));
    old.opcode == case.inst().opcode
        && case.lineage.replaced_by.get(&source.inst).is_some_and(|by| joins(by.inst))
        && case.placements.passes(case.block, from)
        && !case.placements.leaves_loop(case.block, from)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// GVN, a load in the predecessor that lacks it.
    fn in_predecessor(block: &str, opcode: &str, loc: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 store @2, %3 br @3
             {block}: %4 br @4
             b3: %5 load @5, %6 ret(%5) @6
             b4: %9 ret @9
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 store @2, %3 br @3
             {block}: %7 {opcode} {loc}, %4 br @4
             b3: %8 phi(%7+-) @5, %6 ret(%8) @6
             b4: %9 ret @9
             events
             create %7
             insert %7 b2 %4
             create %8
             insert %8 b3 %5
             set %8 @5
             replace %5 %8
             remove %5 b3
             erase %5"
        ))
    }

    #[test]
    fn a_load_on_the_edge() {
        assert_eq!(in_predecessor("b2 -> b3", "load", ""), ["lost_part likely lost preserve %7 <- %5"]);
    }

    #[test]
    fn with_its_location() {
        assert_eq!(in_predecessor("b2 -> b3", "load", "@5"), [""; 0]);
    }

    #[test]
    fn where_not_all_paths_pass_the_old_one() {
        assert_eq!(in_predecessor("b2 -> b3 b4", "load", ""), [""; 0]);
    }

    #[test]
    fn of_another_kind() {
        assert_eq!(in_predecessor("b2 -> b3", "add", ""), [""; 0]);
    }

    /// SLPVectorizer: the compares of the scalars had no location.
    #[test]
    fn one_of_its_kind_went() {
        let judge = |loc: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 fcmp {loc}, %2 fcmp {loc}, %3 select(%1+%2+-) @3, %4 ret(%3) @4
                 after
                 b0: %5 fcmp, %6 call(%5) @3, %4 ret(%6) @4
                 events
                 create %5
                 insert %5 b0 %3
                 create %6
                 insert %6 b0 %3
                 set %6 @3
                 replace %3 %6
                 erase %3
                 erase %1
                 erase %2"
            ))
        };
        assert_eq!(judge("@1"), ["lost_part likely lost preserve %5 <- %3"]);
        assert_eq!(judge(""), [""; 0]);
    }

    /// LoopLoadElimination: the first value is loaded in front of the loop.
    #[test]
    fn in_front_of_the_loop() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %3 load @3, %4 store(%3) @4, %5 br @5
             b2: %6 ret @6
             after
             b0 -> b1: %7 load, %1 br @1
             b1 -> b1 b2: %8 phi(%7+-) @3, %4 store(%8) @4, %5 br @5
             b2: %6 ret @6
             events
             create %7
             insert %7 b0 %1
             create %8
             insert %8 b1 %3
             replace %3 %8
             remove %3 b1
             erase %3",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// LoopLoadElimination, PR 91839: a cast in front of the store, of what the PHI brings to the load.
    #[test]
    fn a_cast_in_the_block() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %3 load @3, %4 store(%3) @4, %5 br @5
             b2: %6 ret @6
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %8 phi(-+%7) @3, %7 bitcast, %4 store(%8) @4, %5 br @5
             b2: %6 ret @6
             events
             create %8
             insert %8 b1 %3
             create %7
             insert %7 b1 %4
             replace %3 %8
             remove %3 b1
             erase %3",
        );
        assert_eq!(found, ["lost_part likely lost preserve %7 <- %3"]);
    }
}
