//! A location of another function.
//!
//! What is inlined keeps its line and gets the call as the place where it is inlined; what is outlined gets the scope of
//! its new function. Where that is forgotten the location belongs to a function that the instruction is not in. LLVM's
//! verifier refuses such a module ("!dbg attachment points at wrong subprogram for function") and `opt` throws its debug
//! information away. Certain: it takes no path to tell.
//!
//! Which function this is, is read off a location that it had before the run, and LLVM has the last word: a function
//! without debug information may have anything in it. One that had no location is not judged.

use metaloc_record::{LocId, LocationTable, PassRun, ScopeId};

use crate::finding::{Actual, Confidence, Finding, Kind, Operation};
use crate::lineage::{Lineage, Stranger};

pub(super) fn check<'c>(
    run: &'c PassRun<'_>,
    lineage: &'c Lineage<'_>,
) -> impl Iterator<Item = Finding> + 'c {
    let own = if lineage.strangers.is_empty() { None } else { own_scope(run) };
    let mut last = LocId::NONE;
    let mut last_is_wrong = false;
    let wrong = lineage.strangers.iter().filter(move |stranger| {
        // Neighbours mostly share a location.
        if stranger.inst.loc != last {
            last = stranger.inst.loc;
            let scope = function_scope(run.locations, last);
            last_is_wrong = own.is_some() && scope.is_some() && scope != own;
        }
        last_is_wrong
    });
    // Asked last, since it is almost never so.
    wrong.filter(|stranger| run.lookup.has_foreign_scope(stranger.inst.id)).map(finding)
}

fn finding(stranger: &Stranger<'_>) -> Finding {
    Finding {
        rule: "other_function",
        operation: Operation::Preserve,
        actual: Actual::Other,
        kind: Kind::Incorrect,
        confidence: Confidence::Certain,
        destination: stranger.inst.id,
        sources: Vec::new(),
        site: stranger.site,
        extra: Vec::new(),
        off_path: false,
    }
}

fn own_scope(run: &PassRun<'_>) -> Option<ScopeId> {
    let insts = run.before.blocks().flat_map(|block| &block.insts);
    insts.map(|inst| inst.loc).find_map(|loc| function_scope(run.locations, loc))
}

/// The outermost scope of the function that a location says it is in, behind all that was inlined.
fn function_scope(locations: &LocationTable, loc: LocId) -> Option<ScopeId> {
    let mut location = locations.get(loc)?;
    while let Some(outer) = locations.get(location.inlined_at) {
        location = outer;
    }
    let mut scope = location.scope;
    while let Some(parent) = locations.scope(scope)?.parent {
        scope = parent;
    }
    Some(scope)
}

#[cfg(test)]
mod tests {
    use crate::scene::Scene;

    /// InlineFunction: a copy from another function, with the location that it had there.
    fn inlined(loc: &str) -> Vec<String> {
        inlined_into("", loc)
    }

    fn inlined_into(function: &str, loc: &str) -> Vec<String> {
        Scene::judge(&format!(
            "{function}
             before
             b0: %1 call! @1, %2 ret @2
             after
             b0: %3 add {loc}, %2 ret @2
             events
             create %3
             clone %3 %99
             insert %3 b0 %1
             remove %1 b0
             erase %1"
        ))
    }

    #[test]
    fn of_where_it_came_from() {
        assert_eq!(inlined("@7'g"), ["other_function certain incorrect preserve %3 <- "]);
    }

    #[test]
    fn with_the_place_where_it_is_inlined() {
        assert_eq!(inlined("@7'g@1"), [""; 0]);
        assert_eq!(inlined("@1"), [""; 0]);
        assert_eq!(inlined(""), [""; 0]);
    }

    /// There may be anything in a function without debug information.
    #[test]
    fn in_a_function_that_is_not_described() {
        assert_eq!(inlined_into("undescribed", "@7'g"), [""; 0]);
    }

    #[test]
    fn in_a_function_without_locations() {
        let found = Scene::judge(
            "before
             b0: %1 call!, %2 ret
             after
             b0: %3 add @7'g, %2 ret
             events
             create %3
             clone %3 %99
             insert %3 b0 %1
             remove %1 b0
             erase %1",
        );
        assert_eq!(found, [""; 0]);
    }
}
