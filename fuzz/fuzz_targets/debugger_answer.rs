//! A line from a debugger is an answer, or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use metaloc_tracer::protocol;

fuzz_target!(|line: &[u8]| {
    let _ = protocol::parse(line);
});
