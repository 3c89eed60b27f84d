//! The normaliser: rewrites an expression into a form in which equal values more often are equal ids.
//!
//! - [`sums`]: affine sums modulo 2^w and products as sorted monomials;
//! - [`logic`]: and, or, xor, relations, choices, shifts;
//! - [`slices`]: extract, concat, sign extension;
//! - [`floats`]: functions of floating-point numbers;
//! - [`memory`]: load over store where addresses differ by a constant.
//!
//! Every rewrite has a name, collected in [`Normaliser::used`], so that a proof can list what it rests on.
//! Each function below takes rewritten parts and gives a rewritten whole. The rules are not confluent: two
//! expressions with one form are equal, two forms say nothing.

mod floats;
mod logic;
mod memory;
mod slices;
mod sums;
#[cfg(test)]
mod tests;

use super::{Arena, ExprId, Node};
use crate::bits::Bits;
use std::collections::{BTreeSet, HashMap};

/// Rewrites expressions of one arena.
#[derive(Debug, Default)]
pub struct Normaliser {
    normal: HashMap<ExprId, ExprId>,
    /// Extraction is pushed into shared parts: without this table that would be exponential.
    extracted: HashMap<(ExprId, u32, u32), ExprId>,
    used: BTreeSet<&'static str>,
}

impl Normaliser {
    /// A normaliser that has seen nothing.
    pub fn new() -> Normaliser {
        Normaliser::default()
    }

    /// Normal form of an expression.
    pub fn normal(&mut self, arena: &mut Arena, root: ExprId) -> ExprId {
        if let Some(id) = self.normal.get(&root) {
            return *id;
        }
        for id in arena.reachable(&[root]) {
            if !self.normal.contains_key(&id) {
                let form = self.rebuild(arena, id);
                self.normal.insert(id, form);
                // Not rewritten again: a second pass could find a little more, but ids must be stable.
                self.normal.insert(form, form);
            }
        }
        self.normal[&root]
    }

    /// Names of the rewrites used so far.
    pub fn used(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.used.iter().copied()
    }

    /// Notes a rewrite that was made elsewhere with this normaliser's help.
    pub fn note(&mut self, name: &'static str) {
        self.rule(name);
    }

    fn rule(&mut self, name: &'static str) {
        self.used.insert(name);
    }

    fn rebuild(&mut self, arena: &mut Arena, id: ExprId) -> ExprId {
        let part = |id: &ExprId| self.normal[id];
        match arena.node(id).clone() {
            Node::Constant(_) | Node::Variable(_) => id,
            Node::Sum { constant, terms } => {
                let terms: Vec<_> = terms.iter().map(|(factor, term)| (*factor, part(term))).collect();
                self.sum(arena, constant, &terms)
            }
            Node::Commutative(op, parts) => {
                let parts: Vec<_> = parts.iter().map(part).collect();
                self.commutative(arena, op, &parts)
            }
            Node::Binary(op, left, right) => {
                let (left, right) = (part(&left), part(&right));
                self.binary(arena, op, left, right)
            }
            Node::Compare(op, left, right) => {
                let (left, right) = (part(&left), part(&right));
                self.compare(arena, op, left, right)
            }
            Node::Concat(parts) => {
                let parts: Vec<_> = parts.iter().map(part).collect();
                self.concat(arena, &parts)
            }
            Node::Extract { low_bit, width_bits, of } => {
                let of = part(&of);
                self.extract(arena, of, low_bit, width_bits)
            }
            Node::SignExtend { width_bits, of } => {
                let of = part(&of);
                self.sign_extend(arena, of, width_bits)
            }
            Node::Choice { condition, then, otherwise } => {
                let (condition, then, otherwise) = (part(&condition), part(&then), part(&otherwise));
                self.choice(arena, condition, then, otherwise)
            }
            Node::Load { memory, address, bytes } => {
                let (memory, address) = (part(&memory), part(&address));
                self.load(arena, memory, address, bytes)
            }
            Node::Store { memory, address, value } => {
                let (memory, address, value) = (part(&memory), part(&address), part(&value));
                self.store(arena, memory, address, value)
            }
            Node::Apply { function, arguments, width_bits } => {
                let arguments: Vec<_> = arguments.iter().map(part).collect();
                self.apply(arena, function, &arguments, width_bits)
            }
        }
    }
}

fn constant(arena: &mut Arena, width_bits: u32, value: u128) -> ExprId {
    arena.constant(Bits::new(width_bits, value))
}
