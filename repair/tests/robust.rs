//! Bytes that are no good object: an error, never a panic, and never a changed program.

#![allow(missing_docs)]

mod tools;

use metaloc_proof::{Exact, Sum, Word};
use metaloc_repair::mutate::{Parts, mutant};
use metaloc_repair::{Claim, FunctionClaims, FunctionCode, Object, VariableClaims, Verdict};
use tools::regress;

const OBJECTS: [(&str, &str, u64); 3] = [
    ("objects/s000-gcc12-nopic.o", "s000", 0x32),
    ("objects/s000-clang19-nopic.o", "s000", 0x79),
    ("objects/s317-gcc12-nopic.o", "s317", 0),
];

/// Claims about every variable of a function: a constant that differs from instruction to instruction.
fn claims(bytes: &[u8], symbol: &str, size: u64) -> FunctionClaims {
    let pcs = 0..if size == 0 { 0x60 } else { size };
    let code = FunctionCode { symbol: symbol.to_owned(), pcs: pcs.clone() };
    let said = Object::parse(bytes).unwrap().said(std::slice::from_ref(&code)).unwrap().remove(0).unwrap();
    assert!(!said.variables.is_empty(), "{symbol}");
    let instructions: Vec<_> = (0..pcs.end / 4).map(|number| 4 * number..4 * number + 4).collect();
    let value = |pc: u64| Exact {
        sum: Sum { width_bits: 32, terms: Vec::new(), constant: Word(u128::from(pc)) },
        divisor: Word(1),
        signed: true,
    };
    let variables = said
        .variables
        .iter()
        .map(|variable| VariableClaims {
            name: variable.name.clone(),
            line: variable.line,
            column: 0,
            claims: instructions
                .iter()
                .map(|range| (range.start, Claim { is: Verdict::Value(value(range.start)), grouped: false }))
                .collect(),
        })
        .collect();
    FunctionClaims { code, instructions, variables }
}

#[test]
fn no_claims_keep_every_byte() {
    for (path, ..) in OBJECTS {
        let bytes = std::fs::read(regress(path)).unwrap();
        let object = Object::parse(&bytes).unwrap();
        assert!(object.repair(&[]).unwrap().bytes == bytes, "{path}");
    }
}

#[test]
fn claims_about_what_is_not_there_keep_every_byte() {
    let bytes = std::fs::read(regress(OBJECTS[0].0)).unwrap();
    let mut function = claims(&bytes, "s000", 0x32);
    function.variables[0].name = "j".into();
    let repaired = Object::parse(&bytes).unwrap().repair(&[function.clone()]).unwrap();
    assert!(repaired.bytes == bytes);
    function.code.symbol = "s001".into();
    let repaired = Object::parse(&bytes).unwrap().repair(&[function]).unwrap();
    assert!(repaired.bytes == bytes && repaired.counts == [None]);
}

#[test]
fn a_second_repair_changes_nothing() {
    for (path, symbol, size) in OBJECTS {
        let bytes = std::fs::read(regress(path)).unwrap();
        let function = claims(&bytes, symbol, size);
        let once = Object::parse(&bytes).unwrap().repair(std::slice::from_ref(&function)).unwrap();
        assert!(once.bytes != bytes, "{path}");
        let twice = Object::parse(&once.bytes).unwrap().repair(&[function]).unwrap();
        assert!(twice.bytes == once.bytes, "{path}");
        assert_eq!(twice.counts[0].unwrap().updated_pcs, 0, "{path}");
    }
}

/// Pseudo-random numbers that are the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// A few of each object; `metaloc selftest objects` tries many, of more kinds.
#[test]
fn mutated_objects_are_repaired_or_refused_without_a_panic() {
    let count = 400;
    let (mut repaired, mut refused) = (0, 0);
    for (path, symbol, size) in OBJECTS {
        let bytes = std::fs::read(regress(path)).unwrap();
        let function = claims(&bytes, symbol, size);
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let parts = Parts::of(&bytes).unwrap();
        for _ in 0..count {
            let mutant = mutant(&bytes, &parts, |limit| random.below(limit));
            let outcome = Object::parse(&mutant).and_then(|object| {
                object.said(std::slice::from_ref(&function.code))?;
                object.repair_and_check(std::slice::from_ref(&function))
            });
            match outcome {
                Ok(_) => repaired += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(repaired > 0 && refused > 0, "{repaired} repaired, {refused} refused");
}

/// In a build that checks arithmetic: what fuzzing has found stays mended.
#[test]
fn objects_that_fuzzing_found_do_no_harm() {
    let mut count = 0;
    for file in std::fs::read_dir(regress("objects/broken")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let asked = Object::parse(&bytes).and_then(|object| {
            let said = object.said(&object.functions()?)?;
            Ok(said.len())
        });
        // Refused or not: it comes back.
        drop(asked);
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn what_is_not_rewritten_is_refused_by_name() {
    let folder = tools::Folder::new();
    let source = folder.write("t.c", b"int f(int n) { int k = n * 2; return k + n; }");
    let refused = |flags: &[&str]| {
        let object = folder.compile("gcc-12", flags, &source, "t.o");
        let bytes = std::fs::read(object).unwrap();
        let code = FunctionCode { symbol: "f".into(), pcs: 0..4 };
        Object::parse(&bytes).and_then(|object| object.said(&[code]).map(drop)).unwrap_err().to_string()
    };
    assert!(refused(&["-O2", "-g", "-gz"]).contains("compressed section .debug"));
    assert!(refused(&["-O2", "-g", "-gsplit-dwarf"]).contains("split"));
    assert!(refused(&["-O2"]).contains("without .debug_info"));
    assert!(refused(&["-O2", "-g", "-gdwarf64"]).contains("64-bit DWARF"));
    assert!(Object::parse(b"no ELF").err().unwrap().to_string().contains("no ELF file"));
}
