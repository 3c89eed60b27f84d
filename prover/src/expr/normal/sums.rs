//! Affine sums modulo 2^w. A normal sum has each term once, terms by id, no coefficient 0, and no term that
//! is itself a sum or a constant. Products are sorted monomials without constants; a product of sums is
//! multiplied out while that stays small, because a commuted or distributed multiplication is what defeats
//! solvers at width 32.

use super::{Normaliser, constant};
use crate::bits::{Bits, mask};
use crate::expr::{Arena, CommutativeOp, ExprId, Node};
use std::collections::BTreeMap;

/// Products with more monomials than this stay products.
const MOST_MONOMIALS: usize = 256;

type Polynomial = BTreeMap<Vec<ExprId>, u128>;

impl Normaliser {
    pub(super) fn sum(&mut self, arena: &mut Arena, start: Bits, terms: &[(u128, ExprId)]) -> ExprId {
        let width_bits = start.width_bits();
        if width_bits == 1 {
            return self.one_bit_sum(arena, start, terms);
        }
        let mut total = start.value();
        let mut factors = BTreeMap::<ExprId, u128>::new();
        let mut add = |factor: u128, term: ExprId| {
            let old = factors.entry(term).or_default();
            *old = old.wrapping_add(factor) & mask(width_bits);
        };
        for (factor, term) in terms {
            match arena.node(*term) {
                Node::Constant(bits) => total = total.wrapping_add(factor.wrapping_mul(bits.value())),
                Node::Sum { constant, terms } => {
                    total = total.wrapping_add(factor.wrapping_mul(constant.value()));
                    terms.iter().for_each(|(inner, term)| add(factor.wrapping_mul(*inner), *term));
                }
                _ => add(*factor, *term),
            }
        }
        self.rule("sum-collect");
        factors.retain(|_, factor| *factor != 0);
        let seen: Vec<(u128, ExprId)> = factors.iter().map(|(term, factor)| (*factor, *term)).collect();
        for (factor, term) in seen {
            if let Some(instead) = self.below_what_falls_off(arena, factor, term) {
                factors.remove(&term);
                let rest = factors.into_iter().map(|(term, factor)| (factor, term));
                let terms: Vec<(u128, ExprId)> = rest.chain([(factor, instead)]).collect();
                return self.sum(arena, Bits::new(width_bits, total), &terms);
            }
        }
        let terms: Vec<(u128, ExprId)> = factors.into_iter().map(|(term, factor)| (factor, term)).collect();
        match (terms.as_slice(), Bits::new(width_bits, total)) {
            ([], total) => arena.constant(total),
            ([(1, term)], total) if !total.is_set() => *term,
            (terms, total) => arena.sum(total, terms),
        }
    }

    /// Something else that `factor` times is the same as `term`: with `k` zeros at the end of the factor, the upper `k`
    /// bits of the term fall off. So a number that is at least as wide as the rest may be extended in any way, and its
    /// extension is the sum of the extensions of its terms: modulo 2^n, where n is its width, they are equal.
    /// Each turn leaves a sign less or an extension of smaller numbers, so that there is an end.
    fn below_what_falls_off(&mut self, arena: &mut Arena, factor: u128, term: ExprId) -> Option<ExprId> {
        let width_bits = arena.width_bits(term);
        let kept = width_bits - factor.trailing_zeros().min(width_bits);
        let (of, signed) = match arena.node(term) {
            Node::SignExtend { of, .. } => (*of, true),
            Node::Concat(parts) => match parts.as_ref() {
                [zeros, of] if arena.as_constant(*zeros).is_some_and(|bits| bits.value() == 0) => {
                    (*of, false)
                }
                _ => return None,
            },
            _ => return None,
        };
        let narrow = arena.width_bits(of);
        if narrow < kept {
            return None;
        }
        let zeros = constant(arena, width_bits - narrow, 0);
        match arena.node(of).clone() {
            Node::Sum { constant, terms } => {
                self.rule("sum-below-what-falls-off");
                let start = Bits::new(width_bits, constant.value());
                let terms: Vec<(u128, ExprId)> = terms
                    .iter()
                    .map(|(factor, term)| (*factor, self.concat(arena, &[zeros, *term])))
                    .collect();
                Some(self.sum(arena, start, &terms))
            }
            _ if signed => {
                self.rule("sign-falls-off");
                Some(self.concat(arena, &[zeros, of]))
            }
            _ => None,
        }
    }

    /// Modulo 2 a sum is an exclusive or.
    fn one_bit_sum(&mut self, arena: &mut Arena, start: Bits, terms: &[(u128, ExprId)]) -> ExprId {
        self.rule("sum-of-bits-is-xor");
        let odd = terms.iter().filter(|(factor, _)| factor & 1 == 1).map(|(_, term)| *term);
        let mut parts: Vec<ExprId> = odd.collect();
        parts.push(arena.constant(start));
        self.commutative(arena, CommutativeOp::Xor, &parts)
    }

    /// `left - right`.
    pub(super) fn difference(&mut self, arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
        let width_bits = arena.width_bits(left);
        self.sum(arena, Bits::new(width_bits, 0), &[(1, left), (mask(width_bits), right)])
    }

    pub(super) fn product(&mut self, arena: &mut Arena, parts: &[ExprId]) -> ExprId {
        let width_bits = arena.width_bits(parts[0]);
        if width_bits == 1 {
            self.rule("product-of-bits-is-and");
            return self.commutative(arena, CommutativeOp::And, parts);
        }
        self.rule("product-collect");
        let mut result = Polynomial::from([(Vec::new(), 1)]);
        for part in parts {
            let factor = polynomial(arena, *part);
            result = match multiply(&result, &factor, width_bits) {
                Some(product) => product,
                // Too large: every factor that is a sum stays whole.
                None => return self.opaque_product(arena, parts),
            };
        }
        self.sum_of_monomials(arena, &result, width_bits)
    }

    fn opaque_product(&mut self, arena: &mut Arena, parts: &[ExprId]) -> ExprId {
        let width_bits = arena.width_bits(parts[0]);
        let (mut factor, mut atoms) = (1u128, Vec::new());
        for part in parts {
            match arena.node(*part) {
                Node::Constant(bits) => factor = factor.wrapping_mul(bits.value()),
                Node::Commutative(CommutativeOp::Product, inner) => atoms.extend_from_slice(inner),
                _ => atoms.push(*part),
            }
        }
        atoms.sort_unstable();
        self.sum_of_monomials(arena, &Polynomial::from([(atoms, factor & mask(width_bits))]), width_bits)
    }

    fn sum_of_monomials(&mut self, arena: &mut Arena, monomials: &Polynomial, width_bits: u32) -> ExprId {
        let mut total = Bits::new(width_bits, 0);
        let mut terms = Vec::new();
        for (atoms, factor) in monomials {
            match atoms.as_slice() {
                [] => total = total.add(Bits::new(width_bits, *factor)),
                [atom] => terms.push((*factor, *atom)),
                atoms => terms.push((*factor, arena.commutative(CommutativeOp::Product, atoms))),
            }
        }
        self.sum(arena, total, &terms)
    }
}

/// A normal form as a polynomial over atoms.
fn polynomial(arena: &Arena, id: ExprId) -> Polynomial {
    let atoms = |id: ExprId| match arena.node(id) {
        Node::Commutative(CommutativeOp::Product, atoms) => atoms.to_vec(),
        _ => vec![id],
    };
    match arena.node(id) {
        Node::Constant(bits) => Polynomial::from([(Vec::new(), bits.value())]),
        Node::Sum { constant, terms } => {
            let constant = (Vec::new(), constant.value());
            terms.iter().map(|(factor, term)| (atoms(*term), *factor)).chain([constant]).collect()
        }
        _ => Polynomial::from([(atoms(id), 1)]),
    }
}

fn multiply(left: &Polynomial, right: &Polynomial, width_bits: u32) -> Option<Polynomial> {
    if left.len() * right.len() > MOST_MONOMIALS {
        return None;
    }
    let mut product = Polynomial::new();
    for ((some, factor), (others, other)) in left.iter().flat_map(|l| right.iter().map(move |r| (l, r))) {
        let mut atoms: Vec<ExprId> = some.iter().chain(others).copied().collect();
        atoms.sort_unstable();
        let old = product.entry(atoms).or_default();
        *old = old.wrapping_add(factor.wrapping_mul(*other)) & mask(width_bits);
    }
    product.retain(|_, factor| *factor != 0);
    Some(product)
}

impl Normaliser {
    /// A power of two times an expression.
    pub(super) fn shifted_left(&mut self, arena: &mut Arena, of: ExprId, count: u128) -> ExprId {
        let width_bits = arena.width_bits(of);
        if count >= u128::from(width_bits) {
            return constant(arena, width_bits, 0);
        }
        self.sum(arena, Bits::new(width_bits, 0), &[(1 << count, of)])
    }
}
