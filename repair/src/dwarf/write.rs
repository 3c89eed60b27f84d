//! New location lists for some variables: appended to the section of lists, with the variables' entries changed to
//! refer to them. Everything else is copied.
//!
//! What moves: entries after a changed one, so references inside of the unit, the unit's length, and everything that
//! refers to `.debug_info` by offset. **Invariant**: what cannot be kept right is refused before anything is written.

use super::abbreviation::{Specification, Table};
use super::read::{Sections, UnitInfo};
use super::splice::{Splice, Splices};
use super::unit::{Bytes, Entry};
use crate::elf::{Elf, Machine};
use crate::error::{Error, Result, unsupported};
use crate::expression::{Encoded, FieldSymbol};
use crate::relocation::{
    Relocation, Symbol, by_name, relocation_section, relocations, section_symbol, set_relocations, symbols, uleb,
};
use gimli::{AttributeValue, LittleEndian, Operation, Reader};
use std::ops::Range;

/// What a variable is, by ranges of addresses as they are read; no two overlap, none is empty.
pub type List = Vec<(Range<u64>, Encoded)>;

/// A variable of a unit and its new list; an empty one removes what is there.
#[derive(Debug, Clone)]
pub struct Change {
    /// Number of its entry.
    pub entry: usize,
    /// The list.
    pub list: List,
}

/// The object with new lists.
pub fn rewrite<'a>(
    elf: &Elf<'a>,
    sections: &Sections,
    units: &[(&UnitInfo, Vec<Change>)],
) -> Result<Elf<'a>> {
    let mut writer = Writer::new(elf)?;
    let mut splices = Vec::new();
    let mut patches = Vec::new();
    let mut abbreviations = sections.section(".debug_abbrev").to_vec();
    let mut moved_tables = Vec::new();
    for (info, changes) in units {
        let table_offset = info.unit.header.debug_abbrev_offset().0;
        let mut table = Table::read(&abbreviations, table_offset)?;
        for change in changes {
            let entry = &info.entries[change.entry];
            let at = match change.list.is_empty() {
                true => None,
                false => Some(writer.add_list(info, &change.list)?),
            };
            change_entry(entry, at, &mut table, &mut splices, &mut patches, info.unit.header.version());
        }
        let (written, offset) = table.write(&abbreviations);
        abbreviations = written;
        if offset != table_offset {
            moved_tables.push((info.offset, offset));
        }
    }
    let splices = Splices::new(splices);
    writer.info(sections, units, &splices, &patches, &moved_tables)?;
    writer.finish(abbreviations)
}

/// A list's offset that goes into bytes which a splice inserts.
struct Patch {
    splice: Splice,
    list: (usize, u64),
}

/// The entry without what it said of the variable's value, with its list.
fn change_entry(
    entry: &Entry,
    list: Option<(usize, u64)>,
    table: &mut Table,
    splices: &mut Vec<Splice>,
    patches: &mut Vec<Patch>,
    _version: u16,
) {
    let gone = [gimli::DW_AT_location, gimli::DW_AT_const_value, gimli::DW_AT_GNU_locviews];
    let mut specifications: Vec<Specification> = Vec::new();
    for attribute in &entry.attributes {
        if !gone.contains(&attribute.name) {
            specifications.push((attribute.name, attribute.form, attribute.implicit));
        } else if !attribute.range.is_empty() {
            splices.push(Splice { range: attribute.range.clone(), with: Vec::new() });
        }
    }
    if let Some(list) = list {
        specifications.push((gimli::DW_AT_location, gimli::DW_FORM_sec_offset, None));
        let splice = Splice { range: entry.end..entry.end, with: vec![0; 4] };
        splices.push(splice.clone());
        patches.push(Patch { splice, list });
    }
    let mut code = Vec::new();
    uleb(&mut code, table.code(entry.tag, entry.has_children, &specifications));
    splices.push(Splice { range: entry.code.clone(), with: code });
}

/// The sections under construction.
struct Writer<'a> {
    elf: Elf<'a>,
    symbols: Vec<Symbol>,
    /// Symbols from this number on have gone one up, once per entry.
    inserted: Vec<u32>,
    lists: Vec<Lists>,
}

/// A section of lists: `.debug_loc` or `.debug_loclists`.
struct Lists {
    section: usize,
    symbol: Option<u32>,
    version: u16,
    /// Length of what was there.
    start: usize,
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
}

const HEADER_BYTES: usize = 12;

impl<'a> Writer<'a> {
    fn new(elf: &Elf<'a>) -> Result<Writer<'a>> {
        let elf = elf.clone();
        Ok(Writer { symbols: symbols(&elf)?, elf, inserted: Vec::new(), lists: Vec::new() })
    }

    fn machine(&self) -> Machine {
        self.elf.machine
    }

    /// The section of lists for a version of DWARF.
    fn lists(&mut self, version: u16) -> Result<usize> {
        if let Some(known) = self.lists.iter().position(|lists| lists.version == version) {
            return Ok(known);
        }
        let name = if version >= 5 { ".debug_loclists" } else { ".debug_loc" };
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
                    for relocation in &mut lists.relocations {
                        relocation.symbol += u32::from(relocation.symbol >= number);
                    }
                }
            }
            symbol = Some(number);
        }
        let start = self.elf.sections[section].data.len();
        let mut bytes = Vec::new();
        if version >= 5 {
            // The length is filled in at the end.
            bytes.extend([0; 4]);
            bytes.extend(5u16.to_le_bytes());
            bytes.extend([self.machine().address_bytes(), 0]);
            bytes.extend([0; 4]);
        }
        self.lists.push(Lists { section, symbol, version, start, bytes, relocations: Vec::new() });
        Ok(self.lists.len() - 1)
    }

    /// A number of the input's symbol table now.
    fn renumbered(&self, symbol: u32) -> u32 {
        self.inserted.iter().fold(symbol, |symbol, first| symbol + u32::from(symbol >= *first))
    }

    /// Appends a list and says in which section and where.
    fn add_list(&mut self, info: &UnitInfo, list: &List) -> Result<(usize, u64)> {
        let number = self.lists(info.unit.header.version())?;
        let version = self.lists[number].version;
        let offset = (self.lists[number].start + self.lists[number].bytes.len()) as u64;
        let mut base = info.unit.low_pc;
        for (range, encoded) in list {
            if !self.counts_from(base, range) {
                base = self.add_base(number, range.start)?;
            }
            let lists = &mut self.lists[number];
            let (begin, end) = (range.start - base, range.end - base);
            let length = encoded.bytes.len();
            if version >= 5 {
                lists.bytes.push(gimli::DW_LLE_offset_pair.0);
                uleb(&mut lists.bytes, begin);
                uleb(&mut lists.bytes, end);
                uleb(&mut lists.bytes, length as u64);
            } else {
                let bytes = usize::from(self.elf.machine.address_bytes());
                lists.bytes.extend(&begin.to_le_bytes()[..bytes]);
                lists.bytes.extend(&end.to_le_bytes()[..bytes]);
                let Ok(length) = u16::try_from(length) else { return unsupported("so long an expression") };
                lists.bytes.extend(length.to_le_bytes());
            }
            self.add_expression(number, encoded)?;
        }
        let lists = &mut self.lists[number];
        let end = if version >= 5 { 1 } else { 2 * usize::from(self.elf.machine.address_bytes()) };
        lists.bytes.resize(lists.bytes.len() + end, 0);
        Ok((number, offset))
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

    fn add_base(&mut self, number: usize, address: u64) -> Result<u64> {
        let machine = self.machine();
        let bytes = usize::from(machine.address_bytes());
        let field = {
            let lists = &mut self.lists[number];
            if lists.version >= 5 {
                lists.bytes.push(gimli::DW_LLE_base_address.0);
            } else {
                lists.bytes.extend(vec![0xff; bytes]);
            }
            let field = lists.bytes.len();
            lists.bytes.resize(field + bytes, 0);
            field
        };
        if !self.elf.relocatable {
            self.lists[number].bytes[field..].copy_from_slice(&address.to_le_bytes()[..bytes]);
            return Ok(address);
        }
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
        let relocation = Relocation {
            offset: (self.lists[number].start + field) as u64,
            kind: machine.absolute(),
            symbol: *symbol as u32,
            addend: offset.wrapping_sub(known.value) as i64,
        };
        self.lists[number].relocations.push(relocation);
        Ok(address)
    }

    fn add_expression(&mut self, number: usize, encoded: &Encoded) -> Result<()> {
        let (relocatable, machine) = (self.elf.relocatable, self.machine());
        let bytes = usize::from(machine.address_bytes());
        let at = self.lists[number].bytes.len();
        self.lists[number].bytes.extend(&encoded.bytes);
        let names = by_name(&self.symbols);
        let mut fields = Vec::new();
        for field in &encoded.fields {
            let symbol = match &field.symbol {
                FieldSymbol::Number(symbol) => self.renumbered(*symbol),
                FieldSymbol::Name(name) => *names
                    .get(name.as_str())
                    .ok_or_else(|| Error::Unsupported(format!("the address of `{name}`, which has no symbol")))?,
            };
            fields.push((at + field.offset, symbol, field.addend));
        }
        for (offset, symbol, addend) in fields {
            let lists = &mut self.lists[number];
            if relocatable {
                let offset = (lists.start + offset) as u64;
                lists.relocations.push(Relocation { offset, kind: machine.absolute(), symbol, addend });
            } else {
                let value = self.symbols[symbol as usize].value.wrapping_add(addend as u64);
                lists.bytes[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            }
        }
        Ok(())
    }

    /// `.debug_info` with its relocations, and what refers to it.
    fn info(
        &mut self,
        sections: &Sections,
        units: &[(&UnitInfo, Vec<Change>)],
        splices: &Splices,
        patches: &[Patch],
        moved_tables: &[(usize, usize)],
    ) -> Result<()> {
        let number = self.elf.find(".debug_info").ok_or_else(|| Error::Dwarf("no .debug_info".into()))?;
        let mut list = relocations(&self.elf, number)?;
        let mut data = splices.apply(&self.elf.sections[number].data);
        list.retain(|relocation| !splices.replaces(relocation.offset as usize));
        for relocation in &mut list {
            relocation.offset = splices.map(relocation.offset as usize) as u64;
        }
        for (info, _) in units {
            let start = splices.map(info.offset);
            let old_end = info.offset + 4 + info.unit.header.unit_length();
            let length = splices.map(old_end) - start - 4;
            patch(&mut data, start, length as u64, 4)?;
            self.references(info, sections, splices, &mut data)?;
        }
        for (unit, offset) in moved_tables {
            let version_5 = units.iter().any(|(info, _)| info.offset == *unit && info.unit.header.version() >= 5);
            let field = splices.map(*unit) + if version_5 { 8 } else { 6 };
            match list.iter_mut().find(|relocation| relocation.offset == field as u64) {
                Some(relocation) => relocation.addend = *offset as i64,
                None => patch(&mut data, field, *offset as u64, 4)?,
            }
        }
        for wanted in patches {
            let field = splices.inserted(&wanted.splice).ok_or_else(|| Error::Dwarf("a lost change".into()))?;
            let (lists, offset) = (&self.lists[wanted.list.0], wanted.list.1);
            match lists.symbol {
                Some(symbol) => list.push(Relocation {
                    offset: field as u64,
                    kind: self.elf.machine.absolute_32(),
                    symbol,
                    addend: offset as i64,
                }),
                None => patch(&mut data, field, offset, 4)?,
            }
        }
        self.elf.sections[number].replace(data);
        if self.elf.relocatable {
            set_relocations(&mut self.elf, number, list)?;
        }
        self.followers(number, splices)
    }

    /// References inside of a unit.
    fn references(&self, info: &UnitInfo, sections: &Sections, splices: &Splices, data: &mut [u8]) -> Result<()> {
        let start = splices.map(info.offset);
        let moved = |offset: usize| -> Result<usize> {
            let old = info.offset.checked_add(offset).ok_or_else(|| Error::Dwarf("a reference".into()))?;
            Ok(splices.map(old) - start)
        };
        for entry in &info.entries {
            for attribute in &entry.attributes {
                if splices.replaces(attribute.range.start) && !attribute.range.is_empty() {
                    continue;
                }
                let at = splices.map(attribute.range.start);
                match (&attribute.raw, attribute.form) {
                    (AttributeValue::UnitRef(gimli::UnitOffset(old)), form) => {
                        let new = moved(*old)?;
                        if new == *old {
                            continue;
                        }
                        let bytes = match form {
                            gimli::DW_FORM_ref1 => 1,
                            gimli::DW_FORM_ref2 => 2,
                            gimli::DW_FORM_ref4 => 4,
                            gimli::DW_FORM_ref8 => 8,
                            _ => return unsupported("references of variable length after a change"),
                        };
                        if bytes < 8 && new >> (8 * bytes) != 0 {
                            return unsupported("a reference that grows");
                        }
                        patch(data, at, new as u64, bytes)?;
                    }
                    (AttributeValue::Exprloc(expression), _) => check_expression(info, &expression.0, splices)?,
                    _ => {}
                }
                self.check_list(info, sections, attribute.value, splices)?;
            }
        }
        Ok(())
    }

    /// Expressions of a list refer to entries as well.
    fn check_list(
        &self,
        info: &UnitInfo,
        sections: &Sections,
        value: AttributeValue<Bytes>,
        splices: &Splices,
    ) -> Result<()> {
        let offset = match value {
            AttributeValue::LocationListsRef(offset) => offset,
            AttributeValue::DebugLocListsIndex(index) => {
                let bytes = sections.section(".debug_loclists");
                let lists = gimli::LocationLists::new(
                    gimli::DebugLoc::new(&[], LittleEndian),
                    gimli::DebugLocLists::new(bytes, LittleEndian),
                );
                lists.get_offset(info.unit.encoding(), info.unit.loclists_base, index)?
            }
            _ => return Ok(()),
        };
        let lists = gimli::LocationLists::new(
            gimli::DebugLoc::new(sections.section(".debug_loc"), LittleEndian),
            gimli::DebugLocLists::new(sections.section(".debug_loclists"), LittleEndian),
        );
        let mut entries = lists.raw_locations(offset, info.unit.encoding())?;
        while let Some(entry) = entries.next()? {
            use gimli::RawLocListEntry as Raw;
            match entry {
                Raw::AddressOrOffsetPair { data, .. }
                | Raw::StartxEndx { data, .. }
                | Raw::StartxLength { data, .. }
                | Raw::OffsetPair { data, .. }
                | Raw::DefaultLocation { data }
                | Raw::StartEnd { data, .. }
                | Raw::StartLength { data, .. } => check_expression(info, &data.0, splices)?,
                Raw::BaseAddress { .. } | Raw::BaseAddressx { .. } => {}
            }
        }
        Ok(())
    }

    /// Other sections that refer to `.debug_info` by offset.
    fn followers(&mut self, number: usize, splices: &Splices) -> Result<()> {
        for name in [".debug_names", ".gdb_index", ".debug_pubnames", ".debug_gnu_pubnames"] {
            if self.elf.find(name).is_some() {
                return unsupported(format!("{name}: an index of the debug information would be out of date"));
            }
        }
        if !self.elf.relocatable {
            return self.linked_followers(splices);
        }
        let known = &self.symbols;
        let inside = |symbol: &Symbol| usize::from(symbol.section) == number && !symbol.is_section();
        if known.iter().any(|symbol| inside(symbol) && splices.map(symbol.value as usize) as u64 != symbol.value) {
            return unsupported("symbols inside of .debug_info");
        }
        let of_info: Vec<bool> = known
            .iter()
            .map(|symbol| symbol.is_section() && usize::from(symbol.section) == number)
            .collect();
        for section in 1..self.elf.sections.len() {
            if relocation_section(&self.elf, section).is_none() || self.elf.sections[section].is_allocated() {
                continue;
            }
            let mut list = relocations(&self.elf, section)?;
            let mut any = false;
            for relocation in &mut list {
                if of_info.get(relocation.symbol as usize) == Some(&true) {
                    let new = splices.map(relocation.addend as usize) as i64;
                    any |= new != relocation.addend;
                    relocation.addend = new;
                }
            }
            if any {
                set_relocations(&mut self.elf, section, list)?;
            }
        }
        Ok(())
    }

    /// In a linked file: the offsets of units in `.debug_aranges`.
    fn linked_followers(&mut self, splices: &Splices) -> Result<()> {
        let Some(number) = self.elf.find(".debug_aranges") else { return Ok(()) };
        let mut data = self.elf.sections[number].data.to_vec();
        let mut at = 0usize;
        while at + 12 <= data.len() {
            let word = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes"));
            let (length, unit) = (word(at) as usize, word(at + 6) as usize);
            if length >= 0xffff_fff0 {
                return unsupported("64-bit DWARF");
            }
            patch(&mut data, at + 6, splices.map(unit) as u64, 4)?;
            at = at.saturating_add(4).saturating_add(length);
        }
        self.elf.sections[number].replace(data);
        Ok(())
    }

    fn finish(mut self, abbreviations: Vec<u8>) -> Result<Elf<'a>> {
        if let Some(number) = self.elf.find(".debug_abbrev") {
            self.elf.sections[number].replace(abbreviations);
        }
        for lists in std::mem::take(&mut self.lists) {
            let mut bytes = lists.bytes;
            if lists.version >= 5 {
                let length = (bytes.len() - 4) as u32;
                bytes[..4].copy_from_slice(&length.to_le_bytes());
                if bytes.len() == HEADER_BYTES {
                    continue;
                }
            }
            let mut list = relocations(&self.elf, lists.section)?;
            let mut data = self.elf.sections[lists.section].data.to_vec();
            data.extend(bytes);
            self.elf.sections[lists.section].replace(data);
            list.extend(lists.relocations);
            if self.elf.relocatable {
                set_relocations(&mut self.elf, lists.section, list)?;
            }
        }
        Ok(self.elf)
    }
}

/// Refuses an expression that refers to an entry which moves.
fn check_expression(info: &UnitInfo, expression: &Bytes, splices: &Splices) -> Result<()> {
    let mut reader = *expression;
    let start = splices.map(info.offset);
    while !reader.is_empty() {
        let operation = Operation::parse(&mut reader, info.unit.encoding())?;
        let in_unit = match operation {
            Operation::Call { offset: gimli::DieReference::UnitRef(offset) } => Some(offset),
            Operation::TypedLiteral { base_type, .. }
            | Operation::Convert { base_type }
            | Operation::Reinterpret { base_type }
            | Operation::RegisterOffset { base_type, .. }
            | Operation::Deref { base_type, .. } => Some(base_type),
            Operation::ParameterRef { offset } => Some(offset),
            Operation::EntryValue { expression } => {
                check_expression(info, &expression, splices)?;
                None
            }
            _ => None,
        };
        if let Some(gimli::UnitOffset(offset)) = in_unit {
            let old = info.offset.saturating_add(offset);
            if offset != 0 && splices.map(old) - start != offset {
                return unsupported("an expression that refers to an entry after a changed one");
            }
        }
        let whole = match operation {
            Operation::ImplicitPointer { value, .. } => Some(value),
            Operation::Call { offset: gimli::DieReference::DebugInfoRef(offset) } => Some(offset),
            _ => None,
        };
        if let Some(gimli::DebugInfoOffset(offset)) = whole
            && splices.map(offset) != offset
        {
            return unsupported("an expression that refers to an entry after a changed one");
        }
    }
    Ok(())
}

fn patch(data: &mut [u8], at: usize, value: u64, bytes: usize) -> Result<()> {
    let field = data.get_mut(at..).and_then(|rest| rest.get_mut(..bytes));
    let field = field.ok_or_else(|| Error::Dwarf("a field outside of its section".into()))?;
    field.copy_from_slice(&value.to_le_bytes()[..bytes]);
    Ok(())
}
