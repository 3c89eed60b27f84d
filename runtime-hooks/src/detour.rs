//! Installing the detours of the shim's table: all of them, or none.

use std::collections::HashSet;
use std::ffi::{CStr, c_void};

use retour::RawDetour;

use crate::ffi;

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process has no such symbol: another LLVM version, or one that does not export it.
    #[error("symbol `{0}` is missing in this process; the plugin was built for LLVM {1}")]
    MissingSymbol(String, String),
    /// The function's first instructions cannot be moved to a trampoline.
    #[error("cannot put a detour on `{0}`: {1}")]
    Unpatchable(String, retour::Error),
}

/// Keeps the detours; they stay for as long as the process lives.
pub struct Installed {
    _detours: Vec<RawDetour>,
}

/// Looks up every symbol of the table, prepares every detour, and only then switches them on.
pub fn install() -> Result<Installed, Error> {
    let mut seen = HashSet::new();
    let mut detours = Vec::new();
    for hook in table() {
        // SAFETY: the table holds C string literals.
        let name = unsafe { CStr::from_ptr(hook.symbol) };
        // SAFETY: dlsym has no preconditions.
        let target = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        let text = || name.to_string_lossy().into_owned();
        if target.is_null() {
            // SAFETY: a string literal of the shim.
            let version = unsafe { ffi::metaloc_llvm_version().text() };
            return Err(Error::MissingSymbol(text(), version));
        }
        // Complete and base constructors may share one address.
        if !seen.insert(target as usize) {
            continue;
        }
        // SAFETY: the entry has the signature of the target; the table pairs them for this LLVM version,
        // and the plugin is compiled against the headers of that version.
        let detour = unsafe { RawDetour::new(target.cast_const().cast(), hook.entry.cast()) }
            .map_err(|error| Error::Unpatchable(text(), error))?;
        // SAFETY: `original` is a static of the shim, written before the detour is on.
        unsafe { *hook.original = std::ptr::from_ref(detour.trampoline()).cast::<c_void>() };
        detours.push(detour);
    }
    for index in 0..detours.len() {
        // SAFETY: prepared above; the process is still single threaded in LLVM's code, since plugins are
        // loaded before any pass runs.
        if let Err(error) = unsafe { detours[index].enable() } {
            for detour in &detours[..index] {
                // SAFETY: as above. A failure to switch off leaves a detour that calls the original.
                let _ = unsafe { detour.disable() };
            }
            return Err(Error::Unpatchable(format!("detour {index}"), error));
        }
    }
    Ok(Installed { _detours: detours })
}

fn table() -> &'static [ffi::Hook] {
    let mut count = 0;
    // SAFETY: the shim returns a static array and its length.
    unsafe {
        let rows = ffi::metaloc_hooks(&mut count);
        std::slice::from_raw_parts(rows, count)
    }
}
