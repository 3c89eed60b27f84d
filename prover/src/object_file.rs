//! Functions of an ELF object: bytes, range and relocations. Relocatable objects for x86-64 and i386, linked ones
//! for x86-64, and executables for i386 that cannot be moved; everything else is one clear error.
//!
//! In a relocatable object the linker's fields say which symbol an address belongs to. In a linked one the numbers
//! are there already, and the symbol table says what lies where ([`Image`]).

pub mod constants;
pub mod definitions;

use constants::{Constant, Variables};
use definitions::{Definitions, merged_entry_bytes};
use object::{
    Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SectionKind, SymbolFlags, SymbolKind, elf,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A relocatable object.
#[derive(Debug)]
pub struct ObjectFile {
    name: String,
    address_bits: u32,
    linked: bool,
    functions: Vec<FunctionCode>,
}

/// One function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCode {
    /// Its symbol.
    pub name: String,
    /// Section that holds it.
    pub section: String,
    /// Offset of the first byte in the section.
    pub low_pc: u64,
    /// The bytes as in the file.
    pub bytes: Vec<u8>,
    /// Width of an address: 64 or 32.
    pub address_bits: u32,
    /// What the linker will change, by pc.
    pub relocations: Vec<Relocation>,
    /// Bytes that never change, from the symbol on that relocations name: constant pools.
    pub constants: BTreeMap<String, Constant>,
    /// What the addresses of these constants are multiples of: the linker keeps the alignment of a section.
    pub alignments: BTreeMap<String, u64>,
    /// Functions that put their return address into a register and do nothing else, with the number of the
    /// register: what i386 has for addresses relative to the pc.
    pub pc_thunks: BTreeMap<String, u8>,
    /// Where things are, if the linker has decided.
    pub image: Option<Arc<Image>>,
    /// Functions that calls without a relocation lead to, by pc: those of its section, in a linked object all.
    pub entries: Arc<Entries>,
    /// Symbols that are this file's own, of those that a linker will resolve.
    pub locals: Arc<BTreeSet<String>>,
    /// Why the bytes are not what will run, or cannot be told from it.
    pub refused: Option<String>,
    /// Variables and constants that the object itself has.
    pub definitions: Arc<Definitions>,
}

/// Names of functions by where they begin.
pub type Entries = BTreeMap<u64, Vec<String>>;

/// The layout of a linked object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Loaded where it says, not somewhere else as a whole.
    pub fixed: bool,
    /// Virtual address of [`GOT`], in i386 code.
    pub got: Option<u64>,
    /// Variables by address, and read-only sections for what has no name.
    places: Vec<PlacedSymbol>,
    /// Words that the dynamic linker fills in: the symbol whose address is there, by virtual address.
    slots: BTreeMap<u64, String>,
    /// Where the dynamic linker writes.
    patched: BTreeSet<u64>,
}

/// A symbol in a linked object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedSymbol {
    /// Its name, or that of the section.
    pub symbol: String,
    /// Virtual address.
    pub address: u64,
    /// Size.
    pub size_bytes: u64,
}

impl Image {
    /// The symbol that an address is in, or one past; what it is not in may still be reached from it. Variables
    /// come before sections.
    pub fn at(&self, address: u64) -> Option<&PlacedSymbol> {
        let inside = |known: &&PlacedSymbol| address.wrapping_sub(known.address) < known.size_bytes;
        let past = |known: &&PlacedSymbol| address.wrapping_sub(known.address) == known.size_bytes;
        self.places.iter().find(inside).or_else(|| self.places.iter().find(past))
    }

    /// The symbol that an address to which a register is added belongs to. Compilers let pointers walk from a few
    /// bytes before an object; few objects are entered at their very end.
    pub fn before(&self, address: u64) -> Option<&PlacedSymbol> {
        const NEAR: u64 = 256;
        // In a read-only section there are tables that have no name.
        const VERY_NEAR: u64 = 16;
        let section = |known: &PlacedSymbol| known.symbol.starts_with('.');
        let home = self.at(address);
        let most = if home.is_some_and(section) { VERY_NEAR } else { NEAR };
        let near = |known: &&PlacedSymbol| known.address.wrapping_sub(address) <= most && !section(known);
        self.places.iter().filter(near).min_by_key(|known| known.address).or(home)
    }

    /// The symbol whose address the dynamic linker puts there.
    pub fn slot(&self, address: u64) -> Option<&str> {
        self.slots.get(&address).map(String::as_str)
    }

    /// Whether the dynamic linker writes to some of these addresses, as far as its longest field reaches.
    fn is_patched(&self, range: &Range<u64>) -> bool {
        let first = range.start.saturating_sub(LONGEST_FIELD - 1);
        first < range.end && self.patched.range(first..range.end).next().is_some()
    }

    /// The address of a symbol.
    pub fn address(&self, symbol: &str) -> Option<u64> {
        self.places.iter().find(|known| known.symbol == symbol).map(|known| known.address)
    }
}

impl FunctionCode {
    /// What it runs on, as a proof says it.
    pub fn architecture(&self) -> metaloc_proof::Architecture {
        architecture(self.address_bits)
    }
}

fn architecture(address_bits: u32) -> metaloc_proof::Architecture {
    match address_bits {
        32 => metaloc_proof::Architecture::I386,
        _ => metaloc_proof::Architecture::X86_64,
    }
}

impl Relocation {
    /// The bytes that the linker writes.
    pub fn field(&self) -> Range<u64> {
        self.pc..self.pc.saturating_add(self.kind.size_bytes())
    }
}

/// A field that the linker fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Offset of the field in the section.
    pub pc: u64,
    /// What goes there.
    pub kind: RelocationKind,
    /// The symbol, or the section that stands for itself.
    pub symbol: String,
    /// Added to the symbol's address.
    pub addend: i64,
}

/// Value of a relocated field, S being the symbol, A the addend, P the field's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelocationKind {
    /// S + A, 64 bits.
    Absolute64,
    /// S + A, 32 bits, zero-extended.
    Absolute32,
    /// S + A, 32 bits, sign-extended.
    Absolute32Signed,
    /// S + A - P, 32 bits.
    Relative32,
    /// The same of a function, by way of a stub that the linker makes: in i386 code the stub needs the address of
    /// [`GOT`] in ebx.
    Stub32,
    /// The place of a constant that holds S, plus A - P.
    Got32,
    /// [`GOT`] + A - P, 32 bits.
    GotPc,
    /// S + A - [`GOT`], 32 bits.
    GotOffset,
    /// The place of a constant that holds S, plus A - [`GOT`].
    GotEntry,
}

impl RelocationKind {
    /// Size of the field.
    pub fn size_bytes(self) -> u64 {
        match self {
            RelocationKind::Absolute64 => 8,
            _ => 4,
        }
    }
}

/// The symbol for the table of addresses that position-independent i386 code computes from.
pub const GOT: &str = "_GLOBAL_OFFSET_TABLE_";

/// Why an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// Not an ELF file, or a broken one.
    #[error("{file}: not a readable object: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// What the reader says.
        reason: String,
    },
    /// Another processor.
    #[error("{file}: for {found}, want little-endian x86-64 or i386")]
    Architecture {
        /// The file.
        file: String,
        /// What it is for.
        found: String,
    },
    /// Another kind of file.
    #[error(
        "{file}: unsupported: {found}; want a relocatable object (.o), an executable, or an x86-64 library"
    )]
    Kind {
        /// The file.
        file: String,
        /// What it is.
        found: String,
    },
    /// There is no symbol table.
    #[error("{file}: no function symbols (stripped?)")]
    Stripped {
        /// The file.
        file: String,
    },
    /// The function is not there.
    #[error("{file}: no function `{name}`; there are: {known}")]
    NoFunction {
        /// The file.
        file: String,
        /// What was asked for.
        name: String,
        /// What is there, cut.
        known: String,
    },
    /// Several are called so.
    #[error("{file}: unsupported: {count} functions with the name `{name}`")]
    Several {
        /// The file.
        file: String,
        /// The name.
        name: String,
        /// How many.
        count: usize,
    },
    /// A relocation that is not understood.
    #[error("{file}: unsupported: relocation type {r_type} in {section} at {pc:#x}")]
    Relocation {
        /// The file.
        file: String,
        /// Section.
        section: String,
        /// Number of the type.
        r_type: u32,
        /// Where.
        pc: u64,
    },
}

impl ObjectFile {
    /// Reads an object; `file` is its name for messages.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<ObjectFile, ObjectError> {
        let malformed = |error: object::Error| ObjectError::Malformed {
            file: file.to_owned(),
            reason: error.to_string(),
        };
        let object = object::File::parse(bytes).map_err(malformed)?;
        let known = [object::Architecture::X86_64, object::Architecture::I386];
        if !known.contains(&object.architecture()) || !object.is_little_endian() {
            let order = if object.is_little_endian() { "little" } else { "big" };
            let found = format!("{order}-endian {:?}", object.architecture());
            return Err(ObjectError::Architecture { file: file.to_owned(), found });
        }
        let refused = |found: String| ObjectError::Kind { file: file.to_owned(), found };
        let image = match (object.kind(), object.architecture()) {
            (object::ObjectKind::Relocatable, _) => None,
            (object::ObjectKind::Executable, _)
            | (object::ObjectKind::Dynamic, object::Architecture::X86_64) => Some(Arc::new(image(&object))),
            // Its code computes addresses from the pc, which no number in it names.
            (object::ObjectKind::Dynamic, _) => {
                return Err(refused("a linked i386 file that can be loaded anywhere".to_owned()));
            }
            (kind, _) => return Err(refused(format!("a file of kind {kind:?}").to_lowercase())),
        };
        let names = names(&object);
        let variables = Variables::of(&object, &names);
        let locals = Arc::new(if image.is_none() { locals(&object) } else { BTreeSet::new() });
        let (mut functions, mut homes) = (Vec::new(), Vec::new());
        let defined = |symbol: &object::Symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition();
        for symbol in all_symbols(&object).filter(defined) {
            // What a linker adds for itself has no size.
            let empty = image.is_some() && symbol.size() == 0;
            if let Some(index) = symbol.section_index().filter(|_| !empty) {
                functions.push(function(
                    file,
                    &object,
                    &symbol,
                    index,
                    (&names, &variables),
                    image.as_ref(),
                )?);
                homes.push(image.is_none().then_some(index));
            }
        }
        let thunks: BTreeMap<String, u8> =
            object.symbols().filter(defined).filter_map(|symbol| pc_thunk(&object, &symbol)).collect();
        for function in &mut functions {
            function.pc_thunks = thunks.clone();
            function.locals = locals.clone();
        }
        add_entries(&mut functions, &homes, &names);
        let definitions = Arc::new(definitions::read(&object, &names, image.is_some()));
        functions.iter_mut().for_each(|function| function.definitions = definitions.clone());
        if functions.is_empty() {
            return Err(ObjectError::Stripped { file: file.to_owned() });
        }
        let address_bits = if object.architecture() == object::Architecture::I386 { 32 } else { 64 };
        Ok(ObjectFile { name: file.to_owned(), address_bits, linked: image.is_some(), functions })
    }

    /// Width of an address: 64 or 32.
    pub fn address_bits(&self) -> u32 {
        self.address_bits
    }

    /// What it runs on, as a proof says it.
    pub fn architecture(&self) -> metaloc_proof::Architecture {
        architecture(self.address_bits)
    }

    /// Whether a linker has made it, as a proof says it.
    pub fn kind(&self) -> metaloc_proof::ObjectKind {
        match self.linked {
            true => metaloc_proof::ObjectKind::Linked,
            false => metaloc_proof::ObjectKind::Relocatable,
        }
    }

    /// All functions, in the order of the symbol table.
    pub fn functions(&self) -> &[FunctionCode] {
        &self.functions
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Result<&FunctionCode, ObjectError> {
        let found: Vec<&FunctionCode> =
            self.functions.iter().filter(|function| function.name == name).collect();
        if found.len() > 1 {
            let (file, name) = (self.name.clone(), name.to_owned());
            return Err(ObjectError::Several { file, name, count: found.len() });
        }
        found.first().copied().ok_or_else(|| {
            let known: Vec<&str> =
                self.functions.iter().take(10).map(|function| function.name.as_str()).collect();
            ObjectError::NoFunction {
                file: self.name.clone(),
                name: name.to_owned(),
                known: known.join(", "),
            }
        })
    }
}

fn function(
    file: &str,
    object: &object::File,
    symbol: &object::Symbol,
    index: SectionIndex,
    (names, variables): (&Names, &Variables),
    image: Option<&Arc<Image>>,
) -> Result<FunctionCode, ObjectError> {
    let malformed = |reason: String| ObjectError::Malformed { file: file.to_owned(), reason };
    let section = object.section_by_index(index).map_err(|error| malformed(error.to_string()))?;
    let (low_pc, size) = (symbol.address(), symbol.size());
    let name = symbol.name().map_err(|error| malformed(error.to_string()))?.to_owned();
    let section_name = section.name().map_err(|error| malformed(error.to_string()))?.to_owned();
    let data = section.data().map_err(|error| malformed(error.to_string()))?;
    let mut refused = Vec::new();
    let executable = match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_EXECINSTR.0 != 0,
        _ => false,
    };
    if !executable {
        refused.push(format!("code in {section_name}, which is not executable"));
    }
    // Offsets in a relocatable object count from the section's beginning, and linkers do not look at its address.
    if image.is_none() && section.address() != 0 {
        refused.push(format!("{section_name}, which has an address in a relocatable file"));
    }
    let start = low_pc.checked_sub(section.address());
    let end = start.and_then(|start| start.checked_add(size));
    let range =
        start.zip(end).and_then(|(start, end)| usize::try_from(start).ok().zip(usize::try_from(end).ok()));
    let bytes = range
        .and_then(|(start, end)| data.get(start..end))
        .ok_or_else(|| malformed(format!("function `{name}` lies outside of {section_name}")))?
        .to_vec();
    let (mut relocations, mut constants, mut alignments) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
    if let Some(image) = image {
        (constants, alignments) = constants::of_image(object, image);
    }
    // A linked object may keep relocations; they have been applied. What is left is for the dynamic linker.
    let own = low_pc..low_pc.saturating_add(size);
    if image.is_some_and(|image| image.is_patched(&own)) {
        refused.push("code that the dynamic linker changes".to_owned());
    }
    let fields: Vec<u64> =
        section.relocations().map(|(pc, _)| pc).filter(|pc| own.contains(pc) && image.is_none()).collect();
    let uses = constants::uses(object.architecture(), low_pc, &bytes, &fields);
    for (pc, relocation) in section.relocations().filter(|_| image.is_none()) {
        if overlap(&(pc..pc.saturating_add(LONGEST_FIELD)), &own) {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let kind = kind(object.architecture(), r_type).ok_or_else(|| ObjectError::Relocation {
                file: file.to_owned(),
                section: section_name.clone(),
                r_type: r_type.0,
                pc,
            })?;
            // i386 keeps the addend in the field itself.
            let mut addend = match relocation.has_implicit_addend() {
                true => field(data, pc).ok_or_else(|| malformed(format!("a relocation at {pc:#x}")))?,
                false => relocation.addend(),
            };
            let mut goal = relocation.target();
            if let Some((variable, start)) =
                variables.meant(object, goal, kind, addend, uses.get(&pc).copied())
            {
                goal = RelocationTarget::Symbol(variable);
                addend = addend.wrapping_sub_unsigned(start);
            }
            let mut symbol = match target(object, names, goal) {
                Ok(symbol) => symbol,
                Err(reason) => {
                    refused.push(format!("{reason} at {pc:#x}"));
                    continue;
                }
            };
            if let Some((constant, align_bytes, entry)) = constant(object, goal, kind, addend, index) {
                if let Some(start) = entry {
                    symbol = format!("{symbol}+{start:#x}");
                    addend = addend.wrapping_sub_unsigned(start);
                }
                constants.insert(symbol.clone(), constant);
                alignments.insert(symbol.clone(), align_bytes);
            }
            relocations.push(Relocation { pc, kind, symbol, addend });
        }
    }
    let address_bits = if object.architecture() == object::Architecture::I386 { 32 } else { 64 };
    relocations.retain(|relocation| overlap(&relocation.field(), &own));
    relocations.sort_by_key(|relocation| relocation.pc);
    let first = relocations.first().filter(|first| first.pc < low_pc);
    let second = relocations.windows(2).find(|pair| overlap(&pair[0].field(), &pair[1].field()));
    if let Some(relocation) = first.or(second.map(|pair| &pair[1])) {
        refused.push(format!("a relocation at {:#x} that others reach into", relocation.pc));
    }
    Ok(FunctionCode {
        name,
        section: section_name,
        low_pc,
        bytes,
        address_bits,
        relocations,
        constants,
        alignments,
        pc_thunks: BTreeMap::new(),
        image: image.cloned(),
        entries: Arc::default(),
        locals: Arc::default(),
        refused: refused.into_iter().next(),
        definitions: Arc::default(),
    })
}

/// The longest field that a linker writes.
const LONGEST_FIELD: u64 = 8;

fn overlap(left: &Range<u64>, right: &Range<u64>) -> bool {
    left.start < right.end && right.start < left.end
}

/// Names of symbols that belong to this file alone.
fn locals(object: &object::File) -> BTreeSet<String> {
    let own = |symbol: &object::Symbol| {
        symbol.is_local() && !matches!(symbol.kind(), SymbolKind::Section | SymbolKind::File)
    };
    object.symbols().filter(own).filter_map(|symbol| Some(symbol.name().ok()?.to_owned())).collect()
}

/// Tells functions where the others are: of those in one section, or in one image. A name that several have stands
/// for none.
fn add_entries(functions: &mut [FunctionCode], homes: &[Option<SectionIndex>], names: &Names) {
    let mut found: Vec<(Option<SectionIndex>, Entries)> = Vec::new();
    for (function, home) in functions.iter().zip(homes) {
        if names.get(function.name.as_str()) != Some(&1) {
            continue;
        }
        let known = found.iter().position(|(known, _)| known == home).unwrap_or_else(|| {
            found.push((*home, Entries::new()));
            found.len() - 1
        });
        found[known].1.entry(function.low_pc).or_default().push(function.name.clone());
    }
    for (home, entries) in found {
        let entries = Arc::new(entries);
        for (function, _) in functions.iter_mut().zip(homes).filter(|(_, other)| **other == home) {
            function.entries = entries.clone();
        }
    }
}

/// The symbol table, or what is left of it for the dynamic linker.
fn all_symbols<'a, 'b>(
    object: &'b object::File<'a>,
) -> Box<dyn Iterator<Item = object::Symbol<'a, 'b>> + 'b> {
    match object.symbols().next() {
        Some(_) => Box::new(object.symbols()),
        None => Box::new(object.dynamic_symbols()),
    }
}

/// What lies where in a linked object.
fn image(object: &object::File) -> Image {
    let mut places = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    // Another object may bring its own definition of a library's symbol; not of one of a program.
    let program =
        object.kind() == object::ObjectKind::Executable || object.section_by_name(".interp").is_some();
    let own = |symbol: &object::Symbol| {
        let hidden = match symbol.flags() {
            SymbolFlags::Elf { st_other, .. } => st_other.0 & 3 != 0,
            _ => false,
        };
        program || symbol.is_local() || hidden
    };
    let data =
        |symbol: &object::Symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition() && own(symbol);
    for symbol in all_symbols(object).filter(data) {
        if let Ok(name) = symbol.name() {
            *names.entry(name).or_default() += 1;
            let (address, size_bytes) = (symbol.address(), symbol.size());
            places.push(PlacedSymbol { symbol: name.to_owned(), address, size_bytes });
        }
    }
    // A name that several have stands for none.
    places.retain(|place| place.size_bytes > 0 && names.get(place.symbol.as_str()) == Some(&1));
    for section in object.sections().filter(is_read_only) {
        if let Ok(name) = section.name() {
            let (address, size_bytes) = (section.address(), section.size());
            places.push(PlacedSymbol { symbol: name.to_owned(), address, size_bytes });
        }
    }
    let (mut slots, mut patched) = (BTreeMap::new(), BTreeSet::new());
    for (address, relocation) in object.dynamic_relocations().into_iter().flatten() {
        patched.insert(address);
        if let (RelocationFlags::Elf { r_type: elf::R_X86_64_GLOB_DAT }, RelocationTarget::Symbol(index)) =
            (relocation.flags(), relocation.target())
            && let Some(table) = object.dynamic_symbol_table()
            && let Ok(symbol) = table.symbol_by_index(index)
            && let Ok(name) = symbol.name()
        {
            slots.insert(address, name.to_owned());
        }
    }
    let got = None;
    Image { fixed: object.kind() == object::ObjectKind::Executable, got, places, slots, patched }
}

fn is_read_only(section: &object::Section) -> bool {
    matches!(section.kind(), SectionKind::ReadOnlyData | SectionKind::ReadOnlyString)
}

/// `mov (%esp), register; ret` of i386, by its bytes: gcc gives the symbol no size.
fn pc_thunk(object: &object::File, symbol: &object::Symbol) -> Option<(String, u8)> {
    let section = object.section_by_index(symbol.section_index()?).ok()?;
    let start = usize::try_from(symbol.address()).ok()?;
    let code = section.data().ok()?.get(start..start.checked_add(4)?)?;
    let [0x8b, operands, 0x24, 0xc3] = *code else { return None };
    let register = operands >> 3;
    let plain = object.architecture() == object::Architecture::I386
        && operands & 7 == 4
        && operands >> 6 == 0
        && register != 4
        && section.relocations().next().is_none();
    Some((symbol.name().ok().filter(|_| plain)?.to_owned(), register))
}

/// A signed 32-bit field of a section.
fn field(data: &[u8], pc: u64) -> Option<i64> {
    let start = usize::try_from(pc).ok()?;
    let bytes = data.get(start..start.checked_add(4)?)?;
    Some(i64::from(i32::from_le_bytes(bytes.try_into().ok()?)))
}

/// What a symbol of a read-only section stands for as a function of the section `home` sees it, with its alignment. Of a
/// section whose equal entries the linker makes one, only the one entry stays together: that of the symbol, or, if the
/// section stands for itself, that of the addend. Then it comes with where in the section the entry begins: each goes
/// its own way.
fn constant(
    object: &object::File,
    target: RelocationTarget,
    kind: RelocationKind,
    addend: i64,
    home: SectionIndex,
) -> Option<(Constant, u64, Option<u64>)> {
    let RelocationTarget::Symbol(index) = target else { return None };
    let symbol = object.symbol_by_index(index).ok()?;
    let section = object.section_by_index(symbol.section_index()?).ok()?;
    // Another object may bring its own definition of a symbol that is not local.
    if !symbol.is_local() || !is_read_only(&section) {
        return None;
    }
    let data = section.data().ok()?;
    let aligned = |address: u64| 1u64.checked_shl(address.trailing_zeros()).unwrap_or(u64::MAX);
    let Some(entry_bytes) = merged_entry_bytes(object, &section) else {
        let bytes = data.get(usize::try_from(symbol.address()).ok()?..)?.to_vec();
        let align_bytes = section.align().max(1).min(aligned(symbol.address()));
        let fields = constants::fields(object, &section, data, symbol.address(), home);
        let whole = bytes.len() as u64;
        let size_bytes = if symbol.size() > 0 { symbol.size().min(whole) } else { whole };
        return Some((Constant { bytes, size_bytes, fields }, align_bytes, None));
    };
    if section.relocations().next().is_some() {
        return None;
    }
    // Of strings nothing is known: where they end is for the linker to say.
    let entry_bytes = entry_bytes?;
    // An addend that is relative to a pc says only to some linkers which entry is meant.
    let plain = matches!(
        kind,
        RelocationKind::Absolute32
            | RelocationKind::Absolute32Signed
            | RelocationKind::Absolute64
            | RelocationKind::GotOffset
    );
    let (start, whole) = match symbol.kind() {
        SymbolKind::Section if plain => (u64::try_from(addend).ok()?, true),
        SymbolKind::Section => return None,
        _ => (symbol.address(), false),
    };
    let entry = start - start % entry_bytes;
    let from = if whole { entry } else { start };
    let end = entry.checked_add(entry_bytes)?;
    let bytes = data.get(usize::try_from(from).ok()?..usize::try_from(end).ok()?)?.to_vec();
    let align_bytes = section.align().max(1).min(aligned(entry_bytes)).min(aligned(from));
    Some((Constant::plain(bytes), align_bytes, whole.then_some(entry)))
}

/// A name that stands for one symbol only: local symbols and sections may share theirs.
fn target(object: &object::File, names: &Names, target: RelocationTarget) -> Result<String, String> {
    let RelocationTarget::Symbol(index) = target else { return Err("a relocation without a symbol".into()) };
    let symbol = object.symbol_by_index(index).map_err(|error| error.to_string())?;
    let name = symbol_name(object, &symbol).map_err(|error| error.to_string())?;
    // A section of the program's own may be called as one of its variables is.
    let own = symbol.kind() != SymbolKind::Section || name.starts_with('.');
    Ok(if own && names.get(name) == Some(&1) { name.to_owned() } else { format!("{name}#{}", index.0) })
}

/// How many symbols have a name.
type Names<'a> = HashMap<&'a str, usize>;

fn names<'a>(object: &object::File<'a>) -> Names<'a> {
    let mut names = Names::new();
    for symbol in object.symbols() {
        if let Ok(name) = symbol_name(object, &symbol) {
            *names.entry(name).or_default() += 1;
        }
    }
    names
}

/// The name of a symbol; a section's symbol has none of its own.
fn symbol_name<'a>(object: &object::File<'a>, symbol: &object::Symbol<'a, '_>) -> object::Result<&'a str> {
    match (symbol.kind(), symbol.section_index()) {
        (SymbolKind::Section, Some(index)) => object.section_by_index(index)?.name(),
        _ => symbol.name(),
    }
}

fn kind(architecture: object::Architecture, r_type: elf::RelocationType) -> Option<RelocationKind> {
    if architecture == object::Architecture::I386 {
        return match r_type {
            elf::R_386_32 => Some(RelocationKind::Absolute32),
            elf::R_386_PC32 => Some(RelocationKind::Relative32),
            elf::R_386_PLT32 => Some(RelocationKind::Stub32),
            elf::R_386_GOTPC => Some(RelocationKind::GotPc),
            elf::R_386_GOTOFF => Some(RelocationKind::GotOffset),
            elf::R_386_GOT32 | elf::R_386_GOT32X => Some(RelocationKind::GotEntry),
            _ => None,
        };
    }
    match r_type {
        elf::R_X86_64_64 => Some(RelocationKind::Absolute64),
        elf::R_X86_64_32 => Some(RelocationKind::Absolute32),
        elf::R_X86_64_32S => Some(RelocationKind::Absolute32Signed),
        elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => Some(RelocationKind::Relative32),
        elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => {
            Some(RelocationKind::Got32)
        }
        _ => None,
    }
}
