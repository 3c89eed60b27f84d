//! A concrete state of both programs at once: values by place, places by variable.

use super::memory::{Memory, mixed};
use crate::bits::mask;
use crate::expr::{Arena, Assignment, ExprId, Node, Sort};
use std::collections::HashMap;

/// Places of variables.
#[derive(Debug, Clone, Default)]
pub struct Table {
    bits: HashMap<ExprId, usize>,
    memories: HashMap<ExprId, usize>,
    widths: Vec<u32>,
    /// Whether the programs compute with floating-point numbers: states are made up of such.
    pub floats: bool,
}

impl Table {
    /// Place of a bit vector; a new one for a new variable.
    pub fn bits(&mut self, arena: &Arena, variable: ExprId) -> usize {
        let place = *self.bits.entry(variable).or_insert(self.widths.len());
        if place == self.widths.len() {
            self.widths.push(arena.width_bits(variable));
        }
        place
    }

    /// Place of a memory.
    pub fn memory(&mut self, arena: &Arena, variable: ExprId) -> usize {
        assert!(matches!(arena.sort(variable), Sort::Memory(_)), "only a memory has pages");
        let next = self.memories.len();
        *self.memories.entry(variable).or_insert(next)
    }

    /// All variables that are bit vectors.
    pub fn bit_variables(&self) -> impl Iterator<Item = (ExprId, usize)> + '_ {
        self.bits.iter().map(|(variable, place)| (*variable, *place))
    }

    /// A state in which everything is made up from a seed.
    pub fn made_up(&self, seed: u64) -> State {
        let bits = self.widths.iter().enumerate().map(|(place, width_bits)| {
            let half = |which: u64| u128::from(mixed(mixed(seed ^ which) ^ place as u64));
            (half(1) << 64 | half(2)) & mask(*width_bits)
        });
        let memories = (0..self.memories.len() as u64).map(|place| {
            let key = mixed(seed ^ 3) ^ mixed(place);
            match seed % 8 {
                0..5 if self.floats => Memory::made_up_floats(key),
                5 => Memory::made_up_small(key),
                6 => Memory::made_up_indices(key),
                _ => Memory::made_up(key),
            }
        });
        State {
            bits: bits.collect(),
            memories: memories.collect(),
            surprises: mixed(seed ^ 4),
            calls: [0; 2],
        }
    }

    /// A state with a value for each place that the table has got since it was made.
    pub fn completed(&self, state: &State) -> State {
        let mut whole = self.made_up(state.surprises);
        whole.bits[..state.bits.len()].copy_from_slice(&state.bits);
        whole.memories[..state.memories.len()].clone_from_slice(&state.memories);
        whole.calls = state.calls;
        whole
    }

    /// A state as a model has it, the rest as in another one. Memories of a model that are equal must be made
    /// so by the caller: a model speaks of single bytes.
    pub fn with_model(&self, arena: &Arena, like: &State, model: &Assignment) -> State {
        let mut state = self.made_up(model.seed);
        state.calls = like.calls;
        state.bits[..like.bits.len()].copy_from_slice(&like.bits);
        state.memories[..like.memories.len()].clone_from_slice(&like.memories);
        for (variable, place) in &self.bits {
            if let Node::Variable(symbol) = arena.node(*variable)
                && let Some(bits) = model.bits.get(symbol)
            {
                state.bits[*place] = bits.value();
            }
        }
        for (variable, place) in &self.memories {
            if let Node::Variable(symbol) = arena.node(*variable) {
                for (address, byte) in model.memories.get(symbol).into_iter().flatten() {
                    state.memories[*place].set_byte(*address as u64, *byte);
                }
            }
        }
        state
    }
}

/// Values by place.
#[derive(Debug, Clone)]
pub struct State {
    /// Bit vectors.
    pub bits: Vec<u128>,
    /// Memories.
    pub memories: Vec<Memory>,
    /// Where values come from that nobody knows; changes with every step.
    pub(super) surprises: u64,
    /// The calls that each program has made, as one number: whom, with what, in which memory, after which others. 0
    /// for none.
    pub calls: [u64; 2],
}

impl State {
    /// Whether both programs have made the same calls, as far as one number tells.
    pub fn same_calls(&self) -> bool {
        self.calls[0] == self.calls[1]
    }

    /// A value that nobody knows.
    pub(super) fn surprise(&self, number: u64) -> u128 {
        let half = |which: u64| u128::from(mixed(mixed(self.surprises ^ which) ^ number));
        half(1) << 64 | half(2)
    }
}
