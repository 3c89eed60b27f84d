//! Values as DWARF expressions that gdb 13 and lldb 19 both evaluate rightly, in a position-independent program or not,
//! and the reading of those that compilers write for plain cases.
//!
//! What the two get wrong, and so is not written: `DW_OP_addr` in arithmetic (lldb does not relocate it; the
//! difference of two is right in both, so an address is said by its distance from the function, and the function by
//! the pc), division of narrow values without extending them first, signed shifts on i386 (lldb takes registers as
//! unsigned and computes in 64 bits, gdb in 32; they are written as unsigned ones of the value made positive), division
//! where it is not the signed one of 64 bits (as it is exact, it is multiplication by the inverse), lanes of vector
//! registers.

use crate::elf::Machine;
use crate::relocation::{sleb, uleb};
use gimli::{Operation, Reader};
use metaloc_proof::{Exact, Extend, Place, Sum, SumTerm, Term, Word};

/// Bytes of an expression, and the addresses in it that a linker fills in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Encoded {
    /// DWARF operations.
    pub bytes: Vec<u8>,
    /// Where addresses go, and of what.
    pub fields: Vec<Field>,
}

/// An address in an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Where in the bytes.
    pub offset: usize,
    /// Of which symbol.
    pub symbol: FieldSymbol,
    /// Added to it.
    pub addend: i64,
    /// Type of the relocation, in the numbering of the machine.
    pub kind: u32,
}

/// A symbol by what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldSymbol {
    /// A name.
    Name(String),
    /// A number in the symbol table: copied from the input.
    Number(u32),
}

/// Where an expression is evaluated.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    /// Processor.
    pub machine: Machine,
    /// The function.
    pub function: &'a str,
    /// Distance of the pc from the function's start.
    pub distance: u64,
}

/// Number that DWARF gives to a register.
fn register_number(machine: Machine, name: &str) -> Option<u8> {
    const WIDE: [&str; 17] = [
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
        "r14", "r15", "rip",
    ];
    const NARROW: [&str; 9] = ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"];
    let names: &[&str] = match machine {
        Machine::X86_64 => &WIDE,
        Machine::I386 => &NARROW,
    };
    names.iter().position(|known| *known == name).map(|number| number as u8)
}

fn register_name(machine: Machine, number: u16) -> Option<&'static str> {
    let count = if machine == Machine::X86_64 { 16 } else { 8 };
    let names: [&'static str; 16] = match machine {
        Machine::X86_64 => [
            "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13",
            "r14", "r15",
        ],
        Machine::I386 => {
            ["eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "", "", "", "", "", "", "", ""]
        }
    };
    (number < count).then(|| names[usize::from(number)])
}

/// Whether a value needs an expression of its own at each pc.
pub fn depends_on_pc(value: &Exact) -> bool {
    value.sum.terms.iter().any(|term| matches!(term.term, Term::Address { .. }))
}

/// Whether a value is the same whatever the machine's state.
pub fn is_constant(value: &Exact) -> bool {
    value.sum.terms.is_empty()
}

/// The value as an expression; nothing if it has no form that both debuggers evaluate rightly.
pub fn encode(value: &Exact, at: At) -> Option<Encoded> {
    let mut out = Encoded::default();
    let address_bits = u32::from(at.machine.address_bytes()) * 8;
    let Sum { width_bits, terms, constant } = &value.sum;
    let divided = value.divisor.0 != 1;
    if *width_bits > address_bits || (divided && *width_bits != address_bits && *width_bits != 32) {
        return None;
    }
    let constant = signed(*constant, *width_bits);
    if terms.is_empty() {
        let divisor = i64::try_from(value.divisor.0).ok()?;
        push(&mut out.bytes, constant.checked_div(divisor)?);
        out.bytes.push(gimli::DW_OP_stack_value.0);
        return Some(out);
    }
    // The first term takes the constant in its own operation, if it can.
    let mut terms: Vec<&SumTerm> = terms.iter().collect();
    terms.sort_by_key(|term| (signed(term.coefficient, *width_bits) != 1, !is_register(term)));
    let mut rest = constant;
    for (number, term) in terms.iter().enumerate() {
        let factor = signed(term.coefficient, *width_bits);
        let folded = number == 0 && factor == 1 && is_whole_register(term, *width_bits);
        push_term(&mut out, term, if folded { std::mem::take(&mut rest) } else { 0 }, at, divided)?;
        match (number, factor) {
            (0, 1) => {}
            (0, -1) => out.bytes.push(gimli::DW_OP_neg.0),
            (_, 1) => out.bytes.push(gimli::DW_OP_plus.0),
            (_, -1) => out.bytes.push(gimli::DW_OP_minus.0),
            (_, factor) => {
                push(&mut out.bytes, factor);
                out.bytes.push(gimli::DW_OP_mul.0);
                if number > 0 {
                    out.bytes.push(gimli::DW_OP_plus.0);
                }
            }
        }
    }
    add_constant(&mut out.bytes, rest);
    if divided {
        if at.machine == Machine::I386 {
            return divided_in_32_bits(out, value);
        } else if *width_bits < address_bits {
            // Arithmetic is done in the width of an address.
            extend(&mut out.bytes, address_bits - width_bits, value.signed);
        }
        divide(&mut out.bytes, value)?;
    }
    out.bytes.push(gimli::DW_OP_stack_value.0);
    Some(out)
}

/// Divides what 32-bit code has computed: lldb computes in 64 bits and takes registers as unsigned, gdb computes in 32.
/// A signed value is 2^31 more until it is shifted. What the bits above are in lldb does not matter to a variable.
fn divided_in_32_bits(mut out: Encoded, value: &Exact) -> Option<Encoded> {
    const HALF: u32 = 1 << 31;
    let divisor = u32::try_from(value.divisor.0).ok().filter(|divisor| (1..=HALF).contains(divisor))?;
    let (shift, odd) = (divisor.trailing_zeros(), divisor >> divisor.trailing_zeros());
    if shift > 0 {
        if value.signed {
            push_word(&mut out.bytes, HALF);
            out.bytes.push(gimli::DW_OP_plus.0);
        }
        push_word(&mut out.bytes, u32::MAX);
        out.bytes.push(gimli::DW_OP_and.0);
        push(&mut out.bytes, i64::from(shift));
        out.bytes.push(gimli::DW_OP_shr.0);
        if value.signed {
            push_word(&mut out.bytes, HALF >> shift);
            out.bytes.push(gimli::DW_OP_minus.0);
        }
    }
    if odd > 1 {
        push_word(&mut out.bytes, inverse(u64::from(odd)) as u32);
        out.bytes.push(gimli::DW_OP_mul.0);
    }
    out.bytes.push(gimli::DW_OP_stack_value.0);
    Some(out)
}

/// The number whose product with an odd one is 1 modulo 2^64, and so modulo 2^32: each step doubles the bits that are
/// right, of which there are three at first.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |known, _| known.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(known))))
}

fn push_word(out: &mut Vec<u8>, word: u32) {
    out.push(gimli::DW_OP_const4u.0);
    out.extend(word.to_le_bytes());
}

fn divide(out: &mut Vec<u8>, value: &Exact) -> Option<()> {
    let divisor = value.divisor.0;
    if divisor.is_power_of_two() {
        push(out, i64::from(divisor.trailing_zeros()));
        out.push(if value.signed { gimli::DW_OP_shra.0 } else { gimli::DW_OP_shr.0 });
        return Some(());
    }
    // DW_OP_div is signed.
    if value.signed {
        push(out, i64::try_from(divisor).ok()?);
        out.push(gimli::DW_OP_div.0);
        return Some(());
    }
    let divisor = u64::try_from(divisor).ok()?;
    let shift = divisor.trailing_zeros();
    if shift > 0 {
        push(out, i64::from(shift));
        out.push(gimli::DW_OP_shr.0);
    }
    out.push(gimli::DW_OP_const8u.0);
    out.extend(inverse(divisor >> shift).to_le_bytes());
    out.push(gimli::DW_OP_mul.0);
    Some(())
}

fn extend(out: &mut Vec<u8>, bits: u32, signed: bool) {
    let shift = if signed { gimli::DW_OP_shra } else { gimli::DW_OP_shr };
    push(out, i64::from(bits));
    out.push(gimli::DW_OP_shl.0);
    push(out, i64::from(bits));
    out.push(shift.0);
}

fn is_register(term: &SumTerm) -> bool {
    matches!(&term.term, Term::Machine { place: Place::Register { .. } })
}

/// A register of which the sum uses as many bits as it has itself, or the low bits of a sum without division.
fn is_whole_register(term: &SumTerm, width_bits: u32) -> bool {
    match &term.term {
        Term::Machine { place: Place::Register { low_bit: 0, width_bits: bits, .. } } => {
            *bits == width_bits || term.extend == Extend::Truncate
        }
        _ => false,
    }
}

fn push_term(out: &mut Encoded, term: &SumTerm, plus: i64, at: At, divided: bool) -> Option<()> {
    let address_bits = u32::from(at.machine.address_bytes()) * 8;
    match &term.term {
        Term::Machine { place: Place::Register { name, low_bit: 0, width_bits } } => {
            let number = register_number(at.machine, name)?;
            out.bytes.push(gimli::DW_OP_breg0.0 + number);
            sleb(&mut out.bytes, plus);
            match term.extend {
                Extend::None | Extend::Truncate => {}
                Extend::Zero => extend(&mut out.bytes, address_bits - width_bits, false),
                Extend::Sign => extend(&mut out.bytes, address_bits - width_bits, true),
            }
        }
        Term::Machine { place: Place::StackSlot { offset_bytes, width_bits } } => {
            // The canonical frame address is above the return address.
            out.bytes.push(gimli::DW_OP_call_frame_cfa.0);
            add_constant(&mut out.bytes, offset_bytes.checked_sub(i64::from(at.machine.address_bytes()))?);
            let bytes = u8::try_from(width_bits / 8).ok().filter(|bytes| matches!(bytes, 1 | 2 | 4 | 8))?;
            if bytes == at.machine.address_bytes() {
                out.bytes.push(gimli::DW_OP_deref.0);
            } else if bytes < at.machine.address_bytes() {
                out.bytes.extend([gimli::DW_OP_deref_size.0, bytes]);
                if term.extend == Extend::Sign && divided {
                    extend(&mut out.bytes, address_bits - width_bits, true);
                }
            } else {
                return None;
            }
        }
        Term::Address { symbol } => {
            let pc = register_number(at.machine, if address_bits == 64 { "rip" } else { "eip" })?;
            out.bytes.push(gimli::DW_OP_breg0.0 + pc);
            sleb(&mut out.bytes, i64::try_from(at.distance).ok()?.checked_neg()?);
            push_address(out, symbol, at.machine);
            push_address(out, at.function, at.machine);
            out.bytes.extend([gimli::DW_OP_minus.0, gimli::DW_OP_plus.0]);
        }
        _ => return None,
    }
    Some(())
}

fn push_address(out: &mut Encoded, symbol: &str, machine: Machine) {
    out.bytes.push(gimli::DW_OP_addr.0);
    out.fields.push(Field {
        offset: out.bytes.len(),
        symbol: FieldSymbol::Name(symbol.to_owned()),
        addend: 0,
        kind: machine.absolute(),
    });
    out.bytes.resize(out.bytes.len() + usize::from(machine.address_bytes()), 0);
}

/// The constant modulo 2^w as a signed number.
fn signed(word: Word, width_bits: u32) -> i64 {
    let shift = 64 - width_bits.min(64);
    ((word.0 as u64) << shift) as i64 >> shift
}

fn add_constant(out: &mut Vec<u8>, constant: i64) {
    match constant {
        0 => {}
        1.. => {
            out.push(gimli::DW_OP_plus_uconst.0);
            uleb(out, constant as u64);
        }
        i64::MIN => {
            push(out, constant);
            out.push(gimli::DW_OP_plus.0);
        }
        _ => {
            push(out, -constant);
            out.push(gimli::DW_OP_minus.0);
        }
    }
}

/// The shortest operation that pushes a constant.
pub fn push(out: &mut Vec<u8>, constant: i64) {
    if (0..32).contains(&constant) {
        out.push(gimli::DW_OP_lit0.0 + constant as u8);
        return;
    }
    if (0..256).contains(&constant) {
        out.extend([gimli::DW_OP_const1u.0, constant as u8]);
        return;
    }
    out.push(gimli::DW_OP_consts.0);
    sleb(out, constant);
}

/// What an expression of the input says, if it is one of the plain cases: a register, a register plus a constant as a
/// value, or a constant. `width_bits` is that of the variable.
pub fn decode(bytes: &[u8], machine: Machine, width_bits: u32) -> Option<Exact> {
    let encoding =
        gimli::Encoding { address_size: machine.address_bytes(), format: gimli::Format::Dwarf32, version: 5 };
    let mut reader = gimli::EndianSlice::new(bytes, gimli::LittleEndian);
    let mut operations = Vec::new();
    while !reader.is_empty() {
        operations.push(Operation::parse(&mut reader, encoding).ok()?);
    }
    let exact = |terms, constant: i64| {
        let mask = if width_bits >= 128 { u128::MAX } else { (1 << width_bits) - 1 };
        let sum = Sum { width_bits, terms, constant: Word(constant as u128 & mask) };
        Exact { sum, divisor: Word(1), signed: true }
    };
    let register = |number: u16| -> Option<SumTerm> {
        let address_bits = u32::from(machine.address_bytes()) * 8;
        let name = register_name(machine, number)?.to_owned();
        let place = Place::Register { name, low_bit: 0, width_bits: width_bits.min(address_bits) };
        (width_bits <= address_bits).then_some(SumTerm {
            coefficient: Word(1),
            term: Term::Machine { place },
            extend: Extend::None,
        })
    };
    match operations.as_slice() {
        [Operation::Register { register: number }] => Some(exact(vec![register(number.0)?], 0)),
        [Operation::RegisterOffset { register: number, offset, .. }, Operation::StackValue] => {
            Some(exact(vec![register(number.0)?], *offset))
        }
        // gcc: a register plus a constant, shifted, plus a constant. Modulo 2^32 that is the shifted sum of both.
        [
            Operation::RegisterOffset { register: number, offset, .. },
            Operation::UnsignedConstant { value: by },
            Operation::Shr,
            rest @ ..,
        ] if width_bits <= 32 && machine == Machine::X86_64 && (1..32).contains(by) => {
            let plus = match rest {
                [Operation::StackValue] => 0,
                [Operation::PlusConstant { value }, Operation::StackValue] => i64::try_from(*value).ok()?,
                _ => return None,
            };
            let constant = plus.checked_mul(1 << by)?.checked_add(*offset)?;
            let name = register_name(machine, number.0)?.to_owned();
            let place = Place::Register { name, low_bit: 0, width_bits: 64 };
            let term = SumTerm { coefficient: Word(1), term: Term::Machine { place }, extend: Extend::None };
            let sum = Sum { width_bits: 64, terms: vec![term], constant: Word(u128::from(constant as u64)) };
            Some(Exact { sum, divisor: Word(1 << by), signed: false })
        }
        [Operation::UnsignedConstant { value }, Operation::StackValue] => {
            Some(exact(Vec::new(), *value as i64))
        }
        [Operation::SignedConstant { value }, Operation::StackValue] => Some(exact(Vec::new(), *value)),
        _ => None,
    }
}

/// Whether an expression of the input is a constant: independent of registers and memory, as the paper's tables count.
pub fn reads_no_state(bytes: &[u8], machine: Machine) -> bool {
    matches!(decode(bytes, machine, 64), Some(value) if is_constant(&value))
        || matches!(decode(bytes, machine, 32), Some(value) if is_constant(&value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(name: &str, width_bits: u32, coefficient: u128, extend: Extend) -> SumTerm {
        let place = Place::Register { name: name.to_owned(), low_bit: 0, width_bits };
        SumTerm { coefficient: Word(coefficient), term: Term::Machine { place }, extend }
    }

    fn text(value: &Exact) -> Option<String> {
        let at = At { machine: Machine::X86_64, function: "f", distance: 5 };
        let encoded = encode(value, at)?;
        let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
        let mut reader = gimli::EndianSlice::new(&encoded.bytes, gimli::LittleEndian);
        let mut parts = Vec::new();
        while !reader.is_empty() {
            let operation = Operation::parse(&mut reader, encoding).unwrap();
            parts.push(format!("{operation:?}").split(['{', '(']).next().unwrap().trim().to_owned());
        }
        Some(parts.join(" "))
    }

    fn exact(width_bits: u32, terms: Vec<SumTerm>, constant: i64, divisor: u128) -> Exact {
        let mask = u128::MAX >> (128 - width_bits);
        let sum = Sum { width_bits, terms, constant: Word(constant as u128 & mask) };
        Exact { sum, divisor: Word(divisor), signed: true }
    }

    #[test]
    fn a_constant_is_folded_into_the_register() {
        let value = exact(64, vec![register("rax", 64, 1, Extend::None)], -16, 4);
        assert_eq!(text(&value).unwrap(), "RegisterOffset UnsignedConstant Shra StackValue");
        let bytes =
            encode(&value, At { machine: Machine::X86_64, function: "f", distance: 0 }).unwrap().bytes;
        assert_eq!(bytes, [0x70, 0x70, 0x32, 0x26, 0x9f]);
    }

    #[test]
    fn an_address_is_a_distance_from_the_pc() {
        let address = Term::Address { symbol: "X".into() };
        let minus_one = Word(u128::from(u64::MAX));
        let address = SumTerm { coefficient: minus_one, term: address, extend: Extend::None };
        let value = exact(64, vec![address, register("rbx", 64, 1, Extend::None)], 0, 4);
        let expected =
            "RegisterOffset RegisterOffset Address Address Minus Plus Minus UnsignedConstant Shra StackValue";
        assert_eq!(text(&value).unwrap(), expected);
        assert!(depends_on_pc(&value));
    }

    #[test]
    fn lanes_have_no_form_and_division_has_one_for_each_sign() {
        let place = Place::Register { name: "xmm0".into(), low_bit: 32, width_bits: 32 };
        let lane = SumTerm { coefficient: Word(1), term: Term::Machine { place }, extend: Extend::None };
        assert_eq!(text(&exact(32, vec![lane], 0, 1)), None);
        let mut sixth = exact(64, vec![register("rax", 64, 1, Extend::None)], 0, 6);
        assert_eq!(text(&sixth).unwrap(), "RegisterOffset UnsignedConstant Div StackValue");
        sixth.signed = false;
        let expected = "RegisterOffset UnsignedConstant Shr UnsignedConstant Mul StackValue";
        assert_eq!(text(&sixth).unwrap(), expected);
        for odd in [1, 3, 257, 0xffff_ffff, u64::MAX] {
            assert_eq!(inverse(odd).wrapping_mul(odd), 1, "{odd}");
        }
    }

    #[test]
    fn a_signed_shift_of_32_bits_is_an_unsigned_one_of_what_is_made_positive() {
        let at = At { machine: Machine::I386, function: "f", distance: 0 };
        let mut value = exact(32, vec![register("eax", 32, 1, Extend::None)], -4, 4);
        // eax - 4, 2^31 added, 32 bits of it, shifted by two, 2^29 subtracted.
        let half = [0x0c, 0, 0, 0, 0x80, 0x22];
        let bits = [0x0c, 0xff, 0xff, 0xff, 0xff, 0x1a];
        let expected =
            [&[0x70, 0x7c][..], &half, &bits, &[0x32, 0x25, 0x0c, 0, 0, 0, 0x20, 0x1c, 0x9f]].concat();
        assert_eq!(encode(&value, at).unwrap().bytes, expected);
        // By three: times the inverse.
        value.divisor = Word(3);
        let expected = [0x70, 0x7c, 0x0c, 0xab, 0xaa, 0xaa, 0xaa, 0x1e, 0x9f];
        assert_eq!(encode(&value, at).unwrap().bytes, expected);
        value.divisor = Word(1 << 40);
        assert_eq!(encode(&value, at), None, "more than 32 bits");
        (value.divisor, value.signed) = (Word(4), false);
        let expected = [&[0x70, 0x7c][..], &bits, &[0x32, 0x25, 0x9f]].concat();
        assert_eq!(encode(&value, at).unwrap().bytes, expected);
    }

    #[test]
    fn plain_expressions_are_read() {
        let machine = Machine::X86_64;
        assert!(is_constant(&decode(&[0x30, 0x9f], machine, 32).unwrap()));
        assert_eq!(
            decode(&[0x50], machine, 32).unwrap(),
            exact(32, vec![register("rax", 32, 1, Extend::None)], 0, 1)
        );
        assert_eq!(decode(&[0x11, 0x7f, 0x9f], machine, 32).unwrap().sum.constant, Word(0xffff_ffff));
        // (rax - 4 >> 2) + 1, as gcc writes it.
        let shifted = decode(&[0x70, 0x7c, 0x32, 0x25, 0x23, 1, 0x9f], machine, 32).unwrap();
        assert_eq!((shifted.sum.constant, shifted.divisor, shifted.signed), (Word(0), Word(4), false));
        // A location in memory, and a value of several operations.
        assert_eq!(decode(&[0x70, 0], machine, 32), None);
        assert_eq!(decode(&[0x70, 0, 0x31, 0x22, 0x9f], machine, 32), None);
    }
}
