//! Where new lists go: verifiers find no hole among them, whatever units have lists already.

#![allow(missing_docs)]

mod tools;

use metaloc_proof::{Exact, Sum, Word};
use metaloc_repair::{Claim, FunctionClaims, FunctionCode, Object, VariableClaims, Verdict};
use tools::{Folder, nothing_new_of_readelf};

/// Without lists at -O0.
const PLAIN: &str = "int NAME(int n) { int twice = 2 * n; return twice + 1; }";
/// With lists.
const LISTED: &str = "int g(int);
int NAME(int n) { int s = 0; for (int i = 0; i < n; i++) { int t = g(i); s += 3 * t; } return s; }";

/// Constants that differ within the function.
fn claims(object: &Object, code: &FunctionCode) -> FunctionClaims {
    let said = object.said(std::slice::from_ref(code)).unwrap().remove(0).unwrap();
    let middle = (code.pcs.start + code.pcs.end) / 2;
    let instructions = vec![code.pcs.start..middle, middle..code.pcs.end];
    let value = |pc: u64| Exact {
        sum: Sum { width_bits: 32, terms: Vec::new(), constant: Word(u128::from(pc)) },
        divisor: Word(1),
        signed: true,
    };
    let claim = |pc: u64| (pc, Claim { is: Verdict::Value(value(pc)), grouped: false });
    let variables = said.variables.iter().map(|variable| VariableClaims {
        name: variable.name.clone(),
        line: variable.line,
        column: 0,
        claims: instructions.iter().map(|range| claim(range.start)).collect(),
    });
    FunctionClaims { code: code.clone(), variables: variables.collect(), instructions: instructions.clone() }
}

#[test]
fn first_lists_of_a_unit_go_before_those_of_the_units_that_follow() {
    for (compiler, dwarf) in [("gcc-12", 4), ("clang-19", 4)] {
        let folder = Folder::new();
        let dwarf = format!("-gdwarf-{dwarf}");
        let unit = |name: &str, text: &str, level: &str| {
            let source = folder.write(&format!("{name}.c"), text.replace("NAME", name).as_bytes());
            folder.compile(compiler, &[&dwarf, level], &source, &format!("{name}.o"))
        };
        let units = [
            unit("a", LISTED, "-O1"),
            unit("b", PLAIN, "-O0"),
            unit("g", PLAIN, "-O0"),
            unit("d", LISTED, "-O1"),
            unit("e", PLAIN, "-O0"),
            unit("main", LISTED, "-O1"),
            unit("h", PLAIN, "-O0"),
        ];
        let inputs: Vec<_> = units.iter().map(|unit| unit.as_path()).collect();
        let program = folder.link(compiler, &[], &inputs);
        let bytes = std::fs::read(&program).unwrap();
        let object = Object::parse(&bytes).unwrap();
        let codes = object.functions().unwrap();
        for wanted in [&["b"][..], &["b", "g"], &["e", "h"], &["a", "b", "g", "d", "e", "main", "h"]] {
            let chosen: Vec<_> = codes
                .iter()
                .filter(|code| wanted.contains(&code.symbol.as_str()))
                .map(|code| claims(&object, code))
                .collect();
            assert_eq!(chosen.len(), wanted.len());
            let repaired = object.repair(&chosen).unwrap();
            assert!(repaired.bytes != bytes, "{compiler} {dwarf} {wanted:?}");
            // Not `llvm-dwarfdump-19 --verify`: it does not end on some of gcc-12's inputs.
            nothing_new_of_readelf(&program, &folder.write("repaired", &repaired.bytes));
        }
    }
}
