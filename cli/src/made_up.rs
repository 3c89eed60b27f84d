//! Claims that no proof makes: to try how debug information is rewritten, not what is written.

use std::collections::BTreeMap;

use metaloc_proof::{Exact, Extend, Place, Sum, SumTerm, Term, Word};
use metaloc_repair::elf::Machine;
use metaloc_repair::{Claim, FunctionClaims, FunctionCode, Said, VariableClaims, Verdict};

/// Claims about all variables of a function: a constant, a register, an address or that the old value is wrong, another
/// one every `step` bytes.
pub fn claims(code: &FunctionCode, said: &Said, machine: Machine, step: usize) -> FunctionClaims {
    let starts = (code.pcs.start..code.pcs.end).step_by(step);
    let instructions: Vec<_> = starts.map(|start| start..(start + step as u64).min(code.pcs.end)).collect();
    let variables = said.variables.iter().map(|variable| {
        let claims: BTreeMap<u64, Claim> = instructions
            .iter()
            .enumerate()
            .map(|(number, range)| {
                (range.start, Claim { is: verdict(number, code, machine), grouped: false })
            })
            .collect();
        VariableClaims { name: variable.name.clone(), line: variable.line, column: 0, claims }
    });
    FunctionClaims { code: code.clone(), instructions: instructions.clone(), variables: variables.collect() }
}

fn verdict(number: usize, code: &FunctionCode, machine: Machine) -> Verdict {
    let width_bits = u32::from(machine.address_bytes()) * 8;
    let term = match number % 4 {
        0 => None,
        1 => Some(Term::Address { symbol: code.symbol.clone() }),
        2 => {
            let name = if width_bits == 64 { "rax" } else { "eax" }.to_owned();
            Some(Term::Machine { place: Place::Register { name, low_bit: 0, width_bits } })
        }
        _ => return Verdict::Refuted,
    };
    let term = term.map(|term| SumTerm { coefficient: Word(1), term, extend: Extend::None });
    let sum = Sum { width_bits, terms: term.into_iter().collect(), constant: Word(number as u128) };
    Verdict::Value(Exact { sum, divisor: Word(1), signed: true })
}
