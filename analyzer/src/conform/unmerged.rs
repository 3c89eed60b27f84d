//! One location where several were due to be merged.
//!
//! Where an instruction stands for several on exclusive paths (identical ones hoisted from all successors
//! or sunk from all predecessors), the location of one of them is wrong on the paths of the others, and
//! the merged location is right (paper, sections 5.4 and 5.5; PRs 92859, 86236; commit 84a71d5).
//!
//! Several sources alone say nothing: a peephole that combines instructions of one block gives the result
//! the location of the root, and that is on all paths. So the rule begins where [`super::off_path`] does,
//! with a path that did not have the location, and asks whether the sources together cover the paths.
//! The paths of another source are such, if they avoid the location and pass the destination: nothing but what is merged
//! takes over from an instruction on other paths. So it shows also where the rest of the sides went.
//! A write that is known by its object alone counts where it was sunk (commit 84a71d5), not where it was hoisted: LLVM's
//! guide says drop there, and the object alone does not say that the two were one.
//! Certain for what was moved or copied; likely if it was created, since then somebody chose the location.

use metaloc_record::{BlockId, InstFlags};

use super::Case;
use crate::changes::Changes;
use crate::finding::{Confidence, Finding, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

/// Worth asking about: it took over from what is gone and had another location.
pub(super) fn is_open(changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    let sources = &destination.sources;
    let others = |s: &Source| s.loc != destination.inst.loc && took_over(changes, destination, s);
    sources.iter().any(|s| s.loc == destination.inst.loc) && sources.iter().any(others)
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let sources = &case.destination.sources;
    let one = sources.iter().filter(|s| s.loc == case.inst().loc).count();
    let other = |s: &&Source| s.loc != case.inst().loc && case.is_real(s.loc) && !case.is_hoisted_write(s);
    let others = sources.iter().filter(other).count();
    if one == 0 || others == 0 || !case.sources_conform || case.destination.updates.merged {
        return None;
    }
    let extra = match case.off_path() {
        Some(off_path) => off_path.extra.clone(),
        None if sources.iter().filter(other).any(|s| is_exclusive(case, s)) => Vec::new(),
        None => return None,
    };
    let confidence = match case.destination.origin {
        _ if case.is(InstFlags::PHI) => Confidence::Note,
        Origin::Created => Confidence::Likely,
        Origin::Cloned | Origin::Moved if case.destination.updates.set => Confidence::Likely,
        Origin::Cloned | Origin::Moved => Confidence::Certain,
    };
    Some(Finding { extra, ..case.finding("unmerged", Operation::Merge, confidence, None) })
}

/// True if the paths of a source, which the destination took over from, avoid the location and pass the destination.
fn is_exclusive(case: &Case<'_, '_>, source: &Source) -> bool {
    let from = case.source_block(source.inst).filter(|_| took_over(case.changes, case.destination, source));
    // An invoke that took over from another has its ways as well, though nothing may be left of their blocks.
    let ways = source.link == Link::Replace && case.is(InstFlags::TERMINATOR);
    let leads_here = |from: BlockId| ways || case.placements.leads_through(from, case.block);
    // The one that it was copied or moved from has to be such a side as well: where blocks were merged, it is not.
    let own = case.destination.sources.iter().find(|s| matches!(s.link, Link::Clone | Link::Move));
    let own = own.and_then(|own| case.source_block(own.inst));
    own.is_none_or(leads_here)
        && from.is_some_and(|from| leads_here(from) && case.placements.avoids(from, case.inst().loc))
}

fn took_over(changes: &Changes<'_>, destination: &Destination<'_>, source: &Source) -> bool {
    let alike = changes.was(source.inst).is_some_and(|was| was.inst.opcode == destination.inst.opcode);
    alike && matches!(source.link, Link::Replace | Link::Terminator) && changes.is_gone(source.inst)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    fn sunk(result: &str, update: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 add @4, %5 br @5
             b3: %6 phi @6, %7 ret @7
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %3 br @3
             b2 -> b3: %5 br @5
             b3: %8 phi, %2 add {result}, %7 ret @7
             events
             create %8
             insert %8 b3 %6
             move %2 b1 b3
             {update}
             replace %4 %2
             replace %6 %2
             erase %6
             remove %4 b2
             erase %4"
        ))
    }

    /// GVNSink, PR 92859.
    #[test]
    fn sunk_with_the_location_of_one() {
        assert_eq!(sunk("@2", "erase %4"), ["unmerged certain incorrect merge %2 <- %2 %4 %6"]);
    }

    #[test]
    fn a_merged_location_is_right() {
        assert_eq!(sunk("@0", "merge %2 @2 @4"), [""; 0]);
    }

    /// MergedLoadStoreMotion, commit 84a71d5: the second store is known by what it writes to.
    #[test]
    fn a_write_that_was_sunk() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 store^1 @2, %3 br @3
             b2 -> b3: %4 store^1 @4, %5 br @5
             b3: %7 ret @7
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %3 br @3
             b2 -> b3: %5 br @5
             b3: %8 store^1 @2, %7 ret @7
             events
             clone %8 %2
             insert %8 b3 %7
             remove %2 b1
             erase %2
             remove %4 b2
             erase %4",
        );
        assert_eq!(found, ["unmerged certain incorrect merge %8 <- %2 %4"]);
    }

    /// Nothing but the object connects it with the other: a drop is asked for, and enough.
    #[test]
    fn a_write_that_was_hoisted() {
        let found = |loc: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1 b2: %1 br @1
                 b1 -> b3: %2 store^1 @2, %3 br @3
                 b2 -> b3: %4 store^1 @4, %5 br @5
                 b3: %7 ret @7
                 after
                 b0 -> b1 b2: %2 store^1 {loc}, %1 br @1
                 b1 -> b3: %3 br @3
                 b2 -> b3: %5 br @5
                 b3: %7 ret @7
                 events
                 move %2 b1 b0
                 drop %2
                 remove %4 b2
                 erase %4"
            ))
        };
        assert_eq!(found("@2"), ["off_path likely incorrect drop %2 <- %2"]);
        assert_eq!(found(""), [""; 0]);
    }

    /// SimplifyCFG: two calls that may throw become one, in a block of its own, and nothing else is in their blocks.
    #[test]
    fn two_invokes() {
        let judge = |loc: &str, update: &str, replaced: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1 b2: %1 br @1
                 b1 -> b3 b4: %2 invoke @2
                 b2 -> b5 b6: %3 br @3
                 b5 -> b3 b4: %4 invoke @4
                 b6: %5 call! @5, %6 ret @6
                 b3: %7 ret @7
                 b4: %8 resume @8
                 after
                 b0 -> b9 b2: %1 br @1
                 b2 -> b9 b6: %3 br @3
                 b9 -> b3 b4: %9 invoke {loc}
                 b6: %5 call! @5, %6 ret @6
                 b3: %7 ret @7
                 b4: %8 resume @8
                 events
                 create %9
                 clone %9 %2
                 insert %9 b9
                 {update}
                 replace %2 %9
                 remove %2 b1
                 erase %2
                 replace %4 {replaced}
                 remove %4 b5
                 erase %4"
            ))
        };
        assert_eq!(judge("@2", "", "%9"), ["unmerged certain incorrect merge %9 <- %2 %4"]);
        assert_eq!(judge("", "drop %9", "%9"), ["lost_merge likely lost merge %9 <- %2 %4"]);
        assert_eq!(judge("@0", "merge %9 @2 @4", "%9"), [""; 0]);
        // Nothing took over from the second.
        assert_eq!(judge("@2", "", "-"), [""; 0]);
    }

    /// JumpThreading: the block of the one was folded into that of the other, which goes on.
    #[test]
    fn a_load_that_was_known() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 load @2, %3 br @3
             b2 -> b3: %4 call! @4, %5 br @5
             b3: %6 load @6, %7 ret @7
             after
             b0 -> b3 b2: %1 br @1
             b2: %4 call! @4, %15 load @6, %17 ret @7
             b3: %2 load @2, %7 ret @7
             events
             clone %15 %6
             insert %15 b2
             clone %17 %7
             insert %17 b2
             remove %5 b2
             erase %5
             move %2 b1 b3
             replace %6 %2
             remove %6 b3
             erase %6
             remove %3 b1
             erase %3",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_peephole_in_one_block_takes_the_location_of_the_root() {
        let found = Scene::judge(
            "before
             b0: %1 mul @1, %2 add @2, %3 ret @3
             after
             b0: %4 call @2, %3 ret @3
             events
             create %4
             insert %4 b0 %2
             set %4 @2
             replace %2 %4
             replace %1 %4
             erase %2
             erase %1",
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
