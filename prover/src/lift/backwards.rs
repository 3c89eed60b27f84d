//! What code before an instruction suggests of a register: how large an index is, by the comparison that was made of
//! it, and which constant's address was loaded. These are guesses, for [`super::tables`] to require: whoever reads the
//! code backwards sees one way to come here and not all.

use super::blocks::{Block, relocated_address};
use crate::object_file::FunctionCode;
use iced_x86::{
    ConditionCode, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use std::collections::{BTreeMap, BTreeSet};

/// The instructions of a function, by pc, and which pcs each is reached from.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) decoded: BTreeMap<u64, Instruction>,
    pub(super) before: BTreeMap<u64, Vec<u64>>,
}

/// So many instructions are looked at for one guess.
const MOST_STEPS: usize = 4000;

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Tracked {
    Register(Register),
    /// Base, index, scale and displacement.
    Memory(Register, Register, u32, u64),
}

/// A value on its way back: what it is known to be below if nothing else is found, and a comparison of another place.
#[derive(Debug, Clone)]
struct Trail {
    at: u64,
    value: Tracked,
    natural: Option<u64>,
    compared: Vec<(Tracked, u64)>,
}

impl Code {
    /// How many values the index of an instruction's memory operand may have.
    pub(super) fn bound(&self, instruction: &Instruction) -> Option<u64> {
        let index = match instruction.memory_index() {
            // A byte's address is base and index alike.
            Register::None => instruction.memory_base(),
            index => index,
        };
        let first = self.bound_of(instruction.ip(), index.full_register());
        let plain = instruction.memory_index() != Register::None && instruction.memory_index_scale() == 1;
        first.or_else(|| {
            plain
                .then(|| self.bound_of(instruction.ip(), instruction.memory_base().full_register()))
                .flatten()
        })
    }

    fn bound_of(&self, pc: u64, register: Register) -> Option<u64> {
        let value = Tracked::Register(register);
        let mut open = vec![Trail { at: pc, value, natural: None, compared: Vec::new() }];
        let (mut seen, mut found) = (BTreeSet::new(), None);
        for _ in 0..MOST_STEPS {
            let Some(trail) = open.pop() else { break };
            for from in self.before.get(&trail.at).into_iter().flatten() {
                if !seen.insert((*from, trail.at, trail.value)) {
                    continue;
                }
                match self.step(*from, trail.clone()) {
                    Ok(trail) => open.push(trail),
                    Err(bound) => found = found.max(bound),
                }
            }
            if !self.before.contains_key(&trail.at) {
                found = found.max(trail.natural);
            }
        }
        found
    }

    /// Over one instruction; the bound, if there is no use in going further.
    fn step(&self, pc: u64, mut trail: Trail) -> Result<Trail, Option<u64>> {
        let instruction = &self.decoded[&pc];
        let taken = instruction.next_ip() != trail.at;
        if let Some((place, bound)) = self.compared(instruction, taken) {
            if place == trail.value {
                return Err(Some(trail.natural.map_or(bound, |natural| natural.min(bound))));
            }
            trail.compared.push((place, bound));
        }
        trail.at = pc;
        let writes = written(instruction);
        let Tracked::Register(register) = trail.value else {
            return Ok(trail);
        };
        if !writes.contains(&register) {
            // What was compared afterwards was another value.
            trail.compared.retain(|(place, _)| match place {
                Tracked::Register(one) => !writes.contains(one),
                Tracked::Memory(base, index, ..) => !writes.contains(base) && !writes.contains(index),
            });
            return Ok(trail);
        }
        let immediate = || instruction.immediate(1);
        match instruction.mnemonic() {
            Mnemonic::And
                if instruction.op1_kind() != OpKind::Register && instruction.op1_kind() != OpKind::Memory =>
            {
                // Bits that are set nowhere else: the largest value is the mask.
                return Err(immediate().checked_add(1).filter(|count| *count <= 1 << 16));
            }
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd | Mnemonic::Movsx => {
                let narrow = instruction.mnemonic() == Mnemonic::Movzx;
                let source_bytes = match instruction.op1_kind() {
                    OpKind::Register => instruction.op1_register().size(),
                    OpKind::Memory => instruction.memory_size().size(),
                    _ => return Err(trail.natural),
                };
                if narrow && source_bytes == 1 {
                    trail.natural = Some(trail.natural.map_or(256, |natural| natural.min(256)));
                }
                trail.value = match operand(instruction, 1) {
                    Some(source) => source,
                    None => return Err(trail.natural),
                };
            }
            _ => return Err(trail.natural),
        }
        match trail.compared.iter().find(|(place, _)| *place == trail.value) {
            Some((_, bound)) => Err(Some(*bound)),
            None => Ok(trail),
        }
    }

    /// What a conditional branch says of a place on the way that is taken: how many values it may have.
    fn compared(&self, branch: &Instruction, taken: bool) -> Option<(Tracked, u64)> {
        if branch.flow_control() != FlowControl::ConditionalBranch {
            return None;
        }
        let inclusive = match (branch.condition_code(), taken) {
            (ConditionCode::a, false) | (ConditionCode::be, true) => true,
            (ConditionCode::ae, false) | (ConditionCode::b, true) => false,
            _ => return None,
        };
        let mut at = branch.ip();
        for _ in 0..8 {
            let [before] = self.before.get(&at)?.as_slice() else { return None };
            let instruction = &self.decoded[before];
            at = *before;
            if instruction.mnemonic() == Mnemonic::Cmp {
                let immediate = !matches!(instruction.op1_kind(), OpKind::Register | OpKind::Memory);
                let place = operand(instruction, 0).filter(|_| immediate)?;
                return instruction
                    .immediate(1)
                    .checked_add(u64::from(inclusive))
                    .map(|count| (place, count));
            }
            if instruction.rflags_modified() != 0 || instruction.flow_control() != FlowControl::Next {
                return None;
            }
        }
        None
    }

    /// The constant whose address a register has at the start of a block, by the instructions that put it there.
    pub(super) fn base(
        &self,
        block: &Block,
        register: &str,
        function: &FunctionCode,
    ) -> Option<(String, i64)> {
        let start = block.start();
        let (mut open, mut seen, mut found) = (vec![start], BTreeSet::new(), None);
        while let Some(at) = open.pop() {
            for from in self.before.get(&at).into_iter().flatten() {
                if !seen.insert(*from) || seen.len() > MOST_STEPS {
                    continue;
                }
                let instruction = &self.decoded[from];
                let own = written(instruction).into_iter().find(|one| name(*one) == register);
                if own.is_none() {
                    open.push(*from);
                    continue;
                }
                let loaded = relocated_address(instruction, function)?;
                if found.is_some() && found.as_ref() != Some(&loaded) {
                    return None;
                }
                found = Some(loaded);
            }
        }
        found
    }
}

fn name(register: Register) -> String {
    format!("{register:?}").to_lowercase()
}

/// The full registers that an instruction writes to. A call may write to many, which does not matter to a guess.
fn written(instruction: &Instruction) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(instruction).used_registers().to_vec();
    let writes = |access: OpAccess| {
        matches!(
            access,
            OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
        )
    };
    used.into_iter().filter(|one| writes(one.access())).map(|one| full(one.register())).collect()
}

/// The whole of a register; in 32-bit code iced still has 64-bit ones.
fn full(register: Register) -> Register {
    register.full_register()
}

fn operand(instruction: &Instruction, number: u32) -> Option<Tracked> {
    match instruction.op_kind(number) {
        OpKind::Register => Some(Tracked::Register(full(instruction.op_register(number)))),
        OpKind::Memory => Some(Tracked::Memory(
            full(instruction.memory_base()),
            full(instruction.memory_index()),
            instruction.memory_index_scale(),
            instruction.memory_displacement64(),
        )),
        _ => None,
    }
}
