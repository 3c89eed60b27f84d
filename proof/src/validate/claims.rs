//! Obligations: every claim that the theorem needs is there with all its parts, and no claim is about
//! something that the product does not have. Values for the debugger are checked here too, as each is a claim.

use super::graph::{check_path_set, check_points};
use super::tables::check_hash;
use super::{Report, Scope, script, sums};
use crate::defect::Defect;
use crate::document::NodeRole;
use crate::invariant::{Region, Term};
use crate::obligation::{Claim, Discharge, Location, Obligation, Observable, Query};
use crate::point::BindingValue;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap, HashSet};

pub(super) fn check(scope: &Scope, report: &mut Report) {
    let needed = needed(scope);
    let allowed: HashSet<&Claim> = needed.iter().collect();
    let mut parts = HashMap::<&Claim, Vec<&Obligation>>::new();
    for (number, obligation) in scope.function.obligations.iter().enumerate() {
        let at = scope.at(format_args!("obligations[{number}]"));
        if !allowed.contains(&obligation.claim) {
            report.add(Defect::Misplaced { at: at.clone(), claim: obligation.claim.clone() });
        }
        for assumption in &obligation.assumptions {
            report.index(&at, "assumption", *assumption, scope.function.assumptions.len());
        }
        parts.entry(&obligation.claim).or_default().push(obligation);
    }
    for claim in &needed {
        match parts.get(claim) {
            None => report.add(Defect::Missing { at: scope.at("obligations"), claim: claim.clone() }),
            Some(found) if !complete(found) => {
                report.add(Defect::Parts { at: scope.at("obligations"), claim: claim.clone() });
            }
            Some(_) => {}
        }
    }
    check_queries(scope, report);
    for (number, location) in scope.function.locations.iter().enumerate() {
        check_location(scope, &scope.at(format_args!("locations[{number}]")), location, report);
    }
}

/// The claims from which the theorem follows; the order is that of a natural reading.
fn needed(scope: &Scope) -> Vec<Claim> {
    let function = scope.function;
    let count = |node: u32| function.nodes.get(node as usize).map_or(0, |node| node.invariants.len() as u32);
    let mut claims: Vec<Claim> = (0..count(0)).map(|invariant| Claim::Precondition { invariant }).collect();
    for (edge, content) in (0u32..).zip(&function.edges) {
        claims.extend([Claim::Correlation { edge }, Claim::Access { edge }]);
        claims.extend((0..count(content.to)).map(|invariant| Claim::Preservation { edge, invariant }));
        if content.calls {
            claims.push(Claim::Event { edge });
        }
    }
    for (node, content) in (0u32..).zip(&function.nodes) {
        claims.push(Claim::Satisfiable { node });
        match content.role {
            NodeRole::Exit => claims.extend(observables(scope).map(|what| Claim::Observable { node, what })),
            NodeRole::Entry | NodeRole::Inner => claims.push(Claim::Coverage { node }),
        }
    }
    claims.extend((0..function.locations.len() as u32).map(|location| Claim::Location { location }));
    claims
}

fn observables<'a>(scope: &'a Scope) -> impl Iterator<Item = Observable> + 'a {
    let globals = scope.globals();
    let regions =
        globals.map(|global| Region::Global { symbol: global.symbol.clone() }).chain([Region::Rest]);
    let returned = scope.function.returns_bits.map(|_| Observable::ReturnValue);
    regions
        .map(|region| Observable::Memory { region })
        .chain([Observable::PreservedRegisters, Observable::ReturnAddress])
        .chain(returned)
}

fn complete(parts: &[&Obligation]) -> bool {
    let of = parts[0].part.of;
    let indices: HashSet<u32> = parts.iter().map(|obligation| obligation.part.index).collect();
    parts.len() == of as usize
        && indices.len() == parts.len()
        && parts.iter().all(|obligation| obligation.part.of == of && obligation.part.index < of)
}

fn check_queries(scope: &Scope, report: &mut Report) {
    let mut names = BTreeMap::<&str, usize>::new();
    for (number, obligation) in scope.function.obligations.iter().enumerate() {
        let (Discharge::Normaliser { query, .. } | Discharge::Solver { query, .. }) = &obligation.discharge
        else {
            continue;
        };
        let at = scope.at(format_args!("obligations[{number}].discharge.query"));
        check_query(&at, query, report);
        if names.insert(&query.name, number).is_some() {
            report.add(Defect::Twice { at, what: format!("query `{}`", query.name) });
        }
    }
}

fn check_query(at: &str, query: &Query, report: &mut Report) {
    check_hash(&format!("{at}.sha256"), &query.sha256, report);
    let Some(script) = &query.smt2 else { return };
    let hash: String = Sha256::digest(script.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    if hash != query.sha256 {
        report.add(Defect::QueryHash { at: at.to_owned(), name: query.name.clone() });
    }
    if let Err(what) = script::check(script) {
        report.add(Defect::Script { at: at.to_owned(), name: query.name.clone(), what });
    }
}

fn check_location(scope: &Scope, at: &str, location: &Location, report: &mut Report) {
    let function = scope.function;
    let known = report.index(at, "variable", location.variable, function.variables.len())
        & report.index(at, "node", location.node, function.nodes.len());
    sums::check_sum(scope, at, &location.value.sum, report);
    let source_terms = location.value.sum.terms.iter().any(|term| of_source(&term.term));
    if source_terms {
        report.add(Defect::SourceInLocation { at: at.to_owned() });
    }
    let (divisor, width_bits) = (location.value.divisor, location.value.sum.width_bits);
    if divisor.0 == 0 || !divisor.fits(width_bits) {
        report.add(Defect::Constant { at: at.to_owned(), word: divisor.to_string(), width_bits });
    }
    if known {
        check_prefixes(scope, at, location, report);
    }
}

/// Whether a term speaks of what a debugger does not have.
fn of_source(term: &Term) -> bool {
    match term {
        Term::Value { .. } | Term::Global { .. } | Term::Element { .. } | Term::Entry { .. } => true,
        Term::Fold { of, .. } => of.iter().any(of_source),
        Term::Machine { .. } | Term::Address { .. } => false,
    }
}

fn check_prefixes(scope: &Scope, at: &str, location: &Location, report: &mut Report) {
    let function = scope.function;
    let node = &function.nodes[location.node as usize];
    let mut prefix = |set, start: u32, what, length| {
        check_points(at, set, what, length, report);
        let end = check_path_set(at, set, None, report).or(Some(start))?;
        let starts = set.paths.ends().ok()?.is_none_or(|(from, _)| from == start);
        if !starts {
            report.add(Defect::Ends { at: at.to_owned(), from: start, to: end });
        }
        Some(end)
    };
    let sources = function.source_points.len();
    let shown = prefix(&location.source_prefix, node.source_point, "source point", sources);
    prefix(&location.machine_prefix, node.machine_point, "machine point", function.machine_points.len());
    let point = shown.and_then(|end| function.source_points.get(end as usize));
    let bound = point.is_none_or(|point| {
        let has_value = |binding: &&crate::Binding| binding.is != BindingValue::Undefined;
        point.variables.iter().filter(has_value).any(|binding| binding.variable == location.variable)
    });
    if !bound {
        report.add(Defect::Unbound { at: at.to_owned() });
    }
}
