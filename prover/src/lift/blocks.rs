//! Decoding a function into basic blocks by following control flow from its start. Bytes that are not
//! reached (padding, data) are not decoded.

use super::{LiftError, unsupported};
use crate::object_file::{FunctionCode, RelocationKind};
use crate::x86;
use iced_x86::{FlowControl, Instruction, Mnemonic};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions that run one after the other; there is at least one.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) instructions: Vec<Instruction>,
}

impl Block {
    pub(super) fn start(&self) -> u64 {
        self.instructions[0].ip()
    }

    pub(super) fn last_pc(&self) -> u64 {
        self.instructions[self.instructions.len() - 1].ip()
    }
}

/// The blocks of a function by pc; a function starts with its first.
pub(super) fn find(function: &FunctionCode) -> Result<Vec<Block>, LiftError> {
    let mut decoded = BTreeMap::<u64, Instruction>::new();
    let mut leaders = BTreeSet::from([function.low_pc]);
    let mut open = vec![function.low_pc];
    while let Some(pc) = open.pop() {
        if decoded.contains_key(&pc) {
            continue;
        }
        let instruction = decode(function, pc)?;
        let next = successors(&instruction, function)?;
        if ends_block(&instruction, function) {
            leaders.extend(&next);
        }
        open.extend(next);
        decoded.insert(pc, instruction);
    }
    check_overlaps(&decoded)?;
    Ok(leaders
        .iter()
        .map(|leader| Block { instructions: straight(function, &decoded, &leaders, *leader) })
        .collect())
}

/// Instructions from a leader to the next one, or to the next branch.
fn straight(
    function: &FunctionCode,
    decoded: &BTreeMap<u64, Instruction>,
    leaders: &BTreeSet<u64>,
    leader: u64,
) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut pc = leader;
    while let Some(instruction) = decoded.get(&pc) {
        instructions.push(*instruction);
        pc = instruction.next_ip();
        if ends_block(instruction, function) || leaders.contains(&pc) {
            break;
        }
    }
    instructions
}

fn decode(function: &FunctionCode, pc: u64) -> Result<Instruction, LiftError> {
    let offset = pc.checked_sub(function.low_pc).and_then(|offset| usize::try_from(offset).ok());
    let bytes = offset.and_then(|offset| function.bytes.get(offset..)).filter(|bytes| !bytes.is_empty());
    let bytes = bytes.ok_or_else(|| unsupported("control that leaves the function", pc))?;
    Ok(x86::decode_in(bytes, pc, function.address_bits)?)
}

/// What a call that only asks for the pc does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PcCall {
    /// Leaves it on the stack: a call of the next instruction.
    Pushed,
    /// Puts it into the general register of this number.
    Register(u8),
}

/// Whether a call of i386 code only asks for the pc.
pub(super) fn pc_call(instruction: &Instruction, function: &FunctionCode) -> Option<PcCall> {
    if instruction.flow_control() != FlowControl::Call || function.address_bits != 32 {
        return None;
    }
    let field = instruction.ip()..instruction.next_ip();
    match function.relocations.iter().find(|relocation| field.contains(&relocation.pc)) {
        None => (instruction.near_branch_target() == instruction.next_ip()).then_some(PcCall::Pushed),
        // The field counts from its own address, the processor from the next instruction: -4 is the thunk itself.
        Some(relocation) if relocation.kind == RelocationKind::Relative32 && relocation.addend == -4 => {
            function.pc_thunks.get(&relocation.symbol).map(|register| PcCall::Register(*register))
        }
        Some(_) => None,
    }
}

fn ends_block(instruction: &Instruction, function: &FunctionCode) -> bool {
    instruction.flow_control() != FlowControl::Next && pc_call(instruction, function).is_none()
}

fn successors(instruction: &Instruction, function: &FunctionCode) -> Result<Vec<u64>, LiftError> {
    let pc = instruction.ip();
    if pc_call(instruction, function).is_some() {
        return Ok(vec![instruction.next_ip()]);
    }
    let relocated = |target: &Instruction| {
        let field = target.ip()..target.next_ip();
        function.relocations.iter().find(|relocation| field.contains(&relocation.pc))
    };
    let near = || match relocated(instruction) {
        Some(relocation) => Err(unsupported(format!("tail call of {}", relocation.symbol), pc)),
        None => Ok(instruction.near_branch_target()),
    };
    match instruction.flow_control() {
        FlowControl::Next => Ok(vec![instruction.next_ip()]),
        FlowControl::UnconditionalBranch => Ok(vec![near()?]),
        FlowControl::ConditionalBranch => Ok(vec![near()?, instruction.next_ip()]),
        FlowControl::Return => Ok(Vec::new()),
        // A trap ends the path.
        FlowControl::Exception if instruction.mnemonic() == Mnemonic::Ud2 => Ok(Vec::new()),
        FlowControl::Call | FlowControl::IndirectCall => {
            let whom = relocated(instruction)
                .map_or(String::new(), |relocation| format!(" of {}", relocation.symbol));
            Err(unsupported(format!("call{whom}"), pc))
        }
        FlowControl::IndirectBranch => Err(unsupported("indirect jump", pc)),
        other => Err(unsupported(format!("{:?} ({other:?})", instruction.mnemonic()).to_lowercase(), pc)),
    }
}

/// Two instructions that share bytes mean that one of them was reached in the middle.
fn check_overlaps(decoded: &BTreeMap<u64, Instruction>) -> Result<(), LiftError> {
    let mut end = 0;
    for (pc, instruction) in decoded {
        if *pc < end {
            return Err(unsupported("jump into an instruction", *pc));
        }
        end = instruction.next_ip();
    }
    Ok(())
}
