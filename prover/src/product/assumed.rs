//! What may be used at a node: its invariant as bits, and the same as replacements, so that most of what has
//! to be shown is settled by rewriting. A relation that defines a register, a lane, a value or a slot replaces
//! it; a memory of the machine that equals the source's is the source's.

use super::columns::Place;
use super::node::{Invariant, Node, definition};
use super::problem::Setting;
use crate::abi::Abi;
use crate::bits::Bits;
use crate::expr::normal::Normaliser;
use crate::expr::substitute::Substitution;
use crate::expr::{Arena, Assignment, CompareOp, ExprId, Node as Expr, Sort};
use crate::region::Region;
use crate::run::code::Code;
use crate::run::state::{State, Table};
use std::collections::{BTreeMap, BTreeSet};

/// A node's invariant, ready for use.
#[derive(Debug)]
pub struct Assumed {
    /// Every invariant that is a bit, as it is.
    pub bits: Vec<ExprId>,
    /// Memories that are equal, machine first.
    pub memories: Vec<(ExprId, ExprId)>,
    /// Variables and what replaces them.
    definitions: Vec<(ExprId, ExprId)>,
    /// Slots of the frame, offsets and values.
    slots: Vec<(i64, ExprId)>,
    abi: &'static Abi,
    variables: Substitution,
    /// Normal forms that are replaced after that.
    terms: BTreeMap<ExprId, ExprId>,
    rewritten: Substitution,
}

impl Assumed {
    /// Nothing.
    pub fn nothing(setting: &Setting) -> Assumed {
        Assumed {
            bits: Vec::new(),
            memories: Vec::new(),
            definitions: Vec::new(),
            slots: Vec::new(),
            abi: setting.problem.abi,
            variables: Substitution::default(),
            terms: BTreeMap::new(),
            rewritten: Substitution::default(),
        }
    }

    /// What a node's invariant gives. `None` if nothing was seen at the node.
    pub fn new(
        arena: &mut Arena,
        normaliser: &mut Normaliser,
        setting: &Setting,
        node: &Node,
    ) -> Option<Assumed> {
        let invariants = node.invariants(arena)?;
        let mut definitions = Vec::new();
        let (mut bits, mut memories) = (Vec::new(), Vec::new());
        for invariant in &invariants {
            match invariant {
                Invariant::Zero { relation, wide, condition } => {
                    bits.push(*condition);
                    if let Some((column, value)) = definition(arena, relation, *wide, &node.columns) {
                        definitions.push((column.place.clone(), column.value, value));
                    }
                }
                Invariant::Bound(bound) => bits.push(bound.condition),
                Invariant::Equal(region) => {
                    let (source, machine) = setting.memories(arena, region);
                    memories.push((machine, source));
                }
            }
        }
        Some(Assumed::of(arena, normaliser, setting.problem.abi, bits, memories, &definitions))
    }

    /// What some bits and equal memories give; `definitions` are places, their values, and what these are equal to
    /// wherever the bits are set.
    pub fn of(
        arena: &mut Arena,
        normaliser: &mut Normaliser,
        abi: &'static Abi,
        bits: Vec<ExprId>,
        memories: Vec<(ExprId, ExprId)>,
        definitions: &[(Place, ExprId, ExprId)],
    ) -> Assumed {
        let mut gathered = Gathered::default();
        for (place, column, value) in definitions {
            gathered.add(place, *column, *value);
        }
        let definitions = gathered.definitions(arena);
        let variables = Substitution::new(definitions.iter().chain(&memories).copied());
        let mut assumed = Assumed {
            bits,
            memories,
            definitions,
            slots: gathered.slots,
            abi,
            variables,
            terms: BTreeMap::new(),
            rewritten: Substitution::default(),
        };
        for (term, value) in gathered.terms {
            let (term, value) =
                (assumed.plain(arena, normaliser, term), assumed.plain(arena, normaliser, value));
            assumed.replace(arena, term, value);
        }
        assumed
    }

    /// Replaces a normal form from now on; that the two are equal where this is used is for the caller to
    /// have shown.
    pub fn replace(&mut self, arena: &Arena, term: ExprId, value: ExprId) {
        // A constant stays, and a replacement must not contain what it replaces.
        if term != value && arena.as_constant(term).is_none() && !arena.reachable(&[value]).contains(&term) {
            self.terms.insert(term, value);
            self.rewritten = Substitution::new(self.terms.iter().map(|(term, value)| (*term, *value)));
        }
    }

    /// Forgets replacements that were made after a mark.
    pub fn terms(&self) -> BTreeMap<ExprId, ExprId> {
        self.terms.clone()
    }

    /// Sets all replacements of normal forms.
    pub fn set_terms(&mut self, terms: BTreeMap<ExprId, ExprId>) {
        self.rewritten = Substitution::new(terms.iter().map(|(term, value)| (*term, *value)));
        self.terms = terms;
    }

    fn plain(&mut self, arena: &mut Arena, normaliser: &mut Normaliser, id: ExprId) -> ExprId {
        let replaced = self.variables.apply(arena, id);
        normaliser.normal(arena, replaced)
    }

    /// The expression rewritten by all that is assumed: equal to it wherever the invariant holds.
    pub fn rewrite(&mut self, arena: &mut Arena, normaliser: &mut Normaliser, id: ExprId) -> ExprId {
        let mut form = self.plain(arena, normaliser, id);
        for _ in 0..4 {
            let replaced = self.rewritten.apply(arena, form);
            let next = normaliser.normal(arena, replaced);
            if next == form {
                break;
            }
            form = next;
        }
        form
    }

    /// A state as a model of a rewritten query has it: the rest is taken from a state of the same node, and
    /// what was replaced gets the value of its replacement.
    pub fn state(&self, arena: &mut Arena, table: &mut Table, like: &State, model: &Assignment) -> State {
        let mut state = table.with_model(arena, like, model);
        let stack = Region::Stack.variable_in(arena, self.abi.address_bits);
        let (stack, start) = (table.memory(arena, stack), self.abi.entry_stack(arena));
        let start = table.bits(arena, start);
        for (offset, value) in &self.slots {
            let value = Code::new(arena, table, &[*value]).bits(&state)[0];
            let address = self.abi.word(state.bits[start]).add(self.abi.word(*offset as u128));
            state.memories[stack].store(address.value() as u64, value.value(), value.width_bits() / 8);
        }
        let values: Vec<ExprId> = self.definitions.iter().map(|(_, value)| *value).collect();
        let values = Code::new(arena, table, &values).bits(&state);
        for ((variable, _), value) in self.definitions.iter().zip(values) {
            let place = table.bits(arena, *variable);
            state.bits[place] = value.value();
        }
        for (machine, source) in &self.memories {
            let (machine, source) = (table.memory(arena, *machine), table.memory(arena, *source));
            state.memories[machine] = state.memories[source].clone();
        }
        state
    }
}

/// Definitions by kind of place.
#[derive(Default)]
struct Gathered {
    whole: BTreeMap<ExprId, ExprId>,
    lanes: BTreeMap<String, [Option<ExprId>; 4]>,
    halves: BTreeMap<String, [Option<ExprId>; 2]>,
    slots: Vec<(i64, ExprId)>,
    terms: Vec<(ExprId, ExprId)>,
}

impl Gathered {
    fn add(&mut self, place: &Place, column: ExprId, value: ExprId) {
        match place {
            Place::Register(_) | Place::Value(_) => {
                self.whole.insert(column, value);
            }
            Place::Word { register, lane } => {
                self.lanes.entry(register.clone()).or_default()[*lane as usize] = Some(value);
            }
            Place::Half { register, half } => {
                self.halves.entry(register.clone()).or_default()[*half as usize] = Some(value);
            }
            Place::Slot(offset) => {
                self.slots.push((*offset, value));
                self.terms.push((column, value));
            }
            Place::ZeroExtended(_) | Place::SignExtended(_) | Place::Global(..) | Place::Element(_) => {
                self.terms.push((column, value));
            }
            // Not replaced: nothing is computed from them that would become simpler; and what is known of lanes together
            // would be lost with the bit that says it.
            Place::Entry(_) | Place::EntryReturn | Place::Address(_) | Place::Fold(_) => {}
        }
    }

    fn definitions(&self, arena: &mut Arena) -> Vec<(ExprId, ExprId)> {
        let mut definitions: Vec<(ExprId, ExprId)> =
            self.whole.iter().map(|(variable, value)| (*variable, *value)).collect();
        let names: BTreeSet<&String> = self.lanes.keys().chain(self.halves.keys()).collect();
        for name in names {
            let lanes = self.lanes.get(name).copied().unwrap_or_default();
            let halves = self.halves.get(name).copied().unwrap_or_default();
            let vector = name.starts_with("xmm");
            let whole = arena.variable(name, Sort::Bits(if vector { 128 } else { 64 }));
            if self.whole.contains_key(&whole) {
                continue;
            }
            let count = if vector { 4 } else { 2 };
            let mut parts: Vec<ExprId> = Vec::new();
            for lane in (0..count).rev() {
                match halves.get(lane as usize / 2).copied().flatten() {
                    Some(half) if lane % 2 == 1 => parts.push(half),
                    Some(_) => {}
                    None => {
                        let word = || arena.extract(whole, 32 * lane, 32);
                        parts.push(lanes[lane as usize].unwrap_or_else(word));
                    }
                }
            }
            definitions.push((whole, arena.concat(&parts)));
        }
        definitions
    }
}

/// What an extension of a sum is if nothing overflows: the sum of the extensions. Nothing for other terms.
pub fn spread_extension(arena: &mut Arena, id: ExprId) -> Option<ExprId> {
    let (of, width_bits, signed) = match arena.node(id) {
        Expr::SignExtend { width_bits, of } => (*of, *width_bits, true),
        Expr::Concat(parts) => match parts.as_ref() {
            [zeros, of] if arena.as_constant(*zeros).is_some_and(|bits| bits.value() == 0) => {
                (*of, arena.width_bits(id), false)
            }
            _ => return None,
        },
        _ => return None,
    };
    let Expr::Sum { constant, terms } = arena.node(of).clone() else { return None };
    let start = Bits::new(width_bits, constant.signed() as u128);
    let narrow = constant.width_bits();
    let terms: Vec<(u128, ExprId)> = terms
        .iter()
        .map(|(factor, term)| {
            let factor = Bits::new(width_bits, Bits::new(narrow, *factor).signed() as u128).value();
            let term = if signed {
                arena.sign_extend(*term, width_bits)
            } else {
                arena.zero_extend(*term, width_bits)
            };
            (factor, term)
        })
        .collect();
    Some(arena.sum(start, &terms))
}

/// The bit that is set where two expressions are equal.
pub fn equal(arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
    arena.compare(CompareOp::Eq, left, right)
}
