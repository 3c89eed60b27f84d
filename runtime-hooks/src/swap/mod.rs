//! Recompiled source files of passes, swapped into this process for those that LLVM was built with.
//!
//! `METALOC_SWAP` lists libraries, each made from one file and with its code map beside it (`x.so.map`).
//! A library is loaded, its command-line options are given
//! what the originals have, and a jump is written over every function of LLVM that it defines anew. From then
//! on its code runs, compiled without optimisation, so that every return address has a line and every variable
//! is in memory.
//!
//! A file is swapped as a whole or not at all: with half of its functions old, two copies of its state would
//! be in use. One that cannot be swapped is said on standard error, and LLVM's own code runs.
//!
//! - [`jumps`]: the jumps;
//! - [`captures`]: what the variables of a pass hold at each event.

mod captures;
mod jumps;

use std::ffi::{CStr, CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use metaloc_record::code_map::CodeMap;

use crate::ffi;
use crate::symbols::{self, Symbol};

pub use captures::{About, Captures, Question};

/// A file that was swapped.
pub struct Module {
    /// The library.
    pub path: String,
    /// Where it was loaded.
    pub base: usize,
    /// Lines and variables.
    pub map: CodeMap,
}

/// Why a file was not swapped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The path cannot be given to the dynamic linker.
    #[error("its path cannot be read")]
    Path,
    /// The code map is missing or broken.
    #[error("its code map cannot be read: {0}")]
    Map(String),
    /// The dynamic linker refuses it; an unknown symbol is one that LLVM keeps to itself.
    #[error("{0}")]
    Load(String),
    /// An option was set in a way that cannot be repeated.
    #[error("the option {0} cannot be set for it as it is set for LLVM")]
    Option(String),
    /// None of its functions is one of LLVM's.
    #[error("LLVM has none of its functions under a name")]
    NoEntry,
    /// There is no room for a jump.
    #[error("the function {0} of LLVM is too short for a jump")]
    Short(String),
    /// The system refuses.
    #[error("{0}")]
    Memory(#[from] crate::detour::Error),
}

/// Swaps what `METALOC_SWAP` lists; says what cannot be.
pub fn of_environment() -> Option<Captures> {
    let listed = std::env::var_os("METALOC_SWAP").filter(|value| !value.is_empty())?;
    if std::env::var_os("METALOC_PRELOAD").is_some() {
        eprintln!("metaloc: swap: no file is swapped where the dynamic linker loads the plugin");
        return None;
    }
    let mut modules = Vec::new();
    for path in std::env::split_paths(&listed) {
        match swap(&path) {
            Ok(module) => modules.push(module),
            Err(error) => eprintln!("metaloc: swap: {}: {error}", path.display()),
        }
    }
    (!modules.is_empty()).then(|| Captures::new(modules))
}

fn swap(path: &Path) -> Result<Module, Error> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| Error::Path)?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".map");
    let text =
        std::fs::read_to_string(PathBuf::from(beside)).map_err(|error| Error::Map(error.to_string()))?;
    let map = CodeMap::from_text(&text).map_err(|error| Error::Map(error.to_string()))?;
    load(&name)?;
    replay_options()?;
    let (base, symbols) = symbols::functions_of(&name).ok_or(Error::NoEntry)?;
    let entries: Vec<Symbol> = symbols.into_iter().filter(|s| !s.weak && !is_legacy(s.name)).collect();
    jumps::write(&entries)?;
    Ok(Module { path: path.display().to_string(), base, map })
}

/// Loads a library while LLVM's registered options are out of sight.
fn load(path: &CStr) -> Result<(), Error> {
    // SAFETY: no other thread parses options: plugins are loaded before any pass runs. The library's own code
    // that runs now is what registers its options.
    let handle = unsafe {
        ffi::metaloc_options_set_aside();
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        ffi::metaloc_options_put_back();
        handle
    };
    if handle.is_null() {
        // SAFETY: dlopen has just failed, so there is a message.
        let said = unsafe { CStr::from_ptr(libc::dlerror()) }.to_string_lossy().into_owned();
        // The path comes first in it, and is said anyway.
        let reason = said.split_once(": ").map_or(said.as_str(), |(_, reason)| reason);
        return Err(Error::Load(reason.to_owned()));
    }
    Ok(())
}

fn replay_options() -> Result<(), Error> {
    let arguments: Vec<CString> =
        std::env::args_os().filter_map(|argument| CString::new(argument.as_bytes()).ok()).collect();
    let mut pointers: Vec<*const c_char> = arguments.iter().map(|argument| argument.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // Options keep references to nothing but their values, except those that keep a StringRef: the arguments
    // stay for as long as the process.
    std::mem::forget(arguments);
    // SAFETY: an array of C strings and its length.
    let refused = unsafe { ffi::metaloc_options_replay(pointers.as_ptr(), pointers.len() - 1) };
    if refused.is_empty() {
        return Ok(());
    }
    // SAFETY: a part of an argument, or the name of a registered option; both stay.
    Err(Error::Option(unsafe { refused.text() }))
}

/// The makers of passes for the legacy manager stay LLVM's: the identity of such a pass is an address in the
/// library that registered it.
fn is_legacy(name: &CStr) -> bool {
    let name = name.to_string_lossy();
    let Some(rest) = name.strip_prefix("_ZN4llvm") else { return name.starts_with("LLVM") };
    let bare = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let length = rest.len() - bare.len();
    let Ok(length) = rest[..length].parse::<usize>() else { return false };
    let bare = bare.get(..length).unwrap_or(bare);
    bare.starts_with("initialize") || (bare.starts_with("create") && bare.ends_with("Pass"))
}

#[cfg(test)]
mod tests {
    use super::is_legacy;

    #[test]
    fn makers_of_legacy_passes_are_told_from_other_functions() {
        assert!(is_legacy(c"_ZN4llvm29createTailCallEliminationPassEv"));
        assert!(is_legacy(c"_ZN4llvm26initializeTailCallElimPassERNS_12PassRegistryE"));
        assert!(is_legacy(c"LLVMAddLICMPass"));
        assert!(!is_legacy(c"_ZN4llvm16TailCallElimPass3runERNS_8FunctionERNS_15AnalysisManagerIS1_JEEE"));
        assert!(!is_legacy(c"_ZN4llvm16createCallSiteBBEv"));
        assert!(!is_legacy(c"_ZN4llvm"));
    }
}
