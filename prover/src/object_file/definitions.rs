//! What an object itself says of the variables and constants that it defines: where they are, how they are aligned,
//! whether they can be written to, and what constants hold. A proof takes all of that from the source, so the two
//! must agree.

use super::{Names, all_symbols};
use crate::ir::Global;
use object::{
    File, Object, ObjectSection, ObjectSymbol, Section, SectionFlags, SectionIndex, SymbolKind, elf,
};
use std::collections::BTreeMap;

/// The variables and constants of an object, by symbol.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    places: Vec<Place>,
    symbols: BTreeMap<String, Definition>,
}

/// A section that has some.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    index: SectionIndex,
    size_bytes: u64,
    /// Its bytes; fewer where it has no more in the file, and then zeros follow.
    data: Vec<u8>,
    /// Offsets of what the linker changes.
    relocated: Vec<u64>,
    writable: bool,
    /// Size of its entries, each of which the linker may put elsewhere; 0 if they are strings.
    entry_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    /// Which of the places; nothing if the linker makes the place.
    place: Option<usize>,
    /// From the start of the place.
    offset: u64,
    /// 0 if the object does not say.
    size_bytes: u64,
    align_bytes: u64,
}

/// For a section whose equal entries the linker makes one, the size of its entries; nothing within if these are
/// strings.
pub(super) fn merged_entry_bytes(object: &File, section: &Section) -> Option<Option<u64>> {
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else { return None };
    if !sh_flags.contains(elf::SHF_MERGE) {
        return None;
    }
    let index = section.index();
    let entry_bytes = match object {
        File::Elf32(file) => file
            .elf_section_table()
            .section(index)
            .ok()
            .map(|found| u64::from(found.sh_entsize.get(file.endian()))),
        File::Elf64(file) => {
            file.elf_section_table().section(index).ok().map(|found| found.sh_entsize.get(file.endian()))
        }
        _ => None,
    };
    let strings = sh_flags.contains(elf::SHF_STRINGS);
    Some(entry_bytes.filter(|bytes| *bytes > 0 && !strings))
}

/// What an object has. A name that several symbols have stands for none: code does not refer to it by that name.
pub(super) fn read(object: &File, names: &Names, linked: bool) -> Definitions {
    let mut definitions = Definitions::default();
    for symbol in all_symbols(object) {
        let Ok(name) = symbol.name() else { continue };
        let other = matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File);
        if other || name.is_empty() || names.get(name).is_some_and(|count| *count > 1) {
            continue;
        }
        let size_bytes = symbol.size();
        if symbol.is_common() {
            // The field of the address has the alignment.
            let align_bytes = symbol.address().max(1);
            let definition = Definition { place: None, offset: 0, size_bytes, align_bytes };
            definitions.symbols.insert(name.to_owned(), definition);
            continue;
        }
        let Some(section) = symbol.section_index().and_then(|index| object.section_by_index(index).ok())
        else {
            continue;
        };
        let place = definitions.place(object, &section, linked);
        let aligned = 1u64.checked_shl(symbol.address().trailing_zeros()).unwrap_or(u64::MAX);
        // A linked object is loaded at a multiple of a page.
        let align_bytes = aligned.min(if linked { 4096 } else { section.align().max(1) });
        let offset = symbol.address().wrapping_sub(section.address());
        let definition = Definition { place: Some(place), offset, size_bytes, align_bytes };
        definitions.symbols.insert(name.to_owned(), definition);
    }
    definitions
}

impl Definitions {
    fn place(&mut self, object: &File, section: &Section, linked: bool) -> usize {
        let index = section.index();
        if let Some(known) = self.places.iter().position(|place| place.index == index) {
            return known;
        }
        let writable = match section.flags() {
            SectionFlags::Elf { sh_flags, .. } => {
                sh_flags.contains(elf::SHF_WRITE) && sh_flags.contains(elf::SHF_ALLOC)
            }
            _ => false,
        };
        let code = section.kind() == object::SectionKind::Text;
        let data = if code { &[] } else { section.data().unwrap_or_default() };
        let relocated = match linked {
            true => object.dynamic_relocations().into_iter().flatten().map(|(address, _)| address).collect(),
            false => section.relocations().map(|(offset, _)| offset).collect::<Vec<u64>>(),
        };
        let start = section.address();
        self.places.push(Place {
            index,
            size_bytes: section.size(),
            data: data.to_vec(),
            relocated: relocated.into_iter().map(|address| address.wrapping_sub(start)).collect(),
            writable,
            entry_bytes: merged_entry_bytes(object, section)
                .filter(|_| !linked)
                .map(Option::unwrap_or_default),
        });
        self.places.len() - 1
    }

    /// What the object says otherwise of some of the globals that it has.
    pub fn disagreement(&self, globals: &[Global]) -> Option<String> {
        let own: Vec<(&Global, &Definition)> =
            globals.iter().filter_map(|global| Some((global, self.symbols.get(&global.symbol)?))).collect();
        for (number, (global, definition)) in own.iter().enumerate() {
            if let Some(what) = self.wrong(global, definition) {
                return Some(format!("`{}`, which the object has {what}", global.symbol));
            }
            let meets = |(other, at): &&(&Global, &Definition)| {
                let ends = |start: u64, size: u64| start.saturating_add(size.max(1));
                at.place.is_some()
                    && at.place == definition.place
                    && at.offset < ends(definition.offset, global.size_bytes)
                    && definition.offset < ends(at.offset, other.size_bytes)
            };
            if let Some((other, _)) = own[..number].iter().find(meets) {
                let (left, right) = (&other.symbol, &global.symbol);
                return Some(format!("`{left}` and `{right}`, which the object has in one place"));
            }
        }
        None
    }

    fn wrong(&self, global: &Global, definition: &Definition) -> Option<String> {
        let size_bytes = global.size_bytes;
        if definition.align_bytes < global.align_bytes {
            let (found, wanted) = (definition.align_bytes, global.align_bytes);
            return Some(format!("at a multiple of {found} bytes, and the source of {wanted}"));
        }
        let place = definition.place.map(|place| &self.places[place]);
        let room =
            place.map_or(definition.size_bytes, |place| place.size_bytes.saturating_sub(definition.offset));
        if room < size_bytes || definition.size_bytes > 0 && definition.size_bytes < size_bytes {
            return Some(format!("with fewer bytes than {size_bytes}"));
        }
        let place = place?;
        if !global.read_only && !place.writable {
            return Some("where it cannot be written to".to_owned());
        }
        if let Some(entry_bytes) = place.entry_bytes {
            let rest =
                entry_bytes.checked_sub(definition.offset.checked_rem(entry_bytes).unwrap_or_default());
            if !global.read_only || rest.is_none_or(|rest| rest < size_bytes) {
                return Some("among constants that the linker moves apart".to_owned());
            }
        }
        if global.internal
            && !global.read_only
            && global.initial.is_some()
            && !self.holds(place, definition.offset, global)
        {
            return Some("with other contents at first than the source".to_owned());
        }
        if global.read_only && global.defined && !self.holds(place, definition.offset, global) {
            return Some("with other contents than the source, or with such as are not followed".to_owned());
        }
        None
    }

    /// Whether what is there is what the source says.
    fn holds(&self, place: &Place, offset: u64, global: &Global) -> bool {
        let Some(initial) = &global.initial else { return false };
        let end = offset.saturating_add(initial.len() as u64);
        // A field has 8 bytes at most.
        if place.relocated.iter().any(|field| *field < end && offset < field.saturating_add(8)) {
            return false;
        }
        let found = (offset..end).map(|at| usize::try_from(at).ok().and_then(|at| place.data.get(at)));
        found.zip(initial).all(|(found, wanted)| found.unwrap_or(&0) == wanted)
    }
}
