//! Inequalities that may hold at a node: proposed from the states seen, with the constants of guards, with extremes,
//! between values of the source, and between these and the registers that a rounded end is in.

use super::{Bound, Node, Operand, Side, is_half};
use crate::affine::odd_inverse;
use crate::bits::{Bits, mask};
use crate::expr::{Arena, CompareOp, ExprId};
use crate::product::columns::{Column, Place};
use crate::run::code::Code;
use crate::run::state::Table;
use std::collections::{BTreeSet, HashSet};

/// What is rounded to the step of a loop is not this far from what it was.
const FAR_END: i128 = 128;

/// An inequality to be tried: the relation, whether it is "or equal", left and right.
type Proposed = (CompareOp, bool, Operand, Operand);

/// What the guards of both programs compare with.
#[derive(Debug, Default)]
pub struct Compared {
    /// Constants, and those one less and one more.
    pub constants: BTreeSet<Bits>,
    /// Multiples of one term that guards compare with a constant: factor, what is added, and constants as above. A
    /// check at run time that two arrays are far apart is of this form.
    pub multiples: BTreeSet<(Bits, Bits, Bits)>,
    /// Whether the source asks which of two values is less, both taken without sign: a counter of type `size_t`, or
    /// a pointer, and its end.
    pub unsigned: bool,
    /// Values that are floating-point numbers: as integers they are not compared.
    pub numbers: HashSet<ExprId>,
    /// Whether elements of arrays may have eight bytes, not only four.
    pub eights: bool,
}

impl Node {
    /// Sets up inequalities, of which all states seen so far satisfy each: with what guards compare with and with
    /// the extremes that were seen.
    pub fn propose_bounds(&mut self, arena: &mut Arena, table: &mut Table, compared: &Compared) {
        self.bounds.clear();
        let mut proposed: Vec<Proposed> = Vec::new();
        for (side, columns, width_bits) in
            [(&self.narrow, &self.columns.narrow, 32), (&self.wide, &self.columns.wide, 64)]
        {
            if side.cover.is_empty() {
                continue;
            }
            let mut terms = Vec::new();
            // What is defined by others has their bounds.
            let defined: BTreeSet<usize> =
                side.cover.relations().iter().filter_map(|relation| relation.defines).collect();
            for (number, column) in columns.iter().enumerate() {
                let bounded = matches!(column.place, Place::Value(_) | Place::Register(_));
                let number_of_source =
                    matches!(column.place, Place::Value(id) if compared.numbers.contains(&id));
                if !bounded || number_of_source || defined.contains(&number) {
                    continue;
                }
                terms.push(column);
                let term = || Operand::Column(column.clone());
                let mut limits: BTreeSet<Bits> = compared
                    .constants
                    .iter()
                    .copied()
                    .filter(|bits| bits.width_bits() == width_bits)
                    .collect();
                limits.insert(Bits::new(width_bits, 0));
                limits.insert(Bits::new(width_bits, side.most[number]));
                limits.insert(Bits::new(width_bits, side.least[number]));
                limits.insert(Bits::new(width_bits, side.most_signed[number] as u128));
                limits.insert(Bits::new(width_bits, side.least_signed[number] as u128));
                if width_bits == 64 && column.is_machine() {
                    // A 32-bit value with zeros above, or one that is not negative.
                    limits.extend([31, 32].map(|bits| Bits::new(width_bits, mask(bits))));
                }
                if let Some(quotient) = self.quotient(side, number, column, width_bits) {
                    proposed.push(quotient);
                }
                if matches!(column.place, Place::Value(_)) {
                    proposed.extend(multiples(column, width_bits, compared));
                }
                for limit in limits {
                    let constant = || Operand::Constant(limit);
                    for relation in [CompareOp::Ult, CompareOp::Slt] {
                        proposed.push((relation, true, term(), constant()));
                        proposed.push((relation, true, constant(), term()));
                    }
                }
            }
            // Pairs only of values of the source: those of the machine follow by affine relations.
            for left in terms.iter().filter(|column| !column.is_machine()) {
                for right in terms.iter().filter(|column| !column.is_machine() && column.place != left.place)
                {
                    let (left, right) =
                        (|| Operand::Column((*left).clone()), || Operand::Column((*right).clone()));
                    proposed.push((CompareOp::Slt, false, left(), right()));
                    proposed.push((CompareOp::Slt, true, left(), right()));
                    if compared.unsigned {
                        proposed.push((CompareOp::Ult, false, left(), right()));
                        proposed.push((CompareOp::Ult, true, left(), right()));
                    }
                }
            }
            proposed.extend(self.ends(side, columns, &defined, compared));
        }
        for (relation, or_equal, left, right) in proposed {
            let bound = Bound::new(arena, table, relation, or_equal, left, right);
            if let Some(bound) = bound
                && self.states.iter().all(|state| bound.code.bits(state)[0].is_set())
                && self.within_extremes(&bound)
            {
                self.bounds.push(bound);
            }
        }
    }

    /// Bounds on registers that nothing defines: an unrolled loop ends at a register that is a value of the source
    /// or a constant, rounded to a multiple of the step; often as an offset or an address.
    fn ends(
        &self,
        side: &Side,
        columns: &[Column],
        defined: &BTreeSet<usize>,
        compared: &Compared,
    ) -> Vec<Proposed> {
        let known = self.known_registers();
        let points = self.states.iter().map(|state| side.code.bits(state)).collect();
        let seen = Seen { columns, width_bits: side.cover.width_bits(), points };
        let is_end = |(number, column): &(usize, &Column)| {
            column.is_general() && !is_half(column, &known) && !defined.contains(number)
        };
        let ends: Vec<usize> = columns.iter().enumerate().filter(is_end).map(|(number, _)| number).collect();
        let sums = seen.sums(compared);
        let mut proposed = Vec::new();
        for end in ends {
            for sum in &sums {
                seen.propose(sum, end, &mut proposed);
            }
        }
        proposed
    }

    /// The bound that says what a counter is a multiple of, where that is not a power of two (affine relations
    /// say that), and how far it gets: a loop that ends when the counter equals its limit needs both.
    fn quotient(&self, side: &Side, number: usize, column: &Column, width_bits: u32) -> Option<Proposed> {
        if !matches!(column.place, Place::Value(_)) || side.least_signed[number] < 0 {
            return None;
        }
        let values: BTreeSet<u128> =
            self.states.iter().map(|state| side.code.bits(state)[number].value()).collect();
        let first = *values.first()?;
        let step = values.iter().fold(0, |step, value| greatest_divisor(step, value - first));
        let step = step >> step.checked_ilog2().map_or(0, |_| step.trailing_zeros());
        if values.len() < 3 || !(2..1 << 16).contains(&step) {
            return None;
        }
        let rest = first % step;
        let inverse = odd_inverse(step) & mask(width_bits);
        let constant = Bits::new(width_bits, inverse.wrapping_mul(rest).wrapping_neg());
        let quotient = Operand::Sum(constant, vec![(Bits::new(width_bits, inverse), column.clone())]);
        let most = Operand::Constant(Bits::new(width_bits, (side.most[number] - rest) / step));
        Some((CompareOp::Ult, true, quotient, most))
    }

    /// Whether states that were not kept satisfy a bound with a constant, too.
    fn within_extremes(&self, bound: &Bound) -> bool {
        let (column, constant, below) = match (&bound.left, &bound.right) {
            (Operand::Column(column), Operand::Constant(constant)) => (column, constant, true),
            (Operand::Constant(constant), Operand::Column(column)) => (column, constant, false),
            _ => return true,
        };
        for (side, columns) in [(&self.narrow, &self.columns.narrow), (&self.wide, &self.columns.wide)] {
            if let Some(number) = columns.iter().position(|known| known == column) {
                return match (bound.relation, below) {
                    (CompareOp::Slt, true) => side.most_signed[number] <= constant.signed(),
                    (CompareOp::Slt, false) => constant.signed() <= side.least_signed[number],
                    (_, true) => side.most[number] <= constant.value(),
                    (_, false) => constant.value() <= side.least[number],
                };
            }
        }
        true
    }
}

/// A value of the source in place of what guards compare a multiple of.
fn multiples(column: &Column, width_bits: u32, compared: &Compared) -> Vec<Proposed> {
    let mut proposed = Vec::new();
    for (factor, offset, limit) in &compared.multiples {
        if factor.width_bits() != width_bits {
            continue;
        }
        let multiple = || Operand::Sum(*offset, vec![(*factor, column.clone())]);
        let constant = || Operand::Constant(*limit);
        for relation in [CompareOp::Ult, CompareOp::Slt] {
            proposed.push((relation, true, multiple(), constant()));
            proposed.push((relation, true, constant(), multiple()));
        }
    }
    proposed
}

/// `factor * column + ...`, columns by number.
type Sum = Vec<(Bits, usize)>;

/// Columns of one width and what they were in the states seen.
struct Seen<'a> {
    columns: &'a [Column],
    width_bits: u32,
    points: Vec<Vec<Bits>>,
}

impl Seen<'_> {
    /// What a loop may end at: a value of the source or four (eight) times it, from the start of a global on or not; or such
    /// a start itself.
    fn sums(&self, compared: &Compared) -> Vec<Sum> {
        let numbers = |wanted: &dyn Fn(&Column) -> bool| -> Vec<usize> {
            (0..self.columns.len()).filter(|number| wanted(&self.columns[*number])).collect()
        };
        let values = numbers(&|column| match column.place {
            Place::Value(id) => !compared.numbers.contains(&id),
            // What the sign-extended one is equal to, if it is not negative.
            Place::SignExtended(_) => self.width_bits == 64,
            _ => false,
        });
        let bases = numbers(&|column| matches!(column.place, Place::Address(_)));
        let bases: Vec<Sum> = bases.into_iter().map(|base| vec![(self.one(), base)]).collect();
        let mut sums = Vec::new();
        for value in values {
            for base in bases.iter().cloned().chain([Sum::new()]) {
                for factor in [1, 4, 8].into_iter().filter(|factor| *factor < 8 || compared.eights) {
                    let factor = Bits::new(self.width_bits, factor);
                    sums.push([vec![(factor, value)], base.clone()].concat());
                }
            }
        }
        sums.extend(bases);
        sums
    }

    fn one(&self) -> Bits {
        Bits::new(self.width_bits, 1)
    }

    /// A sum in a state.
    fn at(&self, sum: &Sum, point: &[Bits]) -> Bits {
        sum.iter().fold(Bits::new(self.width_bits, 0), |total, (factor, number)| {
            let product = factor.value().wrapping_mul(point[*number].value());
            total.add(Bits::new(self.width_bits, product))
        })
    }

    fn named(&self, sum: &Sum) -> Vec<(Bits, Column)> {
        sum.iter().map(|(factor, number)| (*factor, self.columns[*number].clone())).collect()
    }

    /// Inequalities between a sum and a register.
    fn propose(&self, sum: &Sum, end: usize, proposed: &mut Vec<Proposed>) {
        let zero = Bits::new(self.width_bits, 0);
        let operand = || Operand::Sum(zero, self.named(sum));
        let other = || Operand::Column(self.columns[end].clone());
        if self.points.iter().all(|point| self.at(sum, point).value() <= point[end].value()) {
            proposed.push((CompareOp::Ult, false, operand(), other()));
            proposed.push((CompareOp::Ult, true, operand(), other()));
        }
        if let [(factor, number)] = sum[..]
            && factor == self.one()
            && !self.columns[number].is_fixed()
        {
            for or_equal in [false, true] {
                proposed.push((CompareOp::Slt, or_equal, operand(), other()));
                proposed.push((CompareOp::Slt, or_equal, other(), operand()));
            }
        }
        let distances = self.points.iter().map(|point| self.at(sum, point).sub(point[end]));
        if let Some((least, most)) = window(distances) {
            let mut terms = self.named(sum);
            terms.push((zero.sub(self.one()), self.columns[end].clone()));
            let distance = Operand::Sum(zero.sub(least), terms);
            proposed.push((CompareOp::Ult, true, distance, Operand::Constant(most.sub(least))));
        }
    }
}

impl Bound {
    fn new(
        arena: &mut Arena,
        table: &mut Table,
        relation: CompareOp,
        or_equal: bool,
        left: Operand,
        right: Operand,
    ) -> Option<Bound> {
        let mut value = |operand: &Operand| match operand {
            Operand::Constant(bits) => arena.constant(*bits),
            Operand::Column(column) => column.value,
            Operand::Sum(constant, terms) => {
                let terms: Vec<_> =
                    terms.iter().map(|(factor, column)| (factor.value(), column.value)).collect();
                arena.sum(*constant, &terms)
            }
        };
        let (low, high) = (value(&left), value(&right));
        let condition = if or_equal {
            let greater = arena.compare(relation, high, low);
            arena.not(greater)
        } else {
            arena.compare(relation, low, high)
        };
        let trivial = |operand: &Operand, end: [u128; 2]| match operand {
            Operand::Constant(bits) => end.iter().any(|end| bits.value() == end & mask(bits.width_bits())),
            Operand::Column(_) | Operand::Sum(..) => false,
        };
        // Below the largest, above the least: these say nothing.
        let width_bits = arena.width_bits(low);
        let (least, most) = match relation {
            CompareOp::Slt => (1 << (width_bits - 1), mask(width_bits - 1)),
            _ => (0, mask(width_bits)),
        };
        if or_equal && (trivial(&left, [least; 2]) || trivial(&right, [most; 2])) {
            return None;
        }
        let code = Code::new(arena, table, &[condition]);
        Some(Bound { condition, relation, or_equal, left, right, code })
    }
}

/// The least and the most of numbers that lie near each other on the circle, and are not all the same.
fn window(numbers: impl Iterator<Item = Bits>) -> Option<(Bits, Bits)> {
    let mut numbers = numbers.peekable();
    let first = *numbers.peek()?;
    let (mut least, mut most) = (0, 0);
    for number in numbers {
        let ahead = number.sub(first).signed();
        (least, most) = (ahead.min(least), ahead.max(most));
        if most - least >= FAR_END {
            return None;
        }
    }
    let near = |ahead: i128| first.add(Bits::new(first.width_bits(), ahead as u128));
    (least < most).then(|| (near(least), near(most)))
}

fn greatest_divisor(left: u128, right: u128) -> u128 {
    if right == 0 { left } else { greatest_divisor(right, left % right) }
}
