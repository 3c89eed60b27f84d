//! Lists under construction: where they go in `.debug_loc` or `.debug_loclists`, `.debug_ranges` or `.debug_rnglists`.
//!
//! readelf wants lists without holes, those of a unit together, and units in order: a list goes where the old one was,
//! or else before that of the next entry of its unit, after that of the last one, before the first one of the units that
//! follow, or to the end. From version 5 on it is then in a contribution of that unit, whose header and table count it.

use super::super::read::{Debug, Sections, UnitInfo};
use super::super::scopes;
use super::super::splice::{Splice, Splices};
use super::super::unit::Bytes;
use super::{Change, Says, Writer, patch};
use crate::error::{Error, Result, unsupported};
use crate::relocation::{Relocation, section_symbol, symbols};
use gimli::{AttributeValue, LittleEndian};
use std::collections::{BTreeMap, BTreeSet};
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

/// A section of lists.
pub(super) struct Lists {
    pub(super) section: usize,
    pub(super) name: &'static str,
    pub(super) symbol: Option<u32>,
    /// Whether lists are in contributions with headers: from version 5 on.
    pub(super) has_headers: bool,
    /// Lists that are replaced where they are, or added to what a unit has.
    pub(super) replaced: Vec<(Splice, Vec<Relocation>)>,
    /// Lists that are added to the table of a contribution, by its offset.
    pub(super) indexed: BTreeMap<usize, Vec<usize>>,
    /// How many entries these tables had.
    pub(super) known_entries: BTreeMap<usize, usize>,
    /// Contributions with tables that have got lists of other units.
    pub(super) lodging: BTreeSet<usize>,
    /// Where the contribution begins that was last looked for: the next one is that one or a later one, mostly.
    pub(super) known_header: usize,
    /// What is appended, with relocations that count from its start.
    pub(super) bytes: Vec<u8>,
    pub(super) relocations: Vec<Relocation>,
}

impl Lists {
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
    /// A section of lists.
    fn lists(&mut self, name: &'static str, has_headers: bool) -> Result<usize> {
        if let Some(known) = self.lists.iter().position(|lists| lists.name == name) {
            return Ok(known);
        }
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
        if has_headers {
            // The length is filled in at the end.
            bytes.extend([0; 4]);
            bytes.extend(5u16.to_le_bytes());
            bytes.extend([self.machine().address_bytes(), 0]);
            bytes.extend([0; 4]);
        }
        self.lists.push(Lists {
            section,
            name,
            symbol,
            has_headers,
            replaced: Vec::new(),
            indexed: BTreeMap::new(),
            known_entries: BTreeMap::new(),
            lodging: BTreeSet::new(),
            known_header: 0,
            bytes,
            relocations: Vec::new(),
        });
        Ok(self.lists.len() - 1)
    }

    /// A number of the input's symbol table now.
    pub(super) fn renumbered(&self, symbol: u32) -> u32 {
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
        let version = info.unit.header.version();
        let name = match &change.says {
            Says::Locations(_) => section_name(version),
            Says::Ranges { .. } => scopes::section_name(version),
        };
        let number = self.lists(name, version >= 5)?;
        let (bytes, relocations) = match &change.says {
            Says::Locations(list) => self.encode_locations(version, info.unit.low_pc, list)?,
            Says::Ranges { ranges, .. } => self.encode_ranges(version, info.unit.low_pc, ranges)?,
        };
        let section = self.lists[number].section;
        // Offsets of lists are known by relocations against the section's symbol, or stand in its own tables; in a
        // linked file all entries are looked at.
        let labelled = self.elf.relocatable
            && self
                .symbols
                .iter()
                .any(|symbol| usize::from(symbol.section) == section && !symbol.is_section());
        let locates = matches!(change.says, Says::Locations(_));
        // Among the unit's own, if it has any, or else where the next unit's begin.
        let has_own = info.lists.offset.is_some() || info.lists.indexed;
        let (mut next, mut last, mut following) = (None, None, None);
        if !labelled && locates && change.old.is_none() {
            if has_own {
                next = next_list(info, sections, change.entry)?;
                if next.is_none() && !info.lists.indexed {
                    last = last_list(debug, info)?;
                }
            }
            if next.is_none() && last.is_none() && (!has_own || version < 5) {
                following = self.list_of_followers(debug, info)?;
            }
        }
        let lists = &mut self.lists[number];
        if let Some(old) = &change.old
            && !labelled
        {
            lists.replaced.push((Splice { range: old.clone(), with: bytes }, relocations));
            return Ok(Placed::InPlace);
        }
        if matches!(&change.says, Says::Locations(list) if list.is_empty()) {
            return Ok(Placed::Nowhere);
        }
        let data = &self.elf.sections[section].data;
        let known_header = lists.known_header;
        let within = |known| within(data, known_header, known);
        // Where it goes, and the contribution that it is then in.
        let end = match (&change.says, labelled) {
            (_, true) => None,
            (Says::Locations(_), _) if lists.has_headers => {
                let base = info.unit.loclists_base.0;
                let known = info.lists.offset.or(info.lists.indexed.then_some(base));
                match (next.or(following), last, known) {
                    (Some(next), ..) => within(next).map(|around| (next, around.start)),
                    (_, Some(last), _) => within(last - 1).map(|around| (last, around.start)),
                    (.., Some(known)) => within(known).map(|around| (around.end, around.start)),
                    // After all others. readelf finds its way from one header to the next only if all of them have
                    // tables, or none of them, so that there is no new one.
                    (.., None) => within(data.len().wrapping_sub(1)).map(|around| (around.end, around.start)),
                }
            }
            (Says::Locations(_), _) => next.or(last).or(following).map(|end| (end, 0)),
            (Says::Ranges { .. }, _) if lists.has_headers => {
                let around = info.ranges.first.and_then(within);
                around.map(|around| (around.end, around.start))
            }
            // To the end.
            (Says::Ranges { .. }, _) => None,
        };
        if let Some((end, header)) = end {
            lists.known_header = header;
            let splice = lists.replaced.len();
            lists.replaced.push((Splice { range: end..end, with: bytes }, relocations));
            // Who counts lists of locations goes on doing so.
            if lists.has_headers
                && locates
                && let Some(entries) = counted(data, header)
            {
                lists.known_entries.insert(header, entries);
                let added = lists.indexed.entry(header).or_default();
                added.push(splice);
                // Others name them by their offset, and so does a unit that would need a number that is not below that
                // of its lists: readelf takes it for wrong.
                if info.lists.indexed && info.unit.loclists_base.0 == header + HEADER_BYTES {
                    if entries <= info.lists.total() && !lists.lodging.contains(&header) {
                        return Ok(Placed::Indexed((entries + added.len() - 1) as u64));
                    }
                } else {
                    lists.lodging.insert(header);
                }
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
}

impl Writer<'_> {
    /// Where the first list begins that a unit after this one has. Units come in order, so that none is read twice
    /// for its own sake.
    fn list_of_followers<'d>(&mut self, debug: &Debug<'d>, info: &UnitInfo<'d>) -> Result<Option<usize>> {
        let has_headers = info.unit.header.version() >= 5;
        let known = &self.following[usize::from(has_headers)];
        if let Some((units, known)) = known
            && units.contains(&info.offset)
        {
            return Ok(*known);
        }
        let mut found = (info.offset..usize::MAX, None);
        let mut headers = debug.dwarf.units();
        while let Some(header) = headers.next()? {
            let Some(gimli::DebugInfoOffset(start)) = header.debug_info_offset() else { continue };
            if start <= info.offset || (header.version() >= 5) != has_headers {
                continue;
            }
            if let Some(first) = first_list(debug, &debug.dwarf.unit(header)?)? {
                found = (info.offset..start, Some(first));
                break;
            }
        }
        self.following[usize::from(has_headers)] = Some(found.clone());
        Ok(found.1)
    }
}

/// Where the first list of a unit begins, with its views: lists need not be in the order of entries.
fn first_list<'d>(debug: &Debug<'d>, unit: &gimli::Unit<Bytes<'d>>) -> Result<Option<usize>> {
    let mut first: Option<usize> = None;
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        let (mut listed, mut views) = (false, None);
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            if let (gimli::DW_AT_GNU_locviews, AttributeValue::SecOffset(offset)) =
                (attribute.name(), attribute.value())
            {
                views = Some(offset);
            } else if let Some(list) = debug.dwarf.attr_locations_offset(unit, attribute.value())? {
                listed = true;
                first = Some(first.map_or(list.0, |first| first.min(list.0)));
            }
        }
        if let (true, Some(first), Some(views)) = (listed, &mut first, views) {
            *first = views.min(*first);
        }
    }
    Ok(first)
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

/// How many entries the table of a contribution has; nothing if it has none.
fn counted(data: &[u8], header: usize) -> Option<usize> {
    let count = data.get(header.checked_add(8)?..)?.get(..4)?;
    let count = u32::from_le_bytes(count.try_into().ok()?) as usize;
    // Without entries the table's end would be the base that others count from.
    let end = count.checked_mul(4)?.checked_add(header)?.checked_add(HEADER_BYTES)?;
    (count > 0 && end <= data.len()).then_some(count)
}

/// The contribution that has an offset, header included; nothing if there is none. One is known to begin at `header`.
fn within(data: &[u8], header: usize, known: usize) -> Option<Range<usize>> {
    let mut at = if header <= known { header } else { 0 };
    while let Some(field) = data.get(at..).and_then(|rest| rest.get(..4)) {
        let length = u32::from_le_bytes(field.try_into().expect("four bytes")) as usize;
        let end = at.saturating_add(4).saturating_add(length);
        if (at..end).contains(&known) {
            return (end <= data.len() && end - at >= HEADER_BYTES).then_some(at..end);
        }
        at = end;
    }
    None
}

/// Lengths and tables of offsets of the contributions to a section after changes inside of them.
pub(super) fn grow_tables(old: &[u8], splices: &Splices, lists: &Lists, data: &mut [u8]) -> Result<()> {
    if splices.is_empty() {
        return Ok(());
    }
    let word = |at: usize| -> Result<usize> {
        let field = old.get(at..).and_then(|rest| rest.get(..4));
        let field = field.ok_or_else(|| Error::Dwarf("the header of a contribution of lists".into()))?;
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
