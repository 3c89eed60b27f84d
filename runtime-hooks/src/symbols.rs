//! Names for return addresses, from the dynamic symbol tables in memory.
//!
//! A distribution's LLVM is stripped, so functions local to a file have no name. Such an address is given as
//! an offset into its library, as `addr2line` and `objdump` take it: the nearest exported symbol below it would
//! be the name of another function.

use std::ffi::{CStr, c_int, c_void};

use crate::pointer_map::PointerMap;

/// Symbols of all loaded modules.
pub struct Symbols {
    modules: Vec<Module>,
    ir_library: PointerMap<bool>,
    own: std::ops::Range<usize>,
}

struct Module {
    /// What is added to the addresses in the file.
    bias: usize,
    text: std::ops::Range<usize>,
    name: String,
    /// (address, size, name), sorted by address.
    symbols: Vec<(usize, usize, &'static CStr)>,
}

impl Symbols {
    /// Reads the tables of everything that is loaded now.
    pub fn load() -> Self {
        let mut modules = Vec::new();
        // SAFETY: the callback gets the vector that is passed along and keeps nothing else.
        unsafe { libc::dl_iterate_phdr(Some(add_module), std::ptr::from_mut(&mut modules).cast()) };
        let here = Symbols::load as *const () as usize;
        let own = modules.iter().find(|m: &&Module| m.text.contains(&here)).map_or(0..0, |m| m.text.clone());
        Symbols { modules, ir_library: PointerMap::default(), own }
    }

    /// Is this address in the plugin itself?
    pub fn is_ours(&self, pc: usize) -> bool {
        self.own.contains(&pc)
    }

    /// Is this address in a function of LLVM's IR library, such as `BinaryOperator::Create` or IRBuilder?
    pub fn is_ir_library(&mut self, pc: usize) -> bool {
        if let Some(&known) = self.ir_library.get(&pc) {
            return known;
        }
        let known =
            self.module(pc).and_then(|module| module.covering(pc)).is_some_and(|(_, name)| is_ir_name(name));
        self.ir_library.insert(pc, known);
        known
    }

    /// `symbol+0x1f`, the symbol as in the table, or `library+0x1234` if the address is in none.
    pub fn text(&self, pc: usize) -> String {
        let Some(module) = self.module(pc) else {
            return format!("{pc:#x}");
        };
        match module.covering(pc) {
            Some((address, name)) => format!("{}+{:#x}", name.to_string_lossy(), pc - address),
            None => format!("{}+{:#x}", module.name, pc - module.bias),
        }
    }

    fn module(&self, pc: usize) -> Option<&Module> {
        self.modules.iter().find(|m| m.text.contains(&pc))
    }
}

impl Module {
    /// The function that a return address is in, and where it begins.
    fn covering(&self, pc: usize) -> Option<(usize, &'static CStr)> {
        // A return address is one past the call, which may be the last instruction of the function.
        let call = pc.checked_sub(1)?;
        let after = self.symbols.partition_point(|(address, _, _)| *address <= call);
        let (address, size, name) = *self.symbols.get(after.checked_sub(1)?)?;
        (call < address + size).then_some((address, name))
    }
}

/// The sizes of the functions at these addresses, as their symbols say.
pub fn function_sizes(addresses: &[usize]) -> PointerMap<usize> {
    struct Wanted {
        sizes: PointerMap<usize>,
        lowest: usize,
        highest: usize,
    }
    extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, out: *mut c_void) -> c_int {
        // SAFETY: called by dl_iterate_phdr with its own structure and our own.
        let (info, wanted) = unsafe { (&*info, &mut *out.cast::<Wanted>()) };
        // SAFETY: the loader vouches for the array.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let bias = info.dlpi_addr as usize;
        let text = headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
        let here = |h: &libc::Elf64_Phdr| {
            let start = bias + h.p_vaddr as usize;
            start <= wanted.highest && wanted.lowest < start + h.p_memsz as usize
        };
        if !text.into_iter().any(here) {
            return 0;
        }
        if let Some(header) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) {
            // SAFETY: the segment is mapped for as long as the module is.
            let symbols =
                unsafe { dynamic_symbols(bias, (bias + header.p_vaddr as usize) as *const [u64; 2]) };
            for Symbol { address, size, .. } in symbols {
                if let Some(known) = wanted.sizes.get_mut(&address) {
                    *known = size.max(*known);
                }
            }
        }
        0
    }
    let lowest = addresses.iter().copied().min().unwrap_or(0);
    let highest = addresses.iter().copied().max().unwrap_or(0);
    let mut wanted = Wanted { sizes: addresses.iter().map(|&a| (a, 0)).collect(), lowest, highest };
    // SAFETY: the callback gets the structure that is passed along and keeps nothing else.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::from_mut(&mut wanted).cast()) };
    wanted.sizes
}

/// Does a mangled name belong to a class of lib/IR that makes or moves instructions for others?
fn is_ir_name(name: &CStr) -> bool {
    const CLASSES: &[&str] = &[
        "BasicBlock",
        "BinaryOperator",
        "CallBase",
        "ConstantFolder",
        "DebugLoc",
        "Function",
        "InsertPosition",
        "IRBuilder",
        "IRBuilderBase",
        "IRBuilderCallbackInserter",
        "IRBuilderDefaultInserter",
        "Instruction",
        "MetadataTracking",
        "PHINode",
        "SymbolTableListTraits",
        "UnaryInstruction",
        "UnaryOperator",
        "User",
        "Value",
        "iplist_impl",
        "TrackingMDRef",
    ];
    let name = name.to_string_lossy();
    let Some(rest) = name.strip_prefix("_ZNK4llvm").or_else(|| name.strip_prefix("_ZN4llvm")) else {
        return false;
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let Ok(length) = rest[..digits].parse::<usize>() else {
        return false;
    };
    let Some(class) = rest.get(digits..digits + length) else {
        return false;
    };
    CLASSES.contains(&class) || class.ends_with("Inst")
}

extern "C" fn add_module(info: *mut libc::dl_phdr_info, _size: usize, out: *mut c_void) -> c_int {
    // SAFETY: called by dl_iterate_phdr with its own structure and our vector.
    let (info, modules) = unsafe { (&*info, &mut *out.cast::<Vec<Module>>()) };
    // SAFETY: the loader vouches for array and name.
    let (headers, name) = unsafe {
        let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
        (std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize), name)
    };
    let bias = info.dlpi_addr as usize;
    let executable = |h: &&libc::Elf64_Phdr| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0;
    let Some(text) = headers.iter().find(executable) else {
        return 0;
    };
    let start = bias + text.p_vaddr as usize;
    let path = name.to_string_lossy();
    let name = path.rsplit('/').next().filter(|n| !n.is_empty()).unwrap_or("program").to_owned();
    let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC);
    let mut symbols = match dynamic {
        // SAFETY: the segment is mapped for as long as the module is.
        Some(header) => unsafe {
            let symbols = dynamic_symbols(bias, (bias + header.p_vaddr as usize) as *const [u64; 2]);
            symbols.map(|Symbol { address, size, name, .. }| (address, size, name)).collect()
        },
        None => Vec::new(),
    };
    symbols.sort_unstable_by_key(|(address, size, name)| {
        (*address, *size, std::cmp::Reverse(name.to_bytes().len()))
    });
    modules.push(Module { bias, text: start..start + text.p_memsz as usize, name, symbols });
    0
}

/// A function in a dynamic symbol table.
pub struct Symbol {
    pub address: usize,
    pub size: usize,
    pub name: &'static CStr,
    /// One of several copies, of which any will do: functions of headers and of templates.
    pub weak: bool,
}

/// The functions of the library that was loaded from `path`, with where it was loaded; `None` if it was not.
pub fn functions_of(path: &CStr) -> Option<(usize, Vec<Symbol>)> {
    struct Wanted<'a> {
        path: &'a CStr,
        found: Option<(usize, Vec<Symbol>)>,
    }
    extern "C" fn look(info: *mut libc::dl_phdr_info, _size: usize, out: *mut c_void) -> c_int {
        // SAFETY: called by dl_iterate_phdr with its own structure and our own.
        let (info, wanted) = unsafe { (&*info, &mut *out.cast::<Wanted<'_>>()) };
        // SAFETY: the loader vouches for the name.
        if info.dlpi_name.is_null() || unsafe { CStr::from_ptr(info.dlpi_name) } != wanted.path {
            return 0;
        }
        // SAFETY: the loader vouches for the array.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
        let bias = info.dlpi_addr as usize;
        if let Some(header) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) {
            // SAFETY: the segment is mapped for as long as the module is.
            let symbols =
                unsafe { dynamic_symbols(bias, (bias + header.p_vaddr as usize) as *const [u64; 2]) };
            wanted.found = Some((bias, symbols.collect()));
        }
        1
    }
    let mut wanted = Wanted { path, found: None };
    // SAFETY: the callback gets the structure that is passed along and keeps nothing else.
    unsafe { libc::dl_iterate_phdr(Some(look), std::ptr::from_mut(&mut wanted).cast()) };
    wanted.found
}

/// The functions in a dynamic symbol table.
///
/// # Safety
/// `dynamic` is the dynamic section of a module that is loaded at `bias` and stays so.
unsafe fn dynamic_symbols(bias: usize, mut dynamic: *const [u64; 2]) -> impl Iterator<Item = Symbol> {
    const DT_STRTAB: u64 = 5;
    const DT_SYMTAB: u64 = 6;
    const DT_GNU_HASH: u64 = 0x6fff_fef5;
    let (mut strings, mut table, mut hash) = (0, 0, 0);
    // SAFETY: the section ends with a null tag.
    unsafe {
        while (*dynamic)[0] != 0 {
            let [tag, value] = *dynamic;
            // glibc has relocated these pointers in place; the vdso's are offsets.
            let address = if (value as usize) < bias { bias + value as usize } else { value as usize };
            match tag {
                DT_STRTAB => strings = address,
                DT_SYMTAB => table = address,
                DT_GNU_HASH => hash = address,
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
        let complete = strings != 0 && table != 0 && hash != 0;
        let symbols: &'static [libc::Elf64_Sym] = match complete {
            true => std::slice::from_raw_parts(table as *const libc::Elf64_Sym, gnu_hash_count(hash)),
            false => &[],
        };
        let functions = symbols.iter().filter(|s| s.st_info & 0xf == 2 && s.st_shndx != 0);
        functions.map(move |s| {
            let name = CStr::from_ptr((strings + s.st_name as usize) as *const _);
            let weak = s.st_info >> 4 != 1;
            Symbol { address: bias + s.st_value as usize, size: s.st_size as usize, name, weak }
        })
    }
}

/// Number of symbols that a GNU hash table covers: one past the last of the highest chain.
///
/// # Safety
/// `hash` is a DT_GNU_HASH table.
unsafe fn gnu_hash_count(hash: usize) -> usize {
    // SAFETY: layout of the table: four words, bloom filter, buckets, chains; a chain ends with a set low bit.
    unsafe {
        let words = hash as *const u32;
        let (buckets, first, bloom) = (*words as usize, *words.add(1) as usize, *words.add(2) as usize);
        let bucket = (hash + 16 + bloom * 8) as *const u32;
        let chain = bucket.add(buckets);
        let last = (0..buckets).map(|b| *bucket.add(b) as usize).max().unwrap_or(0);
        if last < first {
            return first;
        }
        let mut symbol = last;
        while *chain.add(symbol - first) & 1 == 0 {
            symbol += 1;
        }
        symbol + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_the_ir_library_are_told_from_passes() {
        assert!(is_ir_name(c"_ZN4llvm14BinaryOperator6CreateENS_11Instruction9BinaryOpsEPNS_5ValueES4_"));
        assert!(is_ir_name(c"_ZNK4llvm11Instruction5cloneEv"));
        assert!(is_ir_name(c"_ZN4llvm10BranchInstC2EPNS_10BasicBlockE"));
        assert!(is_ir_name(c"_ZN4llvm13IRBuilderBase9CreateAddEv"));
        assert!(!is_ir_name(c"_ZN4llvm16TailCallElimPass3runERNS_8FunctionE"));
        assert!(!is_ir_name(c"_ZN4llvm20ReplaceInstWithInstEPNS_11InstructionES1_"));
        assert!(!is_ir_name(c"_ZN4llvm9"));
        assert!(!is_ir_name(c"main"));
    }

    #[test]
    fn a_symbol_of_libc_is_found_by_its_address() {
        let symbols = Symbols::load();
        let address = libc::strlen as *const () as usize;
        // strlen is an indirect function: look for an ordinary one.
        assert!(symbols.module(address).is_some());
        let qsort = libc::qsort as *const () as usize;
        assert!(symbols.text(qsort + 4).ends_with("+0x4"), "{}", symbols.text(qsort + 4));
    }

    #[test]
    fn what_no_symbol_covers_is_an_offset_into_the_library() {
        let module = Module {
            bias: 0x1000,
            text: 0x1000..0x9000,
            name: "lib.so".into(),
            symbols: vec![(0x2000, 0x10, c"f")],
        };
        let symbols = Symbols { modules: vec![module], ir_library: PointerMap::default(), own: 0..0 };
        assert_eq!(symbols.text(0x2004), "f+0x4");
        // A call that does not return may be the last instruction: its return address is past the function.
        assert_eq!(symbols.text(0x2010), "f+0x10");
        assert_eq!(symbols.text(0x2011), "lib.so+0x1011");
        assert_eq!(symbols.text(0x1800), "lib.so+0x800");
        assert_eq!(symbols.text(0x9000), "0x9000");
    }
}
