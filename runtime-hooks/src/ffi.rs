//! The C ABI of `cpp/shim.h`, item for item. Nothing else in this crate declares foreign functions of LLVM.

use std::ffi::{c_char, c_void};

/// An LLVM object. Only its address matters on this side.
pub type Ptr = *const c_void;

/// A string that LLVM owns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    data: *const c_char,
    size: usize,
}

impl Str {
    /// The text, with whatever is not UTF-8 replaced.
    ///
    /// # Safety
    /// The string's owner is alive.
    pub unsafe fn text(self) -> String {
        if self.data.is_null() || self.size == 0 {
            return String::new();
        }
        // SAFETY: the shim made it from a StringRef whose owner the caller vouches for.
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.size) };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// True for the empty string.
    pub fn is_empty(self) -> bool {
        self.size == 0
    }
}

/// A row of the detour table.
#[repr(C)]
pub struct Hook {
    pub symbol: *const c_char,
    pub entry: *const c_void,
    pub original: *mut *const c_void,
}

/// An instruction as a snapshot wants it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawInst {
    pub inst: Ptr,
    pub location: Ptr,
    pub opcode: u8,
    pub flags: u8,
}

/// The edges of a block as last read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Edges {
    pub terminator: Ptr,
    pub successors: [Ptr; 2],
    pub count: u32,
}

impl Default for Edges {
    /// Those of a block without a terminator.
    fn default() -> Self {
        Edges { terminator: std::ptr::null(), successors: [std::ptr::null(); 2], count: 0 }
    }
}

/// What an instruction uses and writes to.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawUses {
    operands: [Ptr; 8],
    count: u32,
    written: u8,
    object: u64,
}

/// What something is written to.
pub enum RawObject {
    Inst(Ptr),
    Argument(u32),
    Global(u64),
}

impl RawUses {
    /// The first operands; null for what is no instruction.
    pub fn operands(&self) -> &[Ptr] {
        &self.operands[..self.count as usize]
    }

    /// What is written to, if that is known.
    pub fn written(&self) -> Option<RawObject> {
        match self.written {
            1 => Some(RawObject::Inst(self.object as usize as Ptr)),
            2 => Some(RawObject::Argument(self.object as u32)),
            3 => Some(RawObject::Global(self.object)),
            _ => None,
        }
    }
}

/// What a pass is about to run on.
#[repr(C)]
pub struct RawUnit {
    module: Ptr,
    functions: *const Ptr,
    function_count: usize,
    blocks: *const Ptr,
    block_count: usize,
}

/// The same, in Rust.
pub struct Unit<'a> {
    /// The module, if it is known.
    pub module: Ptr,
    /// The functions that the pass may change; none for a pass on a module.
    pub functions: &'a [Ptr],
    /// For a pass on a loop, the blocks of the loop, those that lead into it, and those that lead to these.
    pub blocks: &'a [Ptr],
}

impl RawUnit {
    /// The arrays as slices.
    ///
    /// # Safety
    /// The shim's arrays are alive.
    pub unsafe fn get(&self) -> Unit<'_> {
        let slice = |data: *const Ptr, count: usize| {
            // SAFETY: the shim passes arrays with their lengths; an empty one may be null.
            if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(data, count) } }
        };
        Unit {
            module: self.module,
            functions: slice(self.functions, self.function_count),
            blocks: slice(self.blocks, self.block_count),
        }
    }
}

/// The parts of a DILocation.
#[repr(C)]
pub struct RawLocation {
    pub line: u32,
    pub column: u32,
    pub scope: Ptr,
    pub inlined_at: Ptr,
}

/// The parts of a DILocalScope.
#[repr(C)]
pub struct RawScope {
    pub file: Str,
    pub subprogram: Str,
    pub parent: Ptr,
}

unsafe extern "C" {
    pub fn metaloc_hooks(count: *mut usize) -> *const Hook;
    pub fn metaloc_legacy_hooks(count: *mut usize) -> *const Hook;
    pub fn metaloc_register_callbacks(pass_builder: *mut c_void);
    pub fn metaloc_plugin_api_version() -> u32;
    pub fn metaloc_llvm_version() -> Str;
    pub fn metaloc_opcode_name(opcode: u32) -> Str;
    pub fn metaloc_module_functions(module: Ptr, out: *mut Ptr, capacity: usize) -> usize;
    pub fn metaloc_module_identifier(module: Ptr) -> Str;
    pub fn metaloc_function_context(function: Ptr) -> Ptr;
    pub fn metaloc_function_name(function: Ptr) -> Str;
    pub fn metaloc_function_blocks(function: Ptr, out: *mut Ptr, capacity: usize) -> usize;
    pub fn metaloc_function_arguments(function: Ptr, out: *mut Ptr, capacity: usize) -> usize;
    pub fn metaloc_keep_unnamed(values: *mut Ptr, count: usize) -> usize;
    pub fn metaloc_function_entry(function: Ptr) -> Ptr;
    pub fn metaloc_block_function(block: Ptr) -> Ptr;
    pub fn metaloc_block_insts(block: Ptr, out: *mut RawInst, capacity: usize) -> usize;
    pub fn metaloc_block_edges(block: Ptr) -> Edges;
    pub fn metaloc_changed_edges(edges: *const Edges, count: usize, out: *mut u32) -> usize;
    pub fn metaloc_block_successors(block: Ptr, out: *mut Ptr, capacity: usize) -> usize;
    pub fn metaloc_inst_block(inst: Ptr) -> Ptr;
    pub fn metaloc_inst_next(inst: Ptr) -> Ptr;
    pub fn metaloc_inst_uses(inst: Ptr) -> RawUses;
    pub fn metaloc_inst_users(inst: Ptr, out: *mut Ptr, capacity: usize) -> usize;
    pub fn metaloc_inst_is_marker(inst: Ptr) -> bool;
    /// True for a call that the verifier refuses without a location.
    pub fn metaloc_call_needs_location(inst: Ptr) -> bool;
    /// True if the verifier refuses the location, as one of another function.
    pub fn metaloc_inst_has_foreign_scope(inst: Ptr) -> bool;
    /// In a function with debug information.
    pub fn metaloc_inst_is_described(inst: Ptr) -> bool;
    pub fn metaloc_named_inst(inst: Ptr, out: *mut c_char, capacity: usize) -> usize;
    pub fn metaloc_inst_print(inst: Ptr, out: *mut c_char, capacity: usize) -> usize;
    pub fn metaloc_value_name(value: Ptr) -> Str;
    pub fn metaloc_location(location: Ptr) -> RawLocation;
    pub fn metaloc_scope(scope: Ptr) -> RawScope;
    pub fn metaloc_node_offset() -> usize;
    pub fn metaloc_options_set_aside();
    pub fn metaloc_options_put_back();
    pub fn metaloc_options_replay(args: *const *const c_char, count: usize) -> Str;
    pub fn metaloc_on_crash(handler: extern "C" fn(*mut c_void));
}

/// Calls a question that fills an array, growing the array until it fits.
///
/// # Safety
/// `ask(out, capacity)` writes at most `capacity` elements and returns how many there are.
pub unsafe fn read_all<T: Copy>(buffer: &mut Vec<T>, ask: impl Fn(*mut T, usize) -> usize) {
    buffer.clear();
    loop {
        let count = ask(buffer.as_mut_ptr(), buffer.capacity());
        if count <= buffer.capacity() {
            // SAFETY: `ask` has written `count` elements, as the caller vouches.
            unsafe { buffer.set_len(count) };
            return;
        }
        buffer.reserve(count);
    }
}

/// Calls a question that writes text, of which 256 bytes are enough for a report.
///
/// # Safety
/// `ask(out, capacity)` writes at most `capacity` bytes and returns how many it wrote.
pub unsafe fn read_text(ask: impl Fn(*mut c_char, usize) -> usize) -> String {
    let mut bytes = [0u8; 256];
    let count = ask(bytes.as_mut_ptr().cast(), bytes.len());
    String::from_utf8_lossy(&bytes[..count.min(bytes.len())]).into_owned()
}
