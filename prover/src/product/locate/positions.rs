//! Edges of the product as positions: the pcs that the machine passes, and the points that all paths of the source
//! pass.

use super::super::assumed::Assumed;
use super::super::document::series;
use super::super::walk::Walk;
use super::{LocateError, Locator, MachinePosition, SourcePosition, mismatch};
use crate::graph::{Edge, Point};
use crate::region::Region;
use metaloc_proof as proof;
use metaloc_proof::Paths;
use std::collections::BTreeMap;

/// Positions that an edge may have on one side.
const MOST_POSITIONS: usize = 4096;

/// An edge as positions on both sides.
pub(super) struct EdgePositions {
    pub(super) node: usize,
    pub(super) machine_elements: Vec<Element>,
    pub(super) machine: Vec<MachinePosition>,
    /// Whether memory is written after the last position of the machine.
    pub(super) stores_at_end: bool,
    pub(super) elements: Vec<Element>,
    pub(super) source: Vec<SourcePosition>,
    /// Kept walks.
    pub(super) source_walks: BTreeMap<usize, Walk>,
    /// Rewriting with lemmas of the whole edge, for guessing only.
    pub(super) guessing: Option<Assumed>,
}

/// A step of a program between two points that all paths pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) paths: Paths,
}

impl Element {
    /// The paths of the element, each as its steps.
    fn ways(&self) -> Result<Vec<Vec<(u32, u32)>>, LocateError> {
        match &self.paths {
            Paths::Parallel(ways) => ways.iter().map(steps_of).collect(),
            path => Ok(vec![steps_of(path)?]),
        }
    }

    /// All steps on some path, each once.
    fn steps(&self) -> Result<Vec<(u32, u32)>, LocateError> {
        let mut steps = self.ways()?.concat();
        steps.sort_unstable();
        steps.dedup();
        Ok(steps)
    }

    /// The points that paths pass, the end left out, each after those that lead to it.
    fn in_order(&self) -> Result<Vec<u32>, LocateError> {
        let mut depths = BTreeMap::<u32, usize>::new();
        for way in self.ways()? {
            for (depth, (from, _)) in way.iter().enumerate() {
                let known = depths.entry(*from).or_default();
                *known = depth.max(*known);
            }
        }
        let mut points: Vec<(usize, u32)> = depths.into_iter().map(|(point, depth)| (depth, point)).collect();
        points.sort_unstable();
        Ok(points.into_iter().map(|(_, point)| point).collect())
    }

    /// The beginnings of the paths, up to a point inside.
    pub(super) fn up_to(&self, point: u32) -> Result<Paths, LocateError> {
        let mut ways = Vec::new();
        for way in self.ways()? {
            let Some(end) = way.iter().position(|(_, to)| *to == point) else { continue };
            let way = series(way[..=end].iter().map(|(from, to)| Paths::Step(*from, *to)).collect());
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        Ok(if ways.len() == 1 { ways.remove(0) } else { Paths::Parallel(ways) })
    }
}

impl Locator {
    /// Both sides of an edge as positions.
    pub(super) fn positions(&self, edge: &proof::Edge) -> Result<EdgePositions, LocateError> {
        let mut machine_elements = Vec::new();
        flatten(&edge.machine.paths, &mut machine_elements)?;
        let (machine, stores_at_end) = self.machine_positions(&machine_elements)?;
        let mut elements = Vec::new();
        flatten(&edge.source.paths, &mut elements)?;
        let source =
            self.source_positions(self.function.nodes[edge.from as usize].source_point, &elements)?;
        Ok(EdgePositions {
            node: edge.from as usize,
            machine_elements,
            machine,
            stores_at_end,
            elements,
            source,
            source_walks: BTreeMap::new(),
            guessing: None,
        })
    }

    /// Positions of the machine, and whether it may write after the last of them.
    fn machine_positions(&self, elements: &[Element]) -> Result<(Vec<MachinePosition>, bool), LocateError> {
        let mut found = Vec::new();
        // Writes since the last position that all paths pass, on the path with the most of them.
        let mut stores = 0;
        for (number, element) in elements.iter().enumerate() {
            let steps = element.steps()?;
            let mut most = BTreeMap::<u32, usize>::new();
            let mut counted = 0;
            for from in element.in_order()? {
                let inside = (from != element.from).then_some(from);
                let stores = if inside.is_some() { 0 } else { stores };
                let written = self.block_positions(from, (number, inside, stores), &mut found)?;
                if inside.is_none() {
                    counted = written;
                }
                let before = most.get(&from).copied().unwrap_or(0);
                for (_, to) in steps.iter().filter(|step| step.0 == from) {
                    let whole = writes(&self.machine.edges[self.machine_step(from, *to)?]);
                    let known = most.entry(*to).or_default();
                    *known = (before + whole).max(*known);
                }
            }
            stores = most.get(&element.to).copied().unwrap_or(0).saturating_sub(counted);
            if found.len() > MOST_POSITIONS {
                return mismatch("a path that is too long");
            }
        }
        Ok((found, stores > 0))
    }

    /// Positions of one point of the machine's graph and of what follows it without a branch; how much that writes.
    fn block_positions(
        &self,
        from: u32,
        (elements, inside, stores): (usize, Option<u32>, usize),
        found: &mut Vec<MachinePosition>,
    ) -> Result<usize, LocateError> {
        let aside = inside.is_some();
        let Some(Point::Pc(pc)) = self.machine.points.get(from as usize).cloned() else {
            return mismatch("a step from the exit");
        };
        found.push(MachinePosition { pc, stores, aside, elements, inside, peek: None });
        let coarse = self.setting.problem.machine.points.len();
        let mut before = 0;
        for (peek, edge) in self.machine.edges.iter().enumerate() {
            if edge.from.0 != from || (edge.to.0 as usize) < coarse {
                continue;
            }
            let Point::Pc(pc) = self.machine.points[edge.to.0 as usize] else { continue };
            let writes = writes(edge);
            let stores = writes.saturating_sub(before);
            found.push(MachinePosition { pc, stores, aside, elements, inside, peek: Some(peek) });
            before = writes;
        }
        Ok(before)
    }

    /// The number of a step of the machine's graph.
    pub(super) fn machine_step(&self, from: u32, to: u32) -> Result<usize, LocateError> {
        let number = self.machine.edges.iter().position(|edge| edge.from.0 == from && edge.to.0 == to);
        number.map_or_else(|| mismatch("a step of the machine that is none"), Ok)
    }

    fn source_positions(&self, start: u32, elements: &[Element]) -> Result<Vec<SourcePosition>, LocateError> {
        let coarse = self.setting.problem.source.points.len();
        let mut found: Vec<SourcePosition> = Vec::new();
        let mut rounds = BTreeMap::<u32, usize>::new();
        let mut stored = false;
        let mut at = start;
        for number in 0..=elements.len() {
            let round = rounds.entry(at).or_default();
            let Some(point) = self.source.points.get(at as usize).cloned() else {
                return mismatch("a source point");
            };
            let location = |point: usize| self.source_infos.get(point).and_then(|info| info.location.clone());
            let whole = location(at as usize);
            let branches = elements.get(number).map_or(Vec::new(), |element| self.lines_between(element));
            found.push(SourcePosition {
                location: whole,
                stored,
                round: *round,
                branches: branches.clone(),
                elements: number,
                peek: None,
                point,
            });
            stored = false;
            let mut before = 0;
            for (peek, edge) in self.source.edges.iter().enumerate() {
                if edge.from.0 != at || (edge.to.0 as usize) < coarse || number == elements.len() {
                    continue;
                }
                let writes = writes(edge);
                found.push(SourcePosition {
                    location: location(edge.to.0 as usize),
                    stored: writes > before,
                    round: *round,
                    branches: branches.clone(),
                    elements: number,
                    peek: Some(peek),
                    point: self.source.points[edge.to.0 as usize].clone(),
                });
                before = writes;
            }
            *round += 1;
            if let Some(element) = elements.get(number) {
                // Some path may write, the most of them counts.
                let writes = |(from, to): (u32, u32)| {
                    let step = &self.source.edges[..self.setting.problem.source.edges.len()];
                    let step = step.iter().find(|edge| (edge.from.0, edge.to.0) == (from, to));
                    step.map_or(usize::MAX, writes)
                };
                let ways = element.ways()?.into_iter();
                let most = ways.map(|way| way.into_iter().map(writes).fold(0, usize::saturating_add)).max();
                stored = most.is_none_or(|most| most > before);
                at = element.to;
            }
            if found.len() > MOST_POSITIONS {
                return mismatch("a path that is too long");
            }
        }
        Ok(found)
    }

    /// Lines of the points that some path of an element passes between its ends.
    fn lines_between(&self, element: &Element) -> Vec<u32> {
        let steps = element.steps().unwrap_or_default().into_iter();
        let mut inside: Vec<u32> = steps.map(|(from, _)| from).filter(|from| *from != element.from).collect();
        inside.sort_unstable();
        inside.dedup();
        let coarse = self.setting.problem.source.points.len();
        let peeks = self.source.edges.iter().filter(|edge| edge.to.0 as usize >= coarse);
        let peeks = peeks.filter(|edge| inside.contains(&edge.from.0)).map(|edge| edge.to.0);
        let lines = inside.iter().copied().chain(peeks).filter_map(|point| {
            self.source_infos.get(point as usize)?.location.as_ref().map(|place| place.line)
        });
        let mut lines: Vec<u32> = lines.collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

/// How many accesses of an edge write memory that both programs have.
fn writes(edge: &Edge) -> usize {
    edge.accesses.iter().filter(|access| access.write && access.region != Region::Stack).count()
}

/// Steps of one path, one after the other.
fn steps_of(paths: &Paths) -> Result<Vec<(u32, u32)>, LocateError> {
    match paths {
        Paths::Step(from, to) => Ok(vec![(*from, *to)]),
        Paths::Series(parts) => {
            let parts: Result<Vec<Vec<(u32, u32)>>, LocateError> = parts.iter().map(steps_of).collect();
            Ok(parts?.concat())
        }
        Paths::Repeat { times, body } => {
            let body = steps_of(body)?;
            let times = *times as usize;
            if body.len().saturating_mul(times) > MOST_POSITIONS {
                return mismatch("a path that is too long");
            }
            Ok(body.repeat(times))
        }
        Paths::Empty | Paths::Parallel(_) => mismatch("paths that part again on their way"),
    }
}

/// A set of paths as steps between points that all paths pass.
fn flatten(paths: &Paths, elements: &mut Vec<Element>) -> Result<(), LocateError> {
    if elements.len() > MOST_POSITIONS {
        return mismatch("a path that is too long");
    }
    match paths {
        Paths::Empty => Ok(()),
        Paths::Step(from, to) => {
            elements.push(Element { from: *from, to: *to, paths: paths.clone() });
            Ok(())
        }
        Paths::Series(parts) => parts.iter().try_for_each(|part| flatten(part, elements)),
        Paths::Repeat { times, body } => (0..*times).try_for_each(|_| flatten(body, elements)),
        Paths::Parallel(branches) => {
            let steps: Result<Vec<Vec<(u32, u32)>>, LocateError> = branches.iter().map(steps_of).collect();
            elements.extend(split(&steps?));
            Ok(())
        }
    }
}

/// Several paths with the same ends, cut at the points that all of them pass.
fn split(branches: &[Vec<(u32, u32)>]) -> Vec<Element> {
    let mut elements = Vec::new();
    let mut rest: Vec<&[(u32, u32)]> = branches.iter().map(Vec::as_slice).collect();
    while rest.iter().all(|branch| !branch.is_empty()) {
        // The first point that all the rests pass.
        let passes = |branch: &[(u32, u32)], point: u32| branch.iter().position(|(_, to)| *to == point);
        let next = rest[0]
            .iter()
            .map(|(_, to)| *to)
            .find(|point| rest.iter().all(|branch| passes(branch, *point).is_some()));
        let Some(next) = next else { break };
        let from = rest[0][0].0;
        let mut ways: Vec<Paths> = Vec::new();
        for branch in &mut rest {
            let end = passes(branch, next).map_or(0, |end| end + 1);
            let way = series(branch[..end].iter().map(|(from, to)| Paths::Step(*from, *to)).collect());
            if !ways.contains(&way) {
                ways.push(way);
            }
            *branch = &branch[end..];
        }
        let paths = if ways.len() == 1 { ways.remove(0) } else { Paths::Parallel(ways) };
        match paths {
            Paths::Series(parts) => elements.extend(parts.into_iter().filter_map(|part| match part {
                Paths::Step(from, to) => Some(Element { from, to, paths: part }),
                _ => None,
            })),
            paths => elements.push(Element { from, to: next, paths }),
        }
    }
    elements
}
