//! A node of the product: a pair of points, what is known to happen there, and the strongest invariant of the
//! grammar that all of it satisfies (Counter, section 3.4). Every further state weakens the invariant or
//! leaves it.

use super::columns::{Column, Columns, Place};
use super::problem::Setting;
use crate::affine::{Cover, Relation, odd_inverse};
use crate::bits::{Bits, mask};
use crate::expr::{Arena, CompareOp, ExprId};
use crate::graph::PointId;
use crate::region::Region;
use crate::run::code::Code;
use crate::run::state::{State, Table};
use std::collections::BTreeSet;

/// Most states that are kept to be run on; the covers take in all.
const KEPT_STATES: usize = 96;

/// What is rounded to the step of a loop is not this far from what it was.
const FAR_END: i128 = 128;

/// A pair of points with its invariant.
#[derive(Debug, Clone)]
pub struct Node {
    /// Point of the source.
    pub source: PointId,
    /// Point of the machine.
    pub machine: PointId,
    /// What relations speak of.
    pub columns: Columns,
    wide: Side,
    narrow: Side,
    /// Inequalities that hold so far.
    pub bounds: Vec<Bound>,
    /// Regions on which the two memories agree, with the places of the memories.
    equal: Vec<(Region, usize, usize)>,
    /// Some of the states seen.
    pub states: Vec<State>,
}

/// Columns of one width.
#[derive(Debug, Clone)]
struct Side {
    cover: Cover,
    code: Code,
    least: Vec<u128>,
    most: Vec<u128>,
    least_signed: Vec<i128>,
    most_signed: Vec<i128>,
}

/// An inequality between two sums of one term or constant each.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The bit.
    pub condition: ExprId,
    /// `Ult` or `Slt`; with `not`, the operands are swapped and the relation is "less or equal".
    pub relation: CompareOp,
    /// Less or equal instead of less.
    pub or_equal: bool,
    /// Left side.
    pub left: Operand,
    /// Right side.
    pub right: Operand,
    code: Code,
}

/// A side of an inequality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// A constant.
    Constant(Bits),
    /// A column.
    Column(Column),
    /// `constant + factor * column + ...`: with the inverse of an odd number as factor, the quotient of what that
    /// number divides, and something large for everything else; with a column less another one, how far a rounded
    /// end is from what it was rounded from.
    Sum(Bits, Vec<(Bits, Column)>),
}

/// One invariant of a node.
#[derive(Debug, Clone)]
pub enum Invariant {
    /// An affine relation; `wide` says among which columns.
    Zero {
        /// The relation.
        relation: Relation,
        /// 64 bits, not 32.
        wide: bool,
        /// The bit that it is.
        condition: ExprId,
    },
    /// An inequality.
    Bound(Box<Bound>),
    /// The two memories agree on a region.
    Equal(Region),
}

impl Node {
    /// A node at which nothing has been seen.
    pub fn new(
        arena: &mut Arena,
        setting: &Setting,
        table: &mut Table,
        columns: Columns,
        (source, machine): (PointId, PointId),
    ) -> Node {
        let wide = Side::new(arena, table, 64, &columns.wide);
        let narrow = Side::new(arena, table, 32, &columns.narrow);
        let regions: Vec<Region> = setting.regions.iter().cloned().collect();
        let equal = regions
            .into_iter()
            .map(|region| {
                let (left, right) = setting.memories(arena, &region);
                (region, table.memory(arena, left), table.memory(arena, right))
            })
            .collect();
        Node { source, machine, columns, wide, narrow, bounds: Vec::new(), equal, states: Vec::new() }
    }

    /// Takes in a state, and keeps it if it says something new or there are few. Says whether the invariant
    /// became weaker.
    pub fn add(&mut self, state: &State) -> bool {
        let weaker = self.take_in(state);
        if weaker || self.states.len() < KEPT_STATES / 2 {
            if self.states.len() >= KEPT_STATES {
                self.states.remove(KEPT_STATES / 2);
            }
            self.states.push(state.clone());
        }
        weaker
    }

    /// Takes in a state without keeping it.
    pub fn take_in(&mut self, state: &State) -> bool {
        let mut weaker = self.wide.add(state) | self.narrow.add(state);
        let before = self.bounds.len() + self.equal.len();
        self.bounds.retain(|bound| bound.code.bits(state)[0].is_set());
        self.equal.retain(|(_, left, right)| state.memories[*left].seems_same_as(&state.memories[*right]));
        weaker |= self.bounds.len() + self.equal.len() != before;
        weaker
    }

    /// Keeps a state to be run on, once: copies would crowd out the runs that begin elsewhere.
    pub fn keep(&mut self, state: &State) {
        if self.states.last().is_none_or(|last| last.bits != state.bits) {
            self.states.push(state.clone());
        }
    }

    /// Whether the two memories agree everywhere but in the frame, as far as seen.
    pub fn memory_agrees(&self, setting: &Setting) -> bool {
        self.equal.len() == setting.regions.len()
    }

    /// Number of columns of a side, machine or source, that no relation ties to a column of the other side
    /// or to what was there at entry (Counter, section 3.9).
    pub fn unrelated(&self) -> (usize, usize) {
        let mut machine = 0;
        let mut source = 0;
        for (side, columns) in [(&self.wide, &self.columns.wide), (&self.narrow, &self.columns.narrow)] {
            let mut related = vec![false; columns.len()];
            for relation in side.cover.relations() {
                if relation.defines.is_some() {
                    for (number, coefficient) in relation.coefficients.iter().enumerate() {
                        related[number] |= *coefficient != 0;
                    }
                }
            }
            for (column, related) in columns.iter().zip(related) {
                machine += usize::from(column.is_machine() && !related);
                source += usize::from(matches!(column.place, Place::Value(_)) && !related);
            }
        }
        (machine, source)
    }

    /// Sets up inequalities, of which all states seen so far satisfy each: with the constants given and with
    /// the extremes that were seen.
    pub fn propose_bounds(&mut self, arena: &mut Arena, table: &mut Table, constants: &BTreeSet<Bits>) {
        self.bounds.clear();
        let mut proposed: Vec<(CompareOp, bool, Operand, Operand)> = Vec::new();
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
                if !bounded || defined.contains(&number) {
                    continue;
                }
                terms.push(column);
                let term = || Operand::Column(column.clone());
                let mut limits: BTreeSet<Bits> =
                    constants.iter().copied().filter(|bits| bits.width_bits() == width_bits).collect();
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
                }
            }
            self.propose_ends(side, columns, &defined, &mut proposed);
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
    fn propose_ends(
        &self,
        side: &Side,
        columns: &[Column],
        defined: &BTreeSet<usize>,
        proposed: &mut Vec<(CompareOp, bool, Operand, Operand)>,
    ) {
        let width_bits = side.cover.width_bits();
        let known = self.known_registers();
        let points: Vec<Vec<Bits>> = self.states.iter().map(|state| side.code.bits(state)).collect();
        let numbers = |wanted: &dyn Fn(&Column) -> bool| -> Vec<usize> {
            (0..columns.len()).filter(|number| wanted(&columns[*number])).collect()
        };
        let mut ends = numbers(&|column| column.is_general() && !is_half(column, &known));
        ends.retain(|number| !defined.contains(number));
        let values = numbers(&|column| match column.place {
            Place::Value(_) => true,
            // What the sign-extended one is equal to, if it is not negative.
            Place::SignExtended(_) => width_bits == 64,
            _ => false,
        });
        let bases = numbers(&|column| matches!(column.place, Place::Address(_)));
        let one = Bits::new(width_bits, 1);
        for end in ends {
            let other = || Operand::Column(columns[end].clone());
            for value in values.iter().copied().map(Some).chain([None]) {
                for base in bases.iter().copied().map(Some).chain([None]) {
                    for factor in [1, 4].into_iter().take(if value.is_some() { 2 } else { 1 }) {
                        let factor = Bits::new(width_bits, factor);
                        let terms = value.map(|value| (factor, value)).into_iter();
                        let terms: Vec<(Bits, usize)> = terms.chain(base.map(|base| (one, base))).collect();
                        if terms.is_empty() {
                            continue;
                        }
                        let at = |point: &Vec<Bits>| {
                            let zero = Bits::new(width_bits, 0);
                            terms.iter().fold(zero, |sum, (factor, number)| {
                                sum.add(Bits::new(
                                    width_bits,
                                    factor.value().wrapping_mul(point[*number].value()),
                                ))
                            })
                        };
                        let named = |terms: &[(Bits, usize)]| -> Vec<(Bits, Column)> {
                            terms.iter().map(|(factor, number)| (*factor, columns[*number].clone())).collect()
                        };
                        let sum = || Operand::Sum(Bits::new(width_bits, 0), named(&terms));
                        if points.iter().all(|point| at(point).value() <= point[end].value()) {
                            proposed.push((CompareOp::Ult, false, sum(), other()));
                            proposed.push((CompareOp::Ult, true, sum(), other()));
                        }
                        if value.is_some() && base.is_none() && factor == one {
                            for or_equal in [false, true] {
                                proposed.push((CompareOp::Slt, or_equal, sum(), other()));
                                proposed.push((CompareOp::Slt, or_equal, other(), sum()));
                            }
                        }
                        let distances = points.iter().map(|point| at(point).sub(point[end]));
                        if let Some((least, most)) = window(distances) {
                            let less = |bits: Bits| Bits::new(width_bits, 0).sub(bits);
                            let mut terms = named(&terms);
                            terms.push((less(one), columns[end].clone()));
                            let distance = Operand::Sum(less(least), terms);
                            let most = Operand::Constant(most.sub(least));
                            proposed.push((CompareOp::Ult, true, distance, most));
                        }
                    }
                }
            }
        }
    }

    /// The bound that says what a counter is a multiple of, where that is not a power of two (affine relations
    /// say that), and how far it gets: a loop that ends when the counter equals its limit needs both.
    fn quotient(
        &self,
        side: &Side,
        number: usize,
        column: &Column,
        width_bits: u32,
    ) -> Option<(CompareOp, bool, Operand, Operand)> {
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

    /// The invariant, as a list of which all hold. Nothing if no state was seen: then it is false.
    pub fn invariants(&self, arena: &mut Arena) -> Option<Vec<Invariant>> {
        if self.wide.cover.is_empty() {
            return None;
        }
        let mut found = Vec::new();
        let known = self.known_registers();
        for (side, columns, wide) in
            [(&self.wide, &self.columns.wide, true), (&self.narrow, &self.columns.narrow, false)]
        {
            for relation in side.cover.relations() {
                // What is said of things that never change is known from the start or a coincidence.
                let mut named = relation.coefficients.iter().zip(columns).filter(|(factor, _)| **factor != 0);
                if named.all(|(_, column)| column.is_fixed() || is_half(column, &known)) {
                    continue;
                }
                if relation.is_wild(side.cover.width_bits()) {
                    continue;
                }
                if let Some(number) = relation.defines
                    && is_half(&columns[number], &known)
                {
                    continue;
                }
                let condition = zero(arena, side.cover.width_bits(), &relation, columns);
                found.push(Invariant::Zero { relation, wide, condition });
            }
        }
        found.extend(self.bounds.iter().cloned().map(Box::new).map(Invariant::Bound));
        found.extend(self.equal.iter().map(|(region, ..)| Invariant::Equal(region.clone())));
        Some(found)
    }

    /// Numbers of the 32-bit columns that a relation defines.
    pub(super) fn defined_narrow(&self) -> BTreeSet<usize> {
        self.narrow.cover.relations().iter().filter_map(|relation| relation.defines).collect()
    }

    /// An invariant for people who work on the search.
    pub fn text(&self, arena: &Arena, invariant: &Invariant) -> String {
        let name = |column: &Column| match &column.place {
            Place::Value(id) | Place::ZeroExtended(id) | Place::SignExtended(id) => match arena.node(*id) {
                crate::expr::Node::Variable(symbol) => format!("{:?}:{}", column.place, arena.name(*symbol)),
                _ => format!("{:?}", column.place),
            },
            place => format!("{place:?}"),
        };
        match invariant {
            Invariant::Zero { relation, wide, .. } => {
                let columns = if *wide { &self.columns.wide } else { &self.columns.narrow };
                let width = if *wide { 64 } else { 32 };
                let terms: Vec<String> = relation
                    .coefficients
                    .iter()
                    .zip(columns)
                    .filter(|(c, _)| **c != 0)
                    .map(|(c, column)| format!("{}*{}", Bits::new(width, *c).signed(), name(column)))
                    .collect();
                format!("{} + {} = 0", terms.join(" + "), Bits::new(width, relation.constant).signed())
            }
            Invariant::Bound(bound) => {
                let side = |operand: &Operand| match operand {
                    Operand::Constant(bits) => format!("{}", bits.signed()),
                    Operand::Column(column) => name(column),
                    Operand::Sum(constant, terms) => {
                        let term = |(factor, column): &(Bits, Column)| {
                            format!("{}*{} + ", factor.signed(), name(column))
                        };
                        terms.iter().map(term).collect::<String>() + &constant.signed().to_string()
                    }
                };
                format!(
                    "{} {:?}{} {}",
                    side(&bound.left),
                    bound.relation,
                    if bound.or_equal { "=" } else { "" },
                    side(&bound.right)
                )
            }
            Invariant::Equal(region) => format!("memory {region:?}"),
        }
    }

    /// Registers that a relation among 64-bit columns defines: what their halves are follows.
    fn known_registers(&self) -> BTreeSet<String> {
        let relations = self.wide.cover.relations();
        let defined = relations.iter().filter_map(|relation| relation.defines);
        let name = |number: usize| match &self.columns.wide[number].place {
            Place::Register(name) => Some(name.clone()),
            _ => None,
        };
        defined.filter_map(name).collect()
    }

    /// Gives up an invariant that may hold but could not be shown.
    pub fn give_up(&mut self, invariant: &Invariant) {
        match invariant {
            Invariant::Zero { relation, wide, .. } => {
                let side = if *wide { &mut self.wide } else { &mut self.narrow };
                side.cover.give_up(relation);
            }
            Invariant::Bound(bound) => self.bounds.retain(|other| other.condition != bound.condition),
            Invariant::Equal(region) => self.equal.retain(|(other, ..)| other != region),
        }
    }
}

impl Side {
    fn new(arena: &mut Arena, table: &mut Table, width_bits: u32, columns: &[Column]) -> Side {
        let order: Vec<usize> = (0..columns.len()).collect();
        let values: Vec<ExprId> = columns.iter().map(|column| column.value).collect();
        Side {
            cover: Cover::new(width_bits, &order),
            code: Code::new(arena, table, &values),
            least: vec![u128::MAX; columns.len()],
            most: vec![0; columns.len()],
            least_signed: vec![i128::MAX; columns.len()],
            most_signed: vec![i128::MIN; columns.len()],
        }
    }

    fn add(&mut self, state: &State) -> bool {
        let bits = self.code.bits(state);
        for (number, bits) in bits.iter().enumerate() {
            self.least[number] = self.least[number].min(bits.value());
            self.most[number] = self.most[number].max(bits.value());
            self.least_signed[number] = self.least_signed[number].min(bits.signed());
            self.most_signed[number] = self.most_signed[number].max(bits.signed());
        }
        let point: Vec<u128> = bits.iter().map(|bits| bits.value()).collect();
        self.cover.add(&point)
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

/// The bit that is set where a relation holds.
fn zero(arena: &mut Arena, width_bits: u32, relation: &Relation, columns: &[Column]) -> ExprId {
    let sum = sum(arena, width_bits, relation, columns, None);
    let zero = arena.constant(Bits::new(width_bits, 0));
    arena.compare(CompareOp::Eq, sum, zero)
}

/// The sum of a relation, without one of its columns.
fn sum(
    arena: &mut Arena,
    width_bits: u32,
    relation: &Relation,
    columns: &[Column],
    without: Option<usize>,
) -> ExprId {
    let terms: Vec<(u128, ExprId)> = relation
        .coefficients
        .iter()
        .zip(columns)
        .enumerate()
        .filter(|(number, (coefficient, _))| **coefficient != 0 && Some(*number) != without)
        .map(|(_, (coefficient, column))| (*coefficient, column.value))
        .collect();
    arena.sum(Bits::new(width_bits, relation.constant), &terms)
}

/// The column that a relation defines, and its value by the others.
pub fn definition<'a>(
    arena: &mut Arena,
    relation: &Relation,
    wide: bool,
    columns: &'a Columns,
) -> Option<(&'a Column, ExprId)> {
    let number = relation.defines?;
    let (columns, width_bits) = if wide { (&columns.wide, 64) } else { (&columns.narrow, 32) };
    let rest = sum(arena, width_bits, relation, columns, Some(number));
    let value = arena.sum(Bits::new(width_bits, 0), &[(mask(width_bits), rest)]);
    Some((&columns[number], value))
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

/// Whether a column is a half of one of the registers.
fn is_half(column: &Column, known: &BTreeSet<String>) -> bool {
    matches!(&column.place, Place::Word { register, .. } if known.contains(register))
}
