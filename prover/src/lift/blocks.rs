//! Decoding a function into basic blocks by following control flow from its start. Bytes that are not
//! reached (padding, data) are not decoded.

use super::backwards::Code;
use super::{LiftError, run, unsupported};
use crate::domain::OneRegion;
use crate::expr::Arena;
use crate::graph::Point;
use crate::object_file::{FunctionCode, Relocation, RelocationKind};
use crate::x86;
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Instructions that run one after the other; there is at least one.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) instructions: Vec<Instruction>,
    /// The function that it is a part of.
    pub(super) code: Rc<Code>,
    /// What it does that its instructions do not say.
    pub(super) step: Step,
    start: u64,
}

/// What a block is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Its instructions.
    Run,
    /// A jump to another function, which returns to our caller: a call of it, and then a return. The jump is its only
    /// instruction, or, if it is conditional, the last one of the block before.
    Tail(Instruction),
    /// What is left to do after that: nothing.
    Return,
}

impl Block {
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn last_pc(&self) -> u64 {
        self.instructions.last().map_or(self.start, Instruction::ip)
    }

    /// The first instructions.
    pub(super) fn cut(&self, length: usize) -> Block {
        let instructions = self.instructions[..length].to_vec();
        Block { instructions, code: self.code.clone(), step: Step::Run, start: self.start }
    }

    /// Whether it goes on at a place that it computes.
    pub(super) fn ends_with_jump(&self) -> bool {
        self.instructions.last().is_some_and(is_computed)
    }
}

fn is_computed(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::IndirectBranch
}

/// The blocks of a function by pc; a function starts with its first.
pub(super) fn find(function: &FunctionCode) -> Result<Vec<Block>, LiftError> {
    if let Some(reason) = &function.refused {
        return Err(unsupported(reason, function.low_pc));
    }
    // Where jumps by tables lead to, by pc: found once what is before them is decoded.
    let mut tables = BTreeMap::<u64, Vec<u64>>::new();
    loop {
        let (blocks, open) = find_by(function, &tables)?;
        let known = |tables: &BTreeMap<u64, Vec<u64>>| tables.values().map(Vec::len).sum::<usize>();
        let before = known(&tables);
        for block in blocks.iter().filter(|block| block.ends_with_jump()) {
            let mut arena = Arena::new();
            let ran = run::block(&mut arena, block, function, &OneRegion(function.address_bits))?;
            let targets = ran.ways.into_iter().filter_map(|(_, target)| match target {
                Point::Pc(pc) => Some(pc),
                _ => None,
            });
            tables.insert(block.last_pc(), targets.collect());
        }
        if !open && before == known(&tables) {
            return Ok(blocks);
        }
    }
}

/// The blocks, as far as they are reached by way of tables that are known, and whether there are others.
fn find_by(
    function: &FunctionCode,
    tables: &BTreeMap<u64, Vec<u64>>,
) -> Result<(Vec<Block>, bool), LiftError> {
    let mut code = Code::default();
    let mut leaders = BTreeSet::from([function.low_pc]);
    let mut open = vec![function.low_pc];
    let (mut unknown, mut tails) = (false, Vec::new());
    while let Some(pc) = open.pop() {
        if code.decoded.contains_key(&pc) {
            continue;
        }
        let instruction = decode(function, pc)?;
        let next = match tables.get(&pc) {
            Some(targets) => targets.clone(),
            None if is_computed(&instruction) => {
                unknown = true;
                Vec::new()
            }
            None => successors(&instruction, function)?,
        };
        // A call is a step of its own, with a point before it and one after it.
        if is_call(&instruction) && pc_call(&instruction, function).is_none() {
            leaders.insert(pc);
        }
        if ends_block(&instruction, function) {
            leaders.extend(&next);
        }
        if tail_target(&instruction, function).is_some() {
            tails.push(instruction);
        }
        for to in &next {
            code.before.entry(*to).or_default().push(pc);
        }
        open.extend(next);
        code.decoded.insert(pc, instruction);
    }
    check_overlaps(&code.decoded)?;
    check_fields(&code.decoded, function)?;
    let code = Rc::new(code);
    let made = |instructions, step, start| Block { instructions, code: code.clone(), step, start };
    // An unconditional jump to another function is a block of its own.
    let own = |pc: &u64| tails.iter().find(|tail| tail.ip() == *pc && !is_conditional(tail));
    leaders.extend(tails.iter().filter(|tail| !is_conditional(tail)).map(Instruction::ip));
    let mut blocks = Vec::new();
    for leader in &leaders {
        let instructions = straight(function, &code.decoded, &leaders, *leader);
        let step = own(leader).map_or(Step::Run, |tail| Step::Tail(*tail));
        blocks.push(made(instructions, step, *leader));
    }
    for tail in &tails {
        let (calls, returns) = tail_points(tail);
        if is_conditional(tail) {
            blocks.push(made(Vec::new(), Step::Tail(*tail), calls));
        }
        blocks.push(made(Vec::new(), Step::Return, returns));
    }
    Ok((blocks, unknown))
}

fn is_conditional(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::ConditionalBranch
}

/// Where a jump to another function makes its call, and where it is done with that: pcs that no instruction begins at,
/// but for the jump's own.
pub(super) fn tail_points(jump: &Instruction) -> (u64, u64) {
    let calls = jump.ip() + u64::from(is_conditional(jump));
    (calls, calls + 1)
}

/// The function that a jump leads to, if it is another one.
pub(super) fn tail_target(jump: &Instruction, function: &FunctionCode) -> Option<Called> {
    let near = matches!(jump.op_kind(0), OpKind::NearBranch64 | OpKind::NearBranch32);
    let jumps =
        matches!(jump.flow_control(), FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch);
    // There have to be places for the points.
    if !near || !jumps || jump.len() < 2 + usize::from(is_conditional(jump)) {
        return None;
    }
    let relocated = related(jump, function).is_some();
    let inside = jump.near_branch_target().wrapping_sub(function.low_pc) < function.bytes.len() as u64;
    if !relocated && inside {
        return None;
    }
    callees(jump, function).ok()
}

/// The field of an instruction that the linker writes.
fn related<'a>(instruction: &Instruction, function: &'a FunctionCode) -> Option<&'a Relocation> {
    let field = instruction.ip()..instruction.next_ip();
    function.relocations.iter().find(|relocation| field.contains(&relocation.pc))
}

/// The place in a constant whose address an instruction puts into a register, and does nothing else.
pub(super) fn relocated_address(instruction: &Instruction, function: &FunctionCode) -> Option<(String, i64)> {
    if instruction.mnemonic() != Mnemonic::Lea || !instruction.is_ip_rel_memory_operand() {
        return None;
    }
    let known = |symbol: &String| function.constants.contains_key(symbol);
    if let Some(image) = &function.image {
        let address = instruction.ip_rel_memory_address();
        let place = image.at(address).filter(|place| known(&place.symbol))?;
        return Some((place.symbol.clone(), address.wrapping_sub(place.address) as i64));
    }
    let field = instruction.ip()..instruction.next_ip();
    let relocation = function.relocations.iter().find(|relocation| field.contains(&relocation.pc))?;
    let plain = relocation.kind == RelocationKind::Relative32 && known(&relocation.symbol);
    let ahead = (instruction.next_ip() - relocation.pc) as i64;
    plain.then(|| (relocation.symbol.clone(), relocation.addend.wrapping_add(ahead)))
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
    if !matches!(block.step, Step::Run) {
        return Ok(None);
    }
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
                // A section stands for what is in it and not for a function.
                _ if relocation.symbol.starts_with('.') => {
                    refused(format!("something in {}", relocation.symbol))
                }
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
    if tail_target(instruction, function).is_some() {
        let falls = is_conditional(instruction).then(|| instruction.next_ip());
        return Ok(falls.into_iter().collect());
    }
    let near = || match related(instruction, function) {
        Some(relocation) if relocation.symbol.starts_with('.') => {
            Err(unsupported(format!("jump into {}", relocation.symbol), pc))
        }
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
