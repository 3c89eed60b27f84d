//! Not the merged location on what was made for several instructions at once.
//!
//! An instruction that uses no other (a constant that is made once, a cast of an argument) could stand anywhere: it is
//! there for its users, and was a part of each of them before. LLVM's ConstantHoisting gives it their merged location, which
//! is what the guide asks of what stands for several. A note: the users keep their locations, so that nothing that was there
//! has gone.
//!
//! Said where it has none, and where it has that of what happens to follow ([`super::borrowed`] says why).
//!
//! Users that were made in the run themselves are looked through: the constant of a part is that of the whole.
//! Nothing is said where all users are at one place (that is for [`super::unlinked`] to note), or where there are more than a few.

use metaloc_record::{InstFlags, InstId, LocId, PassRun};

use super::{Case, borrowed, has_no_code};
use crate::changes::{At, Changes};
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Origin};

/// How many users are looked at.
const MAX_USERS: usize = 16;

/// Worth asking about: made without a location, or with none in the end, whoever took it away.
pub(super) fn is_open(destination: &Destination<'_>) -> bool {
    destination.inst.loc == LocId::NONE && is_computed(destination)
}

/// Worth asking about: made from no instruction, with the location of what follows.
pub(super) fn is_open_with(run: &PassRun<'_>, changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    let At { block, position } = destination.at;
    let next = changes.block_after(block).and_then(|block| block.insts.get(position as usize + 1));
    is_computed(destination)
        && !destination.updates.merged
        && next.is_some_and(|next| next.loc == destination.inst.loc)
        && uses_none(run, destination.inst.id)
}

/// New, from nothing that is known, and neither tied to its place nor to memory.
fn is_computed(destination: &Destination<'_>) -> bool {
    let inst = destination.inst;
    let tied =
        [InstFlags::PHI, InstFlags::TERMINATOR, InstFlags::CALL, InstFlags::INTRINSIC, InstFlags::MEMORY];
    destination.origin == Origin::Created
        && destination.sources.is_empty()
        && !has_no_code(inst)
        && !tied.iter().any(|flag| inst.flags.has(*flag))
}

fn uses_none(run: &PassRun<'_>, inst: InstId) -> bool {
    run.lookup.operands(inst).iter().all(Option::is_none)
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let has_one = case.inst().loc.is_some();
    let is_open = match has_one {
        true => is_open_with(case.run, case.changes, case.destination) && borrowed::is_borrowed(case)?,
        false => is_open(case.destination) && uses_none(case.run, case.inst().id),
    };
    if !is_open {
        return None;
    }
    let sources = users(case, case.inst().id)?;
    if sources.len() < 2 || case.common_location(sources.iter()).is_some() {
        return None;
    }
    let kind = if has_one { Kind::Incorrect } else { Kind::Lost };
    let finding = case.finding("shared_operand", Operation::Merge, Confidence::Note, None);
    Some(Finding { sources, kind, ..finding })
}

/// The older instructions that an instruction is for, all with locations; `None` if there are too many or others.
fn users(case: &Case<'_, '_>, of: InstId) -> Option<Vec<Source>> {
    let mut open = vec![of];
    let mut seen = vec![of];
    let mut found: Vec<Source> = Vec::new();
    while let Some(inst) = open.pop() {
        for user in case.run.lookup.users(inst)? {
            if seen.contains(&user) {
                continue;
            }
            if seen.len() > MAX_USERS {
                return None;
            }
            seen.push(user);
            match older(case, user) {
                Some(source) if case.is_real(source.loc) => found.push(source),
                Some(_) => return None,
                None => open.push(user),
            }
        }
    }
    found.sort_by_key(|source| source.inst);
    Some(found)
}

/// An instruction of P', with its location, if it was there before the run.
fn older(case: &Case<'_, '_>, inst: InstId) -> Option<Source> {
    let block = case.changes.block_after(case.run.lookup.home(inst)?)?;
    let (now, position) = block.insts.iter().zip(0u32..).find(|(now, _)| now.id == inst)?;
    let at = At { block: block.id, position };
    let source = Source { inst, loc: now.loc, link: Link::Position, via: None };
    case.changes.origin(inst, at).map(|_| source)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// ConstantHoisting: one cast of a constant for two users.
    fn hoisted(made: &str, loc: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "described
             before
             b0 -> b1: %1 br @1
             b1: %2 add @2, %3 sub @{loc}, %4 ret @4
             after
             b0 -> b1: %7 {made}, %1 br @1
             b1: %8 add(%7) @2, %2 add(%8) @2, %3 sub(%7) @{loc}, %4 ret @4
             events
             create %7
             insert %7 b0 %1
             create %8
             insert %8 b1 %2
             set %8 @2
             {events}"
        ))
    }

    #[test]
    fn for_two_users() {
        let found = ["shared_operand note lost merge %7 <- %2 %3"];
        assert_eq!(hoisted("bitcast", "3", ""), found);
        assert_eq!(hoisted("bitcast(-)", "3", "drop %7"), found);
    }

    #[test]
    fn with_that_of_what_follows() {
        let found = ["shared_operand note incorrect merge %7 <- %2 %3"];
        assert_eq!(hoisted("bitcast @1", "3", "set %7 @1"), found);
        assert_eq!(hoisted("bitcast @1", "3", "merge %7 @1 @1\nset %7 @1"), [""; 0]);
        assert_eq!(hoisted("bitcast @1", "2", "set %7 @1"), [""; 0]);
    }

    #[test]
    fn for_one_place_or_with_a_place_of_its_own() {
        let unlinked = ["unlinked note lost preserve %7 <- %1"];
        assert_eq!(hoisted("bitcast", "2", ""), unlinked);
        assert_eq!(hoisted("load", "3", ""), unlinked);
        assert_eq!(hoisted("bitcast @0", "3", "set %7 @0"), [""; 0]);
        assert_eq!(hoisted("load @1", "3", "set %7 @1"), [""; 0]);
    }

    #[test]
    fn what_uses_another() {
        let found = Scene::judge(
            "described
             before
             b0: %1 load @1, %2 add(%1) @2, %3 sub(%1) @3, %4 ret @4
             after
             b0: %1 load @1, %7 zext(%1), %2 add(%7) @2, %3 sub(%7) @3, %4 ret @4
             events
             create %7
             insert %7 b0 %2",
        );
        assert_eq!(found, ["lost_expansion likely lost preserve %7 <- %2"]);
    }
}
