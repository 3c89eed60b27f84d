//! One block, run symbolically from variables: what it assigns and where it goes.

use super::blocks::Block;
use super::fixups::{Linked, linked};
use super::{LiftError, unsupported};
use crate::domain::{Domain, Fault, Layout, Requirement, Symbolic};
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, ExprId, Sort};
use crate::graph::Point;
use crate::object_file::FunctionCode;
use crate::region::Access;
use crate::x86::state::{Flag, State};
use crate::x86::{Next, Stop, step_linked};

/// What a block does.
pub(super) struct Ran {
    pub(super) assignments: Vec<(ExprId, ExprId)>,
    pub(super) requirements: Vec<Requirement>,
    pub(super) accesses: Vec<Access>,
    /// Guards and where control then goes.
    pub(super) ways: Vec<(ExprId, Point)>,
}

/// Names of the general registers, in the order of the state.
pub(super) const GENERAL: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

/// Name of the variable that takes the place to which a return goes.
pub const RETURN_TARGET: &str = "return.target";

/// Runs a block; `layout` says where each access goes.
pub(super) fn block(
    arena: &mut Arena,
    block: &Block,
    function: &FunctionCode,
    layout: &dyn Layout,
) -> Result<Ran, LiftError> {
    let prefix = format!("{:#x}.", block.start());
    let domain = Symbolic::new(std::mem::take(arena), &prefix, layout);
    let before = variables(&domain);
    let mut state = before.clone();
    let mut next = Ok(Next::Fall);
    for instruction in &block.instructions {
        next = match linked(&domain, instruction, function) {
            Ok(Linked::Step(fixups)) => {
                step_linked(&domain, &mut state, instruction, fixups).map_err(LiftError::from)
            }
            Ok(Linked::WholeAddress(address)) => {
                state.write(&domain, instruction.op0_register().full_register(), address);
                Ok(Next::Fall)
            }
            Err(error) => Err(error),
        };
        if next.is_err() {
            break;
        }
    }
    let after = flattened(&domain, &state);
    let fall = block.instructions[block.instructions.len() - 1].next_ip();
    let ways = ways(&domain, next, fall, block.last_pc());
    let (returned, collected) = domain.into_parts();
    *arena = returned;
    let (ways, returns) = ways?;
    let mut assignments: Vec<(ExprId, ExprId)> = all(&before).into_iter().zip(after).collect();
    if let Some(target) = returns {
        let variable = arena.variable(RETURN_TARGET, Sort::Bits(64));
        assignments.push((variable, target));
    }
    for (region, memory) in collected.memories {
        assignments.push((region.variable(arena), memory));
    }
    let mut normaliser = Normaliser::new();
    // What a block only reads, or puts back, it does not assign.
    assignments.retain(|(variable, value)| normaliser.normal(arena, *value) != *variable);
    let (requirements, accesses) = (collected.requirements, collected.accesses);
    Ok(Ran { assignments, requirements, accesses, ways })
}

type Ways = (Vec<(ExprId, Point)>, Option<ExprId>);

fn ways(
    domain: &Symbolic,
    next: Result<Next<ExprId>, LiftError>,
    fall: u64,
    pc: u64,
) -> Result<Ways, LiftError> {
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
            (vec![(condition, Point::Pc(target)), (domain.not(condition), Point::Pc(fall))], None)
        }
        Next::Return(target) => (vec![(always, Point::Exit)], Some(target)),
        Next::Indirect(_) | Next::Call(_) => return Err(unsupported("computed control flow", pc)),
    })
}

fn variables(domain: &Symbolic) -> State<ExprId> {
    State::new(
        domain,
        |number| domain.variable(GENERAL[number], 64),
        |number| domain.variable(&format!("xmm{number}"), 128),
        |flag| domain.variable(&format!("flag.{flag:?}"), 1),
    )
}

/// Registers and flags in one order.
fn all(state: &State<ExprId>) -> Vec<ExprId> {
    let flags = state.flags.iter().map(|flag| flag.value);
    state.general.iter().chain(&state.vector).copied().chain(flags).collect()
}

/// The same after a block: a flag that the manual leaves open is unknown.
fn flattened(domain: &Symbolic, state: &State<ExprId>) -> Vec<ExprId> {
    let flag = |flag: Flag| {
        let word = state.flag(flag);
        domain.choose(word.defined, word.value, domain.unknown(1))
    };
    state.general.iter().chain(&state.vector).copied().chain(Flag::ALL.map(flag)).collect()
}
