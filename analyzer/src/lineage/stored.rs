//! Values that were computed for a write, of which nothing is left but them.
//!
//! SROA cuts a store into stores of parts, each with the instructions that compute its part, and makes values of these:
//! the loads of a part are replaced by what was stored. That says who uses the part now, not what it stands for: it
//! was computed where the store was, and has its location. A store that puts a parameter on the stack has none, on
//! purpose (no statement does it), so that the parts have none either.
//!
//! That is what is asked here, step by step: a store without a location, made in the run, had the value as what it stored
//! and went; a store of P without a location went from the block that the value was put into; and all that the value
//! replaced are loads. What only such values use is a part of their computation.

use metaloc_record::{InstId, Opcode, PassRun};

use super::{Destination, Lineage, Origin};
use crate::changes::Changes;
use crate::finding::Link;
use crate::location_sets::is_real;

/// How many times operands of operands are followed.
const MAX_ROUNDS: usize = 3;

/// Sets [`Destination::stored`] where it is so; parts are looked for among those asked, given by their indices.
pub(super) fn mark(run: &PassRun<'_>, changes: &Changes<'_>, lineage: &mut Lineage<'_>, asked: &[usize]) {
    let store = Opcode::from_name("store");
    let bare_stores = lineage
        .bare_temporaries
        .iter()
        .filter(|inst| run.lookup.opcode(**inst) == store && changes.after(**inst).is_none());
    let values: Vec<InstId> =
        bare_stores.filter_map(|inst| *run.lookup.noted_operands(*inst).first()?).collect();
    for value in values {
        let Some(&at) = lineage.index.get(value) else { continue };
        let destination = &mut lineage.destinations[at as usize];
        destination.stored = destination.origin == Origin::Created
            && took_over_loads_only(changes, destination)
            && lost_a_bare_store(run, changes, destination);
    }
    if !lineage.destinations.iter().any(|d| d.stored) {
        return;
    }
    for _ in 0..MAX_ROUNDS {
        for &at in asked {
            let is_part = is_part(run, lineage, &lineage.destinations[at]);
            lineage.destinations[at].stored |= is_part;
        }
    }
}

/// Made in the run, stands for nothing else, and is used by such values only.
fn is_part(run: &PassRun<'_>, lineage: &Lineage<'_>, destination: &Destination<'_>) -> bool {
    let made = destination.origin == Origin::Created && destination.sources.is_empty();
    let users = || run.lookup.users(destination.inst.id).filter(|users| !users.is_empty());
    let is_stored = |user| lineage.destination(user).is_some_and(|user| user.stored);
    made && users().is_some_and(|users| users.into_iter().all(is_stored))
}

fn took_over_loads_only(changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    let load = Opcode::from_name("load");
    let mut replaced = destination.sources.iter().filter(|s| s.link == Link::Replace);
    replaced.all(|s| changes.was(s.inst).is_some_and(|was| was.inst.opcode == load))
}

/// A store of P without a location went from the block that the destination was put into.
fn lost_a_bare_store(run: &PassRun<'_>, changes: &Changes<'_>, destination: &Destination<'_>) -> bool {
    let store = Opcode::from_name("store");
    let block = changes.block_before(destination.placed);
    block.is_some_and(|block| {
        let mut stores = block.insts.iter().filter(|inst| inst.opcode == store);
        stores.any(|inst| !is_real(run.locations, inst.loc) && changes.is_gone(inst.id))
    })
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// SROA: the store of a parameter becomes that of a part, which then takes over the load.
    fn promoted(store: &str, by_run: &str, old: &str) -> Vec<String> {
        Scene::judge(&format!(
            "described
             before
             b0: %1 store {store}, %2 {old} @2, %3 ret(%2) @3
             after
             b0: %4 lshr, %5 trunc(%4), %3 ret(%5) @3
             events
             create %4
             insert %4 b0 %1
             create %5
             insert %5 b0 %1
             create %6 store(%5)
             insert %6 b0 %1
             {by_run}
             remove %1 b0
             erase %1
             replace %2 %5
             remove %2 b0
             erase %2
             remove %6 b0
             erase %6"
        ))
    }

    #[test]
    fn parts_of_a_parameter_have_no_location() {
        assert_eq!(promoted("", "", "load"), [""; 0]);
    }

    /// What computes the part is used by something else, too, which is a statement's.
    #[test]
    fn what_others_use_is_judged() {
        let found = |other: &str| {
            Scene::judge(&format!(
                "before
                 b0: %7 add @7, %1 store, %2 load @2, %3 ret(%2) @3
                 after
                 b0: %4 lshr, %8 shl{other} @7, %5 trunc(%4), %3 ret(%5+%8) @3
                 events
                 create %4
                 insert %4 b0 %7
                 create %5
                 insert %5 b0 %1
                 create %6 store(%5)
                 insert %6 b0 %1
                 remove %1 b0
                 erase %1
                 replace %2 %5
                 remove %2 b0
                 erase %2
                 create %8
                 insert %8 b0 %7
                 set %8 @7
                 replace %7 %8
                 remove %7 b0
                 erase %7
                 remove %6 b0
                 erase %6"
            ))
        };
        assert_eq!(found("(%4)"), ["lost_expansion likely lost preserve %4 <- %7"]);
        assert_eq!(found(""), [""; 0]);
    }

    #[test]
    fn parts_of_a_statement_have_one() {
        let lost =
            ["lost_part likely lost preserve %4 <- %2", "lost_replacement certain lost preserve %5 <- %2"];
        // A store with a location was cut.
        assert_eq!(promoted("@1", "", "load"), lost);
        // The new one was given a location.
        assert_eq!(promoted("", "set %6 @1", "load"), lost);
        // What was replaced was computed, and not loaded.
        assert_eq!(promoted("", "", "add"), lost);
    }
}
