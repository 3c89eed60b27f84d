//! Jumps over LLVM's functions to those of a library that defines them anew.
//!
//! Unlike a detour, a jump needs no way back: nothing of the old function is run again. All is checked before
//! the first byte is written.

use std::ffi::c_void;

use super::Error;
use crate::detour::{memory_near, protect};
use crate::symbols::{self, Symbol};

/// `jmp rel32`.
const JUMP: usize = 5;
/// `jmp [rip+0]` and the address.
const RELAY: usize = 16;

struct Jump {
    from: usize,
    to: usize,
}

/// Makes LLVM's functions of these names jump to these.
pub fn write(symbols: &[Symbol]) -> Result<(), Error> {
    let jumps = plan(symbols)?;
    let Some(first) = jumps.first() else { return Err(Error::NoEntry) };
    let relays = memory_near(first.from, jumps.len() * RELAY)?;
    let mut bytes = Vec::with_capacity(jumps.len());
    for (index, jump) in jumps.iter().enumerate() {
        let relay = relays + index * RELAY;
        let mut far = vec![0xff, 0x25, 0, 0, 0, 0];
        far.extend_from_slice(&(jump.to as u64).to_le_bytes());
        // SAFETY: our own memory, and a relay fits into its place.
        unsafe { std::ptr::copy_nonoverlapping(far.as_ptr(), relay as *mut u8, far.len()) };
        let distance = relay as i64 - (jump.from + JUMP) as i64;
        let distance = i32::try_from(distance).map_err(|_| {
            Error::Memory(crate::detour::Error::Memory(std::io::Error::from_raw_os_error(libc::ENOMEM)))
        })?;
        let mut code = [0xe9, 0, 0, 0, 0];
        code[1..].copy_from_slice(&distance.to_le_bytes());
        bytes.push(code);
    }
    protect(relays..relays + jumps.len() * RELAY, libc::PROT_READ | libc::PROT_EXEC)?;
    // The last thing that can fail: code that stays writable does no harm, half a set of jumps would.
    for jump in &jumps {
        protect(jump.from..jump.from + JUMP, libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC)?;
    }
    for (jump, code) in jumps.iter().zip(&bytes) {
        // SAFETY: writable as of just now, and no pass is running: plugins are loaded before any.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), jump.from as *mut u8, JUMP) };
    }
    for jump in &jumps {
        protect(jump.from..jump.from + JUMP, libc::PROT_READ | libc::PROT_EXEC)?;
    }
    Ok(())
}

fn plan(symbols: &[Symbol]) -> Result<Vec<Jump>, Error> {
    let mut jumps: Vec<Jump> = Vec::new();
    for symbol in symbols {
        // SAFETY: dlsym has no preconditions. The library is not among what is searched.
        let from = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.name.as_ptr()) } as *const c_void as usize;
        // What LLVM does not export is called from this file alone, or the linker would have complained.
        if from != 0 && from != symbol.address && jumps.iter().all(|jump| jump.from != from) {
            jumps.push(Jump { from, to: symbol.address });
        }
    }
    let sizes = symbols::function_sizes(&jumps.iter().map(|jump| jump.from).collect::<Vec<_>>());
    for jump in &jumps {
        let size = sizes.get(&jump.from).copied().unwrap_or(0);
        // Behind a function that is aligned there is nothing up to the next multiple.
        if size < JUMP && !jump.from.is_multiple_of(RELAY) {
            let name = symbols.iter().find(|symbol| symbol.address == jump.to).map(|symbol| symbol.name);
            return Err(Error::Short(
                name.map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            ));
        }
    }
    Ok(jumps)
}
