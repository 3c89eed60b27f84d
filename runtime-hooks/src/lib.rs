//! The plugin `libmetaloc_hooks.so`: loaded into an unmodified `opt` or `clang`, it watches what every pass
//! does to instructions and their locations, judges it, and reports when the process ends.
//!
//! This crate is the one place with `unsafe` and with LLVM's headers. The way of an event:
//!
//! 1. `cpp/entries.cpp`: a detour entry, with the signature of the hooked API ([`detour`] installs them);
//! 2. [`hooks`]: lands in Rust, guarded by [`landing`];
//! 3. [`session`]: gives it ids ([`identity`], [`mirror`], [`locations`], [`stacks`]) and adds it to the
//!    pass run that is under way ([`runs`]);
//!    [`notes`] keeps what an instruction used that was taken out of its block.
//!    Where a pass was recompiled, [`swap`] has put it into the process and reads its variables;
//! 4. at the end of the run, `metaloc_analyzer::judge` gets before, after and events, and [`findings`]
//!    keeps what it says; [`output`] writes it, or [`crash`] does if the compiler dies.
//!
//! **Invariant:** observation changes nothing. No hook writes to IR, and every hook calls the original.
#![allow(missing_docs, reason = "the interface of this crate is its C ABI, documented in cpp/shim.h")]

mod address_table;
mod crash;
mod detour;
mod ffi;
mod findings;
mod heap;
mod hooks;
mod identity;
mod kept_runs;
mod landing;
mod locations;
mod mirror;
mod notes;
mod output;
mod partition;
mod pointer_map;
mod runs;
mod session;
mod slots;
mod stacks;
mod swap;
mod symbols;
mod unwind;

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

// The plugin takes LLVM from the process that it is loaded into. The unit tests are such a process, and have
// to bring it themselves.
#[cfg(test)]
#[link(name = "LLVM")]
unsafe extern "C" {}

use session::Session;

#[global_allocator]
static HEAP: heap::Heap = heap::Heap::new();

/// What LLVM asks a pass plugin for.
#[repr(C)]
pub struct PassPluginLibraryInfo {
    api_version: u32,
    name: *const c_char,
    version: *const c_char,
    register: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// The entry point of a pass plugin. It must be exported from Rust: the version script of a cdylib hides
/// all symbols of C++ objects.
#[unsafe(no_mangle)]
extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
    PassPluginLibraryInfo {
        // SAFETY: a constant of the headers that the shim was compiled with.
        api_version: unsafe { ffi::metaloc_plugin_api_version() },
        name: c"metaloc".as_ptr(),
        version: c"0.1.0".as_ptr(),
        register: Some(register),
    }
}

/// Runs when the library is loaded. With `METALOC_PRELOAD` set, that is by the dynamic linker, into an `opt` that
/// takes no pass plugin because its passes are named the legacy way.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = {
    extern "C" fn on_load() {
        if std::env::var_os("METALOC_PRELOAD").is_some() {
            observe();
        }
    }
    on_load
};

unsafe extern "C" fn register(pass_builder: *mut c_void) {
    if observe() {
        // SAFETY: LLVM passes its PassBuilder, whose layout is that of the headers we were compiled with.
        unsafe { ffi::metaloc_register_callbacks(pass_builder) };
    }
}

/// Installs the detours once. False if this process is not to be observed, or cannot be.
fn observe() -> bool {
    static OBSERVED: OnceLock<bool> = OnceLock::new();
    *OBSERVED.get_or_init(|| {
        match std::env::var_os("METALOC") {
            Some(value) if value == "off" => return false,
            // Recompiled files run and nobody watches: what they print can be compared.
            Some(value) if value == "swap" => {
                drop(swap::of_environment());
                return false;
            }
            _ => {}
        }
        match detour::install() {
            Ok(()) => {
                let mut session = Session::new(std::env::var_os("METALOC_AUDIT").is_some());
                session.swap(swap::of_environment());
                landing::start(session);
                crash::install();
                // SAFETY: the handler is a plain function of a library that is never unloaded.
                unsafe { libc::atexit(report) };
                true
            }
            Err(error) => {
                eprintln!("metaloc: cannot observe this process: {error}");
                false
            }
        }
    })
}

extern "C" fn report() {
    landing::finish(Session::report);
}
