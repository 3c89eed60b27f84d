//! Several parts of the states taken together: the product of two values of the source, which a register holds that
//! counts in steps of a stride; and what a vector register holds of a value of the source, one part of it in each lane.
//! Products are proposed where the source computes them, and what lanes are of a value where all states agree on it;
//! that it stays so is shown like any other relation.

use super::node::Node;
use super::problem::Setting;
use super::search::{Product, Search};
use super::triple::Context;
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, CommutativeOp, CompareOp, ExprId, Node as Expr, Sort};
use crate::run::code::Code;
use std::collections::BTreeSet;

/// How parts are taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Multiplied, modulo 2^w.
    Product,
    /// The greatest, signed.
    Greatest,
    /// The least, signed.
    Least,
}

/// A part of one of the states.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// A value of the source.
    Value(ExprId),
    /// A 32-bit lane of a vector register.
    Lane(String, u32),
}

/// Parts taken together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fold {
    /// How.
    pub operation: Operation,
    /// What; narrower parts with their signs above.
    pub of: Vec<Part>,
    /// Width of the result.
    pub width_bits: u32,
}

/// Lanes of a vector register, and bits of a lane.
const LANES: u32 = 4;
const LANE_BITS: u32 = 32;
/// Registers whose lanes are taken together: a loop keeps so many parts of a value when it is unrolled.
const MOST_REGISTERS: usize = 4;
/// A coincidence in fewer states than this is none.
const FEW_STATES: usize = 6;
/// More values than this are not multiplied with each other.
const MOST_FACTORS: usize = 3;

impl Operation {
    const ALL: [Operation; 3] = [Operation::Product, Operation::Greatest, Operation::Least];

    /// What parts of at most that width are together.
    pub fn of(self, arena: &mut Arena, parts: &[ExprId], width_bits: u32) -> ExprId {
        let parts: Vec<ExprId> = parts.iter().map(|part| arena.sign_extend(*part, width_bits)).collect();
        if self == Operation::Product {
            return arena.commutative(CommutativeOp::Product, &parts);
        }
        let better = |arena: &mut Arena, left: ExprId, right: ExprId| {
            let (less, more) = if self == Operation::Greatest { (left, right) } else { (right, left) };
            let condition = arena.compare(CompareOp::Slt, less, more);
            arena.choice(condition, right, left)
        };
        parts[1..].iter().fold(parts[0], |best, part| better(arena, best, *part))
    }
}

impl Fold {
    /// Whether a value that is equal to it is written with it: a product of lanes becomes another one when all of them
    /// are multiplied. An extreme stays a name, or there would be nothing to compare it with.
    pub fn is_rewritten(&self) -> bool {
        self.operation == Operation::Product
    }

    /// Its value in terms of the variables of both graphs.
    pub fn value(&self, arena: &mut Arena) -> ExprId {
        let part = |part: &Part| match part {
            Part::Value(value) => *value,
            Part::Lane(register, lane) => {
                let whole = arena.variable(register, Sort::Bits(LANES * LANE_BITS));
                arena.extract(whole, LANE_BITS * lane, LANE_BITS)
            }
        };
        let parts: Vec<ExprId> = self.of.iter().map(part).collect();
        self.operation.of(arena, &parts, self.width_bits)
    }
}

/// Products of values that the source computes or promises something about, as wide as registers are.
pub fn products(arena: &mut Arena, setting: &Setting) -> Vec<Fold> {
    let edges = &setting.problem.source.edges;
    let promised = edges.iter().flat_map(|edge| &edge.assumptions).map(|assumption| assumption.condition);
    let assigned = edges.iter().flat_map(|edge| &edge.assignments).map(|(_, value)| *value);
    let accessed = edges.iter().flat_map(|edge| &edge.accesses).map(|access| access.address);
    let roots: Vec<ExprId> = promised.chain(assigned).chain(accessed).collect();
    let multiplies = |id: ExprId| matches!(arena.node(id), Expr::Commutative(CommutativeOp::Product, _));
    let plain: Vec<ExprId> = arena.reachable(&roots).into_iter().filter(|id| multiplies(*id)).collect();
    let mut normaliser = Normaliser::new();
    let normal: Vec<ExprId> = plain.into_iter().map(|id| normaliser.normal(arena, id)).collect();
    let mut found = BTreeSet::new();
    for id in arena.reachable(&normal) {
        let Expr::Commutative(CommutativeOp::Product, factors) = arena.node(id) else { continue };
        let width_bits = arena.width_bits(id);
        let values: Option<Vec<Part>> = factors.iter().map(|factor| value(arena, *factor)).collect();
        if let Some(of) = values
            && of.len() <= MOST_FACTORS
            && matches!(width_bits, 32 | 64)
            && width_bits <= setting.problem.abi.address_bits
        {
            found.insert(Fold { operation: Operation::Product, of, width_bits });
        }
    }
    found.into_iter().collect()
}

/// The value of the source that a factor is, with its sign above or as it is.
fn value(arena: &Arena, factor: ExprId) -> Option<Part> {
    let of = match *arena.node(factor) {
        Expr::SignExtend { of, .. } => of,
        _ => factor,
    };
    let is_value =
        matches!(arena.node(of), Expr::Variable(_)) && matches!(arena.sort(of), Sort::Bits(32 | 64));
    is_value.then_some(Part::Value(of))
}

impl Search<'_> {
    /// Looks for values of the source that are lanes of vector registers taken together, in all states, where no
    /// relation says what they are. Says whether nodes have got more to speak of; each gets it once.
    pub(super) fn find_folds(&mut self, product: &Product) -> bool {
        let mut found = false;
        for node in product.nodes.iter().skip(1) {
            let key = (node.source, node.machine);
            if self.common.folds.contains_key(&key) || node.states.len() < FEW_STATES {
                continue;
            }
            let folds: BTreeSet<Fold> = self.folds(node).into_iter().collect();
            found |= !folds.is_empty();
            self.common.folds.insert(key, folds.into_iter().collect());
        }
        found
    }

    /// One for each value of the source that is lanes taken together in all states of a node, as far as nothing else is
    /// known of it.
    pub(super) fn folds(&mut self, node: &Node) -> Vec<Fold> {
        if node.states.len() < FEW_STATES {
            return Vec::new();
        }
        let values = node.unrelated_values();
        let candidates = candidates(node);
        if values.is_empty() || candidates.is_empty() {
            return Vec::new();
        }
        let Context { arena, table, .. } = &mut self.context;
        let folds: Vec<ExprId> = candidates.iter().map(|fold| fold.value(arena)).collect();
        let (values, folds) = (Code::new(arena, table, &values), Code::new(arena, table, &folds));
        let mut same: Vec<BTreeSet<usize>> = Vec::new();
        for (number, state) in node.states.iter().enumerate() {
            let (values, folds) = (values.bits(state), folds.bits(state));
            if number == 0 {
                same = vec![(0..folds.len()).collect(); values.len()];
            }
            for (value, same) in values.iter().zip(&mut same) {
                same.retain(|fold| folds[*fold] == *value);
            }
        }
        same.iter().filter_map(|same| same.first()).map(|number| candidates[*number].clone()).collect()
    }
}

/// All lanes of one vector register, or of several, by each operation; of those that relations do not say all of.
fn candidates(node: &Node) -> Vec<Fold> {
    let registers: Vec<String> = node.unrelated_vectors().into_iter().collect();
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for number in 0..registers.len() {
        let with = sets.iter().filter(|set| set.len() < MOST_REGISTERS);
        let more: Vec<Vec<usize>> = with.map(|set| [set.as_slice(), &[number]].concat()).collect();
        sets.extend(more);
    }
    sets.sort_by_key(Vec::len);
    let mut found = Vec::new();
    for set in sets.iter().filter(|set| !set.is_empty()) {
        let named = set.iter().map(|number| &registers[*number]);
        let lanes = |name: &String| (0..LANES).map(|lane| Part::Lane(name.clone(), lane)).collect::<Vec<_>>();
        let of: Vec<Part> = named.flat_map(lanes).collect();
        let width_bits = LANE_BITS;
        found.extend(Operation::ALL.map(|operation| Fold { operation, of: of.clone(), width_bits }));
    }
    found
}
