//! Reads of constant data at a place that a register says: the tables that compilers make of a `switch`. What is in
//! the data is known, so such a read is a choice among numbers; if the data are addresses of code and control goes
//! there, it is a way out of the block for each.
//!
//! How many entries a table has, no object says. [`super::backwards`] guesses it from the comparison before; that the
//! index is below is required of the machine, and so is what is guessed of registers. A wrong guess costs a proof.

use super::blocks::Block;
use super::{LiftError, unsupported};
use crate::abi::Abi;
use crate::bits::{Bits, mask};
use crate::domain::{Domain, Fault, Symbolic};
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, ExprId, Node};
use crate::object_file::constants::Constant;
use crate::object_file::{FunctionCode, GOT, RelocationKind};
use crate::region::{ADDRESS_PREFIX, address_name};
use crate::x86::Stop;
use crate::x86::operand::{Context, Fixups};
use crate::x86::state::State;
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeMap;

/// Entries of a table of numbers, and of jumps, that are followed.
const MOST_NUMBERS: u64 = 64;
const MOST_JUMPS: u64 = 1024;

/// Where a table's first entry is, what says which entry is meant, and how far it is from one to the next.
#[derive(Debug, Clone)]
struct Place {
    symbol: String,
    offset: i64,
    scale: u64,
    index: ExprId,
    /// Bits that must be set for it to be this place.
    required: Vec<ExprId>,
}

/// A read of a table in a block that ends with a jump to a computed place.
#[derive(Debug, Clone)]
pub(super) struct Read {
    /// The variable that stands for what was read.
    unknown: ExprId,
    place: Place,
    entries: u64,
}

impl Read {
    /// The variable that stands for what was read.
    pub(super) fn unknown(&self) -> ExprId {
        self.unknown
    }
}

/// What an instruction that reads a table gets.
pub(super) enum Found {
    /// One of some numbers.
    Number(ExprId),
    /// A field that leads to code.
    Code(Read),
}

/// What the memory operand of an instruction holds, if that is an entry of a table.
pub(super) fn read(
    domain: &Symbolic,
    state: &mut State<ExprId>,
    instruction: &Instruction,
    fixups: Fixups<ExprId>,
    (block, function): (&Block, &FunctionCode),
) -> Option<Found> {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    if !only_reads(instruction)
        || fixups.loaded.is_some()
        || base == Register::None && index == Register::None
    {
        return None;
    }
    let bytes =
        u32::try_from(instruction.memory_size().size()).ok().filter(|bytes| (1..=16).contains(bytes))?;
    let address = Context { domain, state, instruction, fixups }.address();
    let address = domain.low(address, function.address_bits);
    let guesses = Guesses { block, function };
    let place = domain.with(|arena| guesses.place(arena, address))?;
    let constant = function.constants.get(&place.symbol)?;
    let bound = block.code.bound(instruction);
    let end = if is_section(&place.symbol) { constant.bytes.len() as u64 } else { constant.size_bytes };
    let room = place.room(end, u64::from(bytes));
    // Jumps are resolved where they are: the table has no end that is known.
    let jumps = block.ends_with_jump() && function.address_bits / 8 >= bytes && bytes >= 4;
    if jumps && (is_field(constant, &place) || function.image.is_some()) {
        // A table of unknown size has none.
        let entries = bound.filter(|entries| *entries <= MOST_JUMPS.min(room)).unwrap_or(0);
        if entries > 0 {
            place.require(domain, entries);
        }
        let unknown = domain.unknown(8 * bytes);
        return Some(Found::Code(Read { unknown, place, entries }));
    }
    if !is_compilers(&place.symbol) {
        return None;
    }
    let entries = bound.unwrap_or(room).min(room);
    if entries == 0 || entries > MOST_NUMBERS {
        return None;
    }
    let numbers: Option<Vec<Bits>> =
        (0..entries).map(|entry| constant.read(place.entry(entry)?, bytes)).collect();
    let numbers = numbers?;
    place.require(domain, entries);
    Some(Found::Number(chosen(domain, place.index, &numbers)))
}

/// The number of an index; numbers that are there more than once are asked for once.
fn chosen(domain: &Symbolic, index: ExprId, numbers: &[Bits]) -> ExprId {
    let width_bits = domain.width_bits(index);
    let mut places = Vec::<(Bits, Vec<u64>)>::new();
    for (number, entry) in numbers.iter().zip(0..) {
        match places.iter_mut().find(|(known, _)| known == number) {
            Some((_, entries)) => entries.push(entry),
            None => places.push((*number, vec![entry])),
        }
    }
    // The commonest one is what is left.
    places.sort_by_key(|(_, entries)| std::cmp::Reverse(entries.len()));
    let constant = |number: &Bits| domain.constant(number.width_bits(), number.value());
    let mut value = constant(&places[0].0);
    for (number, entries) in places.iter().skip(1).rev() {
        value = domain.choose(any(domain, index, width_bits, entries), constant(number), value);
    }
    value
}

/// The bit that is set if the index is one of these.
fn any(domain: &Symbolic, index: ExprId, width_bits: u32, entries: &[u64]) -> ExprId {
    let is = |entry: &u64| domain.equals(index, domain.constant(width_bits, u128::from(*entry)));
    entries.iter().map(is).reduce(|left, right| domain.or(left, right)).unwrap_or_else(|| domain.bit(false))
}

/// The ways out of a block that jumps to what it has read.
pub(super) fn ways(
    domain: &Symbolic,
    target: ExprId,
    reads: &[Read],
    pc: u64,
    (block, function): (&Block, &FunctionCode),
) -> Result<Vec<(ExprId, u64)>, LiftError> {
    let refused = |what: &str| unsupported(format!("jump table {what}"), pc);
    let read = match reads {
        [] => return Err(unsupported("indirect jump", pc)),
        [read] if read.entries == 0 => return Err(refused("of unknown size")),
        [read] => read,
        _ => return Err(refused("beside another")),
    };
    let guesses = Guesses { block, function };
    let (form, required) = domain
        .with(|arena| guesses.form(arena, target, read))
        .ok_or_else(|| refused("whose entries are not used as they are"))?;
    for bit in required {
        domain.require(bit, Fault::Guess).map_err(Stop::from)?;
    }
    let mut targets = BTreeMap::<u64, Vec<u64>>::new();
    for entry in 0..read.entries {
        let to = guesses.target(&read.place, entry, &form);
        let inside = to.filter(|to| to.wrapping_sub(function.low_pc) < function.bytes.len() as u64);
        let to =
            inside.ok_or_else(|| refused(&format!("whose entry {entry} is no place in the function")))?;
        targets.entry(to).or_default().push(entry);
    }
    let width_bits = domain.width_bits(read.place.index);
    let guard = |entries: &[u64]| any(domain, read.place.index, width_bits, entries);
    Ok(targets.into_iter().map(|(to, entries)| (guard(&entries), to)).collect())
}

/// How a target follows from an entry.
#[derive(Debug, Clone)]
enum Form {
    /// It is the target.
    Whole,
    /// It is how far the target is from a place in a constant.
    From(String, i64),
    /// It is how far the target is from the table of addresses of i386 code.
    FromGot,
}

impl Place {
    fn entry(&self, number: u64) -> Option<u64> {
        u64::try_from(self.offset.checked_add_unsigned(number.checked_mul(self.scale)?)?).ok()
    }

    /// Whole entries up to the end.
    fn room(&self, end: u64, bytes: u64) -> u64 {
        let Some(last) =
            u64::try_from(self.offset).ok().and_then(|start| end.checked_sub(start)?.checked_sub(bytes))
        else {
            return 0;
        };
        last / self.scale + 1
    }

    /// It is one of so many entries, and the place is as was guessed.
    fn require(&self, domain: &Symbolic, entries: u64) {
        let entries = domain.constant(domain.width_bits(self.index), u128::from(entries));
        let below = domain.ult(self.index, entries);
        for bit in self.required.iter().copied().chain([below]) {
            // The symbolic domain notes it.
            let _ = domain.require(bit, Fault::Guess);
        }
    }
}

/// Reading an address as a place in a constant.
struct Guesses<'a> {
    block: &'a Block,
    function: &'a FunctionCode,
}

impl Guesses<'_> {
    /// `symbol + offset + scale * index`, what a register holds being guessed if need be.
    fn place(&self, arena: &mut Arena, address: ExprId) -> Option<Place> {
        let (mut constant, mut terms) = sum_of(arena, address);
        let mut required = Vec::new();
        self.cancel_got(arena, &mut terms, &mut required);
        if !terms.iter().any(|(factor, term)| *factor == 1 && self.constant_of(arena, *term).is_some()) {
            let (at, symbol, offset) = self.guessed_base(arena, &terms, &mut required)?;
            constant = constant.wrapping_add(offset);
            terms[at].1 = Abi::of(self.function.address_bits).address(arena, &symbol);
        }
        let (at, symbol) = terms.iter().enumerate().find_map(|(at, (factor, term))| {
            (*factor == 1).then_some(())?;
            Some((at, self.constant_of(arena, *term)?))
        })?;
        terms.remove(at);
        let [(scale, index)] = terms.as_slice() else { return None };
        let scale = u64::try_from(*scale).ok().filter(|scale| (1..=16).contains(scale))?;
        Some(Place { symbol, offset: constant, scale, index: *index, required })
    }

    /// How a target is made of what was read, and what that requires.
    fn form(&self, arena: &mut Arena, target: ExprId, read: &Read) -> Option<(Form, Vec<ExprId>)> {
        let mut required = Vec::new();
        let (mut constant, mut terms) = sum_of(arena, target);
        let is_read = |arena: &Arena, term: ExprId| match arena.node(term) {
            Node::SignExtend { of, .. } => *of == read.unknown,
            _ => term == read.unknown,
        };
        let at = terms.iter().position(|(factor, term)| *factor == 1 && is_read(arena, *term))?;
        let whole = terms[at].1 == read.unknown;
        terms.remove(at);
        if terms.is_empty() {
            return (whole && constant == 0).then_some((Form::Whole, required));
        }
        let [(1, base)] = terms.as_slice() else { return None };
        let (bits, base) = (self.function.address_bits, *base);
        if bits == 32 {
            if !whole || constant != 0 {
                return None;
            }
            let got = Abi::of(bits).address(arena, GOT);
            if base != got {
                register_of(arena, base)?;
                required.push(equal(arena, base, got));
            }
            return Some((Form::FromGot, required));
        }
        let symbol = match self.constant_of(arena, base) {
            Some(symbol) => symbol,
            None => {
                let (_, symbol, offset) = self.guessed_base(arena, &terms, &mut required)?;
                constant = constant.wrapping_add(offset);
                symbol
            }
        };
        (!whole).then_some((Form::From(symbol, constant), required))
    }

    /// Where an entry leads to.
    fn target(&self, place: &Place, entry: u64, form: &Form) -> Option<u64> {
        let constant = self.function.constants.get(&place.symbol)?;
        let offset = place.entry(entry)?;
        if let Some(image) = &self.function.image {
            let number = |bytes: u32| constant.read(offset, bytes).map(|bits| bits.value() as u64);
            let distance = || number(4).map(|bits| i64::from(bits as u32 as i32));
            return match form {
                // The numbers are those of the file only where it cannot be loaded elsewhere.
                Form::Whole if image.fixed => number(self.function.address_bits / 8),
                Form::Whole => None,
                Form::From(symbol, from) => {
                    Some(image.address(symbol)?.wrapping_add_signed(*from).wrapping_add_signed(distance()?))
                }
                Form::FromGot => Some(image.got?.wrapping_add_signed(distance()?) & u64::from(u32::MAX)),
            };
        }
        let field = constant.fields.get(&offset)?;
        let target = field.target?;
        match (form, field.kind?) {
            (Form::Whole, RelocationKind::Absolute64) if self.function.address_bits == 64 => Some(target),
            (Form::Whole, RelocationKind::Absolute32) if self.function.address_bits == 32 => Some(target),
            (Form::FromGot, RelocationKind::GotOffset) => Some(target),
            // The field is S + A - P; the base is as far from P as the file says.
            (Form::From(symbol, from), RelocationKind::Relative32) if *symbol == place.symbol => {
                Some(target.wrapping_add_signed(*from).wrapping_sub(offset))
            }
            _ => None,
        }
    }

    /// The constant that a term is the address of.
    fn constant_of(&self, arena: &Arena, term: ExprId) -> Option<String> {
        let Node::Variable(symbol) = arena.node(term) else { return None };
        let name = arena.name(*symbol).strip_prefix(ADDRESS_PREFIX)?;
        self.function.constants.contains_key(name).then(|| name.to_owned())
    }

    /// A register that is guessed to hold the address of a constant: the number of its term, the constant and an
    /// offset. The guess is required.
    fn guessed_base(
        &self,
        arena: &mut Arena,
        terms: &[(u128, ExprId)],
        required: &mut Vec<ExprId>,
    ) -> Option<(usize, String, i64)> {
        for (at, (factor, term)) in terms.iter().enumerate() {
            let Some(register) = register_of(arena, *term).filter(|_| *factor == 1) else { continue };
            if let Some((symbol, offset)) = self.block.code.base(self.block, &register, self.function) {
                let abi = Abi::of(self.function.address_bits);
                let address = abi.address(arena, &symbol);
                let guess = arena.sum(abi.word(offset as u128 & mask(abi.address_bits)), &[(1, address)]);
                required.push(equal(arena, *term, guess));
                return Some((at, symbol, offset));
            }
        }
        None
    }

    /// In i386 code, a register plus an offset from the table of addresses: the register has the table's address.
    fn cancel_got(&self, arena: &mut Arena, terms: &mut Vec<(u128, ExprId)>, required: &mut Vec<ExprId>) {
        let bits = self.function.address_bits;
        let name = address_name(GOT);
        let is_got = |arena: &Arena, id: ExprId| matches!(arena.node(id), Node::Variable(symbol) if arena.name(*symbol) == name);
        let minus_one = mask(bits);
        let Some(got) = terms.iter().position(|(factor, term)| *factor == minus_one && is_got(arena, *term))
        else {
            return;
        };
        // The other register is the index, which has a factor; a byte is not.
        let register =
            terms.iter().position(|(factor, term)| *factor == 1 && register_of(arena, *term).is_some());
        if let Some(register) = register {
            required.push(equal(arena, terms[register].1, terms[got].1));
            terms.remove(register.max(got));
            terms.remove(register.min(got));
        }
    }
}

/// Whether a symbol is the section itself.
fn is_section(symbol: &str) -> bool {
    symbol.starts_with('.')
}

/// Whether a constant is the compiler's own: no source can name it.
fn is_compilers(symbol: &str) -> bool {
    is_section(symbol) || symbol.starts_with("CSWTCH.") || symbol.starts_with("switch.table.")
}

/// Whether the linker writes the first entry.
fn is_field(constant: &Constant, place: &Place) -> bool {
    place.entry(0).is_some_and(|offset| constant.fields.contains_key(&offset))
}

/// Whether an instruction does nothing with its memory operand but read all of it.
fn only_reads(instruction: &Instruction) -> bool {
    let memory = |operand: u32| instruction.op_kind(operand) == OpKind::Memory;
    let branch = instruction.flow_control() == FlowControl::IndirectBranch && memory(0);
    let first = matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test) && memory(0);
    let second = instruction.op_count() >= 2 && instruction.op_kind(0) == OpKind::Register && memory(1);
    let address = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Xchg | Mnemonic::Bt);
    (branch || first || second) && !address
}

/// Constant, as a signed number, and terms of the normal form of an address.
fn sum_of(arena: &mut Arena, address: ExprId) -> (i64, Vec<(u128, ExprId)>) {
    let normal = Normaliser::new().normal(arena, address);
    match arena.node(normal) {
        Node::Sum { constant, terms } => (constant.signed() as i64, terms.to_vec()),
        Node::Constant(bits) => (bits.signed() as i64, Vec::new()),
        _ => (0, vec![(1, normal)]),
    }
}

/// The name of the register that a term is.
fn register_of(arena: &Arena, term: ExprId) -> Option<String> {
    let Node::Variable(symbol) = arena.node(term) else { return None };
    let name = arena.name(*symbol);
    super::run::is_general(name).then(|| name.to_owned())
}

fn equal(arena: &mut Arena, left: ExprId, right: ExprId) -> ExprId {
    arena.compare(crate::expr::CompareOp::Eq, left, right)
}
