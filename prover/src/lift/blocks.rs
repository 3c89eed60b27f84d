//! Decoding a function into basic blocks by following control flow from its start. Bytes that are not
//! reached (padding, data) are not decoded.

use super::{LiftError, unsupported};
use crate::object_file::{FunctionCode, RelocationKind};
use crate::x86;
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};
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
    if let Some(reason) = &function.refused {
        return Err(unsupported(reason, function.low_pc));
    }
    let mut decoded = BTreeMap::<u64, Instruction>::new();
    let mut leaders = BTreeSet::from([function.low_pc]);
    let mut open = vec![function.low_pc];
    while let Some(pc) = open.pop() {
        if decoded.contains_key(&pc) {
            continue;
        }
        let instruction = decode(function, pc)?;
        let next = successors(&instruction, function)?;
        // A call is a step of its own, with a point before it and one after it.
        if is_call(&instruction) && pc_call(&instruction, function).is_none() {
            leaders.insert(pc);
        }
        if ends_block(&instruction, function) {
            leaders.extend(&next);
        }
        open.extend(next);
        decoded.insert(pc, instruction);
    }
    check_overlaps(&decoded)?;
    check_fields(&decoded, function)?;
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

/// Whether it is a call of a place that is known.
fn is_call(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::Call
}

/// What a block is that consists of a call.
pub(super) struct Called {
    /// Names of the function that is called; it may have several.
    pub(super) names: Vec<String>,
    /// Whether it is called by way of a stub that needs the address of the table of addresses in ebx.
    pub(super) stub: bool,
}

/// The call that a block is, if it is one.
pub(super) fn call_of(block: &Block, function: &FunctionCode) -> Result<Option<Called>, LiftError> {
    match block.instructions.as_slice() {
        [call] if is_call(call) && pc_call(call, function).is_none() => callees(call, function).map(Some),
        _ => Ok(None),
    }
}

/// Whom a call of a known place calls.
fn callees(call: &Instruction, function: &FunctionCode) -> Result<Called, LiftError> {
    let field = call.ip()..call.next_ip();
    let near = matches!(call.op_kind(0), OpKind::NearBranch64 | OpKind::NearBranch32);
    let refused = |what: String| Err(unsupported(format!("call of {what}"), call.ip()));
    match function.relocations.iter().find(|relocation| field.contains(&relocation.pc)) {
        _ if !near => refused("a far place".into()),
        // The field counts from its own address, the processor from the next instruction: -4 is the symbol itself.
        Some(relocation) if relocation.addend == -4 && relocation.pc + 4 == call.next_ip() => {
            match relocation.kind {
                RelocationKind::Relative32 | RelocationKind::Stub32 => Ok(Called {
                    names: vec![relocation.symbol.clone()],
                    stub: relocation.kind == RelocationKind::Stub32,
                }),
                _ => refused(relocation.symbol.clone()),
            }
        }
        Some(relocation) => refused(format!("something in {}", relocation.symbol)),
        None => match function.entries.get(&call.near_branch_target()) {
            Some(names) => Ok(Called { names: names.clone(), stub: false }),
            None => refused("a place without a name".into()),
        },
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
        FlowControl::Call => {
            callees(instruction, function)?;
            Ok(vec![instruction.next_ip()])
        }
        FlowControl::IndirectCall => Err(unsupported("call through a pointer", pc)),
        FlowControl::IndirectBranch => Err(unsupported("indirect jump", pc)),
        other => Err(unsupported(format!("{:?} ({other:?})", instruction.mnemonic()).to_lowercase(), pc)),
    }
}

/// A field that the linker writes is in one instruction as a whole, or in none.
fn check_fields(decoded: &BTreeMap<u64, Instruction>, function: &FunctionCode) -> Result<(), LiftError> {
    for relocation in &function.relocations {
        let field = relocation.field();
        let touched = decoded.range(..field.end).rev().take_while(|(_, one)| one.next_ip() > field.start);
        for (pc, instruction) in touched {
            if field.start < *pc || instruction.next_ip() < field.end {
                return Err(unsupported(format!("relocation over the edge of {instruction}"), *pc));
            }
        }
    }
    Ok(())
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
