//! Not the location of the PHI that a PHI is a part of.
//!
//! Where the edges into a block are split or gathered, its PHIs are as well: a new PHI joins some of the ways, and the old one
//! uses that. The new one stands for nothing by itself, but for a part of the old one: LLVM's LoopBoundSplit and LCSSA
//! give it that one's location. A note: the old PHI keeps its location, and a PHI has no code of its own. Said where it has no
//! location, and where it has that of what follows, which `IRBuilder` took ([`super::borrowed`]).

use metaloc_record::{InstFlags, InstId, LocId};

use super::Case;
use crate::changes::At;
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::Origin;

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let destination = case.destination;
    let linked = destination.sources.iter().any(|s| !matches!(s.link, Link::Operand | Link::Position));
    if !case.is(InstFlags::PHI) || destination.origin != Origin::Created || linked {
        return None;
    }
    let own = case.inst().loc;
    if own.is_some() && own != follows(case)? {
        return None;
    }
    let users = case.run.lookup.users(case.inst().id)?;
    let sources = users.iter().map(|user| older_phi(case, *user)).collect::<Option<Vec<Source>>>()?;
    let loc = case.common_location(sources.iter())?;
    if loc == own {
        return None;
    }
    let kind = if own.is_some() { Kind::Incorrect } else { Kind::Lost };
    let finding = case.finding("split_phi", Operation::Preserve, Confidence::Note, None);
    Some(Finding { sources, kind, ..finding })
}

/// The location of the next instruction, which may be a PHI as well.
fn follows(case: &Case<'_, '_>) -> Option<LocId> {
    let insts = &case.changes.block_after(case.block)?.insts;
    insts.get(case.destination.at.position as usize + 1).map(|inst| inst.loc)
}

/// A PHI that was there before the run, in another block.
fn older_phi(case: &Case<'_, '_>, inst: InstId) -> Option<Source> {
    let block = case.changes.block_after(case.run.lookup.home(inst)?)?;
    let (phi, position) = block.insts.iter().zip(0u32..).find(|(phi, _)| phi.id == inst)?;
    let older = case.changes.origin(inst, At { block: block.id, position }).is_some();
    let source = Source { inst, loc: phi.loc, link: Link::Use, via: None };
    (older && phi.flags.has(InstFlags::PHI) && block.id != case.block).then_some(source)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// LoopBoundSplit: the way out of the loop is gathered in a new block.
    fn gathered(loc: &str, user: &str, more: &str) -> Vec<String> {
        Scene::judge(&format!(
            "described
             before
             b0 -> b1 b3: %1 br @1
             b1 -> b1 b3: %2 add @2, %3 br @3
             b3: %4 {user}(%2+-) @4, %5 ret @5
             after
             b0 -> b1 b3: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 br @3
             b2 -> b3: %6 phi(%2+-) {loc}, %7 br @3
             b3: %4 {user}(%6+-) @4, {more} %5 ret @5
             events
             create %7
             insert %7 b2
             set %7 @3
             create %6
             insert %6 b2 %7"
        ))
    }

    #[test]
    fn part_of_a_phi() {
        assert_eq!(gathered("", "phi", ""), ["split_phi note lost preserve %6 <- %4"]);
        assert_eq!(gathered("@3", "phi", ""), ["split_phi note incorrect preserve %6 <- %4"]);
    }

    #[test]
    fn with_its_location_or_with_other_users() {
        assert_eq!(gathered("@4", "phi", ""), [""; 0]);
        assert_eq!(gathered("@0", "phi", ""), [""; 0]);
        // Somebody chose it: it is that of nothing that follows.
        assert_eq!(gathered("@1", "phi", ""), [""; 0]);
        for (user, more) in [("add", ""), ("phi", "%8 sub(%6),")] {
            assert_eq!(gathered("@3", user, more), [""; 0]);
            assert!(!gathered("", user, more).iter().any(|found| found.contains("split_phi")));
        }
    }
}
