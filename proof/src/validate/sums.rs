//! Terms, sums and predicates: every term exists in the architecture, the function or the globals, and has
//! the width that its sum needs.

use super::tables::check_width;
use super::{Report, Scope};
use crate::defect::Defect;
use crate::document::Architecture;
use crate::invariant::{Extend, Place, Predicate, Region, Sum, SumTerm, Term};

pub(super) fn check_predicate(scope: &Scope, at: &str, predicate: &Predicate, report: &mut Report) {
    match predicate {
        Predicate::Zero { sum } => check_sum(scope, at, sum, report),
        Predicate::Compare { left, right, .. } => {
            check_sum(scope, at, left, report);
            check_sum(scope, at, right, report);
            if left.width_bits != right.width_bits {
                report.add(Defect::Width { at: at.to_owned(), width_bits: right.width_bits });
            }
        }
        Predicate::MemoryEqual { region, except } => {
            check_region(scope, at, region, report);
            for (offset_bytes, length_bytes) in except {
                match region {
                    Region::Global { symbol } => {
                        check_bytes(scope, at, symbol, *offset_bytes, *length_bytes, report)
                    }
                    // Offsets need a global to count from.
                    _ => report.add(Defect::OutOfGlobal {
                        at: at.to_owned(),
                        symbol: String::new(),
                        offset_bytes: *offset_bytes,
                        length_bytes: *length_bytes,
                    }),
                }
            }
        }
    }
}

pub(super) fn check_region(scope: &Scope, at: &str, region: &Region, report: &mut Report) {
    match region {
        Region::Global { symbol } => {
            check_symbol(scope, at, symbol, report);
        }
        Region::Stack => report.add(Defect::StackCompared { at: at.to_owned() }),
        Region::Rest => {}
    }
}

pub(super) fn check_sum(scope: &Scope, at: &str, sum: &Sum, report: &mut Report) {
    if !check_width(at, sum.width_bits, report) {
        return;
    }
    if !sum.constant.fits(sum.width_bits) {
        report.add(constant(at, sum.constant.to_string(), sum.width_bits));
    }
    for (number, term) in sum.terms.iter().enumerate() {
        let same = |earlier: &SumTerm| earlier.term == term.term && earlier.extend == term.extend;
        if sum.terms[..number].iter().any(same) {
            report.add(Defect::Twice { at: at.to_owned(), what: format!("term {number}") });
        }
        if term.coefficient.0 == 0 || !term.coefficient.fits(sum.width_bits) {
            report.add(constant(at, term.coefficient.to_string(), sum.width_bits));
        }
        if let Some(term_bits) = term_width(scope, at, &term.term, report) {
            check_extension(at, term.extend, term_bits, sum.width_bits, report);
        }
    }
}

fn constant(at: &str, word: String, width_bits: u32) -> Defect {
    Defect::Constant { at: at.to_owned(), word, width_bits }
}

fn check_extension(at: &str, extend: Extend, term_bits: u32, sum_bits: u32, report: &mut Report) {
    let fits = match extend {
        Extend::None => term_bits == sum_bits,
        Extend::Zero | Extend::Sign => term_bits < sum_bits,
        Extend::Truncate => term_bits > sum_bits,
    };
    if !fits {
        report.add(Defect::Extension { at: at.to_owned(), term_bits, sum_bits });
    }
}

/// Width of a term, or nothing if the term does not exist (which is then reported).
fn term_width(scope: &Scope, at: &str, term: &Term, report: &mut Report) -> Option<u32> {
    let architecture = scope.document.object.architecture;
    match term {
        Term::Machine { place } | Term::Entry { place } => {
            check_place(architecture, at, place, report).then(|| place.width_bits())
        }
        Term::Address { symbol } => {
            check_address(scope, at, symbol, report).then(|| architecture.address_bits())
        }
        Term::Global { symbol, offset_bytes, width_bits, .. } => {
            check_bytes(scope, at, symbol, *offset_bytes, u64::from(width_bits / 8), report);
            check_memory_width(at, *width_bits, report).then_some(*width_bits)
        }
        Term::Element { symbol, value, row, width_bits, .. } => {
            check_symbol(scope, at, symbol, report);
            for value in std::iter::once(value).chain(row.as_ref().map(|row| &row.value)) {
                report.index(at, "value", *value, scope.function.values.len());
            }
            check_memory_width(at, *width_bits, report).then_some(*width_bits)
        }
        Term::Value { value } => {
            let values = &scope.function.values;
            report.index(at, "value", *value, values.len()).then(|| values[*value as usize].width_bits)
        }
        Term::Fold { of, width_bits, .. } => check_fold(scope, at, of, *width_bits, report),
    }
}

/// Several parts taken together: there are some, each is a part of a state, and none is wider than the whole.
fn check_fold(scope: &Scope, at: &str, of: &[Term], width_bits: u32, report: &mut Report) -> Option<u32> {
    let mut sound = check_width(at, width_bits, report);
    if of.len() < 2 {
        report.add(Defect::Fold { at: at.to_owned() });
        sound = false;
    }
    for part in of {
        let part_bits = match part {
            Term::Machine { .. } | Term::Value { .. } => term_width(scope, at, part, report),
            _ => {
                report.add(Defect::Fold { at: at.to_owned() });
                None
            }
        };
        match part_bits {
            Some(part_bits) if part_bits > width_bits => {
                let at = at.to_owned();
                report.add(Defect::Extension { at, term_bits: part_bits, sum_bits: width_bits });
                sound = false;
            }
            known => sound &= known.is_some(),
        }
    }
    sound.then_some(width_bits)
}

fn check_place(architecture: Architecture, at: &str, place: &Place, report: &mut Report) -> bool {
    match place {
        Place::Register { name, low_bit, width_bits } => {
            let end = low_bit.checked_add(*width_bits);
            let inside = register_bits(architecture, name)
                .is_some_and(|bits| *width_bits > 0 && end.is_some_and(|end| end <= bits));
            if !inside {
                let (at, name) = (at.to_owned(), name.clone());
                report.add(Defect::Register { at, name, low_bit: *low_bit, width_bits: *width_bits });
            }
            inside
        }
        Place::StackSlot { width_bits, .. } => check_memory_width(at, *width_bits, report),
    }
}

fn check_memory_width(at: &str, width_bits: u32, report: &mut Report) -> bool {
    if width_bits.is_multiple_of(8) {
        return check_width(at, width_bits, report);
    }
    report.add(Defect::Width { at: at.to_owned(), width_bits });
    false
}

fn check_symbol(scope: &Scope, at: &str, symbol: &str, report: &mut Report) -> bool {
    let known = scope.globals().any(|global| global.symbol == symbol);
    if !known {
        report.add(Defect::UnknownGlobal { at: at.to_owned(), symbol: symbol.to_owned() });
    }
    known
}

/// An address may be that of any global of the document: its memory may be a part of the rest.
fn check_address(scope: &Scope, at: &str, symbol: &str, report: &mut Report) -> bool {
    let known = scope.document.globals.iter().any(|global| global.symbol == symbol);
    if !known {
        report.add(Defect::UnknownGlobal { at: at.to_owned(), symbol: symbol.to_owned() });
    }
    known
}

fn check_bytes(
    scope: &Scope,
    at: &str,
    symbol: &str,
    offset_bytes: u64,
    length_bytes: u64,
    report: &mut Report,
) {
    if !check_symbol(scope, at, symbol, report) {
        return;
    }
    let size_bytes =
        scope.globals().find(|global| global.symbol == symbol).map_or(0, |global| global.size_bytes);
    let inside = offset_bytes.checked_add(length_bytes).is_some_and(|end| end <= size_bytes);
    if !inside {
        let symbol = symbol.to_owned();
        report.add(Defect::OutOfGlobal { at: at.to_owned(), symbol, offset_bytes, length_bytes });
    }
}

/// Width of a whole register; nothing for names that the architecture does not have.
pub(super) fn register_bits(architecture: Architecture, name: &str) -> Option<u32> {
    const NAMED: [&str; 8] = ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"];
    let number = |prefix: &str| -> Option<u32> {
        let digits = name.strip_prefix(prefix)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        if canonical && digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
    };
    let wide = architecture == Architecture::X86_64;
    if let Some(lane_register) = number("xmm") {
        return (lane_register < if wide { 16 } else { 8 }).then_some(128);
    }
    if wide && matches!(number("r"), Some(8..=15)) {
        return Some(64);
    }
    let rest = name.strip_prefix(if wide { 'r' } else { 'e' })?;
    NAMED.contains(&rest).then(|| architecture.address_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_those_of_the_architecture() {
        let wide = |name| register_bits(Architecture::X86_64, name);
        let narrow = |name| register_bits(Architecture::I386, name);
        assert_eq!([wide("rax"), wide("r15"), wide("xmm15")], [Some(64), Some(64), Some(128)]);
        assert_eq!([narrow("eax"), narrow("xmm7")], [Some(32), Some(128)]);
        for name in ["eax", "r16", "r08", "r7", "xmm16", "xmm", "xmm+1", "", "r", "rip"] {
            assert_eq!(wide(name), None, "{name}");
        }
        assert_eq!([narrow("rax"), narrow("xmm8"), narrow("r8")], [None; 3]);
    }
}
