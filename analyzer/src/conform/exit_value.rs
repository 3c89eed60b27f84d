//! Not the location of a loop's value, on what gives it in front of the loop.
//!
//! LoopIdiomRecognize computes in front of a loop what a value of the loop is when it ends, and lets all that uses the
//! value behind the loop use that. It replaces the value there ("replace or expand", HowToUpdateDebugInfo), and where all
//! paths through it pass the loop's, Definition 3.4 of the paper says Preserve. The guide's rule that what leaves a loop
//! loses its location ([`super::out_of_loop`]) is about an instruction that is moved: of this one nothing is left to be
//! shown in the loop for what comes after it.
//!
//! Nothing where a path goes round the loop: there the location would be extra, and none is right. That is so in front of a
//! loop that is tested at the top, and in front of the test that guards one.
//!
//! Nor where the loop itself uses it: that is an invariant, hoisted by making it anew, and none is right there too.
//!
//! Likely: that all uses were meant is read off those that are left, which are in the loop. Without a location it is lost;
//! with that of what follows, `IRBuilder` chose it ([`super::borrowed`]).

use metaloc_record::{InstFlags, InstId};

use super::{Case, borrowed};
use crate::changes::{At, Changes};
use crate::finding::{Confidence, Finding, Kind, Link, Operation, Source};
use crate::lineage::{Destination, Lineage, Origin};

/// Worth asking about: it took over from what was elsewhere, and has no location or that of what follows.
pub(super) fn is_open(changes: &Changes<'_>, lineage: &Lineage<'_>, destination: &Destination<'_>) -> bool {
    let At { block, position } = destination.at;
    let inst = destination.inst;
    let follows = changes.block_after(block).and_then(|block| block.insts.get(position as usize + 1));
    let may_be_wrong = !inst.loc.is_some() || follows.is_some_and(|follows| follows.loc == inst.loc);
    let elsewhere = |inst: InstId| changes.before(inst).is_some_and(|at| at.block != block);
    destination.origin == Origin::Created
        && !inst.flags.has(InstFlags::PHI)
        && may_be_wrong
        && lineage.taken(destination).any(elsewhere)
}

pub(super) fn check(case: &Case<'_, '_>) -> Option<Finding> {
    let updates = case.destination.updates;
    if !is_open(case.changes, case.lineage, case.destination) || updates.merged || updates.dropped {
        return None;
    }
    let has_one = case.is_real(case.inst().loc);
    if has_one && !borrowed::is_borrowed(case)? {
        return None;
    }
    let values = case.lineage.taken(case.destination);
    let sources = values.map(|inst| exit_value(case, inst)).collect::<Option<Vec<Source>>>()?;
    let loc = case.common_location(sources.iter())?;
    if loc == case.inst().loc {
        return None;
    }
    if has_one {
        let finding = case.finding("exit_value", Operation::Preserve, Confidence::Likely, None);
        return Some(Finding { sources, kind: Kind::Incorrect, ..finding });
    }
    Some(case.lost("exit_value", sources, Confidence::Likely))
}

/// The value of a loop behind the destination that all paths pass, if only the loop uses it now.
fn exit_value(case: &Case<'_, '_>, inst: InstId) -> Option<Source> {
    let was = case.changes.was(inst)?;
    let from = was.at.block;
    let placements = case.placements;
    if !placements.leaves_loop(case.block, from)
        || !placements.comes_before(case.block, from)
        || !placements.passes(case.block, from)
    {
        return None;
    }
    let lookup = case.run.lookup;
    let in_loop =
        |user: &InstId| lookup.home(*user).is_some_and(|block| !placements.leaves_loop(block, from));
    // Of what is gone nobody is a user.
    let left = if case.is_gone(inst) { Vec::new() } else { lookup.users(inst)? };
    let now = lookup.users(case.inst().id)?;
    let later = now.iter().any(|user| lookup.home(*user) != Some(case.block));
    let only = left.iter().all(in_loop) && later && !now.iter().any(in_loop);
    only.then_some(Source { inst, loc: was.inst.loc, link: Link::Replace, via: None })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// LoopIdiomRecognize: the count that a loop leaves, computed in front of it. `skip` is a way round the loop.
    fn counted(skip: &str, loc: &str, later: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1 {skip}: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 icmp @3, %4 br @4
             b2: %5 call!(%2) @5, %6 ret @6
             after
             b0 -> b1 {skip}: %7 sub {loc}, %1 br @1
             b1 -> b1 b2: %2 add @2, %3 icmp(%2) @3, %4 br @4
             b2: %5 call!({later}) @5, %6 ret @6
             events
             create %7
             insert %7 b0 %1
             replace-some %2 %7"
        ))
    }

    #[test]
    fn without_a_location() {
        assert_eq!(counted("", "", "%7"), ["exit_value likely lost preserve %7 <- %2"]);
    }

    #[test]
    fn with_that_of_what_follows() {
        assert_eq!(counted("", "@1", "%7"), ["exit_value likely incorrect preserve %7 <- %2"]);
    }

    /// What follows may stand behind more that was made.
    #[test]
    fn with_that_of_what_follows_later() {
        let found = |more: &str| {
            Scene::judge(&format!(
                "before
                 b0 -> b1: %1 br @1
                 b1 -> b1 b2: %2 add @2, %3 icmp @3, %4 br @4
                 b2: %5 call!(%2) @5, %6 ret @6
                 after
                 b0 -> b1: %7 sub @1, %8 sub(%7) {more}, %1 br @1
                 b1 -> b1 b2: %2 add @2, %3 icmp(%2) @3, %4 br @4
                 b2: %5 call!(%7) @5, %6 ret @6
                 events
                 create %7
                 insert %7 b0 %1
                 create %8
                 insert %8 b0 %1
                 replace-some %2 %7"
            ))
        };
        assert_eq!(found("@1"), ["exit_value likely incorrect preserve %7 <- %2"]);
        assert_eq!(found("@2"), [""; 0]);
    }

    #[test]
    fn with_its_own() {
        assert_eq!(counted("", "@2", "%7"), [""; 0]);
        assert_eq!(counted("", "@0", "%7"), [""; 0]);
    }

    /// A way round the loop, where the location would be extra.
    #[test]
    fn a_loop_that_may_be_skipped() {
        assert_eq!(counted("b2", "", "%7"), [""; 0]);
        assert_eq!(counted("b2", "@1", "%7"), [""; 0]);
    }

    /// The value is still used behind the loop: what was made stands beside it.
    #[test]
    fn some_of_the_uses_behind_the_loop() {
        assert_eq!(counted("", "", "%2"), [""; 0]);
        assert_eq!(counted("", "@1", "%2"), [""; 0]);
    }

    /// The value went from the loop as well.
    fn made_anew(loc: &str, inside: &str) -> Vec<String> {
        Scene::judge(&format!(
            "before
             b0 -> b1: %1 br @1
             b1 -> b1 b2: %2 add @2, %3 icmp(%2) @3, %4 br @4
             b2: %5 call!(%2) @5, %6 ret @6
             after
             b0 -> b1: %7 sub {loc}, %1 br @1
             b1 -> b1 b2: %3 icmp({inside}) @3, %4 br @4
             b2: %5 call!(%7) @5, %6 ret @6
             events
             create %7
             insert %7 b0 %1
             replace %2 %7
             remove %2 b1
             erase %2"
        ))
    }

    #[test]
    fn the_value_is_gone() {
        assert_eq!(made_anew("@1", "-"), ["exit_value likely incorrect preserve %7 <- %2"]);
        assert_eq!(made_anew("", "-"), ["exit_value likely lost preserve %7 <- %2"]);
        // An invariant of the loop, which nothing behind it uses.
        assert_eq!(made_anew("@1", "%7"), [""; 0]);
        assert_eq!(made_anew("", "%7"), [""; 0]);
    }

    /// A loop that is tested at the top: the body is not passed by all.
    #[test]
    fn tested_at_the_top() {
        let found = Scene::judge(
            "before
             b0 -> b1: %1 br @1
             b1 -> b2 b3: %3 icmp @3, %4 br @4
             b2 -> b1: %2 add @2, %8 br @8
             b3: %5 call! @5, %6 ret @6
             after
             b0 -> b1: %7 sub, %1 br @1
             b1 -> b2 b3: %3 icmp(%2) @3, %4 br @4
             b2 -> b1: %2 add @2, %8 br @8
             b3: %5 call!(%7) @5, %6 ret @6
             events
             create %7
             insert %7 b0 %1
             replace-some %2 %7",
        );
        assert_eq!(found, [""; 0]);
    }
}
