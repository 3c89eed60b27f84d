//! Extract, concat and sign extension. An extraction is pushed to the leaves; neighbouring slices of one
//! expression are joined again. So lane 2 of a 16-byte load is a 4-byte load, and the four lanes together are
//! the 16-byte load.

use super::{Normaliser, constant};
use crate::bits::Bits;
use crate::expr::{Arena, CommutativeOp, ExprId, Node};

impl Normaliser {
    pub(super) fn extract(&mut self, arena: &mut Arena, of: ExprId, low_bit: u32, width_bits: u32) -> ExprId {
        if low_bit == 0 && width_bits == arena.width_bits(of) {
            return of;
        }
        let key = (of, low_bit, width_bits);
        if let Some(id) = self.extracted.get(&key) {
            return *id;
        }
        let id = self.pushed_extract(arena, of, low_bit, width_bits);
        self.extracted.insert(key, id);
        id
    }

    fn pushed_extract(&mut self, arena: &mut Arena, of: ExprId, low_bit: u32, width_bits: u32) -> ExprId {
        match arena.node(of).clone() {
            Node::Constant(bits) => arena.constant(bits.extract(low_bit, width_bits)),
            Node::Extract { low_bit: inner, of, .. } => {
                self.rule("extract-of-extract");
                self.extract(arena, of, inner + low_bit, width_bits)
            }
            Node::Concat(parts) => {
                self.rule("extract-of-concat");
                self.extract_of_concat(arena, &parts, low_bit, width_bits)
            }
            Node::SignExtend { of, .. } => {
                self.rule("extract-of-extension");
                let kept = arena.width_bits(of) - low_bit.min(arena.width_bits(of) - 1);
                let start = arena.width_bits(of) - kept;
                let inner = self.extract(arena, of, start, kept.min(width_bits));
                self.sign_extend(arena, inner, width_bits)
            }
            Node::Commutative(op @ (CommutativeOp::And | CommutativeOp::Or | CommutativeOp::Xor), parts) => {
                self.rule("extract-of-bitwise");
                let parts = self.extract_each(arena, &parts, low_bit, width_bits);
                self.commutative(arena, op, &parts)
            }
            Node::Commutative(CommutativeOp::Product, parts) if low_bit == 0 => {
                self.rule("low-bits-of-product");
                let parts = self.extract_each(arena, &parts, 0, width_bits);
                self.product(arena, &parts)
            }
            Node::Sum { constant, terms } if low_bit == 0 => {
                self.rule("low-bits-of-sum");
                let cut: Vec<_> = terms
                    .iter()
                    .map(|(factor, term)| (*factor, self.extract(arena, *term, 0, width_bits)))
                    .collect();
                let cut: Vec<_> = cut
                    .into_iter()
                    .map(|(factor, term)| (Bits::new(width_bits, factor).value(), term))
                    .collect();
                self.sum(arena, constant.extract(0, width_bits), &cut)
            }
            Node::Choice { condition, then, otherwise } => {
                self.rule("extract-of-choice");
                let then = self.extract(arena, then, low_bit, width_bits);
                let otherwise = self.extract(arena, otherwise, low_bit, width_bits);
                self.choice(arena, condition, then, otherwise)
            }
            Node::Load { memory, address, .. }
                if low_bit.is_multiple_of(8) && width_bits.is_multiple_of(8) =>
            {
                self.rule("extract-of-load");
                let offset = Bits::new(arena.width_bits(address), u128::from(low_bit / 8));
                let address = self.sum(arena, offset, &[(1, address)]);
                self.load(arena, memory, address, width_bits / 8)
            }
            _ => arena.extract(of, low_bit, width_bits),
        }
    }

    fn extract_each(
        &mut self,
        arena: &mut Arena,
        parts: &[ExprId],
        low_bit: u32,
        width_bits: u32,
    ) -> Vec<ExprId> {
        parts.iter().map(|part| self.extract(arena, *part, low_bit, width_bits)).collect()
    }

    fn extract_of_concat(
        &mut self,
        arena: &mut Arena,
        parts: &[ExprId],
        low_bit: u32,
        width_bits: u32,
    ) -> ExprId {
        let (mut start, end) = (0, low_bit + width_bits);
        let mut pieces = Vec::new();
        for part in parts.iter().rev() {
            let stop = start + arena.width_bits(*part);
            let (from, to) = (low_bit.max(start), end.min(stop));
            if from < to {
                pieces.push(self.extract(arena, *part, from - start, to - from));
            }
            start = stop;
        }
        pieces.reverse();
        self.concat(arena, &pieces)
    }

    pub(super) fn concat(&mut self, arena: &mut Arena, parts: &[ExprId]) -> ExprId {
        let mut flat = Vec::new();
        for part in parts {
            match arena.node(*part) {
                Node::Concat(inner) => flat.extend_from_slice(inner),
                _ => flat.push(*part),
            }
        }
        let mut joined: Vec<ExprId> = Vec::new();
        for low in flat {
            match joined.last().and_then(|high| self.neighbours(arena, *high, low)) {
                Some(both) => *joined.last_mut().expect("there was a last") = both,
                None => joined.push(low),
            }
        }
        if let [single] = joined.as_slice() { *single } else { arena.concat(&joined) }
    }

    /// One expression for `high` above `low`, if there is one.
    fn neighbours(&mut self, arena: &mut Arena, high: ExprId, low: ExprId) -> Option<ExprId> {
        if let (Some(high), Some(low)) = (arena.as_constant(high), arena.as_constant(low)) {
            self.rule("join-constants");
            return Some(arena.constant(high.concat(low)));
        }
        if let Some(loaded) = self.neighbouring_loads(arena, high, low) {
            return Some(loaded);
        }
        let (above, from) = slice(arena, high);
        let (below, start) = slice(arena, low);
        let total = arena.width_bits(high) + arena.width_bits(low);
        if above == below && from == start + arena.width_bits(low) {
            self.rule("join-slices");
            return Some(self.extract(arena, above, start, total));
        }
        // The low bits of a sum or a product are not a slice any more.
        if from == arena.width_bits(low) && self.extract(arena, above, 0, from) == low {
            self.rule("join-low-bits");
            return Some(self.extract(arena, above, 0, total));
        }
        self.neighbouring_choices(arena, high, low)
    }

    /// Two choices that one condition makes are one: bytes that a blend selects become words again.
    fn neighbouring_choices(&mut self, arena: &mut Arena, high: ExprId, low: ExprId) -> Option<ExprId> {
        let (
            Node::Choice { condition, then: upper, otherwise: above },
            Node::Choice { condition: other, then: lower, otherwise: below },
        ) = (arena.node(high).clone(), arena.node(low).clone())
        else {
            return None;
        };
        if condition != other {
            return None;
        }
        self.rule("join-choices");
        let then = self.concat(arena, &[upper, lower]);
        let otherwise = self.concat(arena, &[above, below]);
        Some(self.choice(arena, condition, then, otherwise))
    }

    fn neighbouring_loads(&mut self, arena: &mut Arena, high: ExprId, low: ExprId) -> Option<ExprId> {
        let (
            Node::Load { memory, address: above, bytes: upper },
            Node::Load { memory: other, address: below, bytes: lower },
        ) = (arena.node(high).clone(), arena.node(low).clone())
        else {
            return None;
        };
        if memory != other || upper + lower > 16 {
            return None;
        }
        let distance = self.difference(arena, above, below);
        let adjacent = arena.as_constant(distance).is_some_and(|bits| bits.value() == u128::from(lower));
        if !adjacent {
            return None;
        }
        self.rule("join-loads");
        Some(self.load(arena, memory, below, upper + lower))
    }

    pub(super) fn sign_extend(&mut self, arena: &mut Arena, of: ExprId, width_bits: u32) -> ExprId {
        let old = arena.width_bits(of);
        if old == width_bits {
            return of;
        }
        match arena.node(of).clone() {
            Node::Constant(bits) => arena.constant(bits.sign_extend(width_bits)),
            Node::SignExtend { of, .. } => {
                self.rule("extension-of-extension");
                arena.sign_extend(of, width_bits)
            }
            Node::Concat(parts) if arena.as_constant(parts[0]).is_some_and(|top| top.signed() >= 0) => {
                self.rule("sign-is-zero");
                let zeros = constant(arena, width_bits - old, 0);
                self.concat(arena, &[zeros, of])
            }
            _ => arena.sign_extend(of, width_bits),
        }
    }
}

/// What an expression is a slice of, and from which bit on.
fn slice(arena: &Arena, id: ExprId) -> (ExprId, u32) {
    match *arena.node(id) {
        Node::Extract { low_bit, of, .. } => (of, low_bit),
        _ => (id, 0),
    }
}
