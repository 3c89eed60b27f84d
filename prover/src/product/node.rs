//! A node of the product: a pair of points, what is known to happen there, and the strongest invariant of the
//! grammar that all of it satisfies (Counter, section 3.4). Every further state weakens the invariant or
//! leaves it. Inequalities are proposed in `bounds`.

use super::columns::{Column, Columns, Place};
use super::problem::Setting;
use crate::affine::{Cover, Relation};
use crate::bits::{Bits, mask};
use crate::expr::{Arena, CompareOp, ExprId};
use crate::graph::PointId;
use crate::region::Region;
use crate::run::code::Code;
use crate::run::state::{State, Table};
use std::collections::BTreeSet;

mod bounds;

pub use bounds::Compared;

/// Most states that are kept to be run on; the covers take in all.
const KEPT_STATES: usize = 96;

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

    /// 32-bit values of the source that no relation says anything of.
    pub(super) fn unrelated_values(&self) -> Vec<ExprId> {
        let relations = self.narrow.cover.relations();
        let says = |number: usize| {
            let defining = relations.iter().filter(|relation| relation.defines.is_some());
            defining.into_iter().any(|relation| relation.coefficients[number] != 0)
        };
        let columns = self.columns.narrow.iter().enumerate();
        let values = columns.filter(|(_, column)| matches!(column.place, Place::Value(_)));
        values.filter(|(number, _)| !says(*number)).map(|(_, column)| column.value).collect()
    }

    /// Vector registers with a lane that no relation says anything of, but that it is like other lanes.
    pub(super) fn unrelated_vectors(&self) -> BTreeSet<String> {
        let vector = |column: &Column| match &column.place {
            Place::Word { register, .. } if register.starts_with("xmm") => Some(register.clone()),
            _ => None,
        };
        let columns = || self.columns.narrow.iter().enumerate();
        let lanes: Vec<usize> =
            columns().filter(|(_, column)| vector(column).is_some()).map(|(number, _)| number).collect();
        let mut open: BTreeSet<usize> = lanes.iter().copied().collect();
        for relation in self.narrow.cover.relations() {
            let like = |lane: &usize| relation.defines != Some(*lane) && relation.coefficients[*lane] != 0;
            if let Some(defined) = relation.defines
                && !lanes.iter().any(like)
            {
                open.remove(&defined);
            }
        }
        columns()
            .filter(|(number, _)| open.contains(number))
            .filter_map(|(_, column)| vector(column))
            .collect()
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
                if relation.is_wild(side.cover.width_bits()) || (wide && says_nothing(&relation, columns)) {
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

/// Whether a column is a half of one of the registers.
fn is_half(column: &Column, known: &BTreeSet<String>) -> bool {
    matches!(&column.place, Place::Word { register, .. } if known.contains(register))
}

/// Whether a relation among 64-bit columns holds of every number: a multiple of 2^32 of both extensions of one, which
/// differ by 2^32 if at all. The cover cannot know; as an obligation it would be about all that the number is made of.
fn says_nothing(relation: &Relation, columns: &[Column]) -> bool {
    let mut named = relation.coefficients.iter().zip(columns).filter(|(factor, _)| **factor != 0);
    let (Some((factor, left)), Some((other, right)), None) = (named.next(), named.next(), named.next())
    else {
        return false;
    };
    let one_number = match (&left.place, &right.place) {
        (Place::ZeroExtended(one), Place::SignExtended(same))
        | (Place::SignExtended(one), Place::ZeroExtended(same)) => one == same,
        _ => false,
    };
    let opposite = factor.wrapping_add(*other) & mask(64) == 0;
    one_number && opposite && relation.constant == 0 && factor.trailing_zeros() >= 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Sort;

    #[test]
    fn what_holds_of_every_number_says_nothing() {
        let mut arena = Arena::new();
        let [a, b] = ["a", "b"].map(|name| arena.variable(name, Sort::Bits(32)));
        let mut columns = Vec::new();
        for number in [a, b] {
            let value = arena.zero_extend(number, 64);
            columns.push(Column { place: Place::ZeroExtended(number), value });
            let value = arena.sign_extend(number, 64);
            columns.push(Column { place: Place::SignExtended(number), value });
        }
        let nothing = |constant: u128, coefficients: [u128; 4]| {
            let coefficients = coefficients.to_vec();
            says_nothing(&Relation { constant, coefficients, defines: None }, &columns)
        };
        let high = 1u128 << 32;
        let less = |factor: u128| factor.wrapping_neg() & mask(64);
        assert!(nothing(0, [high, less(high), 0, 0]) && nothing(0, [0, 0, less(high << 3), high << 3]));
        // The sign is left, something is added, other multiples, other numbers, a third term.
        assert!(!nothing(0, [high >> 1, less(high >> 1), 0, 0]));
        assert!(!nothing(1, [high, less(high), 0, 0]));
        assert!(!nothing(0, [high, high << 1, 0, 0]));
        assert!(!nothing(0, [high, 0, 0, less(high)]));
        assert!(!nothing(0, [high, less(high), high, 0]));
    }
}
