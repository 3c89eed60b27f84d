//! The product graph: one entry, exits where both have returned, edges whose paths go from point to point
//! with the numbers they claim, everything reachable, and no cycle on which only the machine moves (or a
//! machine loop that never ends would be "proved").

use super::{Report, Scope};
use crate::defect::Defect;
use crate::document::{Edge, Node, NodeRole};
use crate::paths::{PathSet, Paths};
use crate::point::{MachinePlace, SourcePlace};
use std::collections::HashSet;

pub(super) fn check(scope: &Scope, report: &mut Report) {
    let function = scope.function;
    let (mut sound, mut pairs) = (true, HashSet::new());
    for (number, node) in function.nodes.iter().enumerate() {
        sound &= check_node(scope, number, node, &mut pairs, report);
    }
    if function.nodes.is_empty() {
        report.add(Defect::Role { at: scope.at("nodes") });
    }
    for (number, edge) in function.edges.iter().enumerate() {
        let at = scope.at(format_args!("edges[{number}]"));
        sound &= report.index(&at, "node", edge.from, function.nodes.len())
            && report.index(&at, "node", edge.to, function.nodes.len());
    }
    // The checks below follow indices.
    if sound {
        for (number, edge) in function.edges.iter().enumerate() {
            check_edge(scope, &scope.at(format_args!("edges[{number}]")), edge, report);
        }
        check_degrees(scope, report);
        check_reachable(scope, report);
        check_idle_cycles(scope, report);
    }
}

fn check_node(
    scope: &Scope,
    number: usize,
    node: &Node,
    pairs: &mut HashSet<(u32, u32)>,
    report: &mut Report,
) -> bool {
    let function = scope.function;
    let at = scope.at(format_args!("nodes[{number}]"));
    let known = report.index(&at, "source point", node.source_point, function.source_points.len())
        & report.index(&at, "machine point", node.machine_point, function.machine_points.len());
    if !known {
        return false;
    }
    let source_exit = function.source_points[node.source_point as usize].place == SourcePlace::Exit;
    let machine_place = &function.machine_points[node.machine_point as usize].place;
    let machine_exit = *machine_place == MachinePlace::Exit;
    let at_start = *machine_place == MachinePlace::Instruction { pc: function.machine.low_pc };
    let fits = match node.role {
        NodeRole::Entry => number == 0 && !source_exit && at_start,
        NodeRole::Inner => number != 0 && !source_exit && !machine_exit,
        NodeRole::Exit => number != 0 && source_exit && machine_exit,
    };
    if !fits {
        report.add(Defect::Role { at: at.clone() });
    }
    if !pairs.insert((node.source_point, node.machine_point)) {
        report.add(Defect::Twice { at, what: "pair of points".into() });
    }
    true
}

fn check_edge(scope: &Scope, at: &str, edge: &Edge, report: &mut Report) {
    let nodes = &scope.function.nodes;
    let (from, to) = (&nodes[edge.from as usize], &nodes[edge.to as usize]);
    let source_at = format!("{at}.source");
    check_points(&source_at, &edge.source, "source point", scope.function.source_points.len(), report);
    check_path_set(&source_at, &edge.source, Some((from.source_point, to.source_point)), report);
    let machine_at = format!("{at}.machine");
    check_points(&machine_at, &edge.machine, "machine point", scope.function.machine_points.len(), report);
    check_path_set(&machine_at, &edge.machine, Some((from.machine_point, to.machine_point)), report);
    if edge.machine.paths == Paths::Empty {
        report.add(Defect::MachineIdle { at: machine_at });
    }
    let single = |set: &PathSet| matches!(set.paths, Paths::Step(..));
    if edge.calls && !(single(&edge.source) && single(&edge.machine)) {
        report.add(Defect::CallPaths { at: at.to_owned() });
    }
}

pub(super) fn check_points(at: &str, set: &PathSet, what: &'static str, length: usize, report: &mut Report) {
    for point in set.paths.points() {
        if !report.index(at, what, point, length) {
            return;
        }
    }
}

/// Checks a set of paths and, if `ends` are given, that it joins them. Gives the last point.
pub(super) fn check_path_set(
    at: &str,
    set: &PathSet,
    ends: Option<(u32, u32)>,
    report: &mut Report,
) -> Option<u32> {
    let found = match set.paths.ends() {
        Ok(found) => found,
        Err(error) => {
            report.add(Defect::Paths { at: at.to_owned(), error });
            return None;
        }
    };
    if let Some((from, to)) = ends
        && !found.map_or(from == to, |found| found == (from, to))
    {
        report.add(Defect::Ends { at: at.to_owned(), from, to });
    }
    let Some((_, last)) = found else {
        if set.delta != 0 {
            report.add(Defect::Delta { at: at.to_owned(), delta: set.delta });
        }
        return ends.map(|(from, _)| from);
    };
    check_numbers(at, set, last, report);
    Some(last)
}

fn check_numbers(at: &str, set: &PathSet, last: u32, report: &mut Report) {
    let delta = u64::from(set.delta);
    for (point, (least, most)) in set.paths.visits() {
        if point == last {
            if (least, most) != (delta, delta) || set.delta > set.mu {
                report.add(Defect::Delta { at: at.to_owned(), delta: set.delta });
            }
        } else if most > u64::from(set.mu) {
            report.add(Defect::Mu { at: at.to_owned(), point, mu: set.mu });
        }
    }
}

fn check_degrees(scope: &Scope, report: &mut Report) {
    for (number, node) in scope.function.nodes.iter().enumerate() {
        let leaves = scope.function.edges.iter().any(|edge| edge.from as usize == number);
        let at = || scope.at(format_args!("nodes[{number}]"));
        match (node.role, leaves) {
            (NodeRole::Exit, true) => report.add(Defect::LeavesExit { at: at() }),
            (NodeRole::Entry | NodeRole::Inner, false) => report.add(Defect::DeadEnd { at: at() }),
            _ => {}
        }
    }
}

fn check_reachable(scope: &Scope, report: &mut Report) {
    let mut reached = vec![false; scope.function.nodes.len()];
    let mut open = vec![0usize];
    while let Some(node) = open.pop() {
        if reached.get(node) != Some(&false) {
            continue;
        }
        reached[node] = true;
        let next = scope.function.edges.iter().filter(|edge| edge.from as usize == node);
        open.extend(next.map(|edge| edge.to as usize));
    }
    for number in (0..reached.len()).filter(|number| !reached[*number]) {
        report.add(Defect::Unreachable { at: scope.at(format_args!("nodes[{number}]")) });
    }
}

/// Peels off nodes that no idle edge enters; what cannot be peeled lies on or behind an idle cycle.
fn check_idle_cycles(scope: &Scope, report: &mut Report) {
    let mut idle: Vec<&Edge> =
        scope.function.edges.iter().filter(|edge| edge.source.paths == Paths::Empty).collect();
    loop {
        let entered: HashSet<u32> = idle.iter().map(|edge| edge.to).collect();
        let before = idle.len();
        idle.retain(|edge| entered.contains(&edge.from));
        if idle.len() == before {
            break;
        }
    }
    if let Some(edge) = idle.first() {
        report.add(Defect::IdleCycle { at: scope.at(format_args!("edges[{}]", edge.id)) });
    }
}
