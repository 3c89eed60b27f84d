//! The location of one of two on a branch that stands for both.
//!
//! JumpThreading turns a `select` and the jump behind it into one conditional branch, and gives it the merged location of the
//! two ([`super::lost_terminator`] asks for that where it has none). With the location of one of them no path is told a line
//! that it did not have, since both were in the block; but the line of the other is not shown any more. A note.

use metaloc_record::InstFlags;

use super::{Case, lost_terminator};
use crate::changes::Changes;
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

/// Worth asking about: made in place of a jump, and decides something.
pub(super) fn is_open(changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    let block = destination.at.block;
    let decides = || {
        let successors = |block: Option<&metaloc_record::Block>| block.map(|block| block.successors.len());
        (successors(changes.block_before(block)), successors(changes.block_after(block)))
            == (Some(1), Some(2))
    };
    destination.inst.flags.has(InstFlags::TERMINATOR) && destination.origin == Origin::Created && decides()
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if !is_open(case.changes, case.destination) {
        return None;
    }
    let mut sources: Vec<Source> = case.sources_by(Link::Terminator).copied().collect();
    let [jump] = sources[..] else { return None };
    let select = lost_terminator::unfolded(case, case.source_block(jump.inst)?)?;
    let own = case.inst().loc;
    if !case.is_real(jump.loc) || jump.loc == select.loc || (own != jump.loc && own != select.loc) {
        return None;
    }
    sources.push(select);
    let finding = case.finding("half_merged", Operation::Merge, Confidence::Note, None);
    Some(Finding { sources, kind: Kind::Incorrect, ..finding })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// JumpThreading, unfoldSelectInstr.
    fn unfolded(loc: &str, end: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 icmp @2, %3 select(%2+-+-) @3, %4 br {end}
             b2 -> b3: %5 br @5
             b3: %6 phi(%3+-) @6, %7 ret @7
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b8 b3: %2 icmp @2, %9 br(%2) {loc}
             b8 -> b3: %4 br {end}
             b2 -> b3: %5 br @5
             b3: %6 phi(-+-+-) @6, %7 ret @7
             events
             remove %4 b1
             insert %4 b8
             create %9
             insert %9 b1
             {events}
             remove %3 b1
             erase %3"
        ))
    }

    #[test]
    fn one_of_two() {
        let found = ["half_merged note incorrect merge %9 <- %4 %3"];
        assert_eq!(unfolded("@3", "@4", "set %9 @3"), found);
        assert_eq!(unfolded("@4", "@4", "set %9 @4"), found);
    }

    #[test]
    fn merged_or_alike() {
        assert_eq!(unfolded("@0", "@4", "merge %9 @3 @4\nset %9 @0"), [""; 0]);
        assert_eq!(unfolded("@3", "@3", "set %9 @3"), [""; 0]);
        assert_eq!(unfolded("@2", "@4", "set %9 @2"), [""; 0]);
    }
}
