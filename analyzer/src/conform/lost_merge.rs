//! No location where several were due to be merged.
//!
//! "The Drop operation should be only used when retaining the debug location violates the conformance relation"
//! (paper, section 5.5, which corrected LLVM's guide): where an instruction stands for several on exclusive paths that
//! together are all of its paths, the merged location is right. Merging mostly gives line 0 of the scope, which is
//! not the same as none: with none, the code is shown as part of the line before it, and a call cannot be inlined.
//!
//! Likely where a location was taken away by a call or by setting none; a note for what was created without one,
//! since nothing says that it was made from the instructions that it replaced. Nothing if one of the sources is on all
//! paths by itself (a peephole), if one had no location (merged with that, the others give none), or if the destination left the loop of one: then a drop is right.

use metaloc_record::{InstFlags, LocId};

use super::{Case, is_lost};
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::Destination;

/// Worth asking about: no location, and sources with several.
pub(super) fn is_open(destination: &Destination<'_>) -> bool {
    let mut locations = linked(destination).map(|s| s.loc).filter(|loc| loc.is_some());
    let first = locations.next();
    destination.inst.loc == LocId::NONE && locations.any(|loc| Some(loc) != first)
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if case.is(InstFlags::PHI) || !is_open(case.destination) || !case.sources_conform {
        return None;
    }
    if linked(case.destination).any(|s| !s.loc.is_some()) {
        return None;
    }
    let sources: Vec<Source> = linked(case.destination)
        .filter(|s| case.is_real(s.loc) && !case.is_hoisted_write(s))
        .copied()
        .collect();
    if sources.len() < 2 || case.common_location(sources.iter()).is_some() {
        return None;
    }
    for source in &sources {
        let from = case.source_block(source.inst)?;
        if case.placements.passes(case.block, from) || case.placements.leaves_loop(case.block, from) {
            return None;
        }
    }
    let confidence = if is_lost(case.destination) { Confidence::Note } else { Confidence::Likely };
    let finding = case.finding("lost_merge", Operation::Merge, confidence, None);
    Some(Finding { sources, kind: Kind::Lost, ..finding })
}

fn linked<'c>(destination: &'c Destination<'_>) -> impl Iterator<Item = &'c Source> {
    let made_from = |s: &&Source| {
        matches!(
            s.link,
            Link::Clone | Link::Move | Link::Replace | Link::Terminator | Link::Write | Link::Operand
        )
    };
    destination.sources.iter().filter(made_from)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    fn hoisted(edge: &str, result: &str, update: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> {edge}: %4 add @4, %5 br @5
             b3: %7 ret @7
             b4: %8 ret @8
             after
             b0 -> b1 b2: %2 add {result}, %1 br @1
             b1 -> b3: %3 br @3
             b2 -> {edge}: %5 br @5
             b3: %7 ret @7
             b4: %8 ret @8
             events
             move %2 b1 b0
             {update}
             replace %4 %2
             remove %4 b2
             erase %4"
        ))
    }

    #[test]
    fn dropped_though_both_ways_had_it() {
        assert_eq!(hoisted("b3", "", "drop %2"), ["lost_merge likely lost merge %2 <- %2 %4"]);
    }

    #[test]
    fn one_of_them_had_none() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2 b4: %1 switch @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 add @4, %5 br @5
             b4 -> b3: %6 add, %8 br @8
             b3: %7 ret @7
             after
             b0 -> b1 b2 b4: %2 add, %1 switch @1
             b1 -> b3: %3 br @3
             b2 -> b3: %5 br @5
             b4 -> b3: %8 br @8
             b3: %7 ret @7
             events
             move %2 b1 b0
             drop %2
             replace %4 %2
             replace %6 %2
             erase %4
             erase %6",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn merged_as_it_should_be() {
        assert_eq!(hoisted("b3", "@0", "merge %2 @2 @4"), [""; 0]);
    }

    /// A third way did not have the instruction: it is a speculation, and a drop is right.
    #[test]
    fn dropped_where_a_way_did_not_have_it() {
        let found = Scene::judge(
            "before
             b0 -> b1 b2 b4: %1 switch @1
             b1 -> b3: %2 add @2, %3 br @3
             b2 -> b3: %4 add @4, %5 br @5
             b4 -> b3: %9 mul @9, %10 br @10
             b3: %7 ret @7
             after
             b0 -> b1 b2 b4: %2 add, %1 switch @1
             b1 -> b3: %3 br @3
             b2 -> b3: %5 br @5
             b4 -> b3: %9 mul @9, %10 br @10
             b3: %7 ret @7
             events
             move %2 b1 b0
             drop %2
             replace %4 %2
             remove %4 b2
             erase %4",
        );
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn dropped_on_the_way_out_of_a_loop() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %2 br @2
             b2 -> b4: %3 add @3, %4 br @4
             b3 -> b4: %5 add @5, %6 br @6
             b4 -> b1 b5: %7 br @7
             b5: %8 ret @8
             after
             b0 -> b1: %3 add, %1 br @1
             b1 -> b2 b3: %2 br @2
             b2 -> b4: %4 br @4
             b3 -> b4: %6 br @6
             b4 -> b1 b5: %7 br @7
             b5: %8 ret @8
             events
             move %3 b2 b0
             hoist %3
             replace %5 %3
             remove %5 b3
             erase %5",
        );
        assert!(found.is_empty(), "{found:?}");
    }
}
