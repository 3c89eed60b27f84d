//! Detours on LLVM's functions: all of them, or none.
//!
//! A detour is a jump over the first bytes of a function to an entry of the shim. The instructions that the
//! jump overwrites are moved to a trampoline, followed by a jump back, and that is how the entry calls the
//! original. Everything is prepared before the first byte of LLVM is written, so a function that cannot be
//! patched leaves LLVM as it was.
//!
//! Written here and not taken from a crate, because those that exist read `/proc/self/maps` for every
//! function: 33 ms more per process, of 20 that a small `opt` run takes in all.

use std::ffi::{CStr, c_void};
use std::ops::Range;

use iced_x86::{
    BlockEncoder, BlockEncoderOptions, Code, Decoder, DecoderOptions, Instruction, InstructionBlock,
};

use crate::ffi;
use crate::symbols;

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process has no such symbol: another LLVM version, or one that does not export it.
    #[error("symbol `{symbol}` is missing in this process; the plugin was built for LLVM {version}")]
    MissingSymbol { symbol: String, version: String },
    /// The function's first instructions cannot be moved.
    #[error("cannot put a detour on `{symbol}`: {reason}")]
    Unpatchable { symbol: String, reason: String },
    /// The system refuses memory, or the right to write to code.
    #[error("cannot change the code of this process: {0}")]
    Memory(#[from] std::io::Error),
}

/// `jmp rel32`.
const JUMP: usize = 5;
/// Room for a relay (6 + 8 bytes) and a trampoline; moved instructions grow to at most about 30 bytes each.
const SLOT: usize = 256;

/// A function, the entry that takes its place, and where the shim wants to know the trampoline.
struct Plan {
    symbol: String,
    target: usize,
    entry: usize,
    original: *mut *const c_void,
    /// Bytes of whole instructions that the jump overwrites.
    overwritten: usize,
    moved: Vec<Instruction>,
}

/// Looks up every symbol of the table, prepares every detour, and only then switches them on. They stay for as
/// long as the process lives.
pub fn install() -> Result<(), Error> {
    let plans = plan()?;
    let Some(first) = plans.first() else {
        return Ok(());
    };
    let slots = memory_near(first.target, plans.len() * SLOT)?;
    let mut jumps = Vec::with_capacity(plans.len());
    for (index, plan) in plans.iter().enumerate() {
        jumps.push(plan.fill(slots + index * SLOT)?);
    }
    protect(slots..slots + plans.len() * SLOT, libc::PROT_READ | libc::PROT_EXEC)?;
    let pages = || plans.iter().map(|plan| plan.target..plan.target + plan.overwritten);
    // The last thing that can fail: code that stays writable does no harm, half a set of detours would.
    for range in pages() {
        protect(range, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    }
    for (plan, jump) in plans.iter().zip(&jumps) {
        // SAFETY: writable as of just now, and no other thread runs LLVM's code: plugins are loaded before any
        // pass. The static of the shim is written before the entry can be reached.
        unsafe {
            *plan.original = jump.trampoline as *const c_void;
            std::ptr::copy_nonoverlapping(jump.bytes.as_ptr(), plan.target as *mut u8, jump.bytes.len());
        }
    }
    for range in pages() {
        protect(range, libc::PROT_READ | libc::PROT_EXEC)?;
    }
    Ok(())
}

fn plan() -> Result<Vec<Plan>, Error> {
    let mut plans: Vec<Plan> = Vec::new();
    for hook in table() {
        // SAFETY: the table holds C string literals.
        let name = unsafe { CStr::from_ptr(hook.symbol) };
        let symbol = name.to_string_lossy().into_owned();
        // SAFETY: dlsym has no preconditions.
        let target = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        if target == 0 {
            // SAFETY: a string literal of the shim.
            let version = unsafe { ffi::metaloc_llvm_version().text() };
            return Err(Error::MissingSymbol { symbol, version });
        }
        // Constructors for complete and for base objects may share one address.
        if plans.iter().all(|plan| plan.target != target) {
            let (overwritten, moved) = (0, Vec::new());
            let entry = hook.entry as usize;
            plans.push(Plan { symbol, target, entry, original: hook.original, overwritten, moved });
        }
    }
    let targets: Vec<usize> = plans.iter().map(|plan| plan.target).collect();
    let sizes = symbols::function_sizes(&targets);
    for plan in &mut plans {
        plan.read(sizes.get(&plan.target).copied().unwrap_or(0))?;
    }
    Ok(plans)
}

impl Plan {
    /// Reads the function: which instructions must move, and that none of its branches goes into their midst.
    fn read(&mut self, size: usize) -> Result<(), Error> {
        // SAFETY: the code of a function, as long as its symbol says.
        let code = unsafe { std::slice::from_raw_parts(self.target as *const u8, size) };
        let mut decoder = Decoder::with_ip(64, code, self.target as u64, DecoderOptions::NONE);
        while self.overwritten < JUMP && decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.code() == Code::INVALID {
                break;
            }
            self.overwritten += instruction.len();
            self.moved.push(instruction);
        }
        if self.overwritten < JUMP {
            return Err(self.unpatchable(format!("only {} of its bytes can be read", self.overwritten)));
        }
        let midst = self.target as u64 + 1..(self.target + self.overwritten) as u64;
        for instruction in decoder.iter().chain(self.moved.iter().copied()) {
            if midst.contains(&instruction.near_branch_target()) {
                return Err(self
                    .unpatchable(format!("a branch at {:#x} goes into its first bytes", instruction.ip())));
            }
        }
        Ok(())
    }

    /// Writes relay and trampoline into a slot and returns the jump to be written over the function.
    fn fill(&self, slot: usize) -> Result<Jump, Error> {
        let relay = slot;
        let trampoline = slot + 16;
        let back = (self.target + self.overwritten) as u64;
        let mut body = self.moved.clone();
        let jump = Instruction::with_branch(Code::Jmp_rel32_64, back);
        body.push(jump.map_err(|error| self.unpatchable(error.to_string()))?);
        let block = InstructionBlock::new(&body, trampoline as u64);
        let encoded = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE)
            .map_err(|error| self.unpatchable(error.to_string()))?;
        let code = encoded.code_buffer;
        if trampoline + code.len() > slot + SLOT {
            return Err(self.unpatchable(format!("its first instructions become {} bytes", code.len())));
        }
        // jmp [rip+0], followed by the address: the shim may be farther away than a relative jump goes.
        let mut far = vec![0xff, 0x25, 0, 0, 0, 0];
        far.extend_from_slice(&(self.entry as u64).to_le_bytes());
        // SAFETY: our own, writable memory, and both fit into the slot.
        unsafe {
            std::ptr::copy_nonoverlapping(far.as_ptr(), relay as *mut u8, far.len());
            std::ptr::copy_nonoverlapping(code.as_ptr(), trampoline as *mut u8, code.len());
        }
        let distance = relay as i64 - (self.target + JUMP) as i64;
        let distance = i32::try_from(distance).map_err(|_| self.unpatchable("too far away".into()))?;
        // What is left of the last instruction is never reached.
        let mut bytes = vec![0xcc; self.overwritten];
        bytes[0] = 0xe9;
        bytes[1..JUMP].copy_from_slice(&distance.to_le_bytes());
        Ok(Jump { bytes, trampoline })
    }

    fn unpatchable(&self, reason: String) -> Error {
        Error::Unpatchable { symbol: self.symbol.clone(), reason }
    }
}

struct Jump {
    bytes: Vec<u8>,
    trampoline: usize,
}

/// Writable memory within reach of a relative jump from `address`.
pub(crate) fn memory_near(address: usize, size: usize) -> Result<usize, Error> {
    const STEP: usize = 1 << 20;
    const REACH: usize = 1 << 30;
    // Most libraries have room right before or after them; the kernel refuses a place that is taken.
    for distance in (STEP..REACH).step_by(STEP) {
        for place in [address.wrapping_sub(distance), address.wrapping_add(distance)] {
            let place = place & !(STEP - 1);
            // SAFETY: asks for new memory, never replacing a mapping.
            let got = unsafe {
                libc::mmap(
                    place as *mut c_void,
                    size,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
                    -1,
                    0,
                )
            };
            if got as usize == place {
                return Ok(place);
            }
            if got != libc::MAP_FAILED {
                // SAFETY: a kernel that does not know the flag gave us another place: give it back.
                unsafe { libc::munmap(got, size) };
            }
        }
    }
    Err(Error::Memory(std::io::Error::from_raw_os_error(libc::ENOMEM)))
}

pub(crate) fn protect(range: Range<usize>, rights: i32) -> Result<(), Error> {
    const PAGE: usize = 4096;
    let start = range.start & !(PAGE - 1);
    // SAFETY: changes the rights of pages of code that we have just mapped or are about to patch.
    match unsafe { libc::mprotect(start as *mut c_void, range.end - start, rights) } {
        0 => Ok(()),
        _ => Err(Error::Memory(std::io::Error::last_os_error())),
    }
}

fn table() -> impl Iterator<Item = &'static ffi::Hook> {
    let rows = |table: unsafe extern "C" fn(*mut usize) -> *const ffi::Hook| {
        let mut count = 0;
        // SAFETY: the shim returns a static array and its length.
        unsafe { std::slice::from_raw_parts(table(&mut count), count) }
    };
    rows(ffi::metaloc_hooks).iter().chain(rows(ffi::metaloc_legacy_hooks))
}
