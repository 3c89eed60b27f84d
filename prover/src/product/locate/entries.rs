//! What was shown, as entries of the document.

use super::super::document::{numbered, obligation, path_set, repeated, series, source_place};
use super::{At, LocateError, Locator};
use crate::expr::Node as Expr;
use crate::graph::Point;
use crate::source::{self};
use metaloc_proof as proof;
use metaloc_proof::{Exact, Paths};
use std::collections::BTreeMap;

/// Numbers of source points from here on are peeks, until they have numbers in the document.
const SOURCE_PEEK: u32 = 1 << 24;

impl Locator {
    /// The entry of the document, numbers of points as in [`Locator::finish`].
    pub(super) fn location(
        &self,
        at: At,
        variable: usize,
        value: &Exact,
    ) -> Result<proof::Location, LocateError> {
        let edge = &self.edges[at.edge];
        let (machine, source) = (&edge.machine[at.machine], &edge.source[at.source]);
        let whole = &edge.machine_elements;
        let mut steps: Vec<Paths> =
            whole[..machine.elements].iter().map(|element| element.paths.clone()).collect();
        if let Some(inside) = machine.inside {
            steps.push(whole[machine.elements].up_to(inside)?);
        }
        steps.extend(machine.peek.map(|peek| {
            let edge = &self.machine.edges[peek];
            Paths::Step(edge.from.0, edge.to.0)
        }));
        let mut parts: Vec<Paths> =
            edge.elements[..source.elements].iter().map(|element| element.paths.clone()).collect();
        parts = rounds(parts);
        parts.extend(source.peek.map(|peek| {
            let edge = &self.source.edges[peek];
            Paths::Step(edge.from.0, SOURCE_PEEK + edge.to.0)
        }));
        Ok(proof::Location {
            id: 0,
            variable: variable as u32,
            node: edge.node as u32,
            source_prefix: path_set(series(parts)),
            machine_prefix: path_set(series(flat(steps))),
            value: value.clone(),
        })
    }

    /// The function with all that was shown among its locations and obligations, except for what the predicate
    /// leaves out (by variable and pc).
    pub fn finish(&self, keep: impl Fn(u32, u64) -> bool) -> Option<proof::Function> {
        let mut function = self.function.clone();
        function.obligations.retain(|obligation| !matches!(obligation.claim, proof::Claim::Location { .. }));
        for (number, obligation) in function.obligations.iter_mut().enumerate() {
            obligation.id = number as u32;
        }
        function.locations.clear();
        // Points of the machine beyond those of the graph are peeks, which the document does not have yet.
        let coarse = self.setting.problem.machine.points.len();
        function.machine_points.truncate(coarse);
        for point in &self.machine.points[coarse..] {
            let Point::Pc(pc) = point else { return None };
            let place = proof::MachinePlace::Instruction { pc: *pc };
            function
                .machine_points
                .push(proof::MachinePoint { id: function.machine_points.len() as u32, place });
        }
        let mut numbers = BTreeMap::new();
        let program = (self.solver.program().name(), self.solver.program().version.clone());
        let rewrites: Vec<String> = self.normaliser.used().map(str::to_owned).collect();
        for (location, certified) in &self.shown {
            let last = location.machine_prefix.paths.ends().ok()?.map(|(_, last)| last);
            let last = last.unwrap_or(function.nodes[location.node as usize].machine_point);
            let proof::MachinePlace::Instruction { pc } = function.machine_points.get(last as usize)?.place
            else {
                return None;
            };
            if !keep(location.variable, pc) {
                continue;
            }
            let mut location = location.clone();
            location.id = function.locations.len() as u32;
            self.name_peeks(&mut location.source_prefix.paths, &mut numbers, &mut function)?;
            let mut certified = certified.clone();
            certified.claim = proof::Claim::Location { location: location.id };
            let used =
                numbered(&certified.assumptions, &mut function.assumptions, &mut function.source_points)?;
            let number = function.obligations.len();
            function.obligations.push(obligation(number, &certified, used, (&program, &rewrites)));
            function.locations.push(location);
        }
        Some(function)
    }

    /// Gives the source points of peeks, which stand for themselves so far, numbers in the document.
    fn name_peeks(
        &self,
        paths: &mut Paths,
        numbers: &mut BTreeMap<u32, u32>,
        function: &mut proof::Function,
    ) -> Option<()> {
        match paths {
            Paths::Step(_, to) if *to >= SOURCE_PEEK => {
                let point = *to - SOURCE_PEEK;
                let known = numbers.get(&point).copied();
                *to = match known {
                    Some(known) => known,
                    None => {
                        let id = self.add_point(point, function)?;
                        numbers.insert(point, id);
                        id
                    }
                };
                Some(())
            }
            Paths::Series(parts) => {
                parts.iter_mut().try_for_each(|part| self.name_peeks(part, numbers, function))
            }
            _ => Some(()),
        }
    }

    fn add_point(&self, point: u32, function: &mut proof::Function) -> Option<u32> {
        let info = self.source_infos.get(point as usize)?;
        let mut variables = Vec::new();
        for (variable, bound) in &info.bindings {
            let width_bits = function.variables.get(*variable)?.width_bits;
            let is = match bound {
                source::Bound::Value(value) if self.arena.width_bits(*value) == width_bits => {
                    let Expr::Variable(symbol) = self.arena.node(*value) else { continue };
                    let name = self.arena.name(*symbol);
                    let known = function.values.iter().position(|value| value.name == name);
                    let number = known.unwrap_or_else(|| {
                        let id = function.values.len();
                        function.values.push(proof::Value {
                            id: id as u32,
                            name: name.to_owned(),
                            width_bits,
                        });
                        id
                    });
                    proof::BindingValue::Value { value: number as u32 }
                }
                source::Bound::Value(_) => continue,
                source::Bound::Constant(bits) => {
                    proof::BindingValue::Constant { word: proof::Word(bits.value()) }
                }
                source::Bound::Undefined => proof::BindingValue::Undefined,
            };
            variables.push(proof::Binding { variable: *variable as u32, is });
        }
        let place = source_place(&self.source.points[point as usize]);
        // An instruction that an assumption names has a number already, without what is known there.
        if let Some(known) = function.source_points.iter_mut().find(|known| known.place == place) {
            (known.location, known.variables) = (info.location.clone(), variables);
            return Some(known.id);
        }
        let id = function.source_points.len() as u32;
        function.source_points.push(proof::SourcePoint {
            id,
            place,
            location: info.location.clone(),
            variables,
        });
        Some(id)
    }
}

/// A series in a series is one of all their parts.
fn flat(parts: Vec<Paths>) -> Vec<Paths> {
    let parts = parts.into_iter().flat_map(|part| match part {
        Paths::Series(parts) => parts,
        part => vec![part],
    });
    parts.collect()
}

/// The same round several times in a row is said once.
fn rounds(parts: Vec<Paths>) -> Vec<Paths> {
    let length = parts.len();
    for period in 1..=length / 2 {
        let times = (1..length / period + 1)
            .take_while(|time| parts[(time - 1) * period..time * period] == parts[..period])
            .count();
        let body = series(parts[..period].to_vec());
        let closed = body.ends().is_ok_and(|ends| ends.is_some_and(|(from, to)| from == to));
        if times >= 2 && closed {
            let mut said = vec![Paths::Repeat { times: times as u32, body: Box::new(body) }];
            said.extend(repeated(parts[times * period..].to_vec()));
            return said;
        }
    }
    parts
}
