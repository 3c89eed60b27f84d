//! No location on what replaced something.
//!
//! HowToUpdateDebugInfo, "when to preserve": "peephole optimizations that replace or expand an
//! instruction, like (add X X) => (shl X 1). The location of the shl instruction should be the same as the
//! location of the add instruction." Most of the paper's errors are of this kind.
//!
//! Certain in the same block if what was replaced is gone. Likely if it is still there, without uses, or if
//! the block is the rest or a copy of the old one. A note in another block, even if all paths share the
//! two: LLVM's own rule is about the block. Nothing if the destination left the
//! loop of its source: a drop is right there. Nothing if it replaced several with different locations:
//! merging them would give line 0, and nobody is worse off with none. One of the several is an operand that went with
//! what was replaced, if it had no location and the opcode of the destination: a cast goes because what it casts is
//! computed in its type now, and LLVM gives that the location of what it is made from (WidenIV::cloneIVUser,
//! EvaluateInDifferentType). Nothing if it is what a write without a location
//! wrote, and what it replaced are loads of that (`lineage/stored.rs`): it belongs to the write.

use metaloc_record::{Inst, InstFlags};

use super::{Case, is_cast};
use crate::finding::{Confidence, Finding, Link, Source};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if case.is(InstFlags::PHI) || case.destination.stored {
        return None;
    }
    let sources: Vec<Source> = case.sources_by(Link::Replace).copied().collect();
    case.common_location(sources.iter())?;
    if sources.iter().any(|source| took_over_from_bare(case, source)) {
        return None;
    }
    let mut confidence = Confidence::Certain;
    for source in &sources {
        let from = case.source_block(source.inst)?;
        if !case.placements.passes(case.block, from) || case.placements.leaves_loop(case.block, from) {
            return None;
        }
        let doubt = if !case.stays(source.inst) {
            Confidence::Note
        } else if from != case.block || !case.is_gone(source.inst) {
            Confidence::Likely
        } else {
            Confidence::Certain
        };
        confidence = confidence.max(doubt);
    }
    Some(case.lost("lost_replacement", sources, confidence))
}

/// True if the destination is what the replaced instruction used, made anew, and that had no location. LLVM deletes dead
/// instructions with their operands cut off; then what went from where the destination was put is what may have been one.
fn took_over_from_bare(case: &Case<'_, '_>, source: &Source) -> bool {
    let is_it = |inst: &Inst| {
        inst.opcode == case.inst().opcode
            && !inst.loc.is_some()
            && case.is_gone(inst.id)
            && !case.lineage.replaced_by.contains_key(&inst.id)
    };
    let noted = case.run.lookup.noted_operands(source.inst);
    if noted.iter().any(Option::is_some) {
        return noted.iter().flatten().any(|used| case.source_inst(*used).is_some_and(is_it));
    }
    let cut_off = case.source_inst(source.inst).is_some_and(is_cast) && !noted.is_empty();
    let put = case.placements.was(case.destination.placed);
    let block = put.filter(|_| cut_off).and_then(|block| case.changes.block_before(block));
    block.is_some_and(|block| {
        let here = case.source_block(source.inst) == Some(block.id);
        block.insts.iter().take_while(|inst| !here || inst.id != source.inst).any(is_it)
    })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    fn replaced(loc: &str, more: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %1 sdiv @1, %2 ret @2
             after
             b0: %3 udiv {loc}, %2 ret @2
             events
             create %3
             insert %3 b0 %1
             {more}
             replace %1 %3
             remove %1 b0
             erase %1"
        ))
    }

    /// CorrelatedValuePropagation, PR 76118.
    #[test]
    fn without_location() {
        assert_eq!(replaced("", ""), ["lost_replacement certain lost preserve %3 <- %1"]);
    }

    #[test]
    fn with_its_location() {
        assert_eq!(replaced("@1", "set %3 @1"), [""; 0]);
    }

    #[test]
    fn dropped_on_purpose() {
        assert_eq!(replaced("", "drop %3"), [""; 0]);
    }

    #[test]
    fn through_a_temporary() {
        let found = Scene::judge(
            "before
             b0: %1 sdiv @1, %2 ret @2
             after
             b0: %4 lshr, %2 ret @2
             events
             create %3
             insert %3 b0 %1
             replace %1 %3
             erase %1
             create %4
             insert %4 b0 %3
             replace %3 %4
             erase %3",
        );
        assert_eq!(found, ["lost_replacement certain lost preserve %4 <- %1"]);
    }

    /// The one to blame is the temporary that had no location.
    #[test]
    fn site_is_where_it_was_lost() {
        let judge = |loc: &str| {
            let scene = Scene::read(&format!(
                "before
                 b0: %1 sdiv @1, %2 ret @2
                 after
                 b0: %4 lshr, %2 ret @2
                 events
                 create %3
                 {loc}
                 replace %1 %3
                 erase %1
                 create %4
                 replace %3 %4
                 erase %3"
            ));
            let judgement = crate::judge(&scene.run(), &mut crate::Memory::default());
            judgement.findings.iter().map(|f| f.site.0).collect::<Vec<_>>()
        };
        assert_eq!(judge("insert %3 b0"), [1]);
        assert_eq!(judge("set %3 @1"), [5]);
        assert_eq!(judge("drop %3"), [0; 0]);
        assert_eq!(judge("set %3 @0"), [0; 0]);
    }

    /// What is still there, with uses, is not replaced.
    #[test]
    fn some_uses_only() {
        let found = Scene::judge(
            "before
             b0: %1 sdiv @1, %2 ret @2
             after
             b0: %1 sdiv @1, %3 freeze, %2 ret @2
             events
             create %3
             replace-some %1 %3",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn several_locations_would_merge_to_none() {
        let found = Scene::judge(
            "before
             b0: %1 add @1, %2 add @2, %3 ret @3
             after
             b0: %4 add, %3 ret @3
             events
             create %4
             insert %4 b0 %1
             replace %1 %4
             replace %2 %4
             erase %1
             erase %2",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    /// IndVarSimplify's wide users and InstCombine's EvaluateInDifferentType: `%2` goes because `%1` is computed in its
    /// type, where `%1` was and with its location.
    fn computed_in_another_type(narrow: &str, cast: &str, wide: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %6 load @6, {narrow}, %2 {cast} @2, %7 add, %3 ret(%2) @3
             after
             b0: %6 load @6, %4 {wide}, %3 ret(%4) @3
             events
             create %4
             insert %4 b0 %1
             replace %2 %4
             remove %2 b0
             erase %2
             remove %1 b0
             erase %1
             erase %7"
        ))
    }

    #[test]
    fn took_over_from_what_has_none() {
        let judge = computed_in_another_type;
        let lost = ["lost_replacement certain lost preserve %4 <- %2"];
        for cast in ["zext(%1)", "zext(-)"] {
            assert_eq!(judge("%1 shl", cast, "shl"), [""; 0], "{cast}");
            // It had a location, or somebody took it away; or it is something else that is made.
            assert_eq!(judge("%1 shl @1", cast, "shl"), lost, "{cast}");
            assert_eq!(judge("%1 shl @0", cast, "shl"), lost, "{cast}");
            assert_eq!(judge("%1 shl", cast, "mul"), lost, "{cast}");
        }
        // Something else was used; what was used is not known, but what went was not in front, or there was no cast.
        assert_eq!(judge("%1 shl", "zext(%6)", "shl"), lost);
        assert_eq!(judge("%1 shl", "zext(-)", "add"), lost);
        assert_eq!(judge("%1 shl", "freeze(-)", "shl"), lost);
    }

    /// What was used has another heir, or is still there.
    #[test]
    fn took_over_from_the_cast_alone() {
        let lost = ["lost_replacement certain lost preserve %4 <- %2"];
        let judge = |after: &str, events: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 shl, %2 zext(%1) @2, %3 ret(%2) @3
                 after
                 b0: {after}, %4 shl, %3 ret(%4) @3
                 events
                 create %4
                 insert %4 b0 %1
                 replace %2 %4
                 remove %2 b0
                 erase %2
                 {events}"
            ))
        };
        assert_eq!(judge("%1 shl", ""), lost);
        let replaced = judge("%5 or @5", "create %5\nset %5 @5\nreplace %1 %5\nremove %1 b0\nerase %1");
        assert_eq!(replaced, lost);
    }

    #[test]
    fn hoisted_out_of_a_loop() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %4 br @4
             b2: %6 ret @6
             after
             b0 -> b1: %7 add, %1 br @1
             b1 -> b1 b2: %4 br @4
             b2: %6 ret @6
             events
             create %7
             insert %7 b0 %1
             replace %2 %7
             erase %2",
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
