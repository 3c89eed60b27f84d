//! What the invariants of a node say, read back from the document into terms of the two states.

use super::super::assumed::{Assumed, equal};
use super::super::columns::Place;
use super::super::folds::Operation;
use super::{LocateError, Locator, mismatch};
use crate::abi::Abi;
use crate::bits::{Bits, mask};
use crate::expr::{Arena, CompareOp, ExprId, Sort};
use crate::region::{Region, address_name};
use metaloc_proof as proof;
use metaloc_proof::{Extend, Predicate, Sum, Term};

impl Locator {
    /// What a node's invariants give.
    pub(super) fn assumed(&mut self, node: usize) -> Result<Assumed, LocateError> {
        let predicates = self.function.nodes[node].invariants.clone();
        let (mut bits, mut memories, mut definitions) = (Vec::new(), Vec::new(), Vec::new());
        for predicate in &predicates {
            match predicate {
                Predicate::Zero { sum } => {
                    let value = self.sum(sum)?;
                    let zero = self.arena.constant(Bits::new(sum.width_bits, 0));
                    bits.push(equal(&mut self.arena, value, zero));
                    definitions.extend(self.definition(sum)?);
                }
                Predicate::Compare { relation, left, right } => {
                    let (left, right) = (self.sum(left)?, self.sum(right)?);
                    let arena = &mut self.arena;
                    bits.push(match relation {
                        proof::Relation::Ult => arena.compare(CompareOp::Ult, left, right),
                        proof::Relation::Slt => arena.compare(CompareOp::Slt, left, right),
                        proof::Relation::Ule => {
                            let more = arena.compare(CompareOp::Ult, right, left);
                            arena.not(more)
                        }
                        proof::Relation::Sle => {
                            let more = arena.compare(CompareOp::Slt, right, left);
                            arena.not(more)
                        }
                    });
                }
                Predicate::MemoryEqual { region, except } if except.is_empty() => {
                    let region = match region {
                        proof::Region::Global { symbol } => Region::Global(symbol.clone()),
                        proof::Region::Stack => Region::Stack,
                        proof::Region::Rest => Region::Rest,
                    };
                    if self.setting.regions.contains(&region) {
                        let (source, machine) = self.setting.memories(&mut self.arena, &region);
                        memories.push((machine, source));
                    }
                }
                // Less is assumed than holds.
                Predicate::MemoryEqual { .. } => {}
            }
        }
        Ok(Assumed::of(
            &mut self.arena,
            &mut self.normaliser,
            Abi::of(self.address_bits),
            bits,
            memories,
            &definitions,
        ))
    }

    /// The last term with coefficient 1, if it is a part of a state, and its value by the others.
    fn definition(&mut self, sum: &Sum) -> Result<Option<(Place, ExprId, ExprId)>, LocateError> {
        let defined = |term: &&proof::SumTerm| term.coefficient.0 == 1 && self.place(term).is_some();
        let Some(term) = sum.terms.iter().rev().find(defined).cloned() else { return Ok(None) };
        let Some(place) = self.place(&term) else { return Ok(None) };
        let column = self.term(&term, sum.width_bits)?;
        let rest = Sum {
            width_bits: sum.width_bits,
            terms: sum.terms.iter().filter(|other| **other != term).cloned().collect(),
            constant: sum.constant,
        };
        let rest = self.sum(&rest)?;
        let value = self.arena.sum(Bits::new(sum.width_bits, 0), &[(mask(sum.width_bits), rest)]);
        Ok(Some((place, column, value)))
    }

    fn place(&self, term: &proof::SumTerm) -> Option<Place> {
        let value = |number: u32| {
            let value = self.function.values.get(number as usize)?;
            self.arena_variable(&value.name)
        };
        match (&term.term, term.extend) {
            (Term::Machine { place: proof::Place::Register { name, low_bit, width_bits } }, Extend::None) => {
                let vector = name.starts_with("xmm");
                match (low_bit, width_bits) {
                    (low, 64) if vector && low % 64 == 0 => {
                        Some(Place::Half { register: name.clone(), half: low / 64 })
                    }
                    (0, bits) if !vector && *bits == self.address_bits => Some(Place::Register(name.clone())),
                    (low, 32) if low % 32 == 0 => {
                        Some(Place::Word { register: name.clone(), lane: low / 32 })
                    }
                    _ => None,
                }
            }
            (Term::Machine { place: proof::Place::StackSlot { offset_bytes, width_bits } }, Extend::None)
                if *width_bits == self.address_bits =>
            {
                Some(Place::Slot(*offset_bytes))
            }
            (Term::Value { value: number }, Extend::None) => Some(Place::Value(value(*number)?)),
            (Term::Value { value: number }, Extend::Zero) => Some(Place::ZeroExtended(value(*number)?)),
            (Term::Value { value: number }, Extend::Sign) => Some(Place::SignExtended(value(*number)?)),
            (
                Term::Global { side: proof::Side::Source, symbol, offset_bytes, width_bits: 32 },
                Extend::None,
            ) => Some(Place::Global(symbol.clone(), *offset_bytes)),
            _ => None,
        }
    }

    fn arena_variable(&self, name: &str) -> Option<ExprId> {
        self.arena.find_variable(name)
    }

    /// A sum in terms of the two states.
    pub(super) fn sum(&mut self, sum: &Sum) -> Result<ExprId, LocateError> {
        let mut terms = Vec::new();
        for term in &sum.terms {
            terms.push((term.coefficient.0, self.term(term, sum.width_bits)?));
        }
        Ok(self.arena.sum(Bits::new(sum.width_bits, sum.constant.0), &terms))
    }

    pub(super) fn term(&mut self, term: &proof::SumTerm, width_bits: u32) -> Result<ExprId, LocateError> {
        let value = self.whole(&term.term)?;
        let arena = &mut self.arena;
        Ok(match term.extend {
            Extend::None => value,
            Extend::Zero => arena.zero_extend(value, width_bits),
            Extend::Sign => arena.sign_extend(value, width_bits),
            Extend::Truncate => arena.extract(value, 0, width_bits),
        })
    }

    /// A term as wide as it is.
    fn whole(&mut self, term: &Term) -> Result<ExprId, LocateError> {
        let address_bits = self.address_bits;
        let abi = Abi::of(address_bits);
        let arena = &mut self.arena;
        let value = match term {
            Term::Machine { place } => machine_place(arena, address_bits, place),
            Term::Entry { place: proof::Place::Register { name, low_bit: 0, .. } } => abi.entry(arena, name),
            Term::Entry { place: proof::Place::StackSlot { offset_bytes: 0, .. } } => {
                abi.entry(arena, "return")
            }
            Term::Entry { .. } => return mismatch("a place at entry"),
            Term::Address { symbol } => arena.variable(&address_name(symbol), Sort::Bits(address_bits)),
            Term::Global { side, symbol, offset_bytes, width_bits } => {
                let (source, machine) = self.setting.memories(arena, &self.setting.home(symbol));
                let memory = if *side == proof::Side::Source { source } else { machine };
                let start = abi.address(arena, symbol);
                let address = arena.sum(abi.word(u128::from(*offset_bytes)), &[(1, start)]);
                arena.load(memory, address, width_bits / 8)
            }
            Term::Element { side, symbol, value, stride_bytes, row, offset_bytes, width_bits } => {
                let (source, machine) = self.setting.memories(arena, &self.setting.home(symbol));
                let memory = if *side == proof::Side::Source { source } else { machine };
                let mut terms = vec![(1, abi.address(arena, symbol))];
                let row = row.as_ref().map(|row| (row.value, row.stride_bytes));
                for (value, stride_bytes) in std::iter::once((*value, *stride_bytes)).chain(row) {
                    let Some(index) = self.function.values.get(value as usize) else {
                        return mismatch("an index");
                    };
                    let index = arena.variable(&index.name, Sort::Bits(index.width_bits));
                    terms.push((u128::from(stride_bytes), arena.sign_extend(index, address_bits)));
                }
                let address = arena.sum(abi.word(*offset_bytes as u128), &terms);
                arena.load(memory, address, width_bits / 8)
            }
            Term::Value { value } => {
                let Some(value) = self.function.values.get(*value as usize) else {
                    return mismatch("a value");
                };
                arena.variable(&value.name, Sort::Bits(value.width_bits))
            }
            Term::Fold { operation, of, width_bits } => {
                let operation = match operation {
                    proof::Operation::Product => Operation::Product,
                    proof::Operation::Greatest => Operation::Greatest,
                    proof::Operation::Least => Operation::Least,
                };
                let parts = of.iter().map(|part| self.whole(part)).collect::<Result<Vec<_>, _>>()?;
                operation.of(&mut self.arena, &parts, *width_bits)
            }
        };
        Ok(value)
    }
}

pub(super) fn slots_of(node: &proof::Node) -> Vec<i64> {
    let sums = node.invariants.iter().flat_map(|predicate| match predicate {
        Predicate::Zero { sum } => vec![sum],
        Predicate::Compare { left, right, .. } => vec![left, right],
        Predicate::MemoryEqual { .. } => Vec::new(),
    });
    sums.flat_map(|sum| &sum.terms)
        .filter_map(|term| match &term.term {
            // The return address is no variable's home.
            Term::Machine { place: proof::Place::StackSlot { offset_bytes, .. } } if *offset_bytes != 0 => {
                Some(*offset_bytes)
            }
            _ => None,
        })
        .collect()
}

fn machine_place(arena: &mut Arena, address_bits: u32, place: &proof::Place) -> ExprId {
    match place {
        proof::Place::Register { name, low_bit, width_bits } => {
            let whole_bits = if name.starts_with("xmm") { 128 } else { address_bits };
            let whole = arena.variable(name, Sort::Bits(whole_bits));
            if *width_bits == whole_bits { whole } else { arena.extract(whole, *low_bit, *width_bits) }
        }
        proof::Place::StackSlot { offset_bytes, width_bits } => {
            Abi::of(address_bits).slot(arena, *offset_bytes, width_bits / 8)
        }
    }
}
