//! IR text is read, or refused; marks can be put into whatever is text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use metaloc_prover::ir::{Module, marks};

fuzz_target!(|text: &str| {
    let _ = Module::parse("fuzzed.ll", text);
    let _ = (marks::with_lines(text), marks::with_stops(text));
});
