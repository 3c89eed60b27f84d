//! And, or, xor, relations, choices and shifts. Operands are sorted, constants folded, and what flags make
//! of a comparison is put together again: `cf or zf` after `cmp` is `not (right < left)`.

use super::{Normaliser, constant};
use crate::bits::{Bits, mask};
use crate::expr::eval::{binary, commutative, compare};
use crate::expr::{Arena, BinaryOp, CommutativeOp, CompareOp, ExprId, Node};

impl Normaliser {
    pub(super) fn commutative(&mut self, arena: &mut Arena, op: CommutativeOp, parts: &[ExprId]) -> ExprId {
        if op == CommutativeOp::Product {
            return self.product(arena, parts);
        }
        let width_bits = arena.width_bits(parts[0]);
        let (folded, mut operands) = self.gather(arena, op, parts, width_bits);
        if width_bits > 1
            && let Some(chosen) = self.by_mask(arena, op, folded, &operands)
        {
            return chosen;
        }
        operands.sort_unstable();
        if op == CommutativeOp::Xor {
            cancel_pairs(&mut operands);
        } else {
            operands.dedup();
        }
        let absorbing = match op {
            CommutativeOp::And => Some(0),
            CommutativeOp::Or => Some(mask(width_bits)),
            CommutativeOp::Xor | CommutativeOp::Product => None,
        };
        let complementary = absorbing.is_some() && self.has_complements(arena, &operands);
        if complementary || Some(folded.value()) == absorbing {
            self.rule("absorbing-element");
            return constant(arena, width_bits, absorbing.unwrap_or(0));
        }
        if op == CommutativeOp::Or && width_bits == 1 {
            self.join_less_or_equal(arena, &mut operands);
        }
        if op == CommutativeOp::And && operands.len() == 1 && width_bits > 1 {
            return self.masked(arena, operands[0], folded);
        }
        if folded.value() != neutral(op, width_bits) {
            operands.push(arena.constant(folded));
            operands.sort_unstable();
        }
        match operands.as_slice() {
            [] => arena.constant(folded),
            [single] => *single,
            several => arena.commutative(op, several),
        }
    }

    /// Operands of nested operations of the same kind, with all constants folded into one.
    fn gather(
        &mut self,
        arena: &Arena,
        op: CommutativeOp,
        parts: &[ExprId],
        width_bits: u32,
    ) -> (Bits, Vec<ExprId>) {
        self.rule("operands-sorted");
        let mut folded = Bits::new(width_bits, neutral(op, width_bits));
        let mut operands = Vec::new();
        let mut open = parts.to_vec();
        while let Some(part) = open.pop() {
            match arena.node(part) {
                Node::Constant(bits) => folded = commutative(op, folded, *bits),
                Node::Commutative(inner, parts) if *inner == op => open.extend_from_slice(parts),
                _ => operands.push(part),
            }
        }
        (folded, operands)
    }

    /// An operation with a choice between constants, as a comparison of vectors leaves it: `mask and x` is x or
    /// 0, and a mask turned around is the other mask. Two choices that one condition makes are one.
    fn by_mask(
        &mut self,
        arena: &mut Arena,
        op: CommutativeOp,
        folded: Bits,
        operands: &[ExprId],
    ) -> Option<ExprId> {
        let width_bits = folded.width_bits();
        let plain = folded.value() == neutral(op, width_bits);
        let choice = |arena: &Arena, id: ExprId| match *arena.node(id) {
            Node::Choice { condition, then, otherwise } => Some((condition, then, otherwise)),
            _ => None,
        };
        for (number, operand) in operands.iter().enumerate() {
            let Some((condition, then, otherwise)) = choice(arena, *operand) else { continue };
            let mut rest: Vec<ExprId> = operands.to_vec();
            rest.remove(number);
            let (one, other) = (arena.as_constant(then), arena.as_constant(otherwise));
            let extreme =
                |bits: Option<Bits>| bits.is_some_and(|bits| [0, mask(width_bits)].contains(&bits.value()));
            let masks = op == CommutativeOp::And && extreme(one) && extreme(other) && !rest.is_empty();
            let turned = op == CommutativeOp::Xor && one.is_some() && other.is_some() && !plain;
            let twin = rest
                .iter()
                .position(|id| choice(arena, *id).is_some_and(|(same, ..)| same == condition))
                .filter(|_| op == CommutativeOp::Or);
            if !(masks || turned || twin.is_some()) {
                continue;
            }
            self.rule("operation-by-mask");
            let (mut left, mut right) = (vec![then], vec![otherwise]);
            let mut outer = Vec::new();
            for (at, id) in rest.iter().enumerate() {
                match (twin == Some(at), choice(arena, *id)) {
                    (true, Some((_, then, otherwise))) => {
                        left.push(then);
                        right.push(otherwise);
                    }
                    _ if masks => {
                        left.push(*id);
                        right.push(*id);
                    }
                    _ => outer.push(*id),
                }
            }
            if masks || turned {
                let constant = arena.constant(folded);
                left.push(constant);
                right.push(constant);
            } else if !plain {
                outer.push(arena.constant(folded));
            }
            let then = self.commutative(arena, op, &left);
            let otherwise = self.commutative(arena, op, &right);
            outer.push(self.choice(arena, condition, then, otherwise));
            return Some(if outer.len() == 1 { outer[0] } else { self.commutative(arena, op, &outer) });
        }
        None
    }

    fn has_complements(&mut self, arena: &mut Arena, operands: &[ExprId]) -> bool {
        operands.iter().any(|operand| {
            let complement = self.not(arena, *operand);
            operands.binary_search(&complement).is_ok()
        })
    }

    pub(super) fn not(&mut self, arena: &mut Arena, of: ExprId) -> ExprId {
        let width_bits = arena.width_bits(of);
        let ones = constant(arena, width_bits, u128::MAX);
        self.commutative(arena, CommutativeOp::Xor, &[ones, of])
    }

    /// `a < b or a = b` is `not (b < a)`.
    fn join_less_or_equal(&mut self, arena: &mut Arena, operands: &mut Vec<ExprId>) {
        let relations = operands.clone();
        for relation in relations {
            let Node::Compare(op @ (CompareOp::Ult | CompareOp::Slt), left, right) = *arena.node(relation)
            else {
                continue;
            };
            let equal = self.compare(arena, CompareOp::Eq, left, right);
            if let Some(position) = operands.iter().position(|operand| *operand == equal) {
                self.rule("less-or-equal");
                operands.remove(position);
                operands.retain(|operand| *operand != relation);
                let swapped = self.compare(arena, op, right, left);
                operands.push(self.not(arena, swapped));
                operands.sort_unstable();
                operands.dedup();
            }
        }
    }

    /// `of` and a constant: zeros and slices, the same form as an extension has.
    fn masked(&mut self, arena: &mut Arena, of: ExprId, bits: Bits) -> ExprId {
        self.rule("mask-is-slices");
        let width_bits = bits.width_bits();
        let mut parts = Vec::new();
        let mut low_bit = 0;
        while low_bit < width_bits {
            let rest = bits.value() >> low_bit;
            let set = rest & 1 == 1;
            let run =
                if set { (!rest).trailing_zeros() } else { rest.trailing_zeros() }.min(width_bits - low_bit);
            parts.push(if set { self.extract(arena, of, low_bit, run) } else { constant(arena, run, 0) });
            low_bit += run;
        }
        parts.reverse();
        self.concat(arena, &parts)
    }

    pub(super) fn binary(&mut self, arena: &mut Arena, op: BinaryOp, left: ExprId, right: ExprId) -> ExprId {
        let width_bits = arena.width_bits(left);
        let Some(count) = arena.as_constant(right) else { return arena.binary(op, left, right) };
        if let Some(bits) = arena.as_constant(left) {
            self.rule("fold-constants");
            return arena.constant(binary(op, bits, count));
        }
        let steps = count.value();
        let beyond = steps >= u128::from(width_bits);
        match op {
            BinaryOp::Shl => {
                self.rule("shift-is-product");
                self.shifted_left(arena, left, steps)
            }
            BinaryOp::LShr | BinaryOp::AShr if steps == 0 => left,
            BinaryOp::LShr if beyond => constant(arena, width_bits, 0),
            BinaryOp::LShr => {
                self.rule("shift-is-slice");
                let zeros = constant(arena, steps as u32, 0);
                let rest = self.extract(arena, left, steps as u32, width_bits - steps as u32);
                self.concat(arena, &[zeros, rest])
            }
            BinaryOp::AShr => {
                self.rule("shift-is-slice");
                let steps = steps.min(u128::from(width_bits - 1)) as u32;
                let rest = self.extract(arena, left, steps, width_bits - steps);
                self.sign_extend(arena, rest, width_bits)
            }
            BinaryOp::UDiv if steps == 1 => left,
            BinaryOp::UDiv | BinaryOp::URem if steps.is_power_of_two() => {
                self.rule("power-of-two-division");
                let low_bits = steps.trailing_zeros();
                if op == BinaryOp::UDiv {
                    let by = constant(arena, width_bits, u128::from(low_bits));
                    self.binary(arena, BinaryOp::LShr, left, by)
                } else {
                    let low = constant(arena, width_bits, steps - 1);
                    self.commutative(arena, CommutativeOp::And, &[left, low])
                }
            }
            BinaryOp::UDiv | BinaryOp::URem | BinaryOp::SDiv | BinaryOp::SRem => {
                arena.binary(op, left, right)
            }
        }
    }

    pub(super) fn compare(
        &mut self,
        arena: &mut Arena,
        op: CompareOp,
        left: ExprId,
        right: ExprId,
    ) -> ExprId {
        if let (Some(left), Some(right)) = (arena.as_constant(left), arena.as_constant(right)) {
            self.rule("fold-constants");
            return arena.constant(compare(op, left, right));
        }
        match op {
            CompareOp::Eq => self.equal(arena, left, right),
            CompareOp::Ult => self.unsigned_less(arena, left, right),
            CompareOp::Slt => self.signed_less(arena, left, right),
        }
    }

    /// `left = right` as `difference = 0`, the difference with its first coefficient in the lower half.
    fn equal(&mut self, arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
        let width_bits = arena.width_bits(left);
        if width_bits == 1 {
            self.rule("equal-bits");
            let differs = self.commutative(arena, CommutativeOp::Xor, &[left, right]);
            return self.not(arena, differs);
        }
        self.rule("equal-by-difference");
        let mut difference = self.difference(arena, left, right);
        let zero = constant(arena, width_bits, 0);
        if let Some(bits) = arena.as_constant(difference) {
            return constant(arena, 1, u128::from(!bits.is_set()));
        }
        if let Some(narrow) = extended_both_ways(arena, difference) {
            self.rule("extensions-differ-by-sign");
            let sign = self.extract(arena, narrow, arena.width_bits(narrow) - 1, 1);
            return self.not(arena, sign);
        }
        if let Node::Sum { terms, .. } = arena.node(difference)
            && terms[0].0 > mask(width_bits) / 2
        {
            difference = self.difference(arena, zero, difference);
        }
        arena.compare(CompareOp::Eq, difference, zero)
    }

    fn unsigned_less(&mut self, arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
        let ones = mask(arena.width_bits(left));
        let value = |id| arena.as_constant(id).map(Bits::value);
        match (value(left), value(right)) {
            _ if left == right => constant(arena, 1, 0),
            (_, Some(0)) => constant(arena, 1, 0),
            (Some(all), _) if all == ones => constant(arena, 1, 0),
            (_, Some(1)) => {
                self.rule("below-one-is-zero");
                let zero = constant(arena, arena.width_bits(left), 0);
                self.equal(arena, left, zero)
            }
            (Some(0), _) => {
                self.rule("above-zero-is-not-zero");
                let zero = self.equal(arena, right, left);
                self.not(arena, zero)
            }
            _ => arena.compare(CompareOp::Ult, left, right),
        }
    }

    fn signed_less(&mut self, arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
        if left == right {
            return constant(arena, 1, 0);
        }
        if arena.as_constant(right).is_some_and(|bits| !bits.is_set()) {
            self.rule("negative-is-sign");
            let width_bits = arena.width_bits(left);
            return self.extract(arena, left, width_bits - 1, 1);
        }
        arena.compare(CompareOp::Slt, left, right)
    }

    pub(super) fn choice(
        &mut self,
        arena: &mut Arena,
        condition: ExprId,
        then: ExprId,
        otherwise: ExprId,
    ) -> ExprId {
        if let Some(bit) = arena.as_constant(condition) {
            self.rule("choice-decided");
            return if bit.is_set() { then } else { otherwise };
        }
        if then == otherwise {
            self.rule("choice-of-equals");
            return then;
        }
        if let Node::Commutative(CommutativeOp::Xor, parts) = arena.node(condition)
            && parts.iter().any(|part| arena.as_constant(*part).is_some())
        {
            self.rule("choice-inverted");
            let inverted = self.not(arena, condition);
            return self.choice(arena, inverted, otherwise, then);
        }
        // Inside a side the condition is known.
        let excluded = self.excluded(arena, condition);
        let then = match *arena.node(then) {
            Node::Choice { condition: inner, then, .. } if inner == condition => {
                self.rule("choice-known");
                then
            }
            Node::Choice { condition: inner, otherwise, .. } if Some(inner) == excluded => {
                self.rule("order-excluded");
                otherwise
            }
            _ => then,
        };
        let otherwise = match *arena.node(otherwise) {
            Node::Choice { condition: inner, otherwise, .. } if inner == condition => {
                self.rule("choice-known");
                otherwise
            }
            _ => otherwise,
        };
        if arena.sort(then) == crate::expr::Sort::Bits(1) {
            return self.bit_choice(arena, condition, then, otherwise);
        }
        if then == otherwise {
            return then;
        }
        if let Some(turned) = self.turned_extremum(arena, condition, then, otherwise) {
            return turned;
        }
        match self.common_terms(arena, then, otherwise) {
            Some((common, then, otherwise)) => {
                self.rule("choice-between-sums");
                let chosen = self.choice(arena, condition, then, otherwise);
                let width_bits = arena.width_bits(chosen);
                self.sum(arena, Bits::new(width_bits, 0), &[(1, common), (1, chosen)])
            }
            None => arena.choice(condition, then, otherwise),
        }
    }

    /// What cannot hold where a relation does: of `l < r` and `r < l` at most one holds. (A turned extremum has the
    /// other one as its condition.)
    fn excluded(&mut self, arena: &mut Arena, condition: ExprId) -> Option<ExprId> {
        match *arena.node(condition) {
            Node::Compare(op @ (CompareOp::Ult | CompareOp::Slt), left, right) => {
                Some(self.compare(arena, op, right, left))
            }
            _ => None,
        }
    }

    /// The larger or the smaller of two values: `l < r ? r : l` and `r < l ? l : r` are the same, as one of them holds
    /// unless the two are equal, and then it does not matter which is taken. The form with a constant on the right
    /// is kept, or else the one with the older expression on the left, so that turning ends.
    fn turned_extremum(
        &mut self,
        arena: &mut Arena,
        condition: ExprId,
        then: ExprId,
        otherwise: ExprId,
    ) -> Option<ExprId> {
        let Node::Compare(op @ (CompareOp::Ult | CompareOp::Slt), left, right) = *arena.node(condition)
        else {
            return None;
        };
        let extremum = (then, otherwise) == (left, right) || (then, otherwise) == (right, left);
        let constants = (arena.as_constant(left).is_some(), arena.as_constant(right).is_some());
        if !extremum || constants.1 || !(constants.0 || right < left) {
            return None;
        }
        self.rule("extremum-turned");
        let turned = self.compare(arena, op, right, left);
        Some(self.choice(arena, turned, otherwise, then))
    }

    /// What two normal sums have in common, and what is left of each: `c ? k + x : k + y` is `k + (c ? x : y)`
    /// modulo 2^w, whichever way `c` goes. A sum of chosen terms is one sum then, in whichever order they were
    /// added. The rests have no term in common, so this ends. Only for words: bytes of a blend are put together
    /// first, and that goes by the condition of each.
    fn common_terms(
        &mut self,
        arena: &mut Arena,
        left: ExprId,
        right: ExprId,
    ) -> Option<(ExprId, ExprId, ExprId)> {
        let crate::expr::Sort::Bits(width_bits @ (32 | 64)) = arena.sort(left) else { return None };
        let terms = |arena: &Arena, id: ExprId| match arena.node(id) {
            Node::Sum { terms, .. } => terms.to_vec(),
            _ => vec![(1, id)],
        };
        let others = terms(arena, right);
        let mut common = terms(arena, left);
        common.retain(|term| others.contains(term));
        if common.is_empty() {
            return None;
        }
        let common = self.sum(arena, Bits::new(width_bits, 0), &common);
        let (left, right) = (self.difference(arena, left, common), self.difference(arena, right, common));
        Some((common, left, right))
    }

    /// `c ? a : b` of bits is `(c and a) xor (not c and b)`.
    fn bit_choice(
        &mut self,
        arena: &mut Arena,
        condition: ExprId,
        then: ExprId,
        otherwise: ExprId,
    ) -> ExprId {
        self.rule("choice-of-bits");
        let inverted = self.not(arena, condition);
        let left = self.commutative(arena, CommutativeOp::And, &[condition, then]);
        let right = self.commutative(arena, CommutativeOp::And, &[inverted, otherwise]);
        self.commutative(arena, CommutativeOp::Xor, &[left, right])
    }
}

fn neutral(op: CommutativeOp, width_bits: u32) -> u128 {
    match op {
        CommutativeOp::And => mask(width_bits),
        CommutativeOp::Or | CommutativeOp::Xor => 0,
        CommutativeOp::Product => 1,
    }
}

/// `x xor x` is 0; the operands are sorted.
fn cancel_pairs(operands: &mut Vec<ExprId>) {
    let mut kept: Vec<ExprId> = Vec::with_capacity(operands.len());
    for operand in operands.drain(..) {
        if kept.last() == Some(&operand) {
            kept.pop();
        } else {
            kept.push(operand);
        }
    }
    *operands = kept;
}

/// The number of which a sum is a multiple of one extension less the same of the other: that is 0 or, if the number is
/// negative, the multiple times -2^n, of which something must be left for this to say anything of the sign.
fn extended_both_ways(arena: &Arena, sum: ExprId) -> Option<ExprId> {
    let Node::Sum { constant, terms } = arena.node(sum) else { return None };
    let [(factor, left), (other, right)] = terms.as_ref() else { return None };
    let width_bits = constant.width_bits();
    if constant.is_set() || factor.wrapping_add(*other) & mask(width_bits) != 0 {
        return None;
    }
    let signed = |id: ExprId| match arena.node(id) {
        Node::SignExtend { of, .. } => Some(*of),
        _ => None,
    };
    let unsigned = |id: ExprId| match arena.node(id) {
        Node::Concat(parts) => match parts.as_ref() {
            [zeros, of] if arena.as_constant(*zeros).is_some_and(|bits| !bits.is_set()) => Some(*of),
            _ => None,
        },
        _ => None,
    };
    let narrow = match (signed(*left), signed(*right)) {
        (Some(of), None) if unsigned(*right) == Some(of) => of,
        (None, Some(of)) if unsigned(*left) == Some(of) => of,
        _ => return None,
    };
    (arena.width_bits(narrow) + factor.trailing_zeros() < width_bits).then_some(narrow)
}
