//! Lists under construction: where they go in `.debug_loc` or `.debug_loclists`, and their bytes.
//!
//! readelf wants lists in the order of entries and without holes: a list goes where the old one was, or else before that
//! of the next entry of its unit, after that of the last one, or to the end.

use super::super::read::{Debug, Sections, UnitInfo};
use super::super::splice::{Splice, Splices};
use super::super::unit::Bytes;
use super::{Change, List, Writer, patch};
use crate::elf::{Elf, Machine};
use crate::error::{Error, Result, unsupported};
use crate::expression::{Encoded, FieldSymbol};
use crate::relocation::{Relocation, Symbol, by_name, section_symbol, symbols, uleb};
use gimli::{AttributeValue, LittleEndian};
use std::collections::BTreeMap;
use std::ops::Range;

/// Where a list was put. Sections of lists are given by number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Placed {
    Nowhere,
    /// Where the old one was.
    InPlace,
    /// Among what the unit has in the section: the number of the splice there.
    Inserted(usize, usize),
    /// At the end of the section: the offset in what is appended.
    Appended(usize, usize),
    /// At the end of what the unit has in the section, and by its number in the table there.
    Indexed(u64),
}

/// A section of lists: `.debug_loc` or `.debug_loclists`.
pub(super) struct Lists {
    pub(super) section: usize,
    pub(super) symbol: Option<u32>,
    pub(super) version: u16,
    /// Lists that are replaced where they are, or added to what a unit has.
    pub(super) replaced: Vec<(Splice, Vec<Relocation>)>,
    /// Lists that are added to the table of a contribution, by its offset.
    pub(super) indexed: BTreeMap<usize, Vec<usize>>,
    /// How many entries these tables had.
    pub(super) known_entries: BTreeMap<usize, usize>,
    /// What is appended, with relocations that count from its start.
    pub(super) bytes: Vec<u8>,
    pub(super) relocations: Vec<Relocation>,
}

impl Lists {
    /// Name of the section.
    pub(super) fn name(&self) -> &'static str {
        section_name(self.version)
    }

    pub(super) fn splices(&self) -> Splices {
        let tables = self.indexed.iter().map(|(header, lists)| {
            let end = header + HEADER_BYTES + 4 * self.known_entries[header];
            Splice { range: end..end, with: vec![0; 4 * lists.len()] }
        });
        // A table grows before a list that is added right after it.
        Splices::new(tables.chain(self.replaced.iter().map(|(splice, _)| splice.clone())).collect())
    }

    /// Where a replaced or added list is, by its number among them.
    pub(super) fn inserted(&self, splices: &Splices, number: usize) -> Result<usize> {
        let found = splices.inserted(self.indexed.len() + number);
        found.ok_or_else(|| Error::Dwarf("a lost list".into()))
    }

    /// Relocations of all that is new.
    fn all_relocations(&mut self) -> impl Iterator<Item = &mut Relocation> {
        self.replaced.iter_mut().flat_map(|(_, list)| list).chain(&mut self.relocations)
    }
}

pub(super) const HEADER_BYTES: usize = 12;

impl Writer<'_> {
    /// The section of lists for a version of DWARF.
    fn lists(&mut self, version: u16) -> Result<usize> {
        if let Some(known) = self.lists.iter().position(|lists| lists.version == version) {
            return Ok(known);
        }
        let name = section_name(version);
        let section = self.elf.find(name).unwrap_or_else(|| self.elf.add_debug(name));
        let mut symbol = None;
        if self.elf.relocatable {
            let before = self.symbols.len();
            let number = section_symbol(&mut self.elf, section)?;
            self.symbols = symbols(&self.elf)?;
            if self.symbols.len() > before {
                self.inserted.push(number);
                for lists in &mut self.lists {
                    lists.symbol = lists.symbol.map(|symbol| symbol + u32::from(symbol >= number));
                    for relocation in lists.all_relocations() {
                        relocation.symbol += u32::from(relocation.symbol >= number);
                    }
                }
            }
            symbol = Some(number);
        }
        let mut bytes = Vec::new();
        if version >= 5 {
            // The length is filled in at the end.
            bytes.extend([0; 4]);
            bytes.extend(5u16.to_le_bytes());
            bytes.extend([self.machine().address_bytes(), 0]);
            bytes.extend([0; 4]);
        }
        self.lists.push(Lists {
            section,
            symbol,
            version,
            replaced: Vec::new(),
            indexed: BTreeMap::new(),
            known_entries: BTreeMap::new(),
            bytes,
            relocations: Vec::new(),
        });
        Ok(self.lists.len() - 1)
    }

    /// A number of the input's symbol table now.
    fn renumbered(&self, symbol: u32) -> u32 {
        self.inserted.iter().fold(symbol, |symbol, first| symbol + u32::from(symbol >= *first))
    }

    /// Puts a list into its section.
    pub(super) fn place<'d>(
        &mut self,
        debug: &Debug<'d>,
        sections: &Sections,
        info: &UnitInfo<'d>,
        change: &Change,
    ) -> Result<Placed> {
        let number = self.lists(info.unit.header.version())?;
        let (bytes, relocations) = self.encode(number, info, &change.list)?;
        let section = self.lists[number].section;
        // Offsets of lists are known by relocations against the section's symbol, or stand in its own tables; in a
        // linked file all entries are looked at.
        let labelled = self.elf.relocatable
            && self
                .symbols
                .iter()
                .any(|symbol| usize::from(symbol.section) == section && !symbol.is_section());
        let lists = &mut self.lists[number];
        if let Some(old) = &change.old
            && !labelled
        {
            lists.replaced.push((Splice { range: old.clone(), with: bytes }, relocations));
            return Ok(Placed::InPlace);
        }
        let end = match (labelled, next_list(info, sections, change.entry)?) {
            (true, _) => None,
            (false, Some(next)) => Some(next),
            (false, None) if lists.version >= 5 => contribution(info, &self.elf, section)?,
            (false, None) => last_list(debug, info)?,
        };
        if let Some(end) = end {
            let splice = lists.replaced.len();
            lists.replaced.push((Splice { range: end..end, with: bytes }, relocations));
            // A unit that counts its lists goes on doing so.
            if lists.version >= 5
                && let Some((header, entries)) = table(info, &self.elf.sections[section].data)
            {
                lists.known_entries.insert(header, entries);
                let added = lists.indexed.entry(header).or_default();
                added.push(splice);
                return Ok(Placed::Indexed((entries + added.len() - 1) as u64));
            }
            return Ok(Placed::Inserted(number, splice));
        }
        let start = lists.bytes.len();
        lists.relocations.extend(
            relocations
                .into_iter()
                .map(|relocation| Relocation { offset: relocation.offset + start as u64, ..relocation }),
        );
        lists.bytes.extend(bytes);
        Ok(Placed::Appended(number, start))
    }

    /// A list as bytes, with relocations that count from its start.
    fn encode(&self, number: usize, info: &UnitInfo, list: &List) -> Result<(Vec<u8>, Vec<Relocation>)> {
        let version = self.lists[number].version;
        let address_bytes = usize::from(self.machine().address_bytes());
        let mut out = (Vec::new(), Vec::new());
        let mut base = info.unit.low_pc;
        for (range, encoded) in list {
            if !self.counts_from(base, range) {
                base = self.add_base(version, &mut out, range.start)?;
            }
            let (begin, end) = (range.start - base, range.end - base);
            let length = encoded.bytes.len();
            if version >= 5 {
                out.0.push(gimli::DW_LLE_offset_pair.0);
                uleb(&mut out.0, begin);
                uleb(&mut out.0, end);
                uleb(&mut out.0, length as u64);
            } else {
                out.0.extend(&begin.to_le_bytes()[..address_bytes]);
                out.0.extend(&end.to_le_bytes()[..address_bytes]);
                let Ok(length) = u16::try_from(length) else { return unsupported("so long an expression") };
                out.0.extend(length.to_le_bytes());
            }
            self.add_expression(&mut out, encoded)?;
        }
        let end = if version >= 5 { 1 } else { 2 * address_bytes };
        out.0.resize(out.0.len() + end, 0);
        Ok(out)
    }

    /// Whether a range can be said from a base: it lies after it, in the same section.
    fn counts_from(&self, base: u64, range: &Range<u64>) -> bool {
        let section = |address: u64| match (self.elf.relocatable, self.elf.machine) {
            (false, _) => 1,
            (true, Machine::X86_64) => address >> 40,
            (true, Machine::I386) => address >> 20,
        };
        // What is in no section does not move with the code.
        section(base) != 0 && section(base) == section(range.start) && base <= range.start
    }

    fn add_base(&self, version: u16, out: &mut (Vec<u8>, Vec<Relocation>), address: u64) -> Result<u64> {
        let machine = self.machine();
        let bytes = usize::from(machine.address_bytes());
        if version >= 5 {
            out.0.push(gimli::DW_LLE_base_address.0);
        } else {
            out.0.extend(vec![0xff; bytes]);
        }
        let field = out.0.len();
        if !self.elf.relocatable {
            out.0.extend(&address.to_le_bytes()[..bytes]);
            return Ok(address);
        }
        out.0.resize(field + bytes, 0);
        let (section, offset) = match machine {
            Machine::X86_64 => (address >> 40, address & ((1 << 40) - 1)),
            Machine::I386 => (address >> 20, address & ((1 << 20) - 1)),
        };
        let of_section = |symbol: &&(usize, &Symbol)| u64::from(symbol.1.section) == section;
        let numbered: Vec<(usize, &Symbol)> = self.symbols.iter().enumerate().collect();
        let symbol = numbered
            .iter()
            .filter(of_section)
            .find(|symbol| symbol.1.is_section())
            .or_else(|| numbered.iter().filter(of_section).find(|symbol| symbol.1.is_function()));
        let Some((symbol, known)) = symbol else { return unsupported("a section of code without a symbol") };
        out.1.push(Relocation {
            offset: field as u64,
            kind: machine.absolute(),
            symbol: *symbol as u32,
            addend: offset.wrapping_sub(known.value) as i64,
        });
        Ok(address)
    }

    fn add_expression(&self, out: &mut (Vec<u8>, Vec<Relocation>), encoded: &Encoded) -> Result<()> {
        let bytes = usize::from(self.machine().address_bytes());
        let at = out.0.len();
        out.0.extend(&encoded.bytes);
        for field in &encoded.fields {
            let symbol = match &field.symbol {
                FieldSymbol::Number(symbol) => self.renumbered(*symbol),
                FieldSymbol::Name(name) => *by_name(&self.symbols).get(name.as_str()).ok_or_else(|| {
                    Error::Unsupported(format!("the address of `{name}`, which has no symbol"))
                })?,
            };
            let offset = at + field.offset;
            if self.elf.relocatable {
                let (offset, kind, addend) = (offset as u64, field.kind, field.addend);
                out.1.push(Relocation { offset, kind, symbol, addend });
            } else {
                let value = self.symbols[symbol as usize].value.wrapping_add(field.addend as u64);
                out.0[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        Ok(())
    }
}

/// The section of lists for a version of DWARF.
pub(super) fn section_name(version: u16) -> &'static str {
    if version >= 5 { ".debug_loclists" } else { ".debug_loc" }
}

/// Where the list of the next entry of a unit that has one begins, with its views.
fn next_list(info: &UnitInfo, sections: &Sections, entry: usize) -> Result<Option<usize>> {
    for entry in &info.entries[entry + 1..] {
        let Some(location) = entry.attribute(gimli::DW_AT_location) else { continue };
        let Some(start) = list_offset(info, sections, location.value())? else { continue };
        let views = entry.attribute(gimli::DW_AT_GNU_locviews).map(|attribute| attribute.raw());
        return Ok(Some(match views {
            Some(AttributeValue::SecOffset(views)) => start.0.min(views),
            _ => start.0,
        }));
    }
    Ok(None)
}

/// Where the last list of a unit ends.
fn last_list<'d>(debug: &Debug<'d>, info: &UnitInfo<'d>) -> Result<Option<usize>> {
    for entry in info.entries.iter().rev() {
        if let Some(range) = debug.list_bytes(&info.unit, &info.lists, entry)? {
            return Ok(Some(range.end));
        }
    }
    Ok(None)
}

/// The offset of a list, however an attribute gives it.
pub(super) fn list_offset(
    info: &UnitInfo,
    sections: &Sections,
    value: AttributeValue<Bytes>,
) -> Result<Option<gimli::LocationListsOffset>> {
    match value {
        AttributeValue::LocationListsRef(offset) => Ok(Some(offset)),
        AttributeValue::DebugLocListsIndex(index) => {
            let lists = gimli::LocationLists::new(
                gimli::DebugLoc::new(&[], LittleEndian),
                gimli::DebugLocLists::new(sections.section(".debug_loclists"), LittleEndian),
            );
            Ok(Some(lists.get_offset(info.unit.encoding(), info.unit.loclists_base, index)?))
        }
        _ => Ok(None),
    }
}

/// The contribution to `.debug_loclists` whose table a unit uses, and how many entries the table has.
fn table(info: &UnitInfo, data: &[u8]) -> Option<(usize, usize)> {
    if !info.lists.indexed {
        return None;
    }
    let header = info.unit.loclists_base.0.checked_sub(HEADER_BYTES)?;
    let count = data.get(header.checked_add(8)?..)?.get(..4)?;
    let count = u32::from_le_bytes(count.try_into().ok()?) as usize;
    // Without entries the table's end would be the base that others count from.
    let end = count.checked_mul(4)?.checked_add(header)?.checked_add(HEADER_BYTES)?;
    (count > 0 && end <= data.len()).then_some((header, count))
}

/// The end of what a unit has in `.debug_loclists`; nothing if it has nothing there.
fn contribution(info: &UnitInfo, elf: &Elf, section: usize) -> Result<Option<usize>> {
    let known = info.lists.offset.or(info.lists.indexed.then_some(info.unit.loclists_base.0));
    let Some(known) = known else { return Ok(None) };
    let data = &elf.sections[section].data;
    let mut at = 0usize;
    while let Some(field) = data.get(at..).and_then(|rest| rest.get(..4)) {
        let length = u32::from_le_bytes(field.try_into().expect("four bytes")) as usize;
        let end = at.saturating_add(4).saturating_add(length);
        if (at..end).contains(&known) {
            return Ok((end <= data.len()).then_some(end));
        }
        at = end;
    }
    Ok(None)
}

/// Lengths and tables of offsets of the contributions to `.debug_loclists` after changes inside of them.
pub(super) fn grow_tables(old: &[u8], splices: &Splices, lists: &Lists, data: &mut [u8]) -> Result<()> {
    if splices.is_empty() {
        return Ok(());
    }
    let word = |at: usize| -> Result<usize> {
        let field = old.get(at..).and_then(|rest| rest.get(..4));
        let field =
            field.ok_or_else(|| Error::Dwarf("the header of a contribution to .debug_loclists".into()))?;
        Ok(u32::from_le_bytes(field.try_into().expect("four bytes")) as usize)
    };
    let mut at = 0;
    while at < old.len() {
        let length = word(at)?;
        if length >= 0xffff_fff0 {
            return unsupported("64-bit DWARF");
        }
        let end = at.saturating_add(4).saturating_add(length);
        let new = splices.map(at);
        patch(data, new, splices.map(end).wrapping_sub(new + 4) as u64, 4)?;
        let base = at + HEADER_BYTES;
        let entries = word(at + 8)?;
        let added = lists.indexed.get(&at).map_or(&[][..], Vec::as_slice);
        patch(data, splices.map(at + 8), (entries + added.len()) as u64, 4)?;
        for (number, splice) in added.iter().enumerate() {
            let list = lists.inserted(splices, *splice)?;
            let entry = splices.map(base) + 4 * (entries + number);
            patch(data, entry, list.wrapping_sub(splices.map(base)) as u64, 4)?;
        }
        for number in 0..entries {
            let entry = base.saturating_add(4 * number);
            let list = base.saturating_add(word(entry)?);
            patch(data, splices.map(entry), splices.map(list).wrapping_sub(splices.map(base)) as u64, 4)?;
        }
        at = end;
    }
    Ok(())
}
