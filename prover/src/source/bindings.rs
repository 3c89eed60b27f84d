//! What the variables of the source are at each point of the graph: the maps P_is and R_is of the
//! debug-headers paper, from debug records.
//!
//! A forward dataflow: where two ways meet with different values, the variable is unknown until the next
//! record, which mem2reg puts after the phi node.

use super::lower::Context;
use super::segment::{Segment, phis};
use crate::bits::Bits;
use crate::expr::{Arena, ExprId, Sort};
use crate::ir::{Block, Function, Module, Record, SourceVariable, Type, Value};
use metaloc_proof::SourceLocation;
use std::collections::{BTreeMap, HashMap};

/// What is known at a point.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointInfo {
    /// Where in the source.
    pub location: Option<SourceLocation>,
    /// Variables by their number in [`super::SourceFunction::variables`], and what they are.
    pub bindings: Vec<(usize, Bound)>,
}

/// What a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The IR value that this variable of the graph stands for.
    Value(ExprId),
    /// A constant.
    Constant(Bits),
    /// In scope without a value.
    Undefined,
}

/// A record's value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Is {
    Value { name: String, width_bits: u32 },
    Constant(Bits),
    Undefined,
}

/// Variables by the numbers of their nodes.
type Bindings = BTreeMap<u32, Is>;

/// What is known at the points of the segments, and the variables' nodes.
pub(super) struct PointFacts {
    variables: Vec<(u32, SourceVariable)>,
    points: Vec<(Option<SourceLocation>, Bindings)>,
}

pub(super) fn infer(module: &Module, function: &Function, segments: &[Segment]) -> PointFacts {
    let mut known = Known { module, variables: Vec::new() };
    let mut at_start: HashMap<&str, Bindings> = HashMap::new();
    if let Some(entry) = function.blocks.first() {
        at_start.insert(&entry.label, Bindings::new());
    }
    // Bindings at a start only get fewer once a block was reached: this ends.
    loop {
        let mut changed = false;
        for block in &function.blocks {
            let Some(mut bindings) = at_start.get(block.label.as_str()).cloned() else { continue };
            let records = block.instructions.iter().flat_map(|instruction| &instruction.records);
            records.for_each(|record| known.apply(&mut bindings, record));
            let targets = block.instructions.last().map(|last| last.operation.targets()).unwrap_or_default();
            for target in targets {
                let joined: Bindings = match at_start.get(target) {
                    None => bindings.clone(),
                    Some(before) => before
                        .iter()
                        .filter(|(variable, is)| bindings.get(variable) == Some(is))
                        .map(|(variable, is)| (*variable, is.clone()))
                        .collect(),
                };
                if at_start.get(target) != Some(&joined) {
                    at_start.insert(target, joined);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut points = Vec::new();
    for segment in segments {
        let mut bindings = at_start.get(segment.block.label.as_str()).cloned().unwrap_or_default();
        // Records before the instruction itself included.
        for instruction in &segment.block.instructions[..=segment.start.min(last(segment.block))] {
            instruction.records.iter().for_each(|record| known.apply(&mut bindings, record));
        }
        let location = segment.instructions.iter().find_map(|instruction| instruction.location);
        bindings.retain(|variable, _| {
            location.is_some_and(|location| module.metadata.in_scope(location, *variable))
        });
        points.push((location.and_then(|number| module.metadata.location(number)), bindings));
    }
    debug_assert!(segments.iter().all(|segment| segment.start >= phis(segment.block)));
    PointFacts { variables: known.variables, points }
}

fn last(block: &Block) -> usize {
    block.instructions.len().saturating_sub(1)
}

struct Known<'a> {
    module: &'a Module,
    variables: Vec<(u32, SourceVariable)>,
}

impl Known<'_> {
    fn apply(&mut self, bindings: &mut Bindings, record: &Record) {
        bindings.remove(&record.variable);
        let position = self.variables.iter().position(|(number, _)| *number == record.variable);
        let position = match position {
            Some(position) => position,
            None => {
                let Some(variable) = self.module.metadata.variable(record.variable) else { return };
                self.variables.push((record.variable, variable));
                self.variables.len() - 1
            }
        };
        let width_bits = self.variables[position].1.width_bits;
        let Some(typed) = &record.value else { return };
        let value_bits = match typed.of {
            Type::Int(bits) => bits,
            Type::Pointer => self.module.layout.pointer_bits,
            _ => return,
        };
        // A value of another width than its variable's would need a rule of its own.
        if value_bits != width_bits {
            return;
        }
        let is = match &typed.value {
            Value::Local(name) => Is::Value { name: name.clone(), width_bits },
            Value::Constant(bits) => Is::Constant(*bits),
            Value::Unknown => Is::Undefined,
            Value::Global(_) | Value::Offset { .. } | Value::Other(_) => return,
        };
        bindings.insert(record.variable, is);
    }
}

impl PointFacts {
    /// Names of the values that some point needs.
    pub(super) fn values(&self) -> impl Iterator<Item = &str> {
        self.points.iter().flat_map(|(_, bindings)| bindings.values()).filter_map(|is| match is {
            Is::Value { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The same with variables of the graph; the last point is the exit.
    pub(super) fn resolve(
        self,
        arena: &mut Arena,
        context: &Context,
    ) -> (Vec<SourceVariable>, Vec<PointInfo>) {
        let numbers: HashMap<u32, usize> =
            self.variables.iter().enumerate().map(|(position, (number, _))| (*number, position)).collect();
        let mut points = Vec::new();
        for (location, bindings) in self.points {
            let mut found = Vec::new();
            for (variable, is) in bindings {
                let bound = match is {
                    Is::Value { name, .. } if context.is_local_in_memory(&name) => continue,
                    Is::Value { name, width_bits } => {
                        Bound::Value(arena.variable(&format!("%{name}"), Sort::Bits(width_bits)))
                    }
                    Is::Constant(bits) => Bound::Constant(bits),
                    Is::Undefined => Bound::Undefined,
                };
                if let Some(number) = numbers.get(&variable) {
                    found.push((*number, bound));
                }
            }
            points.push(PointInfo { location, bindings: found });
        }
        points.push(PointInfo::default());
        (self.variables.into_iter().map(|(_, variable)| variable).collect(), points)
    }
}
