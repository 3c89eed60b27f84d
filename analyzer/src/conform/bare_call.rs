//! No location on a call that must have one.
//!
//! LLVM's verifier refuses a call without a location if caller and callee have debug information and the callee may be
//! inlined ("inlinable function call in a function with debug info must have a !dbg location"), and `opt` throws the
//! debug information of the whole module away, or aborts. Where no line is right, `dropLocation` gives such a call line 0
//! of its scope. Certain: it takes no path and no source to tell.
//!
//! Asked last: where it is known what the call stands for, another rule says so.

use metaloc_record::{InstFlags, LocId};

use super::Case;
use crate::finding::{Confidence, Finding, Kind, Link, Operation};
use crate::lineage::Destination;

/// Worth asking about, whoever took the location away.
pub(super) fn is_open(destination: &Destination<'_>) -> bool {
    destination.inst.loc == LocId::NONE && destination.inst.flags.has(InstFlags::CALL)
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    if !is_open(case.destination) || !case.run.lookup.must_have_location(case.inst().id) {
        return None;
    }
    // What was as bare before is not this run's doing.
    let was_bare =
        |s: &crate::finding::Source| matches!(s.link, Link::Clone | Link::Move) && !s.loc.is_some();
    if case.destination.sources.iter().any(was_bare) {
        return None;
    }
    let finding = case.finding("bare_call", Operation::Drop, Confidence::Certain, None);
    Some(Finding { kind: Kind::Lost, ..finding })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// CodeExtractor: a call of what was taken out; `%7 call!!` must have a location.
    fn called(call: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0: %1 add @1, %2 ret @2
             after
             b0: %1 add @1, %7 {call}, %2 ret @2
             events
             create %7
             insert %7 b0 %2
             {events}"
        ))
    }

    #[test]
    fn a_call_that_may_be_inlined() {
        assert_eq!(called("call!!", ""), ["bare_call certain lost drop %7 <- "]);
        // Nobody may take it away either.
        assert_eq!(called("call!!", "drop %7"), ["bare_call certain lost drop %7 <- "]);
    }

    #[test]
    fn line_zero_is_enough_and_others_need_none() {
        assert_eq!(called("call!! @0", "set %7 @0"), [""; 0]);
        assert_eq!(called("call!", ""), [""; 0]);
        assert_eq!(called("call", ""), [""; 0]);
    }

    /// SimplifyCFG: speculated, and its location is taken away.
    fn moved(loc: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b2: %2 call!! {loc}, %3 br @3
             b2: %4 ret @4
             after
             b0 -> b1 b2: %2 call!!, %1 br @1
             b1 -> b2: %3 br @3
             b2: %4 ret @4
             events
             move %2 b1 b0
             set %2"
        ))
    }

    #[test]
    fn one_that_lost_it_on_the_way() {
        assert_eq!(moved("@2"), ["bare_call certain lost drop %2 <- %2"]);
        assert_eq!(moved(""), [""; 0]);
    }
}
