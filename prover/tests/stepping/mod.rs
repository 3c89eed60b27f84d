//! s000 of the kept objects, linked to chosen addresses and run instruction by instruction in the concrete
//! domain that the processor judges: the ground truth for graphs and for the hand-written proofs.
#![allow(dead_code)] // Each test program uses its part.

use metaloc_prover::bits::Bits;
use metaloc_prover::domain::{Concrete, Window};
use metaloc_prover::graph::Point;
use metaloc_prover::object_file::{FunctionCode, ObjectFile, RelocationKind};
use metaloc_prover::x86::state::{RSP, State};
use metaloc_prover::x86::{Next, decode, step};
use std::collections::HashMap;

/// A file of `regress`.
pub fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../regress/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The function s000 of an object.
pub fn s000(object: &str) -> FunctionCode {
    ObjectFile::parse(object, &read(&format!("objects/{object}"))).unwrap().function("s000").unwrap().clone()
}

/// The kept objects of s000.
pub const OBJECTS: [&str; 2] = ["s000-gcc12-nopic.o", "s000-clang19-nopic.o"];

/// Where the test puts things; all of them fit in 32 bits, as the linker promises.
pub const PLACES: [(&str, u64); 3] = [("X", 0x20000), ("Y", 0x40000), ("val", 0x60000)];
/// The stack pointer at entry.
pub const STACK: u64 = 0x10800;
/// The linked code with its state, run instruction by instruction.
pub struct Machine {
    code: Vec<u8>,
    /// Where it is.
    pub pc: u64,
    /// Registers and flags.
    pub state: State<Bits>,
    /// Memory.
    pub window: Window,
}

impl Machine {
    /// At the start of the function.
    pub fn new(function: &FunctionCode) -> Machine {
        let places: HashMap<&str, u64> = PLACES.into();
        let mut code = function.bytes.clone();
        for relocation in &function.relocations {
            let value = places[relocation.symbol.as_str()].wrapping_add(relocation.addend as u64);
            let field = match relocation.kind {
                RelocationKind::Relative32 => value.wrapping_sub(relocation.pc),
                _ => value,
            };
            let at = relocation.pc as usize;
            code[at..at + 4].copy_from_slice(&(field as u32).to_le_bytes());
        }
        let bytes = (0..0x60000u64).map(|number| (number.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        let window = Window { start: 0x10000, bytes };
        let mut state = State::new(
            &Concrete::new(window.clone()),
            |number| Bits::new(64, 0x1234_5678_9abc * (number as u128 + 1)),
            |number| Bits::new(128, number as u128),
            |_| Bits::bit(false),
        );
        state.general[RSP] = Bits::new(64, u128::from(STACK));
        Machine { code, pc: 0, state, window }
    }

    /// Runs at least one instruction, until it reaches a point.
    pub fn run_to(&mut self, point: &Point) {
        loop {
            let instruction = decode(&self.code[self.pc as usize..], self.pc).unwrap();
            let domain = Concrete::new(self.window.clone());
            let reached = match step(&domain, &mut self.state, &instruction).unwrap() {
                Next::Branch { condition, target } if condition.is_set() => Point::Pc(target),
                Next::Fall | Next::Branch { .. } => Point::Pc(instruction.next_ip()),
                Next::Return(_) => Point::Exit,
                other => panic!("unexpected {other:?}"),
            };
            self.window = domain.into_window();
            if reached == *point {
                self.pc = if let Point::Pc(pc) = reached { pc } else { self.pc };
                return;
            }
            self.pc = instruction.next_ip();
        }
    }

    /// The bytes of memory at an address.
    pub fn memory(&self, address: u64, bytes: usize) -> &[u8] {
        let offset = (address - self.window.start) as usize;
        &self.window.bytes[offset..offset + bytes]
    }
}
