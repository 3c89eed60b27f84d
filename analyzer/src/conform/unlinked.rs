//! No location on what stands for nothing that is known.
//!
//! A pass that creates an instruction decides what a debugger shows there: with no location, the line of whatever is in
//! front of it. LLVM's guide asks for a location only where an instruction comes from another one, so this is a note and
//! no error (DESIGN: "worth knowing; LLVM's rules ask for nothing here"). LLVM's own passes give such instructions that of
//! the place (`SSAUpdater`, `EntryExitInstrumenter`, `RewriteStatepointsForGC`), which is what is named here: not a source
//! that is proved, but what the instruction was put in front of or behind.
//!
//! Asked last. Nothing is said
//! - of what has a source: another rule has judged it, or is silent for a reason (no location may be right there);
//! - of a part of what had no location itself, where nothing could be lost;
//! - where no debugger ever stops: in code that is never reached, and in a function without debug information.

use metaloc_record::{Inst, InstFlags};

use super::{Case, lost_expansion};
use crate::changes::At;
use crate::finding::{Confidence, Finding, Link, Source};

/// How far to look for what gives the place a location. PHIs in between do not count.
const MAX_STEPS: usize = 16;

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let linked = case.destination.sources.iter().any(|s| s.link != Link::Position);
    if linked || !case.run.lookup.is_described(case.inst().id) || !case.placements.is_reachable(case.block) {
        return None;
    }
    if case.destination.stored || lost_expansion::is_of_bare(case) {
        return None;
    }
    let place = lost_expansion::put_behind(case).or_else(|| put_in_front_of(case));
    let source = |inst: &Inst| Source { inst: inst.id, loc: inst.loc, link: Link::Position, via: None };
    let mut sources: Vec<Source> = case.sources_by(Link::Position).copied().collect();
    if sources.is_empty() {
        sources.extend(place.map(source));
    }
    Some(case.lost("unlinked", sources, Confidence::Note))
}

/// The next instruction that was there before the run and has a location.
fn put_in_front_of<'a>(case: &Case<'_, 'a>) -> Option<&'a Inst> {
    let insts = &case.changes.block_after(case.block)?.insts;
    let from = case.destination.at.position as usize + 1;
    let following = insts.iter().zip(0u32..).skip(from).filter(|(inst, _)| !inst.flags.has(InstFlags::PHI));
    let is_older = |inst: &Inst, position: u32| {
        let own = case.changes.origin(inst.id, At { block: case.block, position });
        own.is_some() && case.is_real(inst.loc)
    };
    following.take(MAX_STEPS).find(|(inst, position)| is_older(inst, *position)).map(|(inst, _)| inst)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    fn made(head: &str, after: &str, events: &str) -> Vec<String> {
        Scene::judge(&format!(
            "{head}
             before
             b0 -> b1 b2: %1 add @1, %2 br @2
             b1 -> b2: %3 sub @3, %4 br @4
             b2: %5 ret @5
             after
             {after}
             b1 -> b2: %3 sub @3, %4 br @4
             b2: %5 ret @5
             events
             {events}"
        ))
    }

    /// EntryExitInstrumenter: a call that nobody asked for, in front of the first instruction.
    #[test]
    fn what_was_made_from_nothing() {
        let front = "b0 -> b1 b2: %6 call!, %7 store, %1 add @1, %2 br @2";
        let found =
            made("described", front, "create %6\ninsert %6 b0 %1\ncreate %7\ninsert %7 b0 %1\nbehind %7 %6");
        let note = |inst: u32, rule: &str| format!("{rule} note lost preserve %{inst} <- %1");
        assert_eq!(found, [note(6, "lost_expansion"), note(7, "lost_expansion")]);
        // At the end of a block no other rule speaks.
        let end = "b0 -> b1 b2: %1 add @1, %6 call!, %2 br @2";
        let found = made("described", end, "create %6\ninsert %6 b0 %2");
        assert_eq!(found, ["unlinked note lost preserve %6 <- %2"]);
        let found = made("described", end, "create %6\ninsert %6 b0 %2\nbehind %6 %1");
        assert_eq!(found, ["unlinked note lost preserve %6 <- %1"]);
    }

    /// SSAUpdater: a PHI that joins what lives on; what follows it may be new as well.
    #[test]
    fn a_phi_of_its_own() {
        let phi = |events: &str| {
            Scene::judge(&format!(
                "described
                 before
                 b0 -> b1 b2: %1 add @1, %2 br @2
                 b1 -> b2: %3 sub @3, %4 br @4
                 b2: %5 ret @5
                 after
                 b0 -> b1 b2: %1 add @1, %2 br @2
                 b1 -> b2: %3 sub @3, %4 br @4
                 b2: %6 phi(%1+%3), %5 ret @5
                 events
                 create %6
                 insert %6 b2 %5
                 {events}"
            ))
        };
        assert_eq!(phi(""), ["unlinked note lost preserve %6 <- %5"]);
        // Somebody asked for none.
        assert_eq!(phi("drop %6"), [""; 0]);
    }

    #[test]
    fn a_place_without_a_location_is_not_named() {
        let found = Scene::judge(
            "described
             before
             b0: %1 add @1, %2 ret
             after
             b0: %1 add @1, %3 sub, %2 ret
             events
             create %3
             insert %3 b0 %2",
        );
        assert_eq!(found, ["unlinked note lost preserve %3 <- "]);
    }

    #[test]
    fn no_debug_information_or_no_code() {
        let end = |inst: &str| format!("b0 -> b1 b2: %1 add @1, %6 {inst}, %2 br @2");
        let events = "create %6\ninsert %6 b0 %2";
        assert_eq!(made("", &end("sub"), events), [""; 0]);
        for inst in ["alloca", "sub?", "sub @0", "sub @2"] {
            assert_eq!(made("described", &end(inst), events), [""; 0], "{inst}");
        }
    }

    #[test]
    fn never_reached() {
        let found = Scene::judge(
            "described
             before
             b0: %1 ret @1
             b1: %2 add @2, %3 ret @3
             after
             b0: %1 ret @1
             b1: %2 add @2, %4 sub, %3 ret @3
             events
             create %4
             insert %4 b1 %3",
        );
        assert_eq!(found, [""; 0]);
    }

    /// InstCombine: (x | c) & d with no location on the `and`, which is what is replaced.
    #[test]
    fn part_of_what_had_no_location() {
        let found = Scene::judge(
            "described
             before
             b0: %1 load @1, %2 or @2, %3 and, %4 ret @4
             after
             b0: %1 load @1, %5 and, %6 or, %4 ret @4
             events
             create %5
             create %6
             replace %3 %6
             erase %3
             erase %2",
        );
        assert_eq!(found, [""; 0]);
    }

    /// What has a source is judged by that, also where the judgement is that no location is right.
    #[test]
    fn what_has_a_source() {
        let found = Scene::judge(
            "described
             before
             b0 -> b1 b2: %1 br @1
             b1 -> b2: %2 add @2, %3 br @3
             b2: %4 ret @4
             after
             b0 -> b1 b2: %5 sub, %1 br @1
             b1 -> b2: %3 br @3
             b2: %4 ret @4
             events
             create %5
             insert %5 b0 %1
             replace %2 %5
             erase %2",
        );
        assert_eq!(found, [""; 0]);
    }
}
