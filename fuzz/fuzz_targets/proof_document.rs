//! A proof is valid, or refused; one that is valid is written as it was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use metaloc_proof::Proof;

fuzz_target!(|bytes: &[u8]| {
    let Ok(proof) = Proof::from_json(bytes) else { return };
    let again = Proof::from_json(proof.to_json().as_bytes()).expect("what is written is read");
    assert_eq!(again.to_json(), proof.to_json());
});
