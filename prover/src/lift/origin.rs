//! Where registers point: a forward dataflow over blocks that follows the stack pointer and addresses of
//! symbols. It only proposes a region for each access; that the access stays there is proved later, so a
//! wrong proposal costs a proof and never makes a false one. Constant distances from the stack pointer at entry are
//! more than proposals: [`super::frame`] relies on them, and they rest on the calling convention alone.

use super::blocks::Block;
use super::run;
use super::{LiftError, unsupported};
use crate::domain::OneRegion;
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, ExprId, Node, Sort};
use crate::graph::Point;
use crate::object_file::{FunctionCode, GOT};
use crate::region::{ADDRESS_PREFIX, Region};
use std::cell::RefCell;
use std::collections::HashMap;

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    /// No pointer: made of constants, or not an address at all.
    Number,
    /// The stack pointer at entry plus a constant.
    Frame(i64),
    /// Somewhere in a region.
    In(Region),
    /// Anything: loaded, passed in, or from several places.
    Any,
}

type Registers = [Origin; 16];

/// Origins of the general registers at the start of each block.
pub(super) struct Origins {
    at_start: Vec<Option<Registers>>,
    /// Variables of the registers, by number.
    variables: HashMap<ExprId, usize>,
    normaliser: RefCell<Normaliser>,
    /// The section that the function is in.
    section: String,
}

impl Origins {
    pub(super) fn infer(
        arena: &mut Arena,
        blocks: &[Block],
        function: &FunctionCode,
    ) -> Result<Origins, LiftError> {
        let bits = function.address_bits;
        let variables = (0..16).filter_map(|number| {
            let name = run::register_name(number, bits)?;
            Some((arena.variable(&name, Sort::Bits(bits)), number))
        });
        let mut origins = Origins {
            variables: variables.collect(),
            at_start: vec![None; blocks.len()],
            normaliser: RefCell::new(Normaliser::new()),
            section: function.section.clone(),
        };
        let mut entry: Registers = std::array::from_fn(|_| Origin::Any);
        entry[crate::x86::state::RSP] = Origin::Frame(0);
        origins.at_start[0] = Some(entry);
        let mut open = vec![0];
        while let Some(number) = open.pop() {
            let ran = run::block(arena, &blocks[number], function, &OneRegion(function.address_bits))?;
            let Some(before) = origins.at_start[number].clone() else { continue };
            let after = origins.transfer(arena, &before, &ran.assignments);
            for (_, target) in ran.ways {
                let Point::Pc(pc) = target else { continue };
                let to = blocks.iter().position(|block| block.start() == pc);
                let to =
                    to.ok_or_else(|| unsupported("branch out of the function", blocks[number].last_pc()))?;
                let joined = match &origins.at_start[to] {
                    None => after.clone(),
                    Some(old) => std::array::from_fn(|register| join(&old[register], &after[register])),
                };
                if origins.at_start[to].as_ref() != Some(&joined) {
                    origins.at_start[to] = Some(joined);
                    open.push(to);
                }
            }
        }
        Ok(origins)
    }

    /// The region that an address of a block goes to.
    pub(super) fn region(&self, arena: &mut Arena, block: usize, address: ExprId) -> Region {
        let Some(registers) = &self.at_start[block] else { return Region::Rest };
        let normal = self.normaliser.borrow_mut().normal(arena, address);
        match self.origin(arena, registers, normal) {
            Origin::Frame(_) => Region::Stack,
            Origin::In(region) => region,
            Origin::Number | Origin::Any => Region::Rest,
        }
    }

    /// The constant distance of an address of a block from the stack pointer at entry.
    pub(super) fn frame_offset(&self, arena: &mut Arena, block: usize, address: ExprId) -> Option<i64> {
        let registers = self.at_start[block].as_ref()?;
        let normal = self.normaliser.borrow_mut().normal(arena, address);
        match self.origin(arena, registers, normal) {
            Origin::Frame(offset) => Some(offset),
            _ => None,
        }
    }

    /// How far the stack pointer is below where it was at entry when a block starts, if that is known.
    pub(super) fn depth(&self, block: usize) -> Option<i64> {
        match self.at_start[block].as_ref()?[crate::x86::state::RSP] {
            Origin::Frame(offset) => offset.checked_neg(),
            _ => None,
        }
    }

    /// The symbol and the constant distance from it that an address is, if it is that simple.
    pub(super) fn global_offset(&self, arena: &mut Arena, address: ExprId) -> Option<(String, u64)> {
        let normal = self.normaliser.borrow_mut().normal(arena, address);
        let (offset, base) = match arena.node(normal) {
            Node::Sum { constant, terms } if terms.len() == 1 && terms[0].0 == 1 => {
                (constant.value(), terms[0].1)
            }
            _ => (0, normal),
        };
        let Node::Variable(symbol) = arena.node(base) else { return None };
        let name = arena.name(*symbol).strip_prefix(ADDRESS_PREFIX)?;
        Some((name.to_owned(), offset as u64))
    }

    fn transfer(&self, arena: &mut Arena, before: &Registers, assignments: &[(ExprId, ExprId)]) -> Registers {
        let mut after = before.clone();
        for (variable, value) in assignments {
            if let Some(number) = self.variables.get(variable) {
                let normal = self.normaliser.borrow_mut().normal(arena, *value);
                after[*number] = self.origin(arena, before, normal);
            }
        }
        after
    }

    /// Origin of a normal form; parts before wholes, as they are shared.
    fn origin(&self, arena: &Arena, registers: &Registers, root: ExprId) -> Origin {
        let mut found = HashMap::new();
        for id in arena.reachable(&[root]) {
            let origin = self.origin_from_parts(arena, registers, id, &found);
            found.insert(id, origin);
        }
        found.remove(&root).unwrap_or(Origin::Any)
    }

    fn origin_from_parts(
        &self,
        arena: &Arena,
        registers: &Registers,
        id: ExprId,
        found: &HashMap<ExprId, Origin>,
    ) -> Origin {
        match arena.node(id) {
            Node::Constant(_) => Origin::Number,
            Node::Variable(symbol) => match self.variables.get(&id) {
                Some(number) => registers[*number].clone(),
                None => match arena.name(*symbol).strip_prefix(ADDRESS_PREFIX) {
                    // Nothing is accessed there: addresses are computed relative to these.
                    Some(place) if place == GOT || place == self.section => Origin::Number,
                    Some(global) => Origin::In(Region::Global(global.to_owned())),
                    None => Origin::Any,
                },
            },
            Node::Sum { constant, terms } => {
                let parts: Vec<(u128, &Origin)> =
                    terms.iter().map(|(factor, term)| (*factor, &found[term])).collect();
                origin_of_sum(constant.signed() as i64, &parts)
            }
            Node::Choice { then, otherwise, .. } => join(&found[then], &found[otherwise]),
            Node::Load { .. } | Node::Store { .. } | Node::Apply { .. } => Origin::Any,
            // Slices, products and shifts of numbers are numbers; of pointers, nothing to rely on.
            Node::Commutative(..)
            | Node::Binary(..)
            | Node::Compare(..)
            | Node::Concat(_)
            | Node::Extract { .. }
            | Node::SignExtend { .. } => {
                let mut number = true;
                arena.node(id).for_each_part(|part| number &= found[&part] == Origin::Number);
                if number { Origin::Number } else { Origin::Any }
            }
        }
    }
}

/// A pointer plus anything that is no pointer stays in its region; an address of a symbol counts more than a
/// register of which nothing is known.
fn origin_of_sum(constant: i64, parts: &[(u128, &Origin)]) -> Origin {
    let pointers: Vec<&(u128, &Origin)> =
        parts.iter().filter(|(_, origin)| matches!(origin, Origin::Frame(_) | Origin::In(_))).collect();
    match pointers.as_slice() {
        [(1, Origin::Frame(offset))] if parts.len() == 1 => Origin::Frame(offset.wrapping_add(constant)),
        [(1, Origin::Frame(_))] => Origin::In(Region::Stack),
        [(1, Origin::In(region))] => Origin::In(region.clone()),
        [] if parts.iter().all(|(_, origin)| **origin == Origin::Number) => Origin::Number,
        _ => Origin::Any,
    }
}

fn join(left: &Origin, right: &Origin) -> Origin {
    match (left, right) {
        _ if left == right => left.clone(),
        (Origin::Frame(_) | Origin::In(Region::Stack), Origin::Frame(_) | Origin::In(Region::Stack)) => {
            Origin::In(Region::Stack)
        }
        _ => Origin::Any,
    }
}
