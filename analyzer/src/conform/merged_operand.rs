//! Not the merged location on a PHI of what merged instructions used.
//!
//! Where instructions become one, what they used in the same place becomes a PHI in front of it (MergedLoadStoreMotion,
//! SimplifyCFG's and GVN's sinking). The PHI is there for them alone, and for all of them: LLVM gives it their merged
//! location, as it gives that to the one instruction ("merge", HowToUpdateDebugInfo). A note: the values live on where they
//! were, with their locations, and a PHI has no code of its own. Said where the PHI has the location of one of them, which
//! the other ways did not have, and where it has none.
//!
//! Nothing if somebody gave it another location, line 0 among them.

use metaloc_record::{InstFlags, InstId, LocId, Operand};

use super::Case;
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

/// Worth asking about: a new PHI without a location, whoever took it away.
pub(super) fn is_open(destination: &Destination<'_>) -> bool {
    destination.inst.loc == LocId::NONE
        && destination.inst.flags.has(InstFlags::PHI)
        && destination.origin == Origin::Created
        && destination.sources.is_empty()
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let own = case.inst().loc;
    if !case.is(InstFlags::PHI)
        || case.destination.origin != Origin::Created
        || !case.destination.sources.is_empty()
    {
        return None;
    }
    let sources = merged(case)?;
    let is_one_of_them = sources.iter().any(|s| s.loc == own);
    if own.is_some() && !is_one_of_them {
        return None;
    }
    let kind = if own.is_some() { Kind::Incorrect } else { Kind::Lost };
    let finding = case.finding("merged_operand", Operation::Merge, Confidence::Note, None);
    Some(Finding { sources, kind, ..finding })
}

/// The instructions that became the one user of the PHI, if there is one for each of its ways and they had different
/// locations.
fn merged(case: &Case<'_, '_>) -> Option<Vec<Source>> {
    let lookup = case.run.lookup;
    let phi = case.inst().id;
    let values = lookup.operands(phi);
    let users = lookup.users(phi)?;
    let [user] = users[..] else { return None };
    let user = case.lineage.destination(user).filter(|user| !user.inst.flags.has(InstFlags::PHI))?;
    let place = lookup.operands(user.inst.id).iter().position(|used| *used == Some(phi))?;
    let mut gone: Vec<InstId> = user.sources.iter().map(|s| s.inst).collect();
    if let Some(object) = lookup.written(user.inst.id) {
        gone.extend(lookup.noted_writes(object));
    }
    let mut sources: Vec<Source> = Vec::new();
    for inst in gone {
        let Some(was) = case.changes.was(inst).filter(|was| was.inst.opcode == user.inst.opcode) else {
            continue;
        };
        let known = sources.iter().any(|s| s.inst == inst);
        if !known && case.is_real(was.inst.loc) && used_one_of(lookup.noted_operands(inst), place, &values) {
            sources.push(Source { inst, loc: was.inst.loc, link: Link::Operand, via: None });
        }
    }
    let blocks: Vec<_> = sources.iter().filter_map(|s| case.source_block(s.inst)).collect();
    let apart = blocks.iter().enumerate().all(|(at, block)| !blocks[..at].contains(block));
    let each = sources.len() >= 2 && sources.len() == values.len() && apart;
    (each && case.common_location(sources.iter()).is_none()).then_some(sources)
}

fn used_one_of(operands: &[Operand], place: usize, values: &[Operand]) -> bool {
    operands.get(place).is_some_and(|operand| values.contains(operand))
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// MergedLoadStoreMotion: two stores to one object become one, of a PHI of their values.
    fn sunk(phi: &str, second: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "described
             before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %3 store^1(%2+-) @3, %4 br @4
             b2 -> b3: %5 sub @5, %6 {second} @6, %7 br @7
             b3: %8 ret @8
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 add @2, %4 br @4
             b2 -> b3: %5 sub @5, %7 br @7
             b3: %9 {phi}, %10 store^1(%9+-) @0, %8 ret @8
             events
             clone %10 %3
             set %10 @0
             insert %10 b3 %8
             create %9
             insert %9 b3 %10
             {events}
             remove %3 b1
             erase %3
             remove %6 b2
             erase %6"
        ))
    }

    #[test]
    fn without_a_location() {
        let lost = "merged_operand note lost merge %9 <- %3 %6";
        assert_eq!(sunk("phi(%2+%5)", "store^1(%5+-)", ""), [lost]);
        // None is not the merged location either.
        assert_eq!(sunk("phi(%2+%5)", "store^1(%5+-)", "drop %9"), [lost]);
    }

    #[test]
    fn with_that_of_one_of_them() {
        let found = sunk("phi(%2+%5) @6", "store^1(%5+-)", "set %9 @6");
        assert_eq!(found, ["merged_operand note incorrect merge %9 <- %3 %6"]);
    }

    #[test]
    fn with_the_merged_one() {
        assert_eq!(sunk("phi(%2+%5) @0", "store^1(%5+-)", "merge %9 @3 @6\nset %9 @0"), [""; 0]);
    }

    /// Another value, another object, or alike in their locations: the PHI is not theirs, or nothing is to be merged.
    #[test]
    fn what_does_not_correspond() {
        let alone = "unlinked note lost preserve %9 <- %8";
        assert_eq!(sunk("phi(%2+%5)", "store^1(-+%5)", ""), [alone]);
        assert_eq!(sunk("phi(%2+%5)", "store^2(%5+-)", ""), [alone]);
        assert_eq!(sunk("phi(%2+%5+%5)", "store^1(%5+-)", ""), [alone]);
    }
}
