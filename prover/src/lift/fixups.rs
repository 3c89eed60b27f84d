//! What the linker will write into an instruction, as expressions over addresses of symbols. The linker
//! refuses a value that does not fit in its field, so a 32-bit field stands for the whole address.

use super::blocks::{PcCall, pc_call, tail_target};
use super::{LiftError, unsupported};
use crate::domain::{Domain, Fault, Symbolic};
use crate::expr::ExprId;
use crate::object_file::{FunctionCode, GOT, Image, PlacedSymbol, Relocation, RelocationKind};
use crate::region::address_name;
use crate::x86::operand::Fixups;
use crate::x86::state::State;
use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Stands for the place where a linked object that can be moved is loaded.
const IMAGE: &str = ".image";

/// Offset in the instruction, and size.
type Field = (usize, usize);

/// An instruction with what the linker does to it.
#[derive(Debug)]
pub(super) enum Linked {
    /// It runs with these words in its fields.
    Step(Fixups<ExprId>),
    /// `mov r32, imm32` of an address: the whole register is the address.
    WholeAddress(ExprId),
    /// A call that only asks for the pc, which is this.
    Pc(PcCall, ExprId),
}

/// The words for an instruction's relocated fields.
pub(super) fn linked(
    domain: &Symbolic,
    state: &State<ExprId>,
    instruction: &Instruction,
    function: &FunctionCode,
) -> Result<Linked, LiftError> {
    let mut fixups = Fixups::default();
    let bits = function.address_bits;
    if let Some(call) = pc_call(instruction, function) {
        let next = domain.constant(bits, u128::from(instruction.next_ip()));
        return Ok(Linked::Pc(call, domain.add(section_start(domain, function), next)));
    }
    if let Some(image) = &function.image {
        return Ok(in_image(domain, instruction, image, bits));
    }
    // Where it leads to is no part of what the jump does in this function.
    if tail_target(instruction, function).is_some() {
        return Ok(Linked::Step(fixups));
    }
    let range = instruction.ip()..instruction.next_ip();
    for relocation in function.relocations.iter().filter(|relocation| range.contains(&relocation.pc)) {
        let size = relocation.kind.size_bytes() as usize;
        let field = ((relocation.pc - instruction.ip()) as usize, size);
        let (displacement, immediate) = fields(instruction, function);
        let refused =
            || unsupported(format!("relocation of {} in {instruction}", relocation.symbol), instruction.ip());
        if Some(field) == displacement {
            match relocation.kind {
                RelocationKind::GotOffset => {
                    let offset = domain.sub(symbol(domain, relocation, bits), got(domain));
                    fixups.displacement = Some(domain.zero_extend(offset, 64));
                }
                RelocationKind::GotEntry => {
                    let entry = got_entry(domain, state, instruction, relocation).ok_or_else(refused)?;
                    fixups.loaded = Some(entry);
                }
                _ => relocate_displacement(domain, instruction, relocation, bits, &mut fixups)
                    .ok_or_else(refused)?,
            }
        } else if Some(field) == immediate {
            let value = match relocation.kind {
                // GOT + A - P, P being the address of the field.
                RelocationKind::GotPc => {
                    let place = domain.constant(bits, u128::from(relocation.pc));
                    let place = domain.add(section_start(domain, function), place);
                    domain.zero_extend(domain.sub(symbol(domain, relocation, bits), place), 64)
                }
                _ => absolute(domain, relocation, 0, bits),
            };
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

/// The words for the addresses that an instruction of a linked object has in it. An address relative to the pc is a
/// distance within the image; a number is an address only where the image cannot move, and then either reading of it
/// is right, as the addresses of symbols are numbers, too.
fn in_image(domain: &Symbolic, instruction: &Instruction, image: &Image, bits: u32) -> Linked {
    let from = |place: &PlacedSymbol, address: u64| {
        let symbol = domain.variable(&address_name(&place.symbol), bits);
        let distance = domain.constant(bits, u128::from(address.wrapping_sub(place.address)));
        // Addresses of 32-bit code have zeros above.
        domain.zero_extend(domain.add(symbol, distance), 64)
    };
    let relative = |address: u64| image.at(address).map(|place| from(place, address));
    let absolute = |address: u64| if image.fixed { relative(address) } else { None };
    let mut fixups = Fixups::default();
    if instruction.is_ip_rel_memory_operand() {
        let address = instruction.ip_rel_memory_address();
        // What has no name is still so far from where the image begins, wherever that is.
        let unnamed = || {
            let start = domain.variable(&address_name(IMAGE), 64);
            domain.add(start, domain.constant(64, u128::from(address)))
        };
        fixups.displacement = relative(address).or_else(|| (!image.fixed).then(unnamed));
        // Only instructions that read all of the word: lea would want its address.
        let reads = instruction.op_count() == 2 && instruction.op_kind(1) == OpKind::Memory;
        let whole = instruction.memory_size().size() == 8 && instruction.mnemonic() != Mnemonic::Lea;
        if let Some(symbol) = image.slot(address).filter(|_| reads && whole) {
            fixups.loaded = Some(domain.variable(&address_name(symbol), 64));
        }
    } else if instruction.memory_displ_size() >= 4 {
        let address = instruction.memory_displacement64();
        let indexed =
            instruction.memory_base() != Register::None || instruction.memory_index() != Register::None;
        fixups.displacement = match image.before(address).filter(|_| indexed && image.fixed) {
            Some(place) => Some(from(place, address)),
            None => absolute(address),
        };
    }
    let immediate = (0..instruction.op_count()).find_map(|operand| match instruction.op_kind(operand) {
        OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64 => {
            let width_bits = if instruction.op_kind(operand) == OpKind::Immediate32 { 32 } else { 64 };
            Some((instruction.immediate(operand), width_bits))
        }
        _ => None,
    });
    if let Some((value, width_bits)) = immediate.filter(|_| reads_immediate(instruction))
        && let Some(address) = absolute(value)
    {
        if instruction.code() == Code::Mov_r32_imm32 {
            return Linked::WholeAddress(address);
        }
        fixups.immediate = Some(domain.low(address, width_bits));
    }
    Linked::Step(fixups)
}

/// Offset and size of the displacement and of the immediate in the instruction.
fn fields(instruction: &Instruction, function: &FunctionCode) -> (Option<Field>, Option<Field>) {
    let start = (instruction.ip() - function.low_pc) as usize;
    let bytes = &function.bytes[start..start + instruction.len()];
    let mut decoder = Decoder::with_ip(function.address_bits, bytes, instruction.ip(), DecoderOptions::NONE);
    let again = decoder.decode();
    let offsets = decoder.get_constant_offsets(&again);
    (
        offsets.has_displacement().then(|| (offsets.displacement_offset(), offsets.displacement_size())),
        offsets.has_immediate().then(|| (offsets.immediate_offset(), offsets.immediate_size())),
    )
}

/// S + A.
fn symbol(domain: &Symbolic, relocation: &Relocation, bits: u32) -> ExprId {
    let symbol = domain.variable(&address_name(&relocation.symbol), bits);
    domain.add(symbol, domain.constant(bits, relocation.addend as u128))
}

/// Address of the table that i386 code computes from.
fn got(domain: &Symbolic) -> ExprId {
    domain.variable(&address_name(GOT), 32)
}

/// Address of the section that a function is in: pcs count from there.
fn section_start(domain: &Symbolic, function: &FunctionCode) -> ExprId {
    domain.variable(&address_name(&function.section), function.address_bits)
}

/// What an entry of the table holds, for an instruction that reads all of it. That the register has the table's
/// address is required of the machine.
fn got_entry(
    domain: &Symbolic,
    state: &State<ExprId>,
    instruction: &Instruction,
    relocation: &Relocation,
) -> Option<ExprId> {
    let base = instruction.memory_base();
    let plain = base.is_gpr32() && instruction.memory_index() == Register::None && relocation.addend == 0;
    let reads = instruction.op_count() == 2 && instruction.op_kind(1) == OpKind::Memory;
    let whole = instruction.memory_size().size() == 4 && instruction.mnemonic() != Mnemonic::Lea;
    if !(plain && reads && whole) {
        return None;
    }
    let at_table = domain.equals(state.read(domain, base), got(domain));
    domain.require(at_table, Fault::Page).ok()?;
    Some(domain.variable(&address_name(&relocation.symbol), 32))
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

/// Whether an instruction reads its immediate as an operand; others take it from the instruction.
fn reads_immediate(instruction: &Instruction) -> bool {
    matches!(
        instruction.mnemonic(),
        Mnemonic::Mov | Mnemonic::Cmp | Mnemonic::Add | Mnemonic::Sub | Mnemonic::Test | Mnemonic::And
    )
}

fn immediate_word(
    domain: &Symbolic,
    instruction: &Instruction,
    relocation: &Relocation,
    value: ExprId,
) -> Option<ExprId> {
    let operand = reads_immediate(instruction);
    let last = instruction.op_count().checked_sub(1)?;
    match (relocation.kind, instruction.op_kind(last)) {
        (RelocationKind::Absolute32Signed, OpKind::Immediate32to64) if operand => Some(value),
        (RelocationKind::Absolute64, OpKind::Immediate64) if operand => Some(value),
        (
            RelocationKind::Absolute32 | RelocationKind::Absolute32Signed | RelocationKind::GotPc,
            OpKind::Immediate32,
        ) if operand => Some(domain.low(value, 32)),
        _ => None,
    }
}
