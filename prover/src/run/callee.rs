//! Made-up callees. What a callee answers is a function of what it is asked (its name, its arguments, memory, and
//! all calls before), mixed so that no two programs get the same answers by accident: the result, and now and then
//! some bytes of a global or behind a pointer. Both programs are answered alike if they ask alike.

use super::code::Code;
use super::memory::mixed;
use super::state::{State, Table};
use crate::calls::REPLY_PREFIX;
use crate::expr::{Arena, ExprId, Node, Sort};
use crate::graph::{Call, Edge};

/// Memory that callees may change: a variable for an address, and how many bytes from there on.
pub type Objects = Vec<(ExprId, u64)>;

/// A call, ready to be answered.
#[derive(Debug)]
pub(super) struct Callee {
    name: u64,
    arguments: Code,
    /// Memories that it may change, and where what it leaves there goes, in an order that both programs have.
    memories: Vec<(usize, usize)>,
    result: Option<usize>,
    objects: Vec<(usize, u64)>,
}

impl Callee {
    /// The callee of an edge; where memory stays as it is in its graph, it does not change it.
    pub(super) fn new(
        arena: &Arena,
        table: &mut Table,
        edge: &Edge,
        call: &Call,
        objects: &Objects,
    ) -> Callee {
        let name = call.callee.bytes().fold(1, |name, byte| mixed(name ^ u64::from(byte)));
        let mut memories: Vec<(String, usize, usize)> = Vec::new();
        for (variable, reply) in &edge.assignments {
            if let (Sort::Memory(_), Node::Variable(symbol)) = (arena.sort(*variable), arena.node(*reply))
                && let Some(region) = arena.name(*symbol).strip_prefix(REPLY_PREFIX)
            {
                let (now, after) = (table.memory(arena, *variable), table.memory(arena, *reply));
                memories.push((region.to_owned(), now, after));
            }
        }
        memories.sort();
        let result = arena.find_variable(&format!("{REPLY_PREFIX}result"));
        Callee {
            name,
            arguments: Code::new(arena, table, &call.arguments),
            memories: memories.into_iter().map(|(_, now, after)| (now, after)).collect(),
            result: result.map(|result| table.bits(arena, result)),
            objects: objects.iter().map(|(address, bytes)| (table.bits(arena, *address), *bytes)).collect(),
        }
    }

    /// Answers the call of one of the programs.
    pub(super) fn answer(&self, state: &mut State, program: usize) {
        let mut asked = mixed(state.calls[program] ^ self.name);
        for argument in self.arguments.bits(state) {
            asked = mixed(mixed(asked ^ argument.value() as u64) ^ (argument.value() >> 64) as u64);
        }
        for (now, _) in &self.memories {
            asked = mixed(asked ^ state.memories[*now].fingerprint());
        }
        // 0 is for no call.
        asked |= 1;
        state.calls[program] = asked;
        if let Some(place) = self.result {
            state.bits[place] = u128::from(result(mixed(asked ^ 2)));
        }
        for (now, after) in &self.memories {
            state.memories[*after] = state.memories[*now].clone();
        }
        let choice = mixed(asked ^ 3);
        if self.memories.is_empty() || self.objects.is_empty() || choice.is_multiple_of(2) {
            return;
        }
        let (_, memory) = self.memories[(choice >> 8) as usize % self.memories.len()];
        for number in 0..3 {
            let drawn = mixed(asked ^ 4 ^ number);
            let (place, bytes) = self.objects[(drawn >> 8) as usize % self.objects.len()];
            let offset = (drawn >> 32) % (bytes / 4).max(1) * 4;
            let address = (state.bits[place] as u64).wrapping_add(offset);
            state.memories[memory].store(address, u128::from(result(mixed(drawn))), 4);
        }
    }
}

/// Often small: programs compare results with 0 and count with them.
fn result(drawn: u64) -> u64 {
    match drawn >> 61 {
        0 | 1 => 0,
        2 => 1,
        3 => (drawn % 7).wrapping_sub(2),
        4 => drawn % 100,
        _ => mixed(drawn),
    }
}
