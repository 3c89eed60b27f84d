//! The functions that the shim calls, one per kind of event. Each lands and hands over to the session.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::ffi::{Ptr, RawUnit, Str};
use crate::landing::land;

/// Not zero once a pass has begun: before that, hooks return at once. The shim reads it as a plain word.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "a C name")]
static metaloc_observing: AtomicU32 = AtomicU32::new(0);

fn observing() -> bool {
    metaloc_observing.load(Ordering::Relaxed) != 0
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_create(inst: Ptr, opcode: u32, frame: *const c_void) {
    land(|session, runs| session.on_create(runs, inst, opcode, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_clone(inst: Ptr, source: Ptr, frame: *const c_void) {
    land(|session, runs| session.on_clone(runs, inst, source, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_insert(inst: Ptr, frame: *const c_void) {
    land(|session, runs| session.on_insert(runs, inst, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_insert_after(inst: Ptr, after: Ptr) {
    land(|session, runs| session.on_insert_after(runs, inst, after));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_remove(inst: Ptr) {
    land(|session, runs| session.on_remove(runs, inst));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_transfer(insts: *const Ptr, count: usize, from: Ptr, frame: *const c_void) {
    // SAFETY: the shim passes a local array and its length.
    let insts = unsafe { std::slice::from_raw_parts(insts, count) };
    land(|session, runs| session.on_transfer(runs, insts, from, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_replace(old: Ptr, new: Ptr, all: bool, frame: *const c_void) {
    land(|session, runs| session.on_replace(runs, old, new, all, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_erase(inst: Ptr) {
    if observing() {
        land(|session, runs| session.on_erase(runs, inst));
    }
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_take_name(inst: Ptr) {
    land(|session, runs| session.on_take_name(runs, inst));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_set_location(inst: Ptr, location: Ptr, frame: *const c_void) {
    land(|session, runs| session.on_set_location(runs, inst, location, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_merge_location(inst: Ptr, a: Ptr, b: Ptr, frame: *const c_void) {
    land(|session, runs| session.on_merge_location(runs, inst, a, b, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_drop_location(inst: Ptr, after_hoist: bool, frame: *const c_void) {
    land(|session, runs| session.on_drop_location(runs, inst, after_hoist, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_block_insert(block: Ptr) {
    if observing() {
        land(|session, runs| session.on_block_insert(runs, block));
    }
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_block_remove(block: Ptr) {
    if observing() {
        land(|session, runs| session.on_block_remove(runs, block));
    }
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_block_erase(block: Ptr) {
    if observing() {
        land(|session, _| session.mirrors.erase_block(block));
    }
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_function_erase(function: Ptr) {
    if observing() {
        land(|session, _| session.mirrors.erase_function(function));
    }
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_context_erase(context: Ptr) {
    if observing() {
        land(|session, _| session.locations.forget(context));
    }
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_pass_begin(class: Str, pass: Str, unit: *const RawUnit, frame: *const c_void) {
    metaloc_observing.store(1, Ordering::Relaxed);
    // SAFETY: the shim passes local arrays, and strings of the pass manager.
    let (unit, class, pass) = unsafe { ((*unit).get(), class.text(), pass.text()) };
    land(|session, runs| session.begin(runs, &class, &pass, &unit, frame));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_module(module: Ptr) {
    metaloc_observing.store(1, Ordering::Relaxed);
    land(|session, _| session.on_module(module));
}

#[unsafe(no_mangle)]
extern "C" fn metaloc_on_pass_end(all_preserved: bool, cfg_preserved: bool) {
    land(|session, runs| session.end(runs, all_preserved, cfg_preserved));
}
