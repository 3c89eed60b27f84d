//! New location lists for some variables, and new ranges for some blocks, with their entries changed to refer to them.
//! Everything else is copied.
//!
//! - [`entry`]: the entry of a variable or block; [`lists`]: where lists go; [`encode`]: what they are;
//! - [`references`]: what refers to entries and lists; [`followers`]: other sections that do.
//!
//! What moves: entries after a changed one, so references inside of the unit, the unit's length, and everything that
//! refers to `.debug_info` by offset. **Invariant**: what cannot be kept right is refused before anything is written.

mod encode;
mod entry;
mod followers;
mod lists;
mod references;

use super::abbreviation::Table;
use super::read::{Debug, Sections, UnitInfo, VariableInfo};
use super::scopes::Scope;
use super::splice::Splices;
use crate::elf::{Elf, Machine};
use crate::error::{Error, Result};
use crate::expression::Encoded;
use crate::relocation::{Relocation, Symbol, relocations, set_relocations, symbols};
use entry::{NewEntry, Patch, Wanted};
use lists::{HEADER_BYTES, Lists, Placed, grow_tables};
use references::{Fixes, check_new, relink};
use std::ops::Range;

/// What a variable is, by ranges of addresses as they are read; no two overlap, none is empty.
pub type List = Vec<(Range<u64>, Encoded)>;

/// An entry of a unit that says something else.
#[derive(Debug, Clone)]
pub struct Change {
    /// Number of the entry.
    pub entry: usize,
    /// Bytes of the list that it has; it is replaced where it is if all that refers to lists is known.
    pub old: Option<Range<usize>>,
    /// What it says.
    pub says: Says,
}

/// What a changed entry says.
#[derive(Debug, Clone)]
pub enum Says {
    /// What a variable is; an empty list removes what is there.
    Locations(List),
    /// Where a block is, addresses as they are read; in order, no two meet.
    Ranges {
        /// The ranges.
        ranges: Vec<Range<u64>>,
        /// Whether it says its ends so far.
        has_ends: bool,
    },
}

impl Change {
    /// A variable and its new list.
    pub fn locations(variable: &VariableInfo, list: List) -> Change {
        Change { entry: variable.entry, old: variable.list.clone(), says: Says::Locations(list) }
    }

    /// A block and its new ranges, as pcs of the proof.
    pub fn ranges(scope: &Scope, ranges: Vec<Range<u64>>, base: u64) -> Change {
        let moved = |range: Range<u64>| base.wrapping_add(range.start)..base.wrapping_add(range.end);
        let ranges = ranges.into_iter().map(moved).collect();
        let says = Says::Ranges { ranges, has_ends: scope.has_ends };
        Change { entry: scope.entry, old: scope.list.clone(), says }
    }
}

/// The object with new lists.
pub fn rewrite<'a, 'd>(
    elf: &Elf<'a>,
    sections: &Sections,
    debug: &Debug<'d>,
    units: &[(UnitInfo<'d>, Vec<Change>)],
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
            let mut new = NewEntry::new(entry, &mut splices, &mut patches);
            match &change.says {
                // An empty list in its old place rather than a hole that nothing refers to.
                Says::Locations(list) if list.is_empty() && change.old.is_none() => {
                    new.locate(Placed::Nowhere);
                }
                Says::Ranges { ranges, has_ends: true } if ranges.len() == 1 => {
                    new.span(&ranges[0], debug.low_pc(&info.unit, entry), elf.machine)?;
                }
                Says::Locations(_) => new.locate(writer.place(debug, sections, info, change)?),
                Says::Ranges { .. } => new.range(writer.place(debug, sections, info, change)?),
            }
            new.finish(&mut table);
        }
        if !table.has_additions() {
            continue;
        }
        let offset = table.write(&mut abbreviations);
        if offset != table_offset {
            moved_tables.push((info.offset, offset));
        }
    }
    let splices = Splices::new(splices);
    for (info, changes) in units {
        changes.iter().try_for_each(|change| check_new(info, change, &splices))?;
    }
    let fixes = writer.info((sections, debug), units, &splices, &patches, &moved_tables)?;
    writer.finish(abbreviations, &fixes)
}

/// The sections under construction.
struct Writer<'a> {
    elf: Elf<'a>,
    symbols: Vec<Symbol>,
    /// Symbols from this number on have gone one up, once per entry.
    inserted: Vec<u32>,
    lists: Vec<Lists>,
    /// Up to version 4 and from 5 on, for units that begin in this range: where the next list of locations after theirs
    /// begins, if one is known.
    following: [Option<(Range<usize>, Option<usize>)>; 2],
}

impl<'a> Writer<'a> {
    fn new(elf: &Elf<'a>) -> Result<Writer<'a>> {
        let elf = elf.clone();
        Ok(Writer {
            symbols: symbols(&elf)?,
            elf,
            inserted: Vec::new(),
            lists: Vec::new(),
            following: [None, None],
        })
    }

    fn machine(&self) -> Machine {
        self.elf.machine
    }

    /// `.debug_info` with its relocations, and what refers to it.
    fn info(
        &mut self,
        (sections, debug): (&Sections, &Debug),
        units: &[(UnitInfo, Vec<Change>)],
        splices: &Splices,
        patches: &[Patch],
        moved_tables: &[(usize, usize)],
    ) -> Result<Fixes> {
        let number = self.elf.find(".debug_info").ok_or_else(|| Error::Dwarf("no .debug_info".into()))?;
        let mut list = relocations(&self.elf, number)?;
        let mut data = applied(splices, &self.elf.sections[number].data)?;
        let mut fixes = Fixes::new();
        list.retain(|relocation| !splices.replaces(relocation.offset as usize));
        for relocation in &mut list {
            relocation.offset = splices.map(relocation.offset as usize) as u64;
        }
        for (info, _) in units {
            let start = splices.map(info.offset);
            let old_end = info.offset + 4 + info.unit.header.unit_length();
            let length = splices.map(old_end).wrapping_sub(start + 4);
            patch(&mut data, start, length as u64, 4)?;
            references::inside(info, sections, splices, &mut data, &mut fixes)?;
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
        let all_moved: Vec<Splices> = self.lists.iter().map(Lists::splices).collect();
        for (lists, moved) in self.lists.iter().zip(&all_moved).filter(|(lists, _)| lists.symbol.is_some()) {
            for relocation in &mut list {
                if lists.symbol == Some(relocation.symbol) && !moved.is_empty() {
                    relocation.addend = moved.map(relocation.addend as usize) as i64;
                }
            }
        }
        for wanted in patches {
            let field =
                splices.inserted(wanted.splice).ok_or_else(|| Error::Dwarf("a lost change".into()))?;
            let placed = match &wanted.is {
                Wanted::List(placed) => placed,
                Wanted::Address(address) if self.elf.relocatable => {
                    let (symbol, addend) = self.address(*address)?;
                    let kind = self.elf.machine.absolute();
                    list.push(Relocation { offset: field as u64, kind, symbol, addend });
                    continue;
                }
                Wanted::Address(address) => {
                    let bytes = usize::from(self.elf.machine.address_bytes());
                    patch(&mut data, field, *address, bytes)?;
                    continue;
                }
            };
            let (lists, offset) = match placed {
                Placed::Inserted(section, number) => {
                    let lists = &self.lists[*section];
                    (lists, lists.inserted(&all_moved[*section], *number)?)
                }
                Placed::Appended(section, offset) => {
                    let lists = &self.lists[*section];
                    let start = all_moved[*section].map(self.elf.sections[lists.section].data.len());
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
        if !self.elf.relocatable {
            relink(debug, sections, splices, &self.lists, &mut data, &mut fixes)?;
        }
        self.elf.sections[number].replace(data);
        if self.elf.relocatable {
            set_relocations(&mut self.elf, number, list)?;
        }
        self.followers(number, splices)?;
        Ok(fixes)
    }

    fn finish(mut self, abbreviations: Vec<u8>, fixes: &Fixes) -> Result<Elf<'a>> {
        if let Some(number) = self.elf.find(".debug_abbrev") {
            self.elf.sections[number].replace(abbreviations);
        }
        let all = std::mem::take(&mut self.lists);
        // Sections of lists that get no new one may hold expressions that refer to entries, too.
        for (name, list) in fixes.iter().filter(|(name, _)| !all.iter().any(|lists| lists.name == **name)) {
            let Some(number) = self.elf.find(name) else { continue };
            let mut data = self.elf.sections[number].data.to_vec();
            references::apply(list, &mut data, Some)?;
            self.elf.sections[number].replace(data);
        }
        for lists in all {
            let splices = lists.splices();
            let old = self.elf.sections[lists.section].data.to_vec();
            let mut list = relocations(&self.elf, lists.section)?;
            list.retain(|relocation| !splices.replaces(relocation.offset as usize));
            for relocation in &mut list {
                relocation.offset = splices.map(relocation.offset as usize) as u64;
            }
            let mut data = applied(&splices, &old)?;
            let kept = |at: usize| (!splices.replaces(at)).then(|| splices.map(at));
            references::apply(fixes.get(lists.name).map_or(&[], Vec::as_slice), &mut data, kept)?;
            if lists.has_headers {
                grow_tables(&old, &splices, &lists, &mut data)?;
            }
            for (number, (_, new)) in lists.replaced.iter().enumerate() {
                let start = lists.inserted(&splices, number)? as u64;
                list.extend(new.iter().map(|new| Relocation { offset: start + new.offset, ..*new }));
            }
            let start = data.len() as u64;
            let mut bytes = lists.bytes;
            if !lists.has_headers || bytes.len() > HEADER_BYTES {
                if lists.has_headers {
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

fn applied(splices: &Splices, bytes: &[u8]) -> Result<Vec<u8>> {
    splices.apply(bytes).ok_or_else(|| Error::Dwarf("parts of it overlap".into()))
}

fn patch(data: &mut [u8], at: usize, value: u64, bytes: usize) -> Result<()> {
    let field = data.get_mut(at..).and_then(|rest| rest.get_mut(..bytes));
    let field = field.ok_or_else(|| Error::Dwarf("a field outside of its section".into()))?;
    field.copy_from_slice(&value.to_le_bytes()[..bytes]);
    Ok(())
}
