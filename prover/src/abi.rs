//! The System V calling conventions for x86-64 and i386: which places a caller and a callee agree on. Names are
//! those of the variables that the lifter gives to registers.

use crate::bits::Bits;
use crate::expr::{Arena, ExprId, Sort};
use crate::region::{Region, address_name};

/// A calling convention.
#[derive(Debug, PartialEq, Eq)]
pub struct Abi {
    /// Width of an address and of a general register.
    pub address_bits: u32,
    /// The stack pointer.
    pub stack_pointer: &'static str,
    /// Registers that a callee gives back as they were, but for the stack pointer.
    pub callee_saved: &'static [&'static str],
    /// Registers that hold a result, its low part first.
    pub results: &'static [&'static str],
    /// Registers that pass the first parameters; the others are on the stack, above the return address.
    pub parameters: &'static [&'static str],
    /// How many vector registers pass floating-point parameters, each in its low bits; the first holds such a
    /// result. Without any, parameters are on the stack and results in the x87, which is not modelled.
    pub vectors: usize,
}

/// System V for x86-64.
pub const X86_64: Abi = Abi {
    address_bits: 64,
    stack_pointer: "rsp",
    callee_saved: &["rbx", "rbp", "r12", "r13", "r14", "r15"],
    results: &["rax"],
    parameters: &["rdi", "rsi", "rdx", "rcx", "r8", "r9"],
    vectors: 8,
};

/// System V for i386.
pub const I386: Abi = Abi {
    address_bits: 32,
    stack_pointer: "esp",
    callee_saved: &["ebx", "ebp", "esi", "edi"],
    results: &["eax", "edx"],
    parameters: &[],
    vectors: 0,
};

impl Abi {
    /// The convention for addresses of a width: 32 or 64.
    pub fn of(address_bits: u32) -> &'static Abi {
        if address_bits == 32 { &I386 } else { &X86_64 }
    }

    /// Bytes of an address.
    pub fn word_bytes(&self) -> u32 {
        self.address_bits / 8
    }

    /// Registers that must be as they were at entry when the function returns, the stack pointer being one word
    /// higher.
    pub fn kept(&self) -> impl Iterator<Item = &'static str> {
        self.callee_saved.iter().copied().chain([self.stack_pointer])
    }

    /// A general register.
    pub fn register(&self, arena: &mut Arena, name: &str) -> ExprId {
        arena.variable(name, Sort::Bits(self.address_bits))
    }

    /// The low bits of a vector register.
    pub fn vector(&self, arena: &mut Arena, number: usize, width_bits: u32) -> ExprId {
        let whole = arena.variable(&format!("xmm{number}"), Sort::Bits(128));
        if width_bits == 128 { whole } else { arena.extract(whole, 0, width_bits) }
    }

    /// A variable for what a register, or the return address, was at entry.
    pub fn entry(&self, arena: &mut Arena, name: &str) -> ExprId {
        arena.variable(&format!("entry.{name}"), Sort::Bits(self.address_bits))
    }

    /// The stack pointer at entry.
    pub fn entry_stack(&self, arena: &mut Arena) -> ExprId {
        self.entry(arena, self.stack_pointer)
    }

    /// The address of a symbol.
    pub fn address(&self, arena: &mut Arena, symbol: &str) -> ExprId {
        arena.variable(&address_name(symbol), Sort::Bits(self.address_bits))
    }

    /// A number as wide as an address.
    pub fn word(&self, value: u128) -> Bits {
        Bits::new(self.address_bits, value)
    }

    /// Bytes of the frame at an offset from the stack pointer at entry.
    pub fn slot(&self, arena: &mut Arena, offset: i64, bytes: u32) -> ExprId {
        let memory = Region::Stack.variable_in(arena, self.address_bits);
        let start = self.entry_stack(arena);
        let address = arena.sum(self.word(offset as u128), &[(1, start)]);
        arena.load(memory, address, bytes)
    }

    /// The slot of the return address.
    pub fn return_slot(&self, arena: &mut Arena) -> ExprId {
        self.slot(arena, 0, self.word_bytes())
    }

    /// Whether a parameter of this width is passed in one register, or in one piece on the stack.
    pub fn passes(&self, width_bits: u32) -> bool {
        width_bits <= 64
    }

    /// Offsets from the stack pointer at entry, and bytes, of the parameters that are on the stack.
    pub fn stack_parameters(&self, widths: &[u32]) -> Vec<(i64, u32)> {
        let mut offset = i64::from(self.word_bytes());
        let mut places = Vec::new();
        for width_bits in widths.iter().skip(self.parameters.len()) {
            let bytes = width_bits.div_ceil(8);
            places.push((offset, bytes));
            offset += i64::from(bytes.next_multiple_of(self.word_bytes()));
        }
        places
    }

    /// Where a caller puts parameters, each of which it [`Abi::passes`], of these widths. The upper bits of a
    /// place that is wider than its parameter may be anything.
    pub fn passed(&self, arena: &mut Arena, widths: &[u32]) -> Vec<ExprId> {
        let mut registers = self.parameters.iter();
        let mut on_stack = self.stack_parameters(widths).into_iter();
        let mut passed = Vec::new();
        for width_bits in widths {
            passed.push(match registers.next() {
                Some(name) => {
                    let whole = self.register(arena, name);
                    if *width_bits == self.address_bits {
                        whole
                    } else {
                        arena.extract(whole, 0, *width_bits)
                    }
                }
                None => {
                    // As many places as parameters are left.
                    let (offset, bytes) = on_stack.next().unwrap_or_default();
                    let loaded = self.slot(arena, offset, bytes);
                    if *width_bits == 8 * bytes { loaded } else { arena.extract(loaded, 0, *width_bits) }
                }
            });
        }
        passed
    }

    /// Where a caller has put arguments of these widths when it calls, the return address not yet pushed, and how many
    /// bytes from there on are theirs; `top` is its stack pointer.
    pub fn arguments(&self, arena: &mut Arena, widths: &[u32], top: ExprId) -> (Vec<ExprId>, u32) {
        let mut on_stack = self.stack_parameters(widths).into_iter();
        let mut registers = self.parameters.iter();
        let mut places = Vec::new();
        for width_bits in widths {
            let whole = match registers.next() {
                Some(name) => self.register(arena, name),
                None => {
                    // The callee counts from below the return address. As many places as arguments are left.
                    let (offset, bytes) = on_stack.next().unwrap_or_default();
                    let offset = offset - i64::from(self.word_bytes());
                    let memory = Region::Stack.variable_in(arena, self.address_bits);
                    let address = arena.sum(self.word(offset as u128), &[(1, top)]);
                    arena.load(memory, address, bytes)
                }
            };
            let same = arena.width_bits(whole) == *width_bits;
            places.push(if same { whole } else { arena.extract(whole, 0, *width_bits) });
        }
        (places, self.parameter_bytes(widths))
    }

    /// Bytes of stack, above the return address, that hold parameters of these widths.
    pub fn parameter_bytes(&self, widths: &[u32]) -> u32 {
        let last = self.stack_parameters(widths).last().copied();
        last.map_or(0, |(offset, bytes)| {
            offset as u32 + bytes.next_multiple_of(self.word_bytes()) - self.word_bytes()
        })
    }

    /// Where a result of this width is; nothing if it does not fit into the registers for it.
    pub fn result(&self, arena: &mut Arena, width_bits: u32) -> Option<ExprId> {
        let words = width_bits.div_ceil(self.address_bits) as usize;
        let parts: Vec<ExprId> =
            self.results.get(..words)?.iter().rev().map(|name| self.register(arena, name)).collect();
        let whole = if parts.len() == 1 { parts[0] } else { arena.concat(&parts) };
        Some(if arena.width_bits(whole) == width_bits { whole } else { arena.extract(whole, 0, width_bits) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Node;

    #[test]
    fn parameters_of_i386_are_on_the_stack_word_by_word() {
        let mut arena = Arena::new();
        let passed = I386.passed(&mut arena, &[32, 8, 64, 32]);
        let offsets: Vec<u128> = passed
            .iter()
            .map(|place| {
                let Node::Load { address, .. } = *arena.node(*place) else { panic!("on the stack") };
                let Node::Sum { constant, .. } = arena.node(address) else {
                    panic!("above the stack pointer")
                };
                constant.value()
            })
            .collect();
        assert_eq!(offsets, [4, 8, 12, 20]);
        assert_eq!(I386.parameter_bytes(&[32, 8, 64, 32]), 20);
    }

    #[test]
    fn the_seventh_parameter_of_x86_64_is_on_the_stack() {
        let mut arena = Arena::new();
        let passed = X86_64.passed(&mut arena, &[32; 7]);
        let on_stack = passed.iter().filter(|place| matches!(arena.node(**place), Node::Load { .. }));
        assert_eq!((on_stack.count(), X86_64.parameter_bytes(&[32; 7])), (1, 8));
        assert_eq!(passed[6], X86_64.slot(&mut arena, 8, 4));
    }

    #[test]
    fn a_result_of_two_words_is_in_two_registers() {
        let mut arena = Arena::new();
        let (low, high) = (I386.register(&mut arena, "eax"), I386.register(&mut arena, "edx"));
        assert_eq!(I386.result(&mut arena, 64), Some(arena.concat(&[high, low])));
        assert_eq!(I386.result(&mut arena, 32), Some(low));
        assert_eq!(X86_64.result(&mut arena, 128), None);
        let narrow = X86_64.result(&mut arena, 1).unwrap();
        assert_eq!(arena.width_bits(narrow), 1);
    }
}
