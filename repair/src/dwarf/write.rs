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
    Relocation, Symbol, by_name, relocation_section, relocations, section_symbol, set_relocations, symbols,
    uleb,
};
use gimli::{AttributeValue, LittleEndian, Operation, Reader};
use std::collections::BTreeMap;
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
    /// Bytes of the old list; it is replaced where it is if all that refers to lists is known by relocations.
    pub old: Option<Range<usize>>,
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
        let mut changes: Vec<&Change> = changes.iter().collect();
        changes.sort_by_key(|change| change.entry);
        for change in changes {
            let entry = &info.entries[change.entry];
            let placed = match change.list.is_empty() {
                true => Placed::Nowhere,
                false => writer.place(info, change, next_list(info, sections, change.entry)?)?,
            };
            change_entry(entry, placed, &mut table, &mut splices, &mut patches);
        }
        if !table.has_additions() {
            continue;
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
    /// Number of the splice.
    splice: usize,
    list: Placed,
}

/// Where a list was put. Sections of lists are given by number.
#[derive(Debug, Clone, Copy)]
enum Placed {
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

/// The entry without what it said of the variable's value, with its list.
fn change_entry(
    entry: &Entry,
    placed: Placed,
    table: &mut Table,
    splices: &mut Vec<Splice>,
    patches: &mut Vec<Patch>,
) {
    let mut gone = vec![gimli::DW_AT_const_value, gimli::DW_AT_GNU_locviews];
    if !matches!(placed, Placed::InPlace) {
        gone.push(gimli::DW_AT_location);
    }
    let mut changed = false;
    let mut specifications: Vec<Specification> = Vec::new();
    for attribute in &entry.attributes {
        if !gone.contains(&attribute.name) {
            specifications.push((attribute.name, attribute.form, attribute.implicit));
            continue;
        }
        changed = true;
        if !attribute.range.is_empty() {
            splices.push(Splice { range: attribute.range.clone(), with: Vec::new() });
        }
    }
    if let Placed::Indexed(index) = placed {
        changed = true;
        specifications.push((gimli::DW_AT_location, gimli::DW_FORM_loclistx, None));
        let mut with = Vec::new();
        uleb(&mut with, index);
        splices.push(Splice { range: entry.end..entry.end, with });
    } else if matches!(placed, Placed::Inserted(..) | Placed::Appended(..)) {
        changed = true;
        specifications.push((gimli::DW_AT_location, gimli::DW_FORM_sec_offset, None));
        patches.push(Patch { splice: splices.len(), list: placed });
        splices.push(Splice { range: entry.end..entry.end, with: vec![0; 4] });
    }
    if changed {
        let mut code = Vec::new();
        uleb(&mut code, table.code(entry.tag, entry.has_children, &specifications));
        splices.push(Splice { range: entry.code.clone(), with: code });
    }
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
    /// Lists that are replaced where they are, or added to what a unit has.
    replaced: Vec<(Splice, Vec<Relocation>)>,
    /// Lists that are added to the table of a contribution, by its offset.
    indexed: BTreeMap<usize, Vec<usize>>,
    /// How many entries these tables had.
    known_entries: BTreeMap<usize, usize>,
    /// What is appended, with relocations that count from its start.
    bytes: Vec<u8>,
    relocations: Vec<Relocation>,
}

impl Lists {
    fn splices(&self) -> Splices {
        let tables = self.indexed.iter().map(|(header, lists)| {
            let end = header + HEADER_BYTES + 4 * self.known_entries[header];
            Splice { range: end..end, with: vec![0; 4 * lists.len()] }
        });
        // A table grows before a list that is added right after it.
        Splices::new(tables.chain(self.replaced.iter().map(|(splice, _)| splice.clone())).collect())
    }

    /// Where a replaced or added list is, by its number among them.
    fn inserted(&self, splices: &Splices, number: usize) -> Result<usize> {
        let found = splices.inserted(self.indexed.len() + number);
        found.ok_or_else(|| Error::Dwarf("a lost list".into()))
    }

    /// Relocations of all that is new.
    fn all_relocations(&mut self) -> impl Iterator<Item = &mut Relocation> {
        self.replaced.iter_mut().flat_map(|(_, list)| list).chain(&mut self.relocations)
    }
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

    /// Puts a list where the old one was, before that of the next entry, or at the end: readelf wants lists in the order
    /// of entries.
    fn place(&mut self, info: &UnitInfo, change: &Change, next: Option<usize>) -> Result<Placed> {
        let number = self.lists(info.unit.header.version())?;
        let (bytes, relocations) = self.encode(number, info, &change.list)?;
        let section = self.lists[number].section;
        // Offsets of lists are known by relocations against the section's symbol, or stand in its own tables.
        let labelled =
            self.symbols.iter().any(|symbol| usize::from(symbol.section) == section && !symbol.is_section());
        let lists = &mut self.lists[number];
        if let Some(old) = &change.old
            && self.elf.relocatable
            && !labelled
        {
            lists.replaced.push((Splice { range: old.clone(), with: bytes }, relocations));
            return Ok(Placed::InPlace);
        }
        let end = match (self.elf.relocatable && !labelled, next) {
            (false, _) => None,
            (true, Some(next)) => Some(next),
            (true, None) if lists.version >= 5 => contribution(info, &self.elf, section)?,
            (true, None) => None,
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
        let mut data = applied(splices, &self.elf.sections[number].data)?;
        list.retain(|relocation| !splices.replaces(relocation.offset as usize));
        for relocation in &mut list {
            relocation.offset = splices.map(relocation.offset as usize) as u64;
        }
        for (info, _) in units {
            let start = splices.map(info.offset);
            let old_end = info.offset + 4 + info.unit.header.unit_length();
            let length = splices.map(old_end).wrapping_sub(start + 4);
            patch(&mut data, start, length as u64, 4)?;
            self.references(info, sections, splices, &mut data)?;
        }
        for (unit, offset) in moved_tables {
            let version_5 =
                units.iter().any(|(info, _)| info.offset == *unit && info.unit.header.version() >= 5);
            let field = splices.map(*unit) + if version_5 { 8 } else { 6 };
            match list.iter_mut().find(|relocation| relocation.offset == field as u64) {
                Some(relocation) => relocation.addend = *offset as i64,
                None => patch(&mut data, field, *offset as u64, 4)?,
            }
        }
        for lists in &self.lists {
            let moved = lists.splices();
            for relocation in &mut list {
                if lists.symbol == Some(relocation.symbol) && !moved.is_empty() {
                    relocation.addend = moved.map(relocation.addend as usize) as i64;
                }
            }
        }
        for wanted in patches {
            let field =
                splices.inserted(wanted.splice).ok_or_else(|| Error::Dwarf("a lost change".into()))?;
            let (lists, offset) = match &wanted.list {
                Placed::Inserted(lists, number) => {
                    let lists = &self.lists[*lists];
                    (lists, lists.inserted(&lists.splices(), *number)?)
                }
                Placed::Appended(lists, offset) => {
                    let lists = &self.lists[*lists];
                    let start = lists.splices().map(self.elf.sections[lists.section].data.len());
                    (lists, start + offset)
                }
                Placed::Nowhere | Placed::InPlace | Placed::Indexed(_) => continue,
            };
            match lists.symbol {
                Some(symbol) => list.push(Relocation {
                    offset: field as u64,
                    kind: self.elf.machine.absolute_32(),
                    symbol,
                    addend: offset as i64,
                }),
                None => patch(&mut data, field, offset as u64, 4)?,
            }
        }
        self.elf.sections[number].replace(data);
        if self.elf.relocatable {
            set_relocations(&mut self.elf, number, list)?;
        }
        self.followers(number, splices)
    }

    /// References inside of a unit.
    fn references(
        &self,
        info: &UnitInfo,
        sections: &Sections,
        splices: &Splices,
        data: &mut [u8],
    ) -> Result<()> {
        let start = splices.map(info.offset);
        let moved = |offset: usize| -> Result<usize> {
            let old = info.offset.checked_add(offset).ok_or_else(|| Error::Dwarf("a reference".into()))?;
            Ok(splices.map(old).wrapping_sub(start))
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
                    (AttributeValue::Exprloc(expression), _) => {
                        check_expression(info, &expression.0, splices)?
                    }
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
        let Some(offset) = list_offset(info, sections, value)? else { return Ok(()) };
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
                return unsupported(format!(
                    "{name}: an index of the debug information would be out of date"
                ));
            }
        }
        if !self.elf.relocatable {
            return self.linked_followers(splices);
        }
        let known = &self.symbols;
        let inside = |symbol: &Symbol| usize::from(symbol.section) == number && !symbol.is_section();
        if known
            .iter()
            .any(|symbol| inside(symbol) && splices.map(symbol.value as usize) as u64 != symbol.value)
        {
            return unsupported("symbols inside of .debug_info");
        }
        let of_info: Vec<bool> =
            known.iter().map(|symbol| symbol.is_section() && usize::from(symbol.section) == number).collect();
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
            let splices = lists.splices();
            let old = self.elf.sections[lists.section].data.to_vec();
            let mut list = relocations(&self.elf, lists.section)?;
            list.retain(|relocation| !splices.replaces(relocation.offset as usize));
            for relocation in &mut list {
                relocation.offset = splices.map(relocation.offset as usize) as u64;
            }
            let mut data = applied(&splices, &old)?;
            if lists.version >= 5 {
                grow_tables(&old, &splices, &lists, &mut data)?;
            }
            for (number, (_, new)) in lists.replaced.iter().enumerate() {
                let start = lists.inserted(&splices, number)? as u64;
                list.extend(new.iter().map(|new| Relocation { offset: start + new.offset, ..*new }));
            }
            let start = data.len() as u64;
            let mut bytes = lists.bytes;
            if lists.version < 5 || bytes.len() > HEADER_BYTES {
                if lists.version >= 5 {
                    let length = (bytes.len() - 4) as u32;
                    bytes[..4].copy_from_slice(&length.to_le_bytes());
                }
                data.extend(bytes);
                list.extend(
                    lists.relocations.iter().map(|new| Relocation { offset: start + new.offset, ..*new }),
                );
            }
            self.elf.sections[lists.section].replace(data);
            if self.elf.relocatable {
                set_relocations(&mut self.elf, lists.section, list)?;
            }
        }
        Ok(self.elf)
    }
}

/// Where the list of the next entry of a unit that has one begins, with its views.
fn next_list(info: &UnitInfo, sections: &Sections, entry: usize) -> Result<Option<usize>> {
    for entry in &info.entries[entry + 1..] {
        let Some(location) = entry.attribute(gimli::DW_AT_location) else { continue };
        let Some(start) = list_offset(info, sections, location.value)? else { continue };
        let views = entry.attribute(gimli::DW_AT_GNU_locviews).map(|attribute| attribute.raw);
        return Ok(Some(match views {
            Some(AttributeValue::SecOffset(views)) => start.0.min(views),
            _ => start.0,
        }));
    }
    Ok(None)
}

/// The offset of a list, however an attribute gives it.
fn list_offset(
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
    let values = info.entries.iter().flat_map(|entry| &entry.attributes).map(|attribute| attribute.value);
    values.into_iter().find(|value| matches!(value, AttributeValue::DebugLocListsIndex(_)))?;
    let header = info.unit.loclists_base.0.checked_sub(HEADER_BYTES)?;
    let count = data.get(header.checked_add(8)?..)?.get(..4)?;
    let count = u32::from_le_bytes(count.try_into().ok()?) as usize;
    // Without entries the table's end would be the base that others count from.
    let end = count.checked_mul(4)?.checked_add(header)?.checked_add(HEADER_BYTES)?;
    (count > 0 && end <= data.len()).then_some((header, count))
}

/// The end of what a unit has in `.debug_loclists`; nothing if it has nothing there.
fn contribution(info: &UnitInfo, elf: &Elf, section: usize) -> Result<Option<usize>> {
    let values = info.entries.iter().flat_map(|entry| &entry.attributes).map(|attribute| attribute.value);
    let mut known = values.filter_map(|value| match value {
        AttributeValue::LocationListsRef(offset) => Some(offset.0),
        AttributeValue::DebugLocListsIndex(_) => Some(info.unit.loclists_base.0),
        _ => None,
    });
    let Some(known) = known.next() else { return Ok(None) };
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
fn grow_tables(old: &[u8], splices: &Splices, lists: &Lists, data: &mut [u8]) -> Result<()> {
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
            if offset != 0 && splices.map(old).wrapping_sub(start) != offset {
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

fn applied(splices: &Splices, bytes: &[u8]) -> Result<Vec<u8>> {
    splices.apply(bytes).ok_or_else(|| Error::Dwarf("parts of it overlap".into()))
}

fn patch(data: &mut [u8], at: usize, value: u64, bytes: usize) -> Result<()> {
    let field = data.get_mut(at..).and_then(|rest| rest.get_mut(..bytes));
    let field = field.ok_or_else(|| Error::Dwarf("a field outside of its section".into()))?;
    field.copy_from_slice(&value.to_le_bytes()[..bytes]);
    Ok(())
}
