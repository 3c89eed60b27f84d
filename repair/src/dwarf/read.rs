//! Functions, their variables, and what the debug information says of them now.

use super::scopes::{RangeUses, Scope, told};
use super::unit::{Bytes, Entry, entries};
use crate::elf::Elf;
use crate::error::{Result, unsupported};
use crate::expression::{Encoded, Field, FieldSymbol};
use crate::relocation::{Relocation, Symbol, place, relocated, relocations, symbols};
use gimli::{AttributeValue, LittleEndian, Reader, SectionId};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Sections as they are read: with relocations applied.
#[derive(Debug, Default)]
pub struct Sections<'a> {
    data: HashMap<&'static str, Cow<'a, [u8]>>,
    /// Relocations of the sections that hold expressions.
    relocations: HashMap<&'static str, Vec<Relocation>>,
    address_bytes: u8,
    absolute: u32,
}

/// The debug information of an object.
pub struct Debug<'a> {
    /// As gimli reads it.
    pub dwarf: gimli::Dwarf<Bytes<'a>>,
    sections: &'a Sections<'a>,
    address_bytes: u8,
    absolute: u32,
}

/// A function of the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCode {
    /// Its symbol.
    pub symbol: String,
    /// Its pcs as the proof counts them: in its section, or addresses in a linked file.
    pub pcs: Range<u64>,
}

/// A unit with functions that were asked for.
#[derive(Debug)]
pub struct UnitInfo<'a> {
    /// Its offset in `.debug_info`.
    pub offset: usize,
    /// As gimli reads it.
    pub unit: gimli::Unit<Bytes<'a>>,
    /// All its entries.
    pub entries: Vec<Entry<'a>>,
    /// Lists that they refer to.
    pub lists: ListUses,
    /// Lists of ranges that they refer to.
    pub ranges: RangeUses,
    /// The functions.
    pub functions: Vec<FunctionInfo>,
}

impl UnitInfo<'_> {
    /// Forgets what is not needed to rewrite the unit if only these entries change: whole units in memory are a large
    /// multiple of their size.
    pub fn forget_all_but(&mut self, changed: &HashSet<usize>) {
        for (number, entry) in self.entries.iter_mut().enumerate() {
            if changed.contains(&number) {
                continue;
            }
            let mut attributes = std::mem::take(&mut entry.attributes).into_vec();
            attributes.retain(|attribute| {
                let refers =
                    matches!(attribute.raw(), AttributeValue::UnitRef(_) | AttributeValue::Exprloc(_));
                refers
                    || list_key(attribute.value()).is_some()
                    || attribute.name() == gimli::DW_AT_GNU_locviews
            });
            entry.attributes = attributes.into_boxed_slice();
        }
    }
}

/// Which location lists the entries of a unit refer to.
#[derive(Debug, Default)]
pub struct ListUses {
    /// How often, by offset or by number.
    users: HashMap<(bool, usize), usize>,
    /// The first offset.
    pub(crate) offset: Option<usize>,
    /// Whether some are named by number.
    pub(crate) indexed: bool,
}

impl ListUses {
    fn of(entries: &[Entry]) -> ListUses {
        let mut uses = ListUses::default();
        for attribute in entries.iter().flat_map(|entry| &entry.attributes) {
            let Some(key) = list_key(attribute.value()) else { continue };
            *uses.users.entry(key).or_default() += 1;
            match key {
                (true, _) => uses.indexed = true,
                (false, offset) => uses.offset = uses.offset.or(Some(offset)),
            }
        }
        uses
    }
}

impl ListUses {
    /// How many attributes refer to lists.
    pub(crate) fn total(&self) -> usize {
        self.users.values().sum()
    }
}

/// Whether a list is named by number, and its number or offset; nothing if it is no list.
fn list_key(value: AttributeValue<Bytes>) -> Option<(bool, usize)> {
    match value {
        AttributeValue::LocationListsRef(offset) => Some((false, offset.0)),
        AttributeValue::DebugLocListsIndex(index) => Some((true, index.0)),
        _ => None,
    }
}

/// What the debug information says of a function.
#[derive(Debug)]
pub struct FunctionInfo {
    /// Which of those asked for.
    pub number: usize,
    /// Address of pc 0 of the proof, as it is read.
    pub base: u64,
    /// Its own variables and parameters, those of inlined functions not included.
    pub variables: Vec<VariableInfo>,
    /// It and the blocks in it, it first.
    pub scopes: Vec<Scope>,
}

/// A variable of a function.
#[derive(Debug, Clone)]
pub struct VariableInfo {
    /// Number of its entry in the unit.
    pub entry: usize,
    /// Its name.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// Column of its declaration, if the compiler said it.
    pub column: Option<u64>,
    /// The innermost block around it that says where it is, or else the function: a number among its scopes.
    pub block: usize,
    /// Where it is in scope, pcs of the proof; nothing said means everywhere in the function.
    pub scope: Option<Vec<Range<u64>>>,
    /// What is said of its value. Addresses as they are read.
    pub old: Old,
    /// The bytes of its list, views included, if they are known and no other entry of the unit refers to them.
    pub list: Option<Range<usize>>,
}

/// What a variable is called, and where it is declared.
struct Named {
    name: String,
    line: Option<u64>,
    column: Option<u64>,
}

/// What is said of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Old {
    /// Nothing.
    Nothing,
    /// One thing wherever it is in scope.
    Everywhere(Encoded),
    /// By ranges of addresses, the first one that fits counts.
    List(Vec<(Range<u64>, Encoded)>),
    /// A form that is not followed: the variable stays as it is.
    Other(&'static str),
}

impl Old {
    /// What is said at an address.
    pub fn at(&self, address: u64) -> Option<&Encoded> {
        match self {
            Old::Everywhere(encoded) => Some(encoded),
            Old::List(list) => {
                list.iter().find(|(range, _)| range.contains(&address)).map(|(_, encoded)| encoded)
            }
            Old::Nothing | Old::Other(_) => None,
        }
    }
}

impl VariableInfo {
    /// Whether a debugger looks at the variable at a pc of the proof.
    pub fn in_scope(&self, pc: u64) -> bool {
        self.scope.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&pc)))
    }
}

impl<'a> Sections<'a> {
    /// Reads the sections; refuses files whose debug information is not here.
    pub fn read(elf: &Elf<'a>) -> Result<Sections<'a>> {
        let compressed = elf.sections.iter().find(|section| {
            section.is_compressed()
                && (section.name.starts_with(".debug") || section.name.starts_with(".zdebug"))
        });
        if let Some(section) = compressed {
            return unsupported(format!(
                "compressed section {} (objcopy --decompress-debug-sections first)",
                section.name
            ));
        }
        if elf.find(".debug_info").is_none() {
            return unsupported("files without .debug_info (compiled without -g, or stripped)");
        }
        if elf.sections.iter().any(|section| section.name.ends_with(".dwo")) {
            return unsupported("files of split debug information (-gsplit-dwarf)");
        }
        if elf.relocatable && elf.machine == crate::elf::Machine::I386 {
            let big = |section: &crate::elf::Section| section.is_allocated() && section.data.len() >= 1 << 20;
            if elf.sections.len() >= 1 << 12 || elf.sections.iter().any(big) {
                return unsupported("32-bit objects of that size");
            }
        }
        let known = symbols(elf)?;
        let mut sections = Sections {
            address_bytes: elf.machine.address_bytes(),
            absolute: elf.machine.absolute(),
            ..Sections::default()
        };
        for id in Sections::ALL {
            let Some(number) = elf.find(id.name()) else { continue };
            sections.data.insert(id.name(), relocated(elf, &known, number)?);
            if elf.relocatable
                && [SectionId::DebugInfo, SectionId::DebugLoc, SectionId::DebugLocLists].contains(&id)
            {
                let mut list = relocations(elf, number)?;
                list.sort_by_key(|relocation| relocation.offset);
                sections.relocations.insert(id.name(), list);
            }
        }
        Ok(sections)
    }

    const ALL: [SectionId; 14] = [
        SectionId::DebugAbbrev,
        SectionId::DebugAddr,
        SectionId::DebugAranges,
        SectionId::DebugInfo,
        SectionId::DebugLine,
        SectionId::DebugLineStr,
        SectionId::DebugLoc,
        SectionId::DebugLocLists,
        SectionId::DebugRanges,
        SectionId::DebugRngLists,
        SectionId::DebugStr,
        SectionId::DebugStrOffsets,
        SectionId::DebugTypes,
        SectionId::DebugMacro,
    ];

    /// The debug information in them.
    pub fn debug(&self) -> Result<Debug<'_>> {
        let load = |id: SectionId| -> std::result::Result<Bytes<'_>, gimli::Error> {
            Ok(Bytes::new(self.data.get(id.name()).map_or(&[][..], |data| data), LittleEndian))
        };
        Ok(Debug {
            dwarf: gimli::Dwarf::load(load)?,
            sections: self,
            address_bytes: self.address_bytes,
            absolute: self.absolute,
        })
    }

    /// A section's bytes.
    pub fn section(&self, name: &str) -> &[u8] {
        self.data.get(name).map_or(&[][..], |data| data)
    }
}

/// Where functions are.
#[derive(Debug)]
pub struct Bases<'e> {
    elf: &'e Elf<'e>,
    sections: HashMap<(&'e str, u64), usize>,
}

impl<'e> Bases<'e> {
    /// By the symbol table.
    pub fn new(elf: &'e Elf<'e>, symbols: &'e [Symbol]) -> Bases<'e> {
        let functions = symbols.iter().filter(|symbol| symbol.is_function()).rev();
        let sections = functions
            .map(|symbol| ((symbol.name.as_str(), symbol.value), usize::from(symbol.section)))
            .collect();
        Bases { elf, sections }
    }

    /// Address of pc 0 of a function as it is read. `None` if the function is not there.
    pub fn of(&self, function: &FunctionCode) -> Option<u64> {
        let section = *self.sections.get(&(function.symbol.as_str(), function.pcs.start))?;
        self.elf.sections.get(section)?;
        Some(if self.elf.relocatable { place(self.elf.machine, section, 0) } else { 0 })
    }
}

impl<'a> Debug<'a> {
    /// Calls `with` for each unit that has some of the functions, one after the other: all at once would be a large
    /// multiple of the file.
    pub fn each_unit(
        &self,
        wanted: &[(&FunctionCode, u64)],
        mut with: impl FnMut(UnitInfo<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut starts: Vec<(u64, usize)> = wanted
            .iter()
            .enumerate()
            .map(|(number, (function, base))| (base.wrapping_add(function.pcs.start), number))
            .collect();
        starts.sort_unstable();
        let mut headers = self.dwarf.units();
        while let Some(header) = headers.next()? {
            let Some(gimli::DebugInfoOffset(offset)) = header.debug_info_offset() else { continue };
            if header.format() != gimli::Format::Dwarf32 {
                return unsupported("64-bit DWARF");
            }
            let unit = self.dwarf.unit(header)?;
            if matches!(unit.header.type_(), gimli::UnitType::Skeleton(_)) || unit.dwo_id.is_some() {
                return unsupported("split debug information (-gsplit-dwarf)");
            }
            if !self.may_have(&unit, &starts)? {
                continue;
            }
            let entries = entries(&unit, offset)?;
            let mut functions = Vec::new();
            let mut uses = None;
            for (position, entry) in entries.iter().enumerate() {
                if entry.tag != gimli::DW_TAG_subprogram {
                    continue;
                }
                let Some(low_pc) = self.low_pc(&unit, entry) else { continue };
                let Ok(start) = starts.binary_search_by_key(&low_pc, |(start, _)| *start) else { continue };
                let number = starts[start].1;
                let base = wanted[number].1;
                if uses.is_none() {
                    uses = Some((ListUses::of(&entries), self.range_uses(&unit, &entries)?));
                }
                let Some((lists, ranges)) = &uses else { continue };
                let scopes = self.scopes(&unit, (&entries, ranges), position, base)?;
                let variables = self.variables((&unit, offset, lists), &entries, position, &scopes)?;
                functions.push(FunctionInfo { number, base, variables, scopes });
            }
            if functions.is_empty() {
                continue;
            }
            if !(4..=5).contains(&unit.header.version()) {
                return unsupported(format!("DWARF version {}", unit.header.version()));
            }
            let (lists, ranges) = uses.unwrap_or_default();
            with(UnitInfo { offset, unit, entries, lists, ranges, functions })?;
        }
        Ok(())
    }

    /// A section's bytes.
    pub(super) fn section(&self, name: &str) -> &'a [u8] {
        self.sections.section(name)
    }

    /// Whether a unit says that it has one of the addresses, or does not say what it has.
    fn may_have(&self, unit: &gimli::Unit<Bytes<'a>>, starts: &[(u64, usize)]) -> Result<bool> {
        // gimli's own question adds a size to an address, which overflows in broken debug information.
        let (mut low, mut high, mut size) = (None, None, None);
        let mut found = Vec::new();
        let mut raw = unit.entries_raw(None)?;
        let Some(abbreviation) = raw.read_abbreviation()? else { return Ok(true) };
        for specification in abbreviation.attributes() {
            let attribute = raw.read_attribute(*specification)?;
            match attribute.name() {
                gimli::DW_AT_low_pc => low = self.dwarf.attr_address(unit, attribute.value())?,
                gimli::DW_AT_high_pc => {
                    high = self.dwarf.attr_address(unit, attribute.value())?;
                    size = attribute.udata_value();
                }
                gimli::DW_AT_ranges => {
                    let Some(mut ranges) = self.dwarf.attr_ranges(unit, attribute.value())? else { continue };
                    while let Some(range) = ranges.next()? {
                        found.push(range.begin..range.end);
                    }
                }
                _ => {}
            }
        }
        if let (true, Some(low)) = (found.is_empty(), low) {
            let end = high.or_else(|| size.map(|size| low.saturating_add(size)));
            found.extend(end.map(|end| low..end));
        }
        for range in &found {
            let next = starts.partition_point(|(start, _)| *start < range.start);
            if starts.get(next).is_some_and(|(start, _)| *start < range.end) {
                return Ok(true);
            }
        }
        Ok(found.is_empty())
    }

    pub(crate) fn low_pc(&self, unit: &gimli::Unit<Bytes<'a>>, entry: &Entry<'a>) -> Option<u64> {
        let value = entry.attribute(gimli::DW_AT_low_pc)?.value();
        self.dwarf.attr_address(unit, value).ok().flatten()
    }

    fn variables(
        &self,
        (unit, unit_offset, lists): (&gimli::Unit<Bytes<'a>>, usize, &ListUses),
        entries: &[Entry<'a>],
        function: usize,
        scopes: &[Scope],
    ) -> Result<Vec<VariableInfo>> {
        let mut found = Vec::new();
        let numbers: HashMap<usize, usize> =
            scopes.iter().enumerate().map(|(number, scope)| (scope.entry, number)).collect();
        for (number, entry) in entries.iter().enumerate().skip(function + 1) {
            let Some(blocks) = path_to(entries, number, function) else {
                // Entries of a function lie together.
                break;
            };
            let tags = [gimli::DW_TAG_variable, gimli::DW_TAG_formal_parameter];
            let own = |block: &usize| entries[*block].tag == gimli::DW_TAG_lexical_block;
            if !tags.contains(&entry.tag) || !blocks.iter().all(own) {
                continue;
            }
            let named = self.named(unit_offset, entries, number);
            let name = named.iter().find_map(|entry| {
                let value = entry.attribute(gimli::DW_AT_name)?.value();
                self.dwarf.attr_string(unit, value).ok()?.to_string().ok().map(str::to_owned)
            });
            let elsewhere = match name {
                Some(_) => None,
                None => self.elsewhere(named[named.len() - 1])?,
            };
            let Some(name) = name.or_else(|| elsewhere.as_ref().map(|known| known.name.clone())) else {
                continue;
            };
            let find = |attribute| named.iter().find_map(|entry| entry.number(attribute));
            let far = |of: fn(&Named) -> Option<u64>| elsewhere.as_ref().and_then(of);
            let around = blocks.first().copied().unwrap_or(function);
            let block = told(scopes, numbers.get(&around).copied().unwrap_or(0));
            found.push(VariableInfo {
                entry: number,
                name,
                line: find(gimli::DW_AT_decl_line).or(far(|known| known.line)).unwrap_or(0),
                column: find(gimli::DW_AT_decl_column).or(far(|known| known.column)),
                block,
                scope: scopes[block].ranges.clone(),
                old: self.old(unit, entry)?,
                list: self.list_bytes(unit, lists, entry)?,
            });
        }
        Ok(found)
    }

    /// The entry and those that it takes its name and place from.
    fn named<'e>(&self, unit_offset: usize, entries: &'e [Entry<'a>], number: usize) -> Vec<&'e Entry<'a>> {
        let mut found = vec![&entries[number]];
        // A chain in broken debug information may be a circle.
        for _ in 0..4 {
            let last = found[found.len() - 1];
            let origin = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification]
                .iter()
                .find_map(|name| last.attribute(*name));
            let Some(AttributeValue::UnitRef(gimli::UnitOffset(offset))) =
                origin.map(|origin| origin.value())
            else {
                break;
            };
            let Some(target) = unit_offset.checked_add(offset) else { break };
            let Ok(position) = entries.binary_search_by_key(&target, |entry| entry.offset()) else { break };
            found.push(&entries[position]);
        }
        found
    }

    /// Name and place of an entry that takes them from one of another unit, as link-time optimisation leaves it.
    fn elsewhere(&self, entry: &Entry<'a>) -> Result<Option<Named>> {
        let origin = entry.attribute(gimli::DW_AT_abstract_origin).map(|origin| origin.value());
        let Some(AttributeValue::DebugInfoRef(target)) = origin else { return Ok(None) };
        let mut headers = self.dwarf.units();
        while let Some(header) = headers.next()? {
            let Some(offset) = target.to_unit_offset(&header) else { continue };
            let unit = self.dwarf.unit(header)?;
            let origin = unit.entry(offset)?;
            let number = |name| origin.attr_value(name).and_then(|value| value.udata_value());
            let Some(name) = origin.attr_value(gimli::DW_AT_name) else { return Ok(None) };
            let name = self.dwarf.attr_string(&unit, name)?.to_string().map(str::to_owned);
            return Ok(name.ok().map(|name| Named {
                name,
                line: number(gimli::DW_AT_decl_line),
                column: number(gimli::DW_AT_decl_column),
            }));
        }
        Ok(None)
    }

    fn old(&self, unit: &gimli::Unit<Bytes<'a>>, entry: &Entry<'a>) -> Result<Old> {
        if let Some(attribute) = entry.attribute(gimli::DW_AT_location) {
            let expression = match attribute.value() {
                AttributeValue::Exprloc(expression) => Some(expression.0),
                AttributeValue::Block(bytes) => Some(bytes),
                _ => None,
            };
            if let Some(expression) = expression {
                return Ok(Old::Everywhere(self.encoded(".debug_info", &expression)));
            }
            let Some(mut list) = self.dwarf.attr_locations(unit, attribute.value())? else {
                return Ok(Old::Other("location"));
            };
            let section = if unit.header.version() < 5 { ".debug_loc" } else { ".debug_loclists" };
            let mut found = Vec::new();
            while let Some(part) = list.next()? {
                found.push((part.range.begin..part.range.end, self.encoded(section, &part.data.0)));
            }
            return Ok(Old::List(found));
        }
        let Some(attribute) = entry.attribute(gimli::DW_AT_const_value) else { return Ok(Old::Nothing) };
        let constant = match attribute.raw() {
            AttributeValue::Block(_) | AttributeValue::Exprloc(_) => return Ok(Old::Other("constant")),
            // The bytes are those of the variable; a debugger cuts what is above.
            AttributeValue::Data1(value) => Some(i64::from(value as i8)),
            AttributeValue::Data2(value) => Some(i64::from(value as i16)),
            AttributeValue::Data4(value) => Some(i64::from(value as i32)),
            AttributeValue::Data8(value) => Some(value as i64),
            value => value.sdata_value().or_else(|| value.udata_value().map(|value| value as i64)),
        };
        let Some(constant) = constant else { return Ok(Old::Other("constant")) };
        let mut bytes = Vec::new();
        crate::expression::push(&mut bytes, constant);
        bytes.push(gimli::DW_OP_stack_value.0);
        Ok(Old::Everywhere(Encoded { bytes, fields: Vec::new() }))
    }

    /// Where the list of an entry is in its section.
    pub(crate) fn list_bytes(
        &self,
        unit: &gimli::Unit<Bytes<'a>>,
        lists: &ListUses,
        entry: &Entry<'a>,
    ) -> Result<Option<Range<usize>>> {
        let location = entry.attribute(gimli::DW_AT_location).map(|attribute| attribute.value());
        let Some(value) = location else { return Ok(None) };
        let Some(start) = self.dwarf.attr_locations_offset(unit, value)? else { return Ok(None) };
        if list_key(value).and_then(|key| lists.users.get(&key)) != Some(&1) {
            return Ok(None);
        }
        let old = unit.header.version() < 5;
        let bytes = self.sections.section(if old { ".debug_loc" } else { ".debug_loclists" });
        let whole = Bytes::new(bytes, LittleEndian);
        // Nothing in it, or nothing before its end that is not an expression.
        let mut end = Some(start.0);
        let mut raw = self.dwarf.raw_locations(unit, start)?;
        while let Some(part) = raw.next()? {
            use gimli::RawLocListEntry as Raw;
            end = match part {
                Raw::AddressOrOffsetPair { data, .. }
                | Raw::StartxEndx { data, .. }
                | Raw::StartxLength { data, .. }
                | Raw::OffsetPair { data, .. }
                | Raw::DefaultLocation { data }
                | Raw::StartEnd { data, .. }
                | Raw::StartLength { data, .. } => Some(data.0.offset_from(whole) + data.0.len()),
                Raw::BaseAddress { .. } | Raw::BaseAddressx { .. } => None,
            };
        }
        let Some(end) = end else { return Ok(None) };
        let terminator = if old { 2 * usize::from(unit.header.address_size()) } else { 1 };
        let zeros = bytes.get(end..end.saturating_add(terminator));
        if zeros.is_none_or(|zeros| zeros.iter().any(|byte| *byte != 0)) {
            return Ok(None);
        }
        // Views stand right before the list.
        let views = match entry.attribute(gimli::DW_AT_GNU_locviews).map(|attribute| attribute.raw()) {
            Some(AttributeValue::SecOffset(offset)) if offset <= start.0 => offset,
            Some(_) => return Ok(None),
            None => start.0,
        };
        Ok(Some(views..end + terminator))
    }

    /// An expression with the relocations in it.
    fn encoded(&self, section: &'static str, expression: &Bytes<'a>) -> Encoded {
        let whole = Bytes::new(self.sections.section(section), LittleEndian);
        let start = expression.offset_from(whole) as u64;
        let end = start + expression.len() as u64;
        let list = self.sections.relocations.get(section).map_or(&[][..], Vec::as_slice);
        let first = list.partition_point(|relocation| relocation.offset < start);
        let inside = list[first..].iter().take_while(|relocation| relocation.offset < end);
        let field = |relocation: &Relocation| Field {
            offset: (relocation.offset - start) as usize,
            symbol: FieldSymbol::Number(relocation.symbol),
            addend: relocation.addend,
            kind: relocation.kind,
        };
        let fields: Vec<Field> = inside.map(field).collect();
        let mut bytes = expression.slice().to_vec();
        // What was filled in for reading is not what the file has there.
        for field in fields.iter().filter(|field| field.kind == self.absolute) {
            let end = bytes.len().min(field.offset + usize::from(self.address_bytes));
            bytes[field.offset..end].fill(0);
        }
        Encoded { bytes, fields }
    }
}

/// Entries between an entry and one above it, nearest first; nothing if it is not below.
fn path_to(entries: &[Entry], from: usize, to: usize) -> Option<Vec<usize>> {
    let mut path = Vec::new();
    let mut at = entries[from].parent()?;
    while at != to {
        path.push(at);
        at = entries[at].parent()?;
    }
    Some(path)
}
