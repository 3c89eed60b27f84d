//! An object is read for its functions, or refused.

#![no_main]

use libfuzzer_sys::fuzz_target;
use metaloc_prover::object_file::ObjectFile;

fuzz_target!(|bytes: &[u8]| {
    let _ = ObjectFile::parse("fuzzed.o", bytes);
});
