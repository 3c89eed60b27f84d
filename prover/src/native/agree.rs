//! A graph run on the inputs that the compiled function was run on, and what differs afterwards.

use super::{Input, Native, NativeError, Output, Placed};
use crate::abi::Abi;
use crate::bits::Bits;
use crate::expr::{Arena, ExprId, Sort};
use crate::graph::{Graph, Point, PointId};
use crate::ir::Global;
use crate::object_file::FunctionCode;
use crate::region::{Region, address_name};
use crate::run::code::Code;
use crate::run::state::{State, Table};
use crate::run::{Runner, Step};
use crate::source::{FRAME, RETURN_VALUE, SourceFunction, memory_variable_in};
use metaloc_proof::AssumptionKind;

/// Which program a graph is.
#[derive(Debug, Clone, Copy)]
pub enum Side<'a> {
    /// IR.
    Source(&'a SourceFunction),
    /// Machine code.
    Machine(&'a Graph, &'a FunctionCode),
}

/// How a run of a graph ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// It returned and left the same behind as the compiled function.
    Same,
    /// It returned, and something differs.
    Different(Difference),
    /// The source does something undefined on this input: it says nothing about the compiled function.
    Undefined(AssumptionKind),
    /// The machine faults, which the compiled function did not.
    Fault(Point),
    /// It got to a point that no edge leaves.
    Stuck(Point),
    /// It did not end within the limit.
    Endless,
}

/// The first difference found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// The returned value.
    Returned {
        /// Of the graph.
        graph: u64,
        /// Of the compiled function.
        native: u64,
    },
    /// A byte of a global.
    Byte {
        /// The global.
        symbol: String,
        /// Offset in it.
        offset: usize,
        /// Of the graph.
        graph: u8,
        /// Of the compiled function.
        native: u8,
    },
}

/// Address of the first constant that a program has for itself; all are aligned to pages.
const CONSTANTS: u64 = 0x7e00_0000;
/// Address of the frame; far from all globals, which a linker puts low.
const STACK: u64 = 0x7f00_0000;

/// Runs a graph on inputs, for at most `limit` steps each, and compares with the compiled function, which is
/// asked only about inputs on which the graph returned.
pub fn judge(
    arena: &mut Arena,
    side: Side,
    returns_bits: Option<u32>,
    native: &Native,
    inputs: &[Input],
    limit: usize,
) -> Result<Vec<Ran>, NativeError> {
    let prepared = Prepared::new(arena, side, native.globals(), returns_bits);
    let ran: Vec<Result<State, Ran>> = inputs.iter().map(|input| prepared.run(input, limit)).collect();
    let returned = inputs.iter().zip(&ran).filter(|(_, ran)| ran.is_ok()).map(|(input, _)| input.clone());
    let mut outputs = native.run(&returned.collect::<Vec<_>>())?.into_iter();
    let compared = ran.into_iter().map(|ran| match ran {
        Ok(state) => match outputs.next().and_then(|output| prepared.difference(&state, &output)) {
            None => Ran::Same,
            Some(difference) => Ran::Different(difference),
        },
        Err(ran) => ran,
    });
    Ok(compared.collect())
}

/// A graph with the places of what is set before a run and compared after it.
struct Prepared<'a> {
    graph: &'a Graph,
    runner: Runner,
    table: Table,
    globals: &'a [Placed],
    /// The memory that holds each global.
    memories: Vec<usize>,
    /// Fixed values: addresses and the frame.
    fixed: Vec<(usize, u64)>,
    /// Memories that hold constants, with addresses and bytes.
    constants: Vec<(usize, u64, &'a [u8])>,
    arguments: Vec<(usize, u32)>,
    /// The memory that holds the arguments of 32-bit code.
    stack: Option<usize>,
    returned: Option<Code>,
}

impl<'a> Prepared<'a> {
    fn new(arena: &mut Arena, side: Side<'a>, globals: &'a [Placed], returns_bits: Option<u32>) -> Self {
        let graph = match side {
            Side::Source(source) => &source.graph,
            Side::Machine(graph, _) => graph,
        };
        let mut table = Table::default();
        // As the second program: compiled code makes the NaNs that the model makes.
        let runner = Runner::calling(arena, graph, &mut table, 1, &Vec::new());
        let bits = match side {
            Side::Source(source) => source.address_bits,
            Side::Machine(_, function) => function.address_bits,
        };
        let memory = |arena: &mut Arena, region: &Region| match side {
            Side::Source(_) => memory_variable_in(arena, region, bits),
            Side::Machine(..) => region.variable_in(arena, bits),
        };
        let merged = graph.needs_merging();
        let mut memories = Vec::new();
        let mut fixed = Vec::new();
        for placed in globals {
            let symbol = &placed.global.symbol;
            let region = if merged { Region::Rest } else { Region::Global(symbol.clone()) };
            let variable = memory(arena, &region);
            memories.push(table.memory(arena, variable));
            let address = arena.variable(&address_name(symbol), Sort::Bits(bits));
            fixed.push((table.bits(arena, address), placed.address));
        }
        let known: Vec<(&'a String, &'a [u8])> = match side {
            Side::Source(source) => {
                let constant = |global: &'a Global| Some((&global.symbol, global.constant.as_deref()?));
                source.globals.iter().filter_map(constant).collect()
            }
            Side::Machine(_, function) => function
                .constants
                .iter()
                .map(|(symbol, constant)| (symbol, constant.bytes.as_slice()))
                .collect(),
        };
        let (mut constants, mut next) = (Vec::new(), CONSTANTS);
        for (symbol, bytes) in known {
            let region = if merged { Region::Rest } else { Region::Global(symbol.clone()) };
            let variable = memory(arena, &region);
            let address = arena.variable(&address_name(symbol), Sort::Bits(bits));
            fixed.push((table.bits(arena, address), next));
            constants.push((table.memory(arena, variable), next, bytes));
            next += (bytes.len() as u64).next_multiple_of(4096);
        }
        let abi = Abi::of(bits);
        let name = match side {
            Side::Source(_) => FRAME,
            Side::Machine(..) => abi.stack_pointer,
        };
        let stack = arena.variable(name, Sort::Bits(bits));
        // A call leaves the stack pointer one address below a multiple of 16.
        fixed.push((table.bits(arena, stack), STACK - u64::from(bits / 8)));
        let arguments = match side {
            Side::Source(source) => source
                .parameters
                .iter()
                .map(|parameter| (table.bits(arena, parameter.variable), parameter.width_bits))
                .collect(),
            Side::Machine(..) => abi
                .parameters
                .iter()
                .map(|name| {
                    let variable = abi.register(arena, name);
                    (table.bits(arena, variable), abi.address_bits)
                })
                .collect(),
        };
        let returned = returns_bits.map(|width_bits| {
            let value = returned(arena, side, width_bits, bits);
            Code::new(arena, &mut table, &[value])
        });
        let stack = (matches!(side, Side::Machine(..)) && bits == 32).then(|| {
            let variable = memory(arena, &Region::Stack);
            table.memory(arena, variable)
        });
        Prepared { graph, runner, table, globals, memories, fixed, constants, arguments, stack, returned }
    }

    /// The state in which it returned.
    fn run(&self, input: &Input, limit: usize) -> Result<State, Ran> {
        let mut state = self.table.made_up(input.arguments[0]);
        for (place, value) in &self.fixed {
            state.bits[*place] = u128::from(*value);
        }
        for ((place, width_bits), value) in self.arguments.iter().zip(input.arguments) {
            state.bits[*place] = Bits::new(*width_bits, u128::from(value)).value();
        }
        for ((placed, memory), bytes) in self.globals.iter().zip(&self.memories).zip(&input.memory) {
            for (address, byte) in (placed.address..).zip(bytes) {
                state.memories[*memory].set_byte(address, *byte);
            }
        }
        for (memory, start, bytes) in &self.constants {
            for (address, byte) in (*start..).zip(*bytes) {
                state.memories[*memory].set_byte(address, *byte);
            }
        }
        if let Some(stack) = self.stack {
            for (address, argument) in (STACK..).step_by(4).zip(input.arguments) {
                state.memories[stack].store(address, u128::from(argument as u32), 4);
            }
        }
        let mut point = PointId(0);
        for _ in 0..limit {
            let here = || self.graph.points[point.0 as usize].clone();
            match self.runner.step(point, &mut state) {
                Step::Taken { to, .. } => point = to,
                Step::Undefined(kind) => return Err(Ran::Undefined(kind)),
                Step::Fault => return Err(Ran::Fault(here())),
                Step::End if here() == Point::Exit => return Ok(state),
                Step::End | Step::Open => return Err(Ran::Stuck(here())),
            }
        }
        Err(Ran::Endless)
    }

    fn difference(&self, state: &State, output: &Output) -> Option<Difference> {
        if let Some(code) = &self.returned {
            let graph = code.bits(state)[0];
            let native = Bits::new(graph.width_bits(), u128::from(output.returned));
            if graph != native {
                return Some(Difference::Returned {
                    graph: graph.value() as u64,
                    native: native.value() as u64,
                });
            }
        }
        for ((placed, memory), bytes) in self.globals.iter().zip(&self.memories).zip(&output.memory) {
            for (offset, native) in bytes.iter().enumerate() {
                let graph = state.memories[*memory].byte(placed.address + offset as u64);
                if graph != *native {
                    let symbol = placed.global.symbol.clone();
                    return Some(Difference::Byte { symbol, offset, graph, native: *native });
                }
            }
        }
        None
    }
}

fn returned(arena: &mut Arena, side: Side, width_bits: u32, address_bits: u32) -> ExprId {
    match side {
        Side::Source(_) => arena.variable(RETURN_VALUE, Sort::Bits(width_bits)),
        Side::Machine(..) => {
            let abi = Abi::of(address_bits);
            let first = abi.register(arena, abi.results[0]);
            abi.result(arena, width_bits).unwrap_or(first)
        }
    }
}
