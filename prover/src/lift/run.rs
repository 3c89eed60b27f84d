//! One block, run symbolically from variables: what it assigns and where it goes.

use super::blocks::{Block, PcCall, Step, call_of, tail_points, tail_target};
use super::fixups::{Linked, linked};
use super::tables::{self, Found, Read};
use super::{LiftError, unsupported};
use crate::abi::Abi;
use crate::bits::Bits;
use crate::domain::{Domain, Fault, Layout, Requirement, Symbolic};
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, CommutativeOp, CompareOp, ExprId, Node, Sort};
use crate::graph::{Call, Point};
use crate::object_file::{FunctionCode, GOT};
use crate::region::{Access, Region};
use crate::x86::state::{Flag, RSP, State};
use crate::x86::{Next, Stop, step_linked};
use std::ops::Range;

/// What a block does.
pub(super) struct Ran {
    pub(super) assignments: Vec<(ExprId, ExprId)>,
    pub(super) requirements: Vec<Requirement>,
    pub(super) accesses: Vec<Access>,
    /// Instructions that touch memory or move the stack pointer. A call has none: what is below the stack pointer is
    /// unknown after it.
    pub(super) touched: Vec<Touched>,
    /// Guards and where control then goes.
    pub(super) ways: Vec<(ExprId, Point)>,
}

impl Ran {
    fn nothing(ways: Vec<(ExprId, Point)>) -> Ran {
        Ran {
            assignments: Vec::new(),
            requirements: Vec::new(),
            accesses: Vec::new(),
            touched: Vec::new(),
            ways,
        }
    }
}

/// What an instruction does to the stack.
pub(super) struct Touched {
    pub(super) pc: u64,
    /// The stack pointer before.
    pub(super) before: ExprId,
    /// The stack pointer after.
    pub(super) after: ExprId,
    /// Numbers of its accesses.
    pub(super) accesses: Range<usize>,
    /// Whether it asks for the pc with a call: the return address is left below the stack pointer.
    pub(super) asks: bool,
}

/// Names of the general registers, in the order of the state; 32-bit code has the first eight, by their
/// 32-bit names.
const GENERAL: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// Name of the variable of a general register; nothing if the mode does not have it.
pub(super) fn register_name(number: usize, address_bits: u32) -> Option<String> {
    match (address_bits, number) {
        (32, 0..8) => Some(GENERAL[number].replacen('r', "e", 1)),
        (32, _) => None,
        _ => Some(GENERAL[number].to_owned()),
    }
}

/// Whether a variable is a general register.
pub(super) fn is_general(name: &str) -> bool {
    GENERAL.contains(&name) || GENERAL[..8].iter().any(|known| name == known.replacen('r', "e", 1))
}

/// Name of the variable that takes the place to which a return goes.
pub const RETURN_TARGET: &str = "return.target";

/// Runs a block; `layout` says where each access goes.
pub(super) fn block(
    arena: &mut Arena,
    block: &Block,
    function: &FunctionCode,
    layout: &dyn Layout,
) -> Result<Ran, LiftError> {
    if call_of(block, function)?.is_some() || matches!(block.step, Step::Tail(_)) {
        return Ok(call(arena, block, function, layout));
    }
    if let Step::Return = block.step {
        return Ok(returned(arena, function, layout));
    }
    let prefix = format!("{:#x}.", block.start());
    let domain = Symbolic::new(std::mem::take(arena), &prefix, layout);
    let bits = function.address_bits;
    let (before, places) = variables(&domain, bits);
    let mut state = before;
    let mut next = Ok(Next::Fall);
    let mut touched = Vec::new();
    let mut reads = Vec::new();
    for instruction in &block.instructions {
        let (before, first, mut asks) = (state.general[RSP], domain.accesses(), false);
        next = match linked(&domain, &state, instruction, function) {
            Ok(Linked::Step(mut fixups)) => {
                match tables::read(&domain, &mut state, instruction, fixups, (block, function)) {
                    Some(Found::Number(number)) => fixups.loaded = Some(number),
                    Some(Found::Code(read)) => {
                        fixups.loaded = Some(read.unknown());
                        reads.push(read);
                    }
                    None => {}
                }
                step_linked(&domain, &mut state, instruction, fixups).map_err(LiftError::from)
            }
            Ok(Linked::WholeAddress(address)) => {
                let register = instruction.op0_register();
                state.write(&domain, register.full_register(), address);
                Ok(Next::Fall)
            }
            Ok(Linked::Pc(call, pc)) => {
                asks = true;
                ask_for_pc(&domain, &mut state, call, pc).map_err(|fault| Stop::from(fault).into())
            }
            Err(error) => Err(error),
        };
        if next.is_err() {
            break;
        }
        let (after, accesses) = (state.general[RSP], first..domain.accesses());
        if before != after || !accesses.is_empty() {
            let (before, after) = (domain.low(before, bits), domain.low(after, bits));
            touched.push(Touched { pc: instruction.ip(), before, after, accesses, asks });
        }
    }
    let after = flattened(&domain, &state, bits);
    let fall = block.instructions[block.instructions.len() - 1].next_ip();
    let ways = ways(&domain, next, fall, &reads, (block, function));
    let (returned, collected) = domain.into_parts();
    *arena = returned;
    let (ways, returns) = ways?;
    let mut assignments: Vec<(ExprId, ExprId)> = places.into_iter().zip(after).collect();
    if let Some(target) = returns {
        let variable = arena.variable(RETURN_TARGET, Sort::Bits(arena.width_bits(target)));
        assignments.push((variable, target));
    }
    for (region, memory) in collected.memories {
        assignments.push((region.variable_in(arena, bits), memory));
    }
    let mut normaliser = Normaliser::new();
    // What a block only reads, or puts back, it does not assign.
    assignments.retain(|(variable, value)| normaliser.normal(arena, *value) != *variable);
    let (requirements, accesses) = (collected.requirements, collected.accesses);
    Ok(Ran { assignments, requirements, accesses, touched, ways })
}

/// A call: the return address is pushed, and then all is unknown that the callee may change. Of memory outside of
/// the frame nothing is said here, nor of the result: that is the callee's answer to both programs.
fn call(arena: &mut Arena, block: &Block, function: &FunctionCode, layout: &dyn Layout) -> Ran {
    let prefix = format!("{:#x}.unknown.", block.start());
    let bits = function.address_bits;
    let abi = Abi::of(bits);
    let stack = abi.register(arena, abi.stack_pointer);
    let word = abi.word(u128::from(abi.word_bytes()));
    // A jump pushes nothing: the callee finds our own return address, and takes it away.
    let tail = matches!(block.step, Step::Tail(_));
    let top = if tail { stack } else { arena.sum(abi.word(0).sub(word), &[(1, stack)]) };
    let region = layout.region(arena, top);
    let accesses = vec![Access { region, address: top, bytes: abi.word_bytes(), write: !tail }];
    let domain = Symbolic::new(std::mem::take(arena), &prefix, layout);
    let (_, places) = variables(&domain, bits);
    *arena = domain.into_parts().0;
    let kept: Vec<ExprId> = abi.kept().map(|name| abi.register(arena, name)).collect();
    let mut assignments = Vec::new();
    for place in places.into_iter().filter(|place| !kept.contains(place)) {
        let Node::Variable(symbol) = arena.node(place) else { continue };
        let name = format!("{prefix}{}", arena.name(*symbol));
        let unknown = arena.variable(&name, arena.sort(place));
        assignments.push((place, unknown));
    }
    let frame = Region::Stack.variable_in(arena, bits);
    let unknown = arena.variable(&format!("{prefix}frame"), arena.sort(frame));
    assignments.push((frame, unknown));
    let always = arena.constant(Bits::bit(true));
    let next = match block.step {
        Step::Tail(jump) => tail_points(&jump).1,
        _ => block.instructions[block.instructions.len() - 1].next_ip(),
    };
    Ran { assignments, accesses, ..Ran::nothing(vec![(always, Point::Pc(next))]) }
}

/// The return of a callee that was jumped to: to where our own return address says. The callee took that away, and
/// what it then did to its place does not matter, so [`crate::calls`] leaves it there.
fn returned(arena: &mut Arena, function: &FunctionCode, layout: &dyn Layout) -> Ran {
    let bits = function.address_bits;
    let abi = Abi::of(bits);
    let stack = abi.register(arena, abi.stack_pointer);
    let frame = Region::Stack.variable_in(arena, bits);
    let target = arena.variable(RETURN_TARGET, Sort::Bits(bits));
    let (word, bytes) = (abi.word(u128::from(abi.word_bytes())), abi.word_bytes());
    let assignments =
        vec![(target, arena.load(frame, stack, bytes)), (stack, arena.sum(word, &[(1, stack)]))];
    let accesses = vec![Access { region: layout.region(arena, stack), address: stack, bytes, write: false }];
    let always = arena.constant(Bits::bit(true));
    Ran { assignments, accesses, ..Ran::nothing(vec![(always, Point::Exit)]) }
}

/// What a block that is a call says of it; `depth` is how far the stack pointer is below where it was at entry.
pub(super) fn called(
    arena: &mut Arena,
    block: &Block,
    function: &FunctionCode,
    depth: Option<i64>,
) -> Result<Option<Call>, LiftError> {
    let called = match block.step {
        Step::Tail(jump) => tail_target(&jump, function),
        _ => call_of(block, function)?,
    };
    let Some(called) = called else { return Ok(None) };
    let abi = Abi::of(function.address_bits);
    let depth = depth.and_then(|depth| u32::try_from(depth).ok());
    let Some(frame_bytes) = depth else {
        return Err(unsupported("call with a frame of unknown size", block.start()));
    };
    let tail = matches!(block.step, Step::Tail(_));
    if tail && frame_bytes > 0 {
        return Err(unsupported("tail call with a frame", block.start()));
    }
    // The stack pointer is a multiple of 16 where a call is: after a jump, once the return address is gone.
    let stack = abi.register(arena, abi.stack_pointer);
    let gone = u128::from(if tail { abi.word_bytes() } else { 0 });
    let stack = arena.sum(abi.word(gone), &[(1, stack)]);
    let rest = arena.constant(abi.word(15));
    let low = arena.commutative(CommutativeOp::And, &[stack, rest]);
    let zero = arena.constant(abi.word(0));
    let mut wanted = vec![arena.compare(CompareOp::Eq, low, zero)];
    if called.stub {
        let register = abi.register(arena, "ebx");
        let table = abi.address(arena, GOT);
        wanted.push(arena.compare(CompareOp::Eq, register, table));
    }
    let mut aliases = called.names;
    let callee = aliases.remove(0);
    Ok(Some(Call { callee, aliases, wanted, frame_bytes: Some(frame_bytes), tail, ..Call::default() }))
}

/// A call whose only effect is that a register, or the stack, has the pc. The return address is left below the
/// stack pointer in any case.
fn ask_for_pc(
    domain: &Symbolic,
    state: &mut State<ExprId>,
    call: PcCall,
    pc: ExprId,
) -> Result<Next<ExprId>, Fault> {
    let four = domain.constant(32, 4);
    let top = domain.zero_extend(domain.sub(domain.low(state.general[RSP], 32), four), 64);
    domain.store(top, pc)?;
    match call {
        PcCall::Pushed => state.general[RSP] = top,
        PcCall::Register(number) => state.general[usize::from(number)] = domain.zero_extend(pc, 64),
    }
    Ok(Next::Fall)
}

type Ways = (Vec<(ExprId, Point)>, Option<ExprId>);

fn ways(
    domain: &Symbolic,
    next: Result<Next<ExprId>, LiftError>,
    fall: u64,
    reads: &[Read],
    (block, function): (&Block, &FunctionCode),
) -> Result<Ways, LiftError> {
    let pc = block.last_pc();
    let always = domain.bit(true);
    let next = match next {
        // A trap: no way on. That the block is not reached is for the proof to show.
        Err(LiftError::Instruction(Stop::Fault(Fault::InvalidOpcode))) => return Ok((Vec::new(), None)),
        next => next?,
    };
    Ok(match next {
        Next::Fall => (vec![(always, Point::Pc(fall))], None),
        Next::Jump(target) => (vec![(always, Point::Pc(target))], None),
        Next::Branch { condition, target } => {
            let last = block.instructions.last().filter(|last| tail_target(last, function).is_some());
            let target = last.map_or(target, |jump| tail_points(jump).0);
            (vec![(condition, Point::Pc(target)), (domain.not(condition), Point::Pc(fall))], None)
        }
        Next::Return(target) => (vec![(always, Point::Exit)], Some(target)),
        Next::Indirect(target) => {
            let ways = tables::ways(domain, target, reads, pc, (block, function))?;
            (ways.into_iter().map(|(guard, to)| (guard, Point::Pc(to))).collect(), None)
        }
        Next::Call(_) => return Err(unsupported("computed control flow", pc)),
    })
}

/// The state at the start of a block, and its variables in the order of [`flattened`].
fn variables(domain: &Symbolic, bits: u32) -> (State<ExprId>, Vec<ExprId>) {
    let general = |number: usize| register_name(number, bits).map(|name| domain.variable(&name, bits));
    let vector = |number: usize| domain.variable(&format!("xmm{number}"), 128);
    let flag = |flag: Flag| domain.variable(&format!("flag.{flag:?}"), 1);
    // Registers that the mode does not have are never read: no instruction can name them.
    let whole = |number| general(number).map_or_else(|| domain.zero(64), |word| domain.zero_extend(word, 64));
    let state = State::new(domain, whole, vector, flag);
    let places = (0..16).filter_map(general).chain((0..vectors(bits)).map(vector));
    (state, places.chain(Flag::ALL.map(flag)).collect())
}

fn vectors(bits: u32) -> usize {
    if bits == 32 { 8 } else { 16 }
}

/// Registers and flags after a block, in one order: a flag that the manual leaves open is unknown.
fn flattened(domain: &Symbolic, state: &State<ExprId>, bits: u32) -> Vec<ExprId> {
    let flag = |flag: Flag| {
        let word = state.flag(flag);
        domain.choose(word.defined, word.value, domain.unknown(1))
    };
    let general = (0..16).filter(|number| register_name(*number, bits).is_some());
    let general = general.map(|number| domain.low(state.general[number], bits));
    let vector = state.vector.iter().take(vectors(bits)).copied();
    general.chain(vector).chain(Flag::ALL.map(flag)).collect()
}
