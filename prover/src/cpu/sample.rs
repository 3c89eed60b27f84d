//! Instructions of a form with random operands, and states to run them in. Operands are drawn so that all
//! aliasing patterns occur, addresses so that most accesses hit the window and some fault, immediate bytes
//! so that all values occur within 256 states.

use super::child::{DATA, Input, LANDING, PAGE, TEST_PC, WINDOW};
use super::random::Random;
use crate::x86::Mode;
use crate::x86::rows::computes_with_floats;
use iced_x86::{
    Code, Decoder, DecoderOptions, Encoder, FlowControl, Instruction, MemoryOperand, Mnemonic,
    OpCodeOperandKind, OpKind, Register,
};

/// An instruction, decoded, and the state before it.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) instruction: Instruction,
    pub(super) input: Input,
}

/// Sample `index` of a row.
pub(super) fn sample(mode: Mode, code: Code, index: usize, random: &mut Random) -> Sample {
    loop {
        let built = build(mode, code, index, random);
        // A high byte register beside one that needs a REX prefix cannot be encoded; and some operands make
        // another form of the same bytes (xchg eax, eax is nop): draw again.
        let mut encoder = Encoder::new(mode.address_bits());
        if encoder.encode(&built, TEST_PC).is_err() {
            continue;
        }
        let bytes = encoder.take_buffer();
        let instruction =
            Decoder::with_ip(mode.address_bits(), &bytes, TEST_PC, DecoderOptions::NONE).decode();
        if instruction.code() != code {
            continue;
        }
        let mut input = state(&instruction, &bytes, random);
        if mode == Mode::Bits32 {
            // The registers that the mode has hold 32 bits.
            input.general[..8].iter_mut().for_each(|register| *register &= 0xffff_ffff);
        }
        return Sample { instruction, input };
    }
}

fn build(mode: Mode, code: Code, index: usize, random: &mut Random) -> Instruction {
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    let operands = code.op_code();
    // Few registers to draw from make equal ones likely.
    let crowd = random.pick(&[2, 4, if mode == Mode::Bits64 { 16 } else { 8 }]);
    for operand in 0..operands.op_count() {
        let kind = operands.op_kind(operand);
        set_operand(&mut instruction, operand, kind, (mode, index, crowd), random);
    }
    instruction
}

fn set_operand(
    instruction: &mut Instruction,
    operand: u32,
    kind: OpCodeOperandKind,
    (mode, index, crowd): (Mode, usize, usize),
    random: &mut Random,
) {
    use OpCodeOperandKind as Kind;
    let mut register = |from: Register, random: &mut Random| {
        instruction.set_op_kind(operand, OpKind::Register);
        instruction.set_op_register(operand, from + random.below(crowd) as u32);
    };
    let memory = random.percent(50);
    match kind {
        Kind::r8_or_mem | Kind::r16_or_mem | Kind::r32_or_mem | Kind::r64_or_mem | Kind::xmm_or_mem
            if memory =>
        {
            set_memory(mode, instruction, operand, random);
        }
        Kind::mem => set_memory(mode, instruction, operand, random),
        Kind::mem_offs => {
            instruction.set_op_kind(operand, OpKind::Memory);
            instruction.set_memory_displ_size(mode.address_bits() / 8);
            instruction.set_memory_displacement64(target(random, 8));
        }
        Kind::r8_or_mem | Kind::r8_reg | Kind::r8_opcode => {
            // iced lists al to bl, then ah to bh, then the others.
            let first = match mode {
                Mode::Bits64 => random.pick(&[Register::AL, Register::AH, Register::SPL, Register::R8L]),
                Mode::Bits32 => random.pick(&[Register::AL, Register::AH]),
            };
            instruction.set_op_kind(operand, OpKind::Register);
            instruction.set_op_register(operand, first + random.below(4) as u32);
        }
        Kind::r16_or_mem | Kind::r16_reg | Kind::r16_rm | Kind::r16_opcode => register(Register::AX, random),
        Kind::r32_or_mem | Kind::r32_reg | Kind::r32_rm | Kind::r32_opcode => register(Register::EAX, random),
        Kind::r64_or_mem | Kind::r64_reg | Kind::r64_rm | Kind::r64_opcode => register(Register::RAX, random),
        Kind::xmm_or_mem | Kind::xmm_reg | Kind::xmm_rm => register(Register::XMM0, random),
        Kind::al => instruction.set_op_register(operand, Register::AL),
        Kind::cl => instruction.set_op_register(operand, Register::CL),
        Kind::ax => instruction.set_op_register(operand, Register::AX),
        Kind::eax => instruction.set_op_register(operand, Register::EAX),
        Kind::rax => instruction.set_op_register(operand, Register::RAX),
        _ => set_immediate(instruction, operand, kind, index, random),
    }
}

fn set_immediate(
    instruction: &mut Instruction,
    operand: u32,
    kind: OpCodeOperandKind,
    index: usize,
    random: &mut Random,
) {
    use OpCodeOperandKind as Kind;
    let byte = index as u8;
    let landing = LANDING.start + random.next() % (LANDING.end - LANDING.start);
    let (op_kind, value) = match kind {
        Kind::imm8 => (OpKind::Immediate8, u64::from(byte)),
        Kind::imm8_const_1 => (OpKind::Immediate8, 1),
        Kind::imm8sex16 => (OpKind::Immediate8to16, byte as i8 as u64),
        Kind::imm8sex32 => (OpKind::Immediate8to32, byte as i8 as u64),
        Kind::imm8sex64 => (OpKind::Immediate8to64, byte as i8 as u64),
        Kind::imm16 => (OpKind::Immediate16, random.word() & 0xffff),
        Kind::imm32 => (OpKind::Immediate32, random.word() & 0xffff_ffff),
        Kind::imm32sex64 => (OpKind::Immediate32to64, random.word() as i32 as u64),
        Kind::imm64 => (OpKind::Immediate64, random.word()),
        // Behind the instruction, however long it is, and within reach.
        Kind::br64_1 => (OpKind::NearBranch64, TEST_PC + 16 + random.next() % 100),
        Kind::br32_1 => (OpKind::NearBranch32, TEST_PC + 16 + random.next() % 100),
        Kind::br32_4 => (OpKind::NearBranch32, landing),
        _ => (OpKind::NearBranch64, landing),
    };
    instruction.set_op_kind(operand, op_kind);
    match op_kind {
        OpKind::NearBranch64 => instruction.set_near_branch64(value),
        OpKind::NearBranch32 => instruction.set_near_branch32(value as u32),
        OpKind::Immediate64 => instruction.set_immediate64(value),
        OpKind::Immediate16 => instruction.set_immediate16(value as u16),
        OpKind::Immediate32 => instruction.set_immediate32(value as u32),
        OpKind::Immediate32to64 => instruction.set_immediate32to64(value as i64),
        OpKind::Immediate8to16 => instruction.set_immediate8to16(value as i16),
        OpKind::Immediate8to32 => instruction.set_immediate8to32(value as i32),
        OpKind::Immediate8to64 => instruction.set_immediate8to64(value as i64),
        _ => instruction.set_immediate8(value as u8),
    }
}

fn set_memory(mode: Mode, instruction: &mut Instruction, operand: u32, random: &mut Random) {
    let narrow = mode == Mode::Bits32;
    let first = if random.percent(10) || narrow { Register::EAX } else { Register::RAX };
    let (count, wide) = if narrow { (8, 4) } else { (16, 8) };
    let base = first + random.below(count) as u32;
    let index = loop {
        let index = first + random.below(count) as u32;
        // The stack pointer is no index, and one register for both would fix the address to few values.
        if index != base && index != Register::RSP && index != Register::ESP {
            break index;
        }
    };
    let scale = random.pick(&[1, 2, 4, 8]);
    let small = random.next() as i8 as i64;
    let large = i64::from(random.next() as i32 >> 4);
    let place = target(random, instruction.memory_size().size() as u64) as i64;
    let operand_at = match random.below(8) {
        0 => MemoryOperand::new(base, Register::None, 1, 0, 0, false, Register::None),
        1 | 2 => MemoryOperand::new(base, Register::None, 1, small, 1, false, Register::None),
        3 => MemoryOperand::new(base, index, scale, small, 1, false, Register::None),
        4 => MemoryOperand::new(base, index, scale, large, wide, false, Register::None),
        5 => MemoryOperand::new(Register::None, index, scale, large, wide, false, Register::None),
        6 if !narrow => MemoryOperand::new(Register::RIP, Register::None, 1, place, 8, false, Register::None),
        _ => MemoryOperand::new(Register::None, Register::None, 1, place, 4, false, Register::None),
    };
    instruction.set_op_kind(operand, OpKind::Memory);
    instruction.set_memory_base(operand_at.base);
    instruction.set_memory_index(operand_at.index);
    instruction.set_memory_index_scale(operand_at.scale);
    instruction.set_memory_displ_size(operand_at.displ_size);
    instruction.set_memory_displacement64(operand_at.displacement as u64);
}

/// An address for an access: mostly in the window, half of them aligned; some at and over the edge of the
/// page, some where nothing is.
fn target(random: &mut Random, bytes: u64) -> u64 {
    let window = DATA + PAGE - WINDOW as u64;
    let inside = random.next() % (WINDOW as u64 - bytes.min(64));
    match random.below(20) {
        0 => DATA + PAGE - random.next() % bytes.max(1),
        1 => DATA - random.next() % bytes.max(1),
        2 => DATA + 0x10_0000,
        3..9 => window + inside,
        _ => (window + inside) & !15,
    }
}

fn state(instruction: &Instruction, bytes: &[u8], random: &mut Random) -> Input {
    let mut input = Input {
        general: std::array::from_fn(|_| random.word()),
        vector: std::array::from_fn(|_| random.vector()),
        flags: 0x202 | (random.next() & 0x8d5),
        code: [0xcc; 16],
        window: std::array::from_fn(|_| random.next() as u8),
    };
    input.code[..bytes.len()].copy_from_slice(bytes);
    if computes_with_floats(instruction.code()) && random.percent(90) {
        input.vector = std::array::from_fn(|_| random.floats());
        let vectors: Vec<u8> = (0..WINDOW / 16).flat_map(|_| random.floats().to_le_bytes()).collect();
        input.window.copy_from_slice(&vectors);
    }
    // Equal vectors and equal lanes make comparisons true.
    if random.percent(30) {
        let (from, to) = (random.below(16), random.below(16));
        input.vector[to] = input.vector[from] ^ u128::from(random.word()) << random.pick(&[0, 32, 64, 96]);
    }
    // Counts of packed shifts are read from 64 bits: small ones are rare among random vectors.
    if random.percent(30) {
        let register = random.below(16);
        input.vector[register] = input.vector[register] >> 64 << 64 | random.below(70) as u128;
    }
    if matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) && random.percent(80) {
        tame_dividend(&mut input, random);
    }
    place_stack(instruction, &mut input, random);
    place_memory(instruction, &mut input, random);
    place_bit_number(instruction, &mut input, random);
    place_branch_target(instruction, &mut input, random);
    input
}

/// A high half that makes the quotient fit more often.
fn tame_dividend(input: &mut Input, random: &mut Random) {
    let sign = (input.general[0] as i64 >> 63) as u64;
    input.general[2] = random.pick(&[0, 1, sign, random.clone().next() % 64]);
    if random.percent(50) {
        input.general[0] &= 0xff;
    }
}

/// Instructions that use the stack find it in the window.
fn place_stack(instruction: &Instruction, input: &mut Input, random: &mut Random) {
    let uses_stack = instruction.is_stack_instruction() || instruction.mnemonic() == Mnemonic::Leave;
    if uses_stack {
        let register = if instruction.mnemonic() == Mnemonic::Leave { 5 } else { 4 };
        input.general[register] = target(random, 8);
    }
}

/// Changes the address registers so that the access goes to a chosen place.
fn place_memory(instruction: &Instruction, input: &mut Input, random: &mut Random) {
    let has_memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    if !has_memory
        || instruction.is_ip_rel_memory_operand()
        || (base == Register::None && index == Register::None)
    {
        return;
    }
    let narrow = base.size() == 4 || index.size() == 4;
    let canonical = narrow || !random.percent(2);
    let place = if canonical {
        target(random, instruction.memory_size().size() as u64)
    } else {
        random.next() | 1 << 62
    };
    let displacement = instruction.memory_displacement64();
    if base == Register::None {
        let scale = u64::from(instruction.memory_index_scale());
        input.general[index.number()] = place.wrapping_sub(displacement) / scale;
        return;
    }
    let mut rest = place.wrapping_sub(displacement);
    if index != Register::None {
        let value = input.general[index.number()];
        let value = if narrow { u64::from(value as u32) } else { value };
        rest = rest.wrapping_sub(value.wrapping_mul(u64::from(instruction.memory_index_scale())));
    }
    input.general[base.number()] = if narrow { u64::from(rest as u32) } else { rest };
}

/// Bit tests reach far beyond the operand: mostly keeps them near, and never lets them reach further than a megabyte,
/// where nothing is mapped. A random distance finds the child's own memory once in a million times.
fn place_bit_number(instruction: &Instruction, input: &mut Input, random: &mut Random) {
    let tests =
        matches!(instruction.mnemonic(), Mnemonic::Bt | Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc);
    let of_memory = instruction.op_kinds().next() == Some(OpKind::Memory);
    if !tests || !of_memory || instruction.op_kind(1) != OpKind::Register {
        return;
    }
    let number = instruction.op_register(1).full_register();
    if [instruction.memory_base(), instruction.memory_index()].iter().all(|of| of.full_register() != number) {
        let reach = if random.percent(80) { 1 << 10 } else { 1 << 23 };
        input.general[number.number()] = (random.next() % (2 * reach)).wrapping_sub(reach);
    }
}

/// Computed branches go to the landing zone, or to a place where nothing is.
fn place_branch_target(instruction: &Instruction, input: &mut Input, random: &mut Random) {
    let goal = if random.percent(90) {
        LANDING.start + random.next() % (LANDING.end - LANDING.start)
    } else {
        0x1300_0000
    };
    match (instruction.flow_control(), instruction.op_kinds().next()) {
        (FlowControl::Return, _) => put(input, input.general[4], goal),
        // With the target in rsp a call would write into the code page.
        (_, Some(OpKind::Register)) if instruction.op_register(0).full_register() == Register::RSP => {}
        (FlowControl::IndirectBranch | FlowControl::IndirectCall, Some(OpKind::Register)) => {
            input.general[instruction.op_register(0).number()] = goal;
        }
        (FlowControl::IndirectBranch | FlowControl::IndirectCall, Some(OpKind::Memory)) => {
            let register = |register: Register| match register {
                Register::None => 0,
                register if register.size() == 4 => u64::from(input.general[register.number()] as u32),
                register => input.general[register.number()],
            };
            let address = if instruction.is_ip_rel_memory_operand() {
                instruction.ip_rel_memory_address()
            } else {
                let scaled = register(instruction.memory_index())
                    .wrapping_mul(u64::from(instruction.memory_index_scale()));
                let sum = register(instruction.memory_base()).wrapping_add(scaled);
                sum.wrapping_add(instruction.memory_displacement64())
            };
            put(input, address, goal);
        }
        _ => {}
    }
}

/// Writes eight bytes into the window, if they lie there.
fn put(input: &mut Input, address: u64, value: u64) {
    let offset = address.wrapping_sub(DATA + PAGE - WINDOW as u64) as usize;
    if let Some(bytes) = input.window.get_mut(offset..offset.saturating_add(8)) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
}
