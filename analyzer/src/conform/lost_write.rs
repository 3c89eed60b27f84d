//! No location on a write that stands for others.
//!
//! A store or a memory intrinsic has no uses, so nothing but what it writes to connects it to those whose place it
//! took: stores that became one `memset` (MemCpyOpt), a loop that became one (LoopIdiomRecognize), stores of a loop
//! that became one behind it (LICM). "Peephole optimizations that replace or expand an instruction" keep the location
//! (HowToUpdateDebugInfo), and a write without one is what nobody can find who looks for it.
//!
//! In the block that they were in, the first one's location is right, as LLVM does it; likely, since that it took their
//! place is read off the object. Elsewhere the location that all of them had is to be preserved and several are to be
//! merged, also out of a loop: no iteration is shown that is not there, since the write itself left the loop. Nothing
//! where some path did not have one of them: there a drop is right.

use super::Case;
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if case.destination.sources.iter().any(|s| s.link < Link::Write) {
        return None;
    }
    let sources: Vec<Source> = case.sources_by(Link::Write).copied().collect();
    let first = sources.first()?;
    if sources.iter().all(|s| case.stays(s.inst)) {
        let place = |s: &&Source| case.changes.before(s.inst).map(|at| at.position);
        let first = sources.iter().min_by_key(place).unwrap_or(first);
        return Some(case.lost("lost_write", vec![*first], Confidence::Likely));
    }
    for source in &sources {
        if !case.placements.passes(case.block, case.source_block(source.inst)?) {
            return None;
        }
    }
    if case.common_location(sources.iter()).is_some() {
        return Some(case.lost("lost_write", sources, Confidence::Likely));
    }
    let finding = case.finding("lost_write", Operation::Merge, Confidence::Likely, None);
    Some(Finding { sources, kind: Kind::Lost, ..finding })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// MemCpyOpt: two stores next to each other become a memset.
    fn joined(loc: &str, object: u32) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %1 store^1 @1, %2 call! @2, %3 store^1 @3, %4 load @4, %5 ret @5
             after
             b0: %2 call! @2, %4 load @4, %6 call^{object} {loc}, %5 ret @5
             events
             create %6
             insert %6 b0 %5
             remove %1 b0
             erase %1
             remove %3 b0
             erase %3"
        ))
    }

    #[test]
    fn stores_that_became_one() {
        assert_eq!(joined("", 1), ["lost_write likely lost preserve %6 <- %1"]);
    }

    #[test]
    fn with_the_location_of_one() {
        assert_eq!(joined("@1", 1), [""; 0]);
    }

    #[test]
    fn to_something_else() {
        assert_eq!(joined("", 2), [""; 0]);
    }

    /// LoopIdiomRecognize.
    fn out_of_loop(skip: &str, second: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 {skip}: %1 br @1
             b1 -> b1 b2: %2 store^1 @2, {second} %3 br @3
             b2: %4 ret @4
             after
             b0 -> b1 {skip}: %5 call^1, %1 br @1
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
    }

    #[test]
    fn a_loop_that_became_one() {
        assert_eq!(out_of_loop("", ""), ["lost_write likely lost preserve %5 <- %2"]);
        assert_eq!(out_of_loop("", "%6 store^1 @6,"), ["lost_write likely lost merge %5 <- %2 %6"]);
    }

    #[test]
    fn a_loop_that_may_be_skipped() {
        assert_eq!(out_of_loop("b2", ""), [""; 0]);
    }
}
