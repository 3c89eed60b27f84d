//! SSE's floating point: one lane or all, in both formats. Moves, shuffles and bitwise operations of these registers
//! are with the integers': they move bits.
//!
//! MXCSR is as the ABI has it when a function begins: round to nearest, all exceptions masked, denormals are
//! numbers. (What changes it has no row.)

use super::Meaning;
use crate::domain::{Domain, Fault};
use crate::float::{Format, Function, Operator, Relation, Rounding, relation};
use crate::x86::flags::FlagUpdate;
use crate::x86::operand::Context;
use crate::x86::state::Flag;
use iced_x86::Mnemonic;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Of two lanes.
    Arithmetic(Operator),
    /// The smaller one; the source's if neither is smaller.
    Minimum,
    /// The larger one; the source's if neither is larger.
    Maximum,
    /// Of the source.
    SquareRoot,
    /// A mask, by an immediate.
    Compare,
    /// Flags.
    CompareToFlags,
    /// Sums of neighbours: of the destination, then of the source.
    AddNeighbours,
    /// Differences of neighbours.
    SubtractNeighbours,
    /// Even lanes are subtracted, odd ones added.
    SubtractAdd,
    /// To the other format.
    Convert,
    /// From a signed integer: of a general register or memory, or of 32-bit lanes.
    FromSigned,
    /// To a signed integer: in a general register, or in 32-bit lanes.
    ToSigned(Rounding),
}

/// How many lanes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lanes {
    /// The lowest; the rest of the destination stays.
    One,
    /// All.
    All,
}

use Format::{Double, Single};
use Lanes::{All, One};

/// The four forms of an operation.
macro_rules! four {
    ($op:expr, $ps:ident, $pd:ident, $ss:ident, $sd:ident) => {
        [
            (Mnemonic::$ps, Meaning::Float($op, Single, All)),
            (Mnemonic::$pd, Meaning::Float($op, Double, All)),
            (Mnemonic::$ss, Meaning::Float($op, Single, One)),
            (Mnemonic::$sd, Meaning::Float($op, Double, One)),
        ]
    };
}

/// Rows with four forms; the others follow.
const FOUR: [[(Mnemonic, Meaning); 4]; 8] = [
    four!(Op::Arithmetic(Operator::Add), Addps, Addpd, Addss, Addsd),
    four!(Op::Arithmetic(Operator::Sub), Subps, Subpd, Subss, Subsd),
    four!(Op::Arithmetic(Operator::Mul), Mulps, Mulpd, Mulss, Mulsd),
    four!(Op::Arithmetic(Operator::Div), Divps, Divpd, Divss, Divsd),
    four!(Op::Minimum, Minps, Minpd, Minss, Minsd),
    four!(Op::Maximum, Maxps, Maxpd, Maxss, Maxsd),
    four!(Op::SquareRoot, Sqrtps, Sqrtpd, Sqrtss, Sqrtsd),
    four!(Op::Compare, Cmpps, Cmppd, Cmpss, Cmpsd),
];

pub(super) const WITH_FOUR_FORMS: super::Rows = FOUR.as_flattened();

/// The format is that of the number, where the other operand is an integer; of a conversion, of the source.
pub(super) const ROWS: super::Rows = &[
    (Mnemonic::Ucomiss, Meaning::Float(Op::CompareToFlags, Single, One)),
    (Mnemonic::Ucomisd, Meaning::Float(Op::CompareToFlags, Double, One)),
    (Mnemonic::Comiss, Meaning::Float(Op::CompareToFlags, Single, One)),
    (Mnemonic::Comisd, Meaning::Float(Op::CompareToFlags, Double, One)),
    (Mnemonic::Haddps, Meaning::Float(Op::AddNeighbours, Single, All)),
    (Mnemonic::Haddpd, Meaning::Float(Op::AddNeighbours, Double, All)),
    (Mnemonic::Hsubps, Meaning::Float(Op::SubtractNeighbours, Single, All)),
    (Mnemonic::Hsubpd, Meaning::Float(Op::SubtractNeighbours, Double, All)),
    (Mnemonic::Addsubps, Meaning::Float(Op::SubtractAdd, Single, All)),
    (Mnemonic::Addsubpd, Meaning::Float(Op::SubtractAdd, Double, All)),
    (Mnemonic::Cvtss2sd, Meaning::Float(Op::Convert, Single, One)),
    (Mnemonic::Cvtsd2ss, Meaning::Float(Op::Convert, Double, One)),
    (Mnemonic::Cvtps2pd, Meaning::Float(Op::Convert, Single, All)),
    (Mnemonic::Cvtpd2ps, Meaning::Float(Op::Convert, Double, All)),
    (Mnemonic::Cvtsi2ss, Meaning::Float(Op::FromSigned, Single, One)),
    (Mnemonic::Cvtsi2sd, Meaning::Float(Op::FromSigned, Double, One)),
    (Mnemonic::Cvtdq2ps, Meaning::Float(Op::FromSigned, Single, All)),
    (Mnemonic::Cvtdq2pd, Meaning::Float(Op::FromSigned, Double, All)),
    (Mnemonic::Cvtss2si, Meaning::Float(Op::ToSigned(Rounding::Nearest), Single, One)),
    (Mnemonic::Cvtsd2si, Meaning::Float(Op::ToSigned(Rounding::Nearest), Double, One)),
    (Mnemonic::Cvttss2si, Meaning::Float(Op::ToSigned(Rounding::Truncate), Single, One)),
    (Mnemonic::Cvttsd2si, Meaning::Float(Op::ToSigned(Rounding::Truncate), Double, One)),
    (Mnemonic::Cvtps2dq, Meaning::Float(Op::ToSigned(Rounding::Nearest), Single, All)),
    (Mnemonic::Cvtpd2dq, Meaning::Float(Op::ToSigned(Rounding::Nearest), Double, All)),
    (Mnemonic::Cvttps2dq, Meaning::Float(Op::ToSigned(Rounding::Truncate), Single, All)),
    (Mnemonic::Cvttpd2dq, Meaning::Float(Op::ToSigned(Rounding::Truncate), Double, All)),
];

pub(super) fn run<D: Domain>(op: Op, format: Format, count: Lanes, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = format.width_bits();
    let function = |operator| Function::Arithmetic(operator, format);
    let lanes: Vec<D::Word> = match op {
        Op::CompareToFlags => return compare_to_flags(format, cx),
        Op::Convert | Op::FromSigned | Op::ToSigned(_) => return convert(op, format, count, cx),
        Op::AddNeighbours | Op::SubtractNeighbours => {
            let operator = if op == Op::AddNeighbours { Operator::Add } else { Operator::Sub };
            let mut lanes = d.lanes(cx.read(0)?, width_bits);
            lanes.extend(d.lanes(cx.read(1)?, width_bits));
            lanes.chunks(2).map(|pair| d.float(function(operator), pair)).collect()
        }
        Op::SubtractAdd => {
            let (left, right) = (d.lanes(cx.read(0)?, width_bits), d.lanes(cx.read(1)?, width_bits));
            let pairs = left.into_iter().zip(right).enumerate();
            let operator = |lane: usize| if lane.is_multiple_of(2) { Operator::Sub } else { Operator::Add };
            pairs.map(|(lane, (left, right))| d.float(function(operator(lane)), &[left, right])).collect()
        }
        _ => {
            let used = if count == One { width_bits } else { 128 };
            let left = d.lanes(cx.read_low(0, used)?, width_bits);
            let right = d.lanes(cx.read_low(1, used)?, width_bits);
            let immediate = cx.immediate_byte();
            left.into_iter()
                .zip(right)
                .map(|(left, right)| lane(op, d, format, immediate, left, right))
                .collect()
        }
    };
    let value = d.join(&lanes);
    write(value, cx)
}

/// Writes the low bits of a vector register; the rest stays.
fn write<D: Domain>(value: D::Word, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = d.width_bits(value);
    let whole = if width_bits == 128 {
        value
    } else {
        d.concat(d.extract(cx.read(0)?, width_bits, 128 - width_bits), value)
    };
    cx.write(0, whole)
}

fn lane<D: Domain>(op: Op, d: &D, format: Format, immediate: u32, left: D::Word, right: D::Word) -> D::Word {
    let related = |of, left, right| relation(d, of, format, left, right);
    match op {
        Op::Arithmetic(operator) => d.float(Function::Arithmetic(operator, format), &[left, right]),
        Op::Minimum => d.choose(related(Relation::Less, left, right), left, right),
        Op::Maximum => d.choose(related(Relation::Less, right, left), left, right),
        Op::SquareRoot => d.float(Function::SquareRoot(format), &[right]),
        _ => {
            // Only three bits count; the third inverts.
            let of = match immediate & 3 {
                0 => Relation::Equal,
                1 => Relation::Less,
                2 => Relation::LessOrEqual,
                _ => Relation::Unordered,
            };
            let bit = related(of, left, right);
            let bit = if immediate & 4 == 0 { bit } else { d.not(bit) };
            d.sign_extend(bit, format.width_bits())
        }
    }
}

fn compare_to_flags<D: Domain>(format: Format, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = format.width_bits();
    let (left, right) = (cx.read_low(0, width_bits)?, cx.read_low(1, width_bits)?);
    let order = d.float(Function::Compare(format), &[left, right]);
    let (low, high) = (d.extract(order, 0, 1), d.extract(order, 1, 1));
    cx.set_flags(&Flag::ALL.map(|flag| (flag, FlagUpdate::Set(d.bit(false)))));
    cx.set_flags(&[
        (Flag::Zero, FlagUpdate::Set(high)),
        (Flag::Carry, FlagUpdate::Set(low)),
        (Flag::Parity, FlagUpdate::Set(d.and(high, low))),
    ]);
    Ok(())
}

fn convert<D: Domain>(op: Op, format: Format, count: Lanes, cx: &mut Context<D>) -> Result<(), Fault> {
    let d = cx.domain;
    let width_bits = format.width_bits();
    if count == One {
        return match op {
            Op::ToSigned(rounding) => {
                let source = cx.read_low(1, width_bits)?;
                let function = Function::ToSigned(format, cx.width_bits(0), rounding);
                cx.write(0, d.float(function, &[source]))
            }
            Op::FromSigned => {
                let source = cx.read(1)?;
                let value = d.float(Function::FromSigned(d.width_bits(source), format), &[source]);
                write(value, cx)
            }
            _ => {
                let source = cx.read_low(1, width_bits)?;
                let value = d.float(Function::To(other(format)), &[source]);
                write(value, cx)
            }
        };
    }
    // As many lanes as fit on either side; what is left of the destination becomes 0.
    let (from, function) = match op {
        Op::ToSigned(rounding) => (width_bits, Function::ToSigned(format, 32, rounding)),
        Op::FromSigned => (32, Function::FromSigned(32, format)),
        _ => (width_bits, Function::To(other(format))),
    };
    let lanes = 128 / from.max(function.width_bits());
    let source = d.lanes(cx.read_low(1, lanes * from)?, from);
    let converted: Vec<_> = source.into_iter().map(|lane| d.float(function, &[lane])).collect();
    cx.write(0, d.zero_extend(d.join(&converted), 128))
}

fn other(format: Format) -> Format {
    if format == Single { Double } else { Single }
}
