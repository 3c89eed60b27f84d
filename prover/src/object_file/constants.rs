//! Data that never changes: what it holds, and where the linker writes the addresses of code into it (the tables of
//! jumps that compilers make of a `switch`). Also which local variable a relocation means that names a section.

use super::{Names, RelocationKind, is_read_only, kind, merged_entry_bytes};
use crate::bits::Bits;
use iced_x86::{Decoder, DecoderOptions, Register};
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, Section,
    SectionIndex, SymbolIndex, SymbolKind,
};
use std::collections::{BTreeMap, HashMap};

/// Bytes from a symbol on that never change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Constant {
    /// As in the file.
    pub bytes: Vec<u8>,
    /// As far as the symbol says that it reaches.
    pub size_bytes: u64,
    /// What the linker writes over some of them, by offset.
    pub fields: BTreeMap<u64, CodeField>,
}

/// A field of a constant that the linker writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeField {
    /// What goes there; nothing if it is of a kind that is not followed.
    pub kind: Option<RelocationKind>,
    /// The pc that the symbol with its addend is, if it is in the section of the function.
    pub target: Option<u64>,
}

/// Bytes of the longest field.
const LONGEST_FIELD: u64 = super::LONGEST_FIELD;

impl Constant {
    /// Bytes that the linker leaves alone.
    pub fn plain(bytes: Vec<u8>) -> Constant {
        Constant { size_bytes: bytes.len() as u64, bytes, fields: BTreeMap::new() }
    }

    /// What is at an offset, if the linker does not write there.
    pub fn read(&self, offset: u64, bytes: u32) -> Option<Bits> {
        let end = offset.checked_add(u64::from(bytes))?;
        let range = usize::try_from(offset).ok()?..usize::try_from(end).ok()?;
        let found = self.bytes.get(range)?;
        let near = offset.saturating_sub(LONGEST_FIELD - 1)..end;
        let written = |(at, field): (&u64, &CodeField)| {
            let size = field.kind.map_or(LONGEST_FIELD, RelocationKind::size_bytes);
            at.saturating_add(size) > offset
        };
        if self.fields.range(near).any(written) {
            return None;
        }
        Some(Bits::new(8 * bytes, found.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))))
    }
}

/// The fields of a read-only section that the linker writes, counted from `start`, as a function of the section
/// `home` sees them.
pub(super) fn fields(
    object: &object::File,
    section: &Section,
    data: &[u8],
    start: u64,
    home: SectionIndex,
) -> BTreeMap<u64, CodeField> {
    let mut found = BTreeMap::new();
    for (offset, relocation) in section.relocations() {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
        let Some(from_start) = offset.checked_sub(start) else {
            // One that begins before the symbol may reach into it.
            let size = kind(object.architecture(), r_type).map_or(LONGEST_FIELD, RelocationKind::size_bytes);
            if offset.saturating_add(size) > start {
                found.insert(0, CodeField { kind: None, target: None });
            }
            continue;
        };
        let addend = match relocation.has_implicit_addend() {
            true => super::field(data, offset),
            false => Some(relocation.addend()),
        };
        let target = match relocation.target() {
            RelocationTarget::Symbol(index) => object.symbol_by_index(index).ok(),
            _ => None,
        };
        // What another object may bring its own definition of is not in this section.
        let own = target
            .filter(|symbol| symbol.section_index() == Some(home) && symbol.is_local())
            .filter(|symbol| symbol.kind() != SymbolKind::Tls);
        let target = own.zip(addend).map(|(symbol, addend)| symbol.address().wrapping_add_signed(addend));
        let mut field = CodeField { kind: kind(object.architecture(), r_type), target };
        // Two relocations of one field: what is there is not followed.
        if found.contains_key(&from_start) {
            field = CodeField { kind: None, target: None };
        }
        found.insert(from_start, field);
    }
    found
}

/// Local variables by section, for relocations that name the section.
#[derive(Debug, Default)]
pub(super) struct Variables(HashMap<SectionIndex, Vec<Variable>>);

#[derive(Debug, Clone, Copy)]
struct Variable {
    start: u64,
    size_bytes: u64,
    index: SymbolIndex,
}

/// A constant pointer into an object does not begin further before it than this.
const NEAR: u64 = 256;
/// Within so many bytes before a variable, what a register is added to belongs to it rather than to the one before.
const VERY_NEAR: u64 = 16;

impl Variables {
    /// Those whose names stand for one symbol.
    pub(super) fn of(object: &object::File, names: &Names) -> Variables {
        let mut found = Variables::default();
        for symbol in object.symbols() {
            let plain = symbol.is_local() && symbol.kind() == SymbolKind::Data && symbol.size() > 0;
            let one = symbol.name().is_ok_and(|name| names.get(name) == Some(&1));
            let Some(section) = symbol.section_index().filter(|_| plain && one) else { continue };
            // The linker moves the entries of these apart.
            let merged = object
                .section_by_index(section)
                .is_ok_and(|section| merged_entry_bytes(object, &section).is_some());
            if !merged {
                let (start, size_bytes) = (symbol.address(), symbol.size());
                let variable = Variable { start, size_bytes, index: symbol.index() };
                found.0.entry(section).or_default().push(variable);
            }
        }
        found
    }

    /// The variable that a relocation means which names its section, and where it begins. The address is the same by
    /// either name; which of them is meant is a guess, and what is accessed there is for the proof to show.
    pub(super) fn meant(
        &self,
        object: &object::File,
        target: RelocationTarget,
        kind: RelocationKind,
        addend: i64,
        use_of: Option<Use>,
    ) -> Option<(SymbolIndex, u64)> {
        let RelocationTarget::Symbol(index) = target else { return None };
        let symbol = object.symbol_by_index(index).ok()?;
        if symbol.kind() != SymbolKind::Section {
            return None;
        }
        let known = self.0.get(&symbol.section_index()?)?;
        let use_of = use_of.unwrap_or(Use { ahead: 4, indexed: false });
        let ahead = match kind {
            RelocationKind::Relative32 => use_of.ahead,
            RelocationKind::Absolute32
            | RelocationKind::Absolute32Signed
            | RelocationKind::Absolute64
            | RelocationKind::GotOffset => 0,
            _ => return None,
        };
        let at = u64::try_from(addend.wrapping_add_unsigned(ahead)).ok();
        let next = |most: u64| {
            let distance =
                |one: &Variable| (one.start as i64).wrapping_sub(addend.wrapping_add_unsigned(ahead));
            let near = known.iter().filter(|one| (0..=most as i64).contains(&distance(one)));
            near.min_by_key(|one| one.start)
        };
        // Between constants there are tables of the compiler's own.
        let near =
            !object.section_by_index(symbol.section_index()?).is_ok_and(|section| is_read_only(&section));
        let inside =
            known.iter().find(|one| at.is_some_and(|at| at.wrapping_sub(one.start) < one.size_bytes));
        let past = known.iter().find(|one| at.is_some_and(|at| at.wrapping_sub(one.start) == one.size_bytes));
        let start = inside.filter(|one| at == Some(one.start));
        let found = match use_of.indexed && near {
            true => start.or_else(|| next(VERY_NEAR)).or(inside).or_else(|| next(NEAR)).or(past),
            false => inside.or(past.filter(|_| near)),
        };
        found.map(|one| (one.index, one.start))
    }
}

/// How an instruction uses a field that the linker writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use {
    /// Bytes from the field to the next instruction.
    pub(super) ahead: u64,
    /// Whether a register is added.
    pub(super) indexed: bool,
}

/// How the instructions of a function use the fields at these pcs, as far as they can be decoded one after the other.
pub(super) fn uses(architecture: Architecture, low_pc: u64, bytes: &[u8], pcs: &[u64]) -> BTreeMap<u64, Use> {
    let bits = if architecture == Architecture::I386 { 32 } else { 64 };
    let mut found = BTreeMap::new();
    let mut decoder = Decoder::with_ip(bits, bytes, low_pc, DecoderOptions::NONE);
    for instruction in decoder.iter() {
        for pc in pcs.iter().filter(|pc| (instruction.ip()..instruction.next_ip()).contains(*pc)) {
            let (base, index) = (instruction.memory_base(), instruction.memory_index());
            let indexed = index != Register::None || base != Register::None && base != Register::RIP;
            found.insert(*pc, Use { ahead: instruction.next_ip() - pc, indexed });
        }
    }
    found
}

/// Contents and alignments of the read-only sections of a linked object, by name.
pub(super) fn of_image(
    object: &object::File,
    image: &super::Image,
) -> (BTreeMap<String, Constant>, BTreeMap<String, u64>) {
    let (mut constants, mut alignments) = (BTreeMap::new(), BTreeMap::new());
    for section in object.sections().filter(is_read_only) {
        let range = section.address()..section.address().saturating_add(section.size());
        if image.is_patched(&range) {
            continue;
        }
        if let (Ok(name), Ok(data)) = (section.name(), section.data()) {
            constants.insert(name.to_owned(), Constant::plain(data.to_vec()));
            alignments.insert(name.to_owned(), section.align().max(1));
        }
    }
    (constants, alignments)
}
