//! Calls as steps of both programs. A callee gets the arguments, in the places of the calling convention, and all
//! memory but the caller's frame, and gives one answer: a result and what it left in that memory. Both programs
//! that make the same call in the same situation get the same answer; so the steps of both assign the same
//! variables, the reply, which every question replaces by new ones ([`is_reply`]).
//!
//! What is taken for granted of a callee is the calling convention: it gives back the stack pointer and the registers
//! that it has to, and it writes nothing into the frames of its callers but the area of its own arguments, which is
//! its to use. It may change all other registers, the flags and what is below the stack pointer.

use crate::abi::Abi;
use crate::bits::Bits;
use crate::expr::{Arena, ExprId, Node, Sort};
use crate::graph::{Call, Graph};
use crate::region::{Region, SOURCE_PREFIX};
use std::collections::BTreeSet;

/// What names of variables begin with that stand for what a callee answers.
pub const REPLY_PREFIX: &str = "callee.";

/// Bits of the variable for a result; the result is in its low bits.
const RESULT_BITS: u32 = 64;

/// Words of the frame that are followed over a call.
const MOST_KEPT_WORDS: u32 = 256;

/// The variable for the result of a call.
pub fn reply_result(arena: &mut Arena) -> ExprId {
    arena.variable(&format!("{REPLY_PREFIX}result"), Sort::Bits(RESULT_BITS))
}

/// The variable for what a callee left in a region.
pub fn reply_memory(arena: &mut Arena, region: &Region, address_bits: u32) -> ExprId {
    arena.variable(&format!("{REPLY_PREFIX}{}", region.variable_name()), Sort::Memory(address_bits))
}

/// Whether an expression is a variable for a part of an answer.
pub fn is_reply(arena: &Arena, id: ExprId) -> bool {
    matches!(arena.node(id), Node::Variable(symbol) if arena.name(*symbol).starts_with(REPLY_PREFIX))
}

/// Why calls of two programs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Only the machine calls it.
    #[error("call of {0}, which the source does not call")]
    Foreign(String),
    /// How something is passed depends on its type in a way that is not followed.
    #[error("call of {0} with {1} of {2} bits")]
    Wide(String, &'static str, u32),
    /// It is called with different types at different places.
    #[error("calls of {0} with different types")]
    Types(String),
    /// A callee that is jumped to has more arguments on the stack than the caller was given room for.
    #[error("tail call of {0} with more arguments on the stack than there is room for")]
    Room(String),
    /// More of the frame is there than is followed.
    #[error("call of {0} with a frame of {1} bytes")]
    Frame(String, u32),
}

/// What is common to both programs.
#[derive(Debug)]
pub struct Convention<'a> {
    /// Which places caller and callee agree on.
    pub abi: &'static Abi,
    /// All memory but the frame.
    pub regions: &'a BTreeSet<Region>,
    /// Memory that nothing can write to.
    pub constants: BTreeSet<Region>,
    /// Bytes of the caller's frame from the stack pointer at entry on.
    pub bytes_above: u32,
}

/// How a callee is called: widths of its arguments, and of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Type {
    widths: Vec<u32>,
    returns: Option<u32>,
}

impl Convention<'_> {
    /// Lets the calls of both programs get the same answers.
    pub fn complete(
        &self,
        arena: &mut Arena,
        source: &mut Graph,
        machine: &mut Graph,
    ) -> Result<(), CallError> {
        let mut types = Vec::new();
        for call in source.edges.iter().filter_map(|edge| edge.call.as_ref()) {
            types.push((call.callee.clone(), self.type_of(arena, call)?));
        }
        for edge in source.edges.iter_mut() {
            let Some(call) = edge.call.clone() else { continue };
            let mut assignments = self.memories(arena, SOURCE_PREFIX);
            if let Some(variable) = call.result {
                let reply = reply_result(arena);
                let width_bits = arena.width_bits(variable);
                let value =
                    if width_bits == RESULT_BITS { reply } else { arena.extract(reply, 0, width_bits) };
                assignments.push((variable, value));
            }
            edge.assignments = assignments;
        }
        for edge in machine.edges.iter_mut() {
            let Some(call) = edge.call.as_mut() else { continue };
            let known = |name: &String| types.iter().any(|(callee, _)| callee == name);
            if !known(&call.callee) {
                let other = call.aliases.iter().find(|name| known(name));
                call.callee = other.ok_or_else(|| CallError::Foreign(call.callee.clone()))?.clone();
            }
            let of: Vec<&Type> =
                types.iter().filter(|(callee, _)| *callee == call.callee).map(|(_, of)| of).collect();
            if of.iter().any(|other| *other != of[0]) {
                return Err(CallError::Types(call.callee.clone()));
            }
            // What a callee finds above its return address.
            let stack = self.abi.register(arena, self.abi.stack_pointer);
            let gone = if call.tail { self.abi.word_bytes() } else { 0 };
            let top = arena.sum(self.abi.word(u128::from(gone)), &[(1, stack)]);
            let (arguments, area_bytes) = self.abi.arguments(arena, &of[0].widths, top);
            if call.tail && gone + area_bytes > self.bytes_above {
                return Err(CallError::Room(call.callee.clone()));
            }
            call.arguments = arguments;
            let kept = self.kept(arena, call, area_bytes, &edge.assignments)?;
            let mut assignments = self.memories(arena, "");
            assignments.push(kept);
            assignments.extend(self.result_places(arena, of[0].returns));
            let given: Vec<ExprId> = assignments.iter().map(|(variable, _)| *variable).collect();
            // The other registers are as the front end says: unknown.
            assignments.extend(edge.assignments.iter().filter(|(variable, _)| !given.contains(variable)));
            edge.assignments = assignments;
        }
        Ok(())
    }

    fn type_of(&self, arena: &Arena, call: &Call) -> Result<Type, CallError> {
        let width_of = |id: &ExprId| arena.width_bits(*id);
        let widths: Vec<u32> = call.arguments.iter().map(width_of).collect();
        if let Some(wide) = widths.iter().find(|width_bits| !self.abi.passes(**width_bits)) {
            return Err(CallError::Wide(call.callee.clone(), "an argument", *wide));
        }
        let returns = call.result.as_ref().map(width_of);
        match returns.filter(|width_bits| *width_bits > RESULT_BITS) {
            Some(wide) => Err(CallError::Wide(call.callee.clone(), "a result", wide)),
            None => Ok(Type { widths, returns }),
        }
    }

    /// What memory is after a call.
    fn memories(&self, arena: &mut Arena, prefix: &str) -> Vec<(ExprId, ExprId)> {
        let address_bits = self.abi.address_bits;
        let changed = self.regions.iter().filter(|region| !self.constants.contains(region));
        changed
            .map(|region| {
                let name = format!("{prefix}{}", region.variable_name());
                let variable = arena.variable(&name, Sort::Memory(address_bits));
                (variable, reply_memory(arena, region, address_bits))
            })
            .collect()
    }

    /// The frame after a call: from above the area of the arguments on it is as it was.
    fn kept(
        &self,
        arena: &mut Arena,
        call: &Call,
        area_bytes: u32,
        assignments: &[(ExprId, ExprId)],
    ) -> Result<(ExprId, ExprId), CallError> {
        let (abi, word) = (self.abi, self.abi.word_bytes());
        let frame_bytes = call.frame_bytes.unwrap_or_default();
        let frame = Region::Stack.variable_in(arena, abi.address_bits);
        let unknown = assignments.iter().find(|(variable, _)| *variable == frame);
        let unknown = unknown.map(|(_, value)| *value);
        // After a jump nothing of the frame is left but the address that the callee has returned to.
        if let (Some(after), true) = (unknown, call.tail) {
            let stack = abi.register(arena, abi.stack_pointer);
            let address = arena.load(frame, stack, word);
            return Ok((frame, arena.store(after, stack, address)));
        }
        let (Some(mut after), Some(end)) = (unknown, frame_bytes.checked_add(self.bytes_above)) else {
            return Err(CallError::Frame(call.callee.clone(), frame_bytes));
        };
        if end / word > MOST_KEPT_WORDS {
            return Err(CallError::Frame(call.callee.clone(), frame_bytes));
        }
        let stack = abi.register(arena, abi.stack_pointer);
        for offset in (area_bytes..end).step_by(word as usize) {
            let address = arena.sum(abi.word(u128::from(offset)), &[(1, stack)]);
            let value = arena.load(frame, address, word.min(end - offset));
            after = arena.store(after, address, value);
        }
        Ok((frame, after))
    }

    /// Registers that hold the result of a call. What is above a narrow one is anybody's guess, but that a truth
    /// value is a whole byte.
    fn result_places(&self, arena: &mut Arena, width_bits: Option<u32>) -> Vec<(ExprId, ExprId)> {
        let Some(width_bits) = width_bits else { return Vec::new() };
        let mut reply = reply_result(arena);
        if width_bits == 1 {
            let above = arena.extract(reply, 8, RESULT_BITS - 8);
            let zeros = arena.constant(Bits::new(7, 0));
            let bit = arena.extract(reply, 0, 1);
            reply = arena.concat(&[above, zeros, bit]);
        }
        let word_bits = self.abi.address_bits;
        let words = width_bits.div_ceil(word_bits);
        let names = self.abi.results.iter().take(words as usize);
        let mut places = Vec::new();
        for (number, name) in (0..).zip(names) {
            let part = match word_bits {
                RESULT_BITS => reply,
                _ => arena.extract(reply, number * word_bits, word_bits),
            };
            places.push((self.abi.register(arena, name), part));
        }
        places
    }
}
