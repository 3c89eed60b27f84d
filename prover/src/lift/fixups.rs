//! What the linker will write into an instruction, as expressions over addresses of symbols. The linker
//! refuses a value that does not fit in its field, so a 32-bit field stands for the whole address.

use super::{LiftError, unsupported};
use crate::domain::{Domain, Symbolic};
use crate::expr::ExprId;
use crate::object_file::{FunctionCode, Relocation, RelocationKind};
use crate::region::address_name;
use crate::x86::operand::Fixups;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};

/// An instruction with what the linker does to it.
#[derive(Debug)]
pub(super) enum Linked {
    /// It runs with these words in its fields.
    Step(Fixups<ExprId>),
    /// `mov r32, imm32` of an address: the whole register is the address.
    WholeAddress(ExprId),
}

/// The words for an instruction's relocated fields.
pub(super) fn linked(
    domain: &Symbolic,
    instruction: &Instruction,
    function: &FunctionCode,
) -> Result<Linked, LiftError> {
    let mut fixups = Fixups::default();
    let bits = function.address_bits;
    let range = instruction.ip()..instruction.next_ip();
    for relocation in function.relocations.iter().filter(|relocation| range.contains(&relocation.pc)) {
        let field = (relocation.pc - instruction.ip()) as usize;
        let (displacement, immediate) = fields(instruction, function);
        let refused =
            || unsupported(format!("relocation of {} in {instruction}", relocation.symbol), instruction.ip());
        if Some(field) == displacement {
            relocate_displacement(domain, instruction, relocation, bits, &mut fixups).ok_or_else(refused)?;
        } else if Some(field) == immediate {
            let value = absolute(domain, relocation, 0, bits);
            match (instruction.code(), relocation.kind) {
                (Code::Mov_r32_imm32, RelocationKind::Absolute32) => return Ok(Linked::WholeAddress(value)),
                _ => {
                    fixups.immediate =
                        Some(immediate_word(domain, instruction, relocation, value).ok_or_else(refused)?)
                }
            }
        } else {
            return Err(refused());
        }
    }
    Ok(Linked::Step(fixups))
}

/// Offsets of the displacement and of the immediate in the instruction.
fn fields(instruction: &Instruction, function: &FunctionCode) -> (Option<usize>, Option<usize>) {
    let start = (instruction.ip() - function.low_pc) as usize;
    let bytes = &function.bytes[start..start + instruction.len()];
    let mut decoder = Decoder::with_ip(function.address_bits, bytes, instruction.ip(), DecoderOptions::NONE);
    let again = decoder.decode();
    let offsets = decoder.get_constant_offsets(&again);
    (
        offsets.has_displacement().then(|| offsets.displacement_offset()),
        offsets.has_immediate().then(|| offsets.immediate_offset()),
    )
}

/// S + A + `more` as 64 bits; addresses of 32-bit code have zeros above.
fn absolute(domain: &Symbolic, relocation: &Relocation, more: u64, bits: u32) -> ExprId {
    let symbol = domain.variable(&address_name(&relocation.symbol), bits);
    let offset = (relocation.addend as u64).wrapping_add(more);
    let sum =
        if offset == 0 { symbol } else { domain.add(symbol, domain.constant(bits, u128::from(offset))) };
    domain.zero_extend(sum, 64)
}

fn relocate_displacement(
    domain: &Symbolic,
    instruction: &Instruction,
    relocation: &Relocation,
    bits: u32,
    fixups: &mut Fixups<ExprId>,
) -> Option<()> {
    let relative = instruction.is_ip_rel_memory_operand();
    // The field counts from its own address, the processor from the next instruction.
    let ahead = instruction.next_ip() - relocation.pc;
    match relocation.kind {
        RelocationKind::Absolute32Signed if !relative => {
            fixups.displacement = Some(absolute(domain, relocation, 0, bits))
        }
        // In 32-bit code a field holds the whole address.
        RelocationKind::Absolute32 if bits == 32 => {
            fixups.displacement = Some(absolute(domain, relocation, 0, bits))
        }
        RelocationKind::Relative32 if relative => {
            fixups.displacement = Some(absolute(domain, relocation, ahead, bits))
        }
        // The table's entry is a constant; an access elsewhere in the table is not.
        RelocationKind::Got32 if relative && (relocation.addend as u64).wrapping_add(ahead) == 0 => {
            fixups.loaded = Some(domain.variable(&address_name(&relocation.symbol), 64));
        }
        _ => return None,
    }
    // Only instructions that read the entry: lea would want its address, a store would change it.
    let reads = instruction.op_count() == 2 && instruction.op_kind(1) == OpKind::Memory;
    let whole = instruction.memory_size().size() == 8 && instruction.mnemonic() != Mnemonic::Lea;
    (fixups.loaded.is_none() || (reads && whole)).then_some(())
}

fn immediate_word(
    domain: &Symbolic,
    instruction: &Instruction,
    relocation: &Relocation,
    value: ExprId,
) -> Option<ExprId> {
    // These read their immediate as an operand; others take it from the instruction.
    let operand = matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Cmp | Mnemonic::Add | Mnemonic::Sub | Mnemonic::Test | Mnemonic::And
    );
    let last = instruction.op_count().checked_sub(1)?;
    match (relocation.kind, instruction.op_kind(last)) {
        (RelocationKind::Absolute32Signed, OpKind::Immediate32to64) if operand => Some(value),
        (RelocationKind::Absolute64, OpKind::Immediate64) if operand => Some(value),
        (RelocationKind::Absolute32 | RelocationKind::Absolute32Signed, OpKind::Immediate32) if operand => {
            Some(domain.low(value, 32))
        }
        _ => None,
    }
}
