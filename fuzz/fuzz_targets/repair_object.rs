//! An object is repaired with claims about all variables of its first functions, or refused; what comes out is read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use metaloc_proof::{Exact, Sum, Word};
use metaloc_repair::{Claim, FunctionClaims, FunctionCode, Object, VariableClaims, Verdict};
use std::collections::BTreeMap;

/// Functions and bytes of code of which something is claimed: a broken size must not make it slow.
const MOST_FUNCTIONS: usize = 4;
const MOST_BYTES: u64 = 256;

fuzz_target!(|bytes: &[u8]| {
    let Ok(object) = Object::parse(bytes) else { return };
    let Ok(mut codes) = object.functions() else { return };
    codes.truncate(MOST_FUNCTIONS);
    let Ok(said) = object.said(&codes) else { return };
    let value = |pc: u64| Exact {
        sum: Sum { width_bits: 32, terms: Vec::new(), constant: Word(u128::from(pc as u32)) },
        divisor: Word(1),
        signed: true,
    };
    let claims: Vec<FunctionClaims> = codes
        .iter()
        .zip(said)
        .filter_map(|(code, said)| {
            let end = code.pcs.end.min(code.pcs.start.checked_add(MOST_BYTES)?);
            let code = FunctionCode { symbol: code.symbol.clone(), pcs: code.pcs.start..end };
            let instructions: Vec<_> = (code.pcs.start..end).step_by(4).map(|pc| pc..(pc + 4).min(end)).collect();
            let all: BTreeMap<u64, Claim> = instructions
                .iter()
                .map(|range| (range.start, Claim { is: Verdict::Value(value(range.start)), grouped: false }))
                .collect();
            let variables = said?.variables.into_iter().map(|variable| VariableClaims {
                name: variable.name.clone(),
                line: variable.line,
                column: 0,
                claims: all.clone(),
            });
            Some(FunctionClaims { code, instructions: instructions.clone(), variables: variables.collect() })
        })
        .collect();
    let _ = object.repair_and_check(&claims);
});
