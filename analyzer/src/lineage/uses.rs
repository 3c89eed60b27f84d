//! Links that no call tells: by what instructions use, and by what they write to.
//!
//! - *write*: a store or a memory intrinsic has no uses, so that nothing connects a new one to those that went. One
//!   that writes to the object that they wrote to stands for them, unless another write has their location now. Where
//!   several are in question and several went with different locations, which is whose is not known, and nothing is said.
//! - *operand*: where an instruction stands for several, what it uses stands for what these used in the same
//!   place, if that is of the same kind. So the address of a hoisted load is that of all the loads (PR 86236).
//! - *use*: if all that uses a new instruction is new as well, and together replaced one instruction of P, then it
//!   is a part of what took the place of that one (PR 91839; GVN's loads in predecessors). Not so the step of a new
//!   induction variable, which uses the PHI that uses it: it belongs to the step of the old one;
//! - a PHI that is the same instruction of P whichever way control comes is that one, in another place: an *operand* too.
//!
//! They are asked of destinations only whose location is in question: each takes questions to the compiler.

use metaloc_record::{InstFlags, InstId, LocId, Object, Opcode, PassRun};
use rustc_hash::FxHashMap;

use super::sources::MAX_REPLACED;
use super::{Destination, Lineage, Origin};
use super::{ends, stored};
use crate::changes::Changes;
use crate::finding::{Link, Source};
use crate::location_sets::is_real;

/// How many times operands of operands are followed.
const MAX_ROUNDS: usize = 3;

/// How many instructions an expansion may have for its parts to be recognised.
const MAX_PARTS: usize = 16;

/// Adds what is known by uses to the sources of some destinations, given by their indices.
pub(crate) fn link<'a>(
    run: &PassRun<'a>,
    changes: &mut Changes<'a>,
    lineage: &mut Lineage<'a>,
    asked: &[usize],
) {
    if asked.is_empty() {
        return;
    }
    for (destination, at) in lineage.destinations.iter().zip(0u32..) {
        lineage.index.insert(destination.inst.id, at);
    }
    ends::link(run, changes, lineage, asked);
    stored::mark(run, changes, lineage, asked);
    let mut uses = Uses { run, changes, lineage };
    uses.link_writes(asked);
    for _ in 0..MAX_ROUNDS {
        let linked = asked.iter().filter(|at| uses.link_operands(**at)).count();
        if linked == 0 {
            break;
        }
    }
    for &at in asked {
        uses.link_uses(at);
        uses.link_phi(at);
    }
    for &at in asked {
        uses.lineage.destinations[at].sources.sort_by_key(|s| s.link);
    }
}

struct Uses<'u, 'a> {
    run: &'u PassRun<'a>,
    changes: &'u mut Changes<'a>,
    lineage: &'u mut Lineage<'a>,
}

impl<'a> Uses<'_, 'a> {
    fn link_writes(&mut self, asked: &[usize]) {
        // How many writes of the run have each location.
        let mut taken: Option<FxHashMap<LocId, usize>> = None;
        let mut asked_of: FxHashMap<Object, usize> = FxHashMap::default();
        let mut found_of: Vec<(usize, Object, Vec<Source>)> = Vec::new();
        for &at in asked {
            let destination = &self.lineage.destinations[at];
            if !may_write(destination) {
                continue;
            }
            let Some(object) = self.run.lookup.written(destination.inst.id) else { continue };
            *asked_of.entry(object).or_insert(0) += 1;
            let writes = self.run.lookup.noted_writes(object);
            if writes.is_empty() {
                continue;
            }
            let taken = taken.get_or_insert_with(|| {
                let mut taken = FxHashMap::default();
                for write in self.lineage.destinations.iter().filter(|d| may_write(d)) {
                    *taken.entry(write.inst.loc).or_default() += 1;
                }
                taken
            });
            let by_others = |loc: LocId| {
                taken.get(&loc).is_some_and(|count| *count > usize::from(loc == destination.inst.loc))
            };
            let gone = writes.into_iter().filter(|inst| self.changes.is_gone(*inst));
            let gone = gone.filter_map(|inst| self.changes.was(inst)).filter(|was| {
                let fits =
                    destination.origin == Origin::Created || was.inst.opcode == destination.inst.opcode;
                let known = destination.sources.iter().any(|s| s.inst == was.inst.id);
                fits && !known && is_real(self.run.locations, was.inst.loc) && !by_others(was.inst.loc)
            });
            let link = |inst: InstId, loc| Source { inst, loc, link: Link::Write, via: None };
            let found: Vec<Source> =
                gone.take(MAX_REPLACED).map(|was| link(was.inst.id, was.inst.loc)).collect();
            found_of.push((at, object, found));
        }
        for (at, object, found) in found_of {
            let alike = found.iter().all(|s| s.loc == found[0].loc);
            if alike || asked_of.get(&object) == Some(&1) {
                self.lineage.destinations[at].sources.extend(found);
            }
        }
    }

    /// True if there is something new.
    fn link_operands(&mut self, at: usize) -> bool {
        let destination = &self.lineage.destinations[at];
        let (id, opcode) = (destination.inst.id, destination.inst.opcode);
        let has_value = !destination.inst.flags.has(InstFlags::TERMINATOR);
        if destination.sources.is_empty() || !has_value || destination.inst.flags.has(InstFlags::PHI) {
            return false;
        }
        let before = destination.sources.len();
        for operand in self.corresponding(id).into_iter().take(MAX_REPLACED) {
            if operand == id || !self.changes.index(operand, self.run.lookup) {
                continue;
            }
            let Some(was) = self.changes.was(operand).filter(|was| was.inst.opcode == opcode) else {
                continue;
            };
            let source = Source { inst: operand, loc: was.inst.loc, link: Link::Operand, via: None };
            let sources = &mut self.lineage.destinations[at].sources;
            if !sources.iter().any(|s| s.inst == operand) {
                sources.push(source);
            }
        }
        self.lineage.destinations[at].sources.len() > before
    }

    /// What was used in the places where the users of an instruction use it, by what these stand for.
    fn corresponding(&self, used: InstId) -> Vec<InstId> {
        let lookup = self.run.lookup;
        let mut found = Vec::new();
        for user in lookup.users(used).unwrap_or_default() {
            let Some(user) = self.lineage.destination(user) else { continue };
            if user.inst.flags.has(InstFlags::PHI) {
                continue;
            }
            let places = lookup.operands(user.inst.id);
            let places = places.iter().enumerate().filter(|(_, o)| **o == Some(used)).map(|(place, _)| place);
            for source in user.sources.iter().filter(|s| s.inst != user.inst.id && stands_for(s.link)) {
                if self.changes.was(source.inst).is_none_or(|was| was.inst.opcode != user.inst.opcode) {
                    continue;
                }
                let noted = lookup.noted_operands(source.inst);
                // What was not taken out is where it was, and can be asked.
                let now = if noted.is_empty() { lookup.operands(source.inst) } else { Vec::new() };
                let old = if noted.is_empty() { &now } else { noted };
                found.extend(places.clone().filter_map(|place| old.get(place).copied().flatten()));
            }
        }
        found
    }

    fn link_uses(&mut self, at: usize) {
        let destination = &self.lineage.destinations[at];
        let flags = destination.inst.flags;
        let has_place = flags.has(InstFlags::PHI) || flags.has(InstFlags::TERMINATOR);
        let lost = destination.origin == Origin::Created && !destination.inst.loc.is_some();
        if !lost || has_place || destination.stored || !destination.sources.is_empty() {
            return;
        }
        if self.run.lookup.operands(destination.inst.id).iter().flatten().any(|used| self.is_new_phi(*used)) {
            return;
        }
        let mut parts = vec![destination.inst.id];
        let mut whole: Option<Source> = None;
        let mut next = 0;
        while let Some(&part) = parts.get(next) {
            next += 1;
            let Some(users) = self.run.lookup.users(part).filter(|users| !users.is_empty()) else { return };
            for user in users {
                let Some(user) = self.lineage.destination(user).filter(|user| user.origin == Origin::Created)
                else {
                    return;
                };
                let mut replaced = user.sources.iter().filter(|s| s.link == Link::Replace).peekable();
                if replaced.peek().is_none() && !parts.contains(&user.inst.id) {
                    parts.push(user.inst.id);
                }
                for source in replaced {
                    if whole.is_some_and(|whole| whole.inst != source.inst) {
                        return;
                    }
                    whole = Some(Source { link: Link::Use, via: None, ..*source });
                }
            }
            if parts.len() > MAX_PARTS {
                return;
            }
        }
        self.lineage.destinations[at].sources.extend(whole);
    }

    fn link_phi(&mut self, at: usize) {
        let destination = &self.lineage.destinations[at];
        let lost = destination.origin == Origin::Created && !destination.inst.loc.is_some();
        if !lost || !destination.inst.flags.has(InstFlags::PHI) || !destination.sources.is_empty() {
            return;
        }
        let operands = self.run.lookup.operands(destination.inst.id);
        let Some(Some(value)) = operands.first().copied() else { return };
        if operands.iter().any(|operand| *operand != Some(value))
            || !self.changes.index(value, self.run.lookup)
        {
            return;
        }
        let Some(was) = self.changes.was(value).filter(|was| is_real(self.run.locations, was.inst.loc))
        else {
            return;
        };
        let source = Source { inst: value, loc: was.inst.loc, link: Link::Operand, via: None };
        self.lineage.destinations[at].sources.push(source);
    }

    fn is_new_phi(&self, inst: InstId) -> bool {
        self.lineage
            .destination(inst)
            .is_some_and(|d| d.origin == Origin::Created && d.inst.flags.has(InstFlags::PHI))
    }
}

/// A store, or a call to an intrinsic, which may be one that writes to memory.
fn may_write(destination: &Destination<'_>) -> bool {
    let inst = destination.inst;
    inst.opcode == Opcode::from_name("store") || inst.flags.has(InstFlags::INTRINSIC)
}

/// A new instruction that may be linked by what it writes to.
pub(crate) fn is_new_write(destination: &Destination<'_>) -> bool {
    destination.origin == Origin::Created && may_write(destination)
}

/// What an instruction was made from, or took the place of.
fn stands_for(link: Link) -> bool {
    matches!(link, Link::Clone | Link::Move | Link::Replace | Link::Write | Link::Operand)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Scene;

    /// `%destination <- link %source ...` for all destinations, each asked.
    fn read(text: &str) -> Vec<String> {
        let scene = Scene::read(text);
        let run = scene.run();
        let mut changes = Changes::new(&run);
        let mut lineage = Lineage::new(&run, &changes);
        let all: Vec<usize> = (0..lineage.destinations.len()).collect();
        link(&run, &mut changes, &mut lineage, &all);
        let line = |d: &Destination<'_>| {
            let sources = d.sources.iter().map(|s| format!(" {:?} %{}", s.link, s.inst.0));
            format!("%{} <-{}", d.inst.id.0, sources.collect::<String>()).to_lowercase()
        };
        lineage.destinations.iter().map(line).collect()
    }

    /// GVNHoist, PR 86236: the other address is an operand of the load that went, and stays where it was.
    fn hoisted(old: &str) -> Vec<String> {
        read(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1: %2 getelementptr @2, %3 load(%2) @3, %4 ret @4
             b2: %5 {old} @5, %6 load(%5) @6, %7 ret @7
             after
             b0 -> b1 b2: %8 getelementptr @2, %3 load(%8) @3, %1 br @1
             b1: %2 getelementptr @2, %4 ret @4
             b2: %5 {old} @5, %7 ret @7
             events
             clone %8 %2
             insert %8 b0 %1
             move %3 b1 b0
             replace %6 %3
             remove %6 b2
             erase %6"
        ))
    }

    #[test]
    fn operands_in_the_same_place_correspond() {
        assert_eq!(hoisted("getelementptr"), ["%8 <- clone %2 operand %5", "%3 <- move %3 replace %6"]);
        // Of another kind: the loads are the same, their addresses need not be made alike.
        assert_eq!(hoisted("bitcast"), ["%8 <- clone %2", "%3 <- move %3 replace %6"]);
    }

    #[test]
    fn another_place_does_not_correspond() {
        let found = read(
            "before
             b0 -> b1 b2: %1 br @1
             b1: %2 add @2, %3 sub(-+%2) @3, %4 ret @4
             b2: %5 add @5, %6 sub(%5+-) @6, %7 ret @7
             after
             b0 -> b1 b2: %8 add @2, %3 sub(-+%8) @3, %1 br @1
             b1: %2 add @2, %4 ret @4
             b2: %5 add @5, %7 ret @7
             events
             clone %8 %2
             insert %8 b0 %1
             move %3 b1 b0
             replace %6 %3
             remove %6 b2
             erase %6",
        );
        assert_eq!(found, ["%8 <- clone %2", "%3 <- move %3 replace %6"]);
    }

    /// MergedLoadStoreMotion: the second store is erased, and nothing else is said about it.
    fn sunk(object: u32, more: &str) -> Vec<String> {
        sunk_with(object, "@2", more)
    }

    fn sunk_with(object: u32, loc: &str, more: &str) -> Vec<String> {
        read(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 store^1 @2, %3 br @3
             b2 -> b3: %4 store^{object} @4, %5 br @5
             b3: %6 ret @6
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %3 br @3
             b2 -> b3: %5 br @5
             b3: %7 store^1 {loc}, {more} %6 ret @6
             events
             clone %7 %2
             insert %7 b3 %6
             create %8
             remove %2 b1
             erase %2
             remove %4 b2
             erase %4"
        ))
    }

    #[test]
    fn writes_to_the_same_object_are_linked() {
        assert_eq!(sunk(1, ""), ["%7 <- clone %2 write %4"]);
        assert_eq!(sunk(2, ""), ["%7 <- clone %2"]);
        // It has the location of the second itself.
        assert_eq!(sunk_with(1, "@4", ""), ["%7 <- clone %2 write %4"]);
        // Something else has the location of the second.
        assert_eq!(sunk(1, "%8 store^1 @4,"), ["%7 <- clone %2", "%8 <- write %4"]);
    }

    /// PreISelIntrinsicLowering: two copies to one place, each made a loop.
    #[test]
    fn which_of_several_writes_is_not_guessed() {
        let expanded = |second: &str| {
            read(&format!(
                "before
                 b0: %1 call^1 @1, %2 call^1 {second}, %3 ret @3
                 after
                 b0: %4 store^1, %5 store^1, %3 ret @3
                 events
                 create %4
                 create %5
                 remove %1 b0
                 erase %1
                 remove %2 b0
                 erase %2"
            ))
        };
        assert_eq!(expanded("@2"), ["%4 <-", "%5 <-"]);
        assert_eq!(expanded("@1"), ["%4 <- write %1 write %2", "%5 <- write %1 write %2"]);
    }

    /// GVN: a load in the one predecessor that does not have the value.
    fn in_predecessor(user: &str) -> Vec<String> {
        read(&format!(
            "before
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 store @2, %3 br @3
             b2 -> b3: %4 br @4
             b3: %5 load @5, %6 ret(%5) @6
             after
             b0 -> b1 b2: %1 br @1
             b1 -> b3: %2 store @2, %3 br @3
             b2 -> b3: %7 load, %4 br{user} @4
             b3: %8 phi(%7+-) , %6 ret(%8) @6
             events
             create %7
             insert %7 b2 %4
             create %8
             insert %8 b3 %5
             replace %5 %8
             remove %5 b3
             erase %5"
        ))
    }

    /// LoopStrengthReduce, PR 97519.
    #[test]
    fn the_step_of_a_counter_is_no_part() {
        let found = read(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 phi(-+%5) @2, %3 sitofp(%2) @3, %4 call!(%3) @4, %5 add(%2+-) @5, %6 br @6
             b2: %7 ret @7
             after
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %8 phi(-+%9), %2 phi(-+%5) @2, %4 call!(%8) @4, %9 fadd(%8+-), %5 add(%2+-) @5, %6 br @6
             b2: %7 ret @7
             events
             create %8
             insert %8 b1 %2
             create %9
             insert %9 b1 %5
             replace %3 %8
             remove %3 b1
             erase %3",
        );
        assert_eq!(found, ["%8 <- replace %3", "%9 <-"]);
    }

    #[test]
    fn what_only_the_replacement_uses_is_part_of_it() {
        assert_eq!(in_predecessor(""), ["%7 <- use %5", "%8 <- replace %5"]);
        // An older instruction uses it as well.
        assert_eq!(in_predecessor("(%7)"), ["%7 <-", "%8 <- replace %5"]);
    }
}
