//! Where the two programs of a proof are at the same time, as debuggers can follow it: what `--check` walks along.

use std::collections::{BTreeMap, BTreeSet};

use metaloc_proof::form::At;
use metaloc_proof::{Function, MachinePlace, NodeRole, Paths, SourcePlace};
use metaloc_prover::graph::Point as IrPoint;
use metaloc_prover::ir::{IrError, Module};
use metaloc_prover::product::locate::Locator;
use metaloc_repair::{FunctionClaims, Said, Verdict};
use metaloc_tracer::check::{Entry, Leg, Meeting, Plan};
use metaloc_tracer::program::Point;

/// Numbers of visits that one edge may have; more and the walk is not followed.
const MOST_COUNTS: usize = 64;

/// Before which instruction of the IR: block and number.
pub type IrPlace = (String, u32);

/// A proved function as two programs that meet.
#[derive(Debug, Clone)]
pub struct Correlation {
    /// The pc and the place of the source, by number of the meeting.
    meetings: Vec<(u64, IrPlace)>,
    /// From, to, and how often the source comes to the place of `to` on the way.
    legs: Vec<(Option<usize>, usize, u32)>,
    sites: Vec<Site>,
}

/// A variable that has a value at a pc.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Site {
    pc: u64,
    name: String,
    line: u64,
    from: Option<usize>,
    place: IrPlace,
    visit: u32,
}

impl Correlation {
    /// Of a function whose pcs have these points. The reason, if it cannot be followed.
    pub fn new(
        function: &Function,
        locator: &Locator,
        points: &BTreeMap<u64, Vec<At>>,
    ) -> Result<Correlation, String> {
        let mut meetings = Vec::new();
        let mut numbers = BTreeMap::new();
        for node in function.nodes.iter().filter(|node| node.role == NodeRole::Inner) {
            let machine = &function.machine_points[node.machine_point as usize].place;
            let source = &function.source_points[node.source_point as usize].place;
            let (MachinePlace::Instruction { pc }, SourcePlace::Instruction { block, instruction }) =
                (machine, source)
            else {
                return Err("an inner node where a program has returned".to_owned());
            };
            if !locator.instructions().iter().any(|instruction| instruction.start == *pc) {
                return Err("a call by a jump, after which the function is left".to_owned());
            }
            numbers.insert(node.id, meetings.len());
            meetings.push((*pc, (block.clone(), *instruction)));
        }
        let mut legs = Vec::new();
        for edge in &function.edges {
            let Some(to) = numbers.get(&edge.to) else { continue };
            let target = function.nodes[edge.to as usize].source_point;
            let counts = counts(&edge.source.paths, target)
                .ok_or_else(|| "paths of the source that are too different".to_owned())?;
            let from = numbers.get(&edge.from).copied();
            legs.extend(counts.into_iter().map(|count| (from, *to, count)));
        }
        legs.sort_unstable();
        legs.dedup();
        let mut sites = Vec::new();
        for (pc, at) in points {
            for (number, variable) in function.variables.iter().enumerate() {
                for at in at.iter().filter(|at| locator.is_bound(at.edge, at.source, number)) {
                    let position = &locator.source(at.edge)[at.source];
                    let IrPoint::Ir { block, instruction } = &position.point else { continue };
                    let site = Site {
                        pc: *pc,
                        name: variable.name.clone(),
                        line: u64::from(variable.declared.line),
                        from: numbers.get(&function.edges[at.edge].from).copied(),
                        place: (block.clone(), *instruction),
                        visit: position.round as u32,
                    };
                    // Edges may begin alike.
                    if !sites.contains(&site) {
                        sites.push(site);
                    }
                }
            }
        }
        Ok(Correlation { meetings, legs, sites })
    }

    /// The plan for a program in which the function begins at `start`. `said` is what its debug information says now.
    pub fn plan(
        &self,
        marks: &Marks,
        claims: &FunctionClaims,
        said: &Said,
        start: u64,
    ) -> Result<Plan, String> {
        let address = |pc: u64| pc - claims.code.pcs.start + start;
        let mut plan = Plan { function: claims.code.symbol.clone(), ..Plan::default() };
        for (pc, place) in &self.meetings {
            let point = marks.point(place).ok_or_else(|| {
                format!("no place to stop before instruction {} of block {}", place.1, place.0)
            })?;
            plan.meetings.push(Meeting { pc: address(*pc), point });
        }
        plan.legs = self
            .legs
            .iter()
            .map(|(from, to, visits)| Leg { from: *from, to: *to, visits: *visits })
            .collect();
        for site in &self.sites {
            let mut shown =
                said.variables.iter().filter(|one| one.name == site.name && one.line == site.line);
            let (Some(variable), None) = (shown.next(), shown.next()) else { continue };
            let Some(point) = marks.point(&site.place) else { continue };
            if !variable.is_visible(site.pc) || !variable.is_there(site.pc) {
                continue;
            }
            let claimed = claims.variables.iter().find(|one| one.name == site.name && one.line == site.line);
            let claim = claimed.and_then(|claimed| claimed.claims.get(&site.pc));
            let promised = match claim.map(|claim| &claim.is) {
                Some(Verdict::Value(value)) => claims.is_printable(variable.machine(), site.pc, value),
                Some(Verdict::Confirmed) => true,
                Some(Verdict::Refuted) | None => false,
            };
            plan.entries.push(Entry {
                pc: address(site.pc),
                variable: site.name.clone(),
                declared: site.line as u32,
                from: site.from,
                point,
                visit: site.visit,
                promised,
            });
        }
        Ok(plan)
    }
}

/// How often paths may come to a point; nothing if that is too many different numbers.
fn counts(paths: &Paths, target: u32) -> Option<BTreeSet<u32>> {
    let plus = |left: BTreeSet<u32>, right: &BTreeSet<u32>| -> Option<BTreeSet<u32>> {
        let both = left.iter().flat_map(|one| right.iter().map(move |other| one + other));
        Some(both.collect::<BTreeSet<u32>>()).filter(|all| all.len() <= MOST_COUNTS)
    };
    match paths {
        Paths::Empty => Some(BTreeSet::from([0])),
        Paths::Step(_, to) => Some(BTreeSet::from([u32::from(*to == target)])),
        Paths::Series(parts) => {
            parts.iter().try_fold(BTreeSet::from([0]), |all, part| plus(all, &counts(part, target)?))
        }
        Paths::Parallel(branches) => {
            let mut all = BTreeSet::new();
            for branch in branches {
                all.extend(counts(branch, target)?);
            }
            Some(all).filter(|all| all.len() <= MOST_COUNTS)
        }
        Paths::Repeat { times, body } => {
            let once = counts(body, target)?;
            if let [count] = once.iter().copied().collect::<Vec<_>>()[..] {
                return Some(BTreeSet::from([count.checked_mul(*times)?]));
            }
            (0..*times).try_fold(BTreeSet::from([0]), |all, _| plus(all, &once))
        }
    }
}

/// The instructions of a function as lines of its marked program.
#[derive(Debug)]
pub struct Marks(BTreeMap<IrPlace, u32>);

impl Marks {
    /// Of a function of a module whose lines are marks.
    pub fn of(module: &Module, function: &str) -> Result<Marks, IrError> {
        let mut found = BTreeMap::new();
        for block in &module.function(function)?.blocks {
            for (number, instruction) in block.instructions.iter().enumerate() {
                let location = instruction.location.and_then(|number| module.metadata.location(number));
                if let Some(location) = location.filter(|one| metaloc_prover::ir::marks::is_mark(one.line)) {
                    found.insert((block.label.clone(), number as u32), location.line);
                }
            }
        }
        Ok(Marks(found))
    }

    fn point(&self, place: &IrPlace) -> Option<Point> {
        self.0.get(place).map(|line| Point { line: *line, column: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_are_counted_along_paths() {
        let round = Paths::Series(vec![
            Paths::Step(1, 2),
            Paths::Parallel(vec![
                Paths::Step(2, 3),
                Paths::Series(vec![Paths::Step(2, 4), Paths::Step(4, 3)]),
            ]),
            Paths::Step(3, 1),
        ]);
        let repeated = Paths::Repeat { times: 4, body: Box::new(round) };
        assert_eq!(counts(&repeated, 1), Some(BTreeSet::from([4])));
        assert_eq!(counts(&repeated, 4), Some(BTreeSet::from([0, 1, 2, 3, 4])));
        assert_eq!(counts(&Paths::Empty, 1), Some(BTreeSet::from([0])));
        let wide = Paths::Parallel(
            (0..70).map(|times| Paths::Repeat { times, body: Box::new(Paths::Step(1, 1)) }).collect(),
        );
        assert_eq!(counts(&wide, 1), None);
    }
}
