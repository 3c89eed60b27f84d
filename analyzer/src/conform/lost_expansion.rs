//! No location on what was put next to something.
//!
//! "Replace or expand an instruction" (HowToUpdateDebugInfo): of the instructions that an expansion makes,
//! only the last one replaces anything, and for the others the place is the only link (10 of the paper's
//! errors; PRs 91443, 96045, 97038, 97519).
//!
//! - Put in front of an instruction that is gone afterwards, or between the place of one that is gone and
//!   what replaced it: part of its expansion. Likely.
//! - Put in front of one that is still there, in the middle of a block: prepares something for it (a
//!   frozen or cast operand), and IRBuilder would have given it that location. Likely.
//! - Put at the start of a block or in front of its terminator: that is where code goes that belongs
//!   nowhere. A note at the start, nothing at the end.

use metaloc_record::{Inst, InstFlags, InstId};

use super::Case;
use crate::finding::{Confidence, Finding, Link, Source};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if case.is(InstFlags::PHI) || case.is(InstFlags::TERMINATOR) || !case.destination.sources.is_empty() {
        return None;
    }
    let placed = case.destination.placed.filter(|p| p.block == case.block)?;
    let next = placed.before?;
    let at = case.changes.before(next)?;
    if case.changes.block_before(at.block).id != case.block {
        return None;
    }
    let (old, confidence) = neighbour(case, next)?;
    let source = Source { inst: old.id, loc: old.loc, link: Link::Position };
    case.is_real(old.loc).then(|| case.lost("lost_expansion", vec![source], confidence))
}

fn neighbour<'a>(case: &Case<'_, 'a>, next: InstId) -> Option<(&'a Inst, Confidence)> {
    let at = case.changes.before(next)?;
    let insts = &case.changes.block_before(at.block).insts;
    let position = at.position as usize;
    if case.is_gone(next) {
        return Some((&insts[position], Confidence::Likely));
    }
    let previous = position.checked_sub(1).map(|p| &insts[p]);
    if let Some(previous) = previous.filter(|p| case.is_gone(p.id) && is_replaced_here(case, p.id)) {
        return Some((previous, Confidence::Likely));
    }
    let next = &insts[position];
    if next.flags.has(InstFlags::TERMINATOR) || next.flags.has(InstFlags::PHI) {
        return None;
    }
    let starts = previous.is_none_or(|p| p.flags.has(InstFlags::PHI));
    Some((next, if starts { Confidence::Note } else { Confidence::Likely }))
}

/// True if what took over the uses of the instruction comes after the destination in its block.
fn is_replaced_here(case: &Case<'_, '_>, inst: InstId) -> bool {
    let by = case.lineage.replaced_by.get(&inst).and_then(|by| case.changes.after(*by));
    by.is_some_and(|by| by.block == case.destination.at.block && by.position > case.destination.at.position)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

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
        let judge = |before: &str| {
            Scene::judge(&format!(
                "before
                 b0: %1 add @1, %2 udiv @2, %3 ret @3
                 after
                 b0: %4 freeze, %1 add @1, %5 freeze, %2 udiv @2, %6 freeze, %3 ret @3
                 events
                 create %4
                 create %5
                 create %6
                 {before}"
            ))
        };
        assert_eq!(judge("insert %4 b0 %1"), ["lost_expansion note lost preserve %4 <- %1"]);
        assert_eq!(judge("insert %5 b0 %2"), ["lost_expansion likely lost preserve %5 <- %2"]);
        assert_eq!(judge("insert %6 b0 %3"), [""; 0]);
        assert_eq!(judge("insert %6 b0"), [""; 0]);
    }
}
