//! No location on what took the place of a terminator.
//!
//! A terminator has no uses, so nothing but its place connects it to the one that it replaces. It stays
//! in the block, so the location is to be preserved (HowToUpdateDebugInfo, "when to preserve"; PRs 96889,
//! 97085, 97145, 97389, 97662, 98789).
//!
//! Certain if the old terminator of the very block was erased; likely if it was moved away, or if the
//! block is the rest or a copy of the old one. What counts is the block that the new one was put into
//! first: later on blocks may have been merged.

use metaloc_record::InstFlags;

use super::Case;
use crate::finding::{Confidence, Finding, Link};

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if !case.is(InstFlags::TERMINATOR) {
        return None;
    }
    let sources: Vec<_> = case.sources_by(Link::Terminator).copied().collect();
    case.common_location(sources.iter())?;
    let from = case.source_block(sources[0].inst)?;
    if !case.placements.passes(case.block, from) {
        return None;
    }
    let confidence = if !case.stays(sources[0].inst) {
        Confidence::Note
    } else if from == case.block && case.is_gone(sources[0].inst) {
        Confidence::Certain
    } else {
        Confidence::Likely
    };
    Some(case.lost("lost_terminator", sources, confidence))
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

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
