//! Where new lists go: verifiers find no hole among them, whatever units have lists already.

#![allow(missing_docs)]

mod tools;

use metaloc_proof::{Exact, Sum, Word};
use metaloc_repair::{Claim, FunctionClaims, FunctionCode, Object, Said, VariableClaims, Verdict};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tools::{Folder, nothing_new_of_dwarfdump, nothing_new_of_readelf, verified};

/// Without lists at -O0.
const PLAIN: &str = "int NAME(int n) { int twice = 2 * n; return twice + 1; }";
/// With lists, and a constant without one.
const LISTED: &str = "int g(int);
int NAME(int n) { int s = 0, k = 3; for (int i = 0; i < n; i++) { int t = g(i); s += k * t; } return s; }";
/// In C++, with lists that clang does not have in the order of entries: those of a name space are together.
const MIXED: &str = "extern \"C\" int g(int);
namespace NAME { int first() { return 1; } }
extern \"C\" int outer(int n) { int s = 0; for (int i = 0; i < n; i++) { int t = g(i); s += 3 * t; } return s; }
namespace NAME { extern \"C\" int second(int n) {
    int s = 0; for (int i = 0; i < n; i++) { int t = g(i); s += 5 * t; } return s; } }";

/// All that is claimed: constants that differ within the function, or that all that is said is wrong.
fn claims(object: &Object, code: &FunctionCode, refuted: bool) -> FunctionClaims {
    let said = said(object, code);
    let middle = (code.pcs.start + code.pcs.end) / 2;
    let instructions = vec![code.pcs.start..middle, middle..code.pcs.end];
    let claim = |pc: u64| {
        let is = if refuted { Verdict::Refuted } else { Verdict::Value(constant(pc)) };
        (pc, Claim { is, grouped: false })
    };
    let variables = said.variables.iter().map(|variable| VariableClaims {
        name: variable.name.clone(),
        line: variable.line,
        column: 0,
        claims: instructions.iter().map(|range| claim(range.start)).collect(),
    });
    FunctionClaims { code: code.clone(), variables: variables.collect(), instructions: instructions.clone() }
}

fn constant(pc: u64) -> Exact {
    Exact {
        sum: Sum { width_bits: 32, terms: Vec::new(), constant: Word(u128::from(pc)) },
        divisor: Word(1),
        signed: true,
    }
}

fn said(object: &Object, code: &FunctionCode) -> Said {
    object.said(std::slice::from_ref(code)).unwrap().remove(0).unwrap()
}

/// What is said of each variable at each pc: whether anything, and which value.
fn all_said(object: &Object, code: &FunctionCode) -> Vec<(String, u64, bool, Option<Exact>)> {
    let variables = said(object, code).variables;
    let visible = |pc: u64| {
        let there = variables.iter().filter(move |variable| variable.is_visible(pc));
        there.map(move |variable| (variable.name.clone(), pc, variable.is_there(pc), variable.value(pc, 32)))
    };
    code.pcs.clone().flat_map(visible).collect()
}

/// A program of units with lists and units without.
fn program(folder: &Folder, compiler: &str, dwarf: &str) -> PathBuf {
    let unit = |name: &str, text: &str, flags: &[&str]| {
        let source = folder.write(&format!("{name}.c"), text.replace("NAME", name).as_bytes());
        folder.compile(compiler, &[&[dwarf], flags].concat(), &source, &format!("{name}.o"))
    };
    let units = [
        unit("c", PLAIN, &["-O0"]),
        unit("a", LISTED, &["-O1"]),
        unit("b", PLAIN, &["-O0"]),
        unit("g", PLAIN, &["-O0"]),
        unit("d", LISTED, &["-O1"]),
        unit("e", PLAIN, &["-O0"]),
        unit("n", MIXED, &["-O1", "-x", "c++"]),
        unit("f", PLAIN, &["-O0"]),
        unit("main", LISTED, &["-O1"]),
        unit("h", PLAIN, &["-O0"]),
    ];
    folder.link(compiler, &[], &units.iter().map(PathBuf::as_path).collect::<Vec<_>>())
}

/// Repairs some functions, or refutes all that is said of them. Verifiers find nothing new, those functions say what
/// was claimed, and the others what they said.
fn check(
    folder: &Folder,
    input: &Path,
    verified: Option<&[String]>,
    cases: &[(&[&str], bool)],
    own: &[&str],
) {
    let bytes = std::fs::read(input).unwrap();
    let object = Object::parse(&bytes).unwrap();
    // Those of the C runtime are not ours.
    let mut codes = object.functions().unwrap();
    codes.retain(|code| own.contains(&code.symbol.as_str()));
    assert_eq!(codes.len(), own.len());
    for (wanted, refuted) in cases {
        let case = format!("{}: {wanted:?}, refuted: {refuted}", input.display());
        println!("{case}");
        let (chosen, others): (Vec<_>, Vec<_>) =
            codes.iter().partition(|code| wanted.contains(&code.symbol.as_str()));
        let claimed: Vec<_> = chosen.iter().map(|code| claims(&object, code, *refuted)).collect();
        let repaired = object.repair(&claimed).unwrap();
        assert!(repaired.bytes != bytes, "{case}");
        let output = folder.write("repaired", &repaired.bytes);
        nothing_new_of_readelf(input, &output);
        nothing_new_of_dwarfdump(verified, &output);
        let after = Object::parse(&repaired.bytes).unwrap();
        for code in others {
            assert_eq!(all_said(&after, code), all_said(&object, code), "{case}: {}", code.symbol);
        }
        for (code, claimed) in chosen.iter().zip(&claimed) {
            for (name, pc, is_there, value) in all_said(&after, code) {
                let start = claimed.instructions.iter().find(|range| range.contains(&pc)).unwrap().start;
                assert_eq!(is_there, !refuted, "{case}: {name} of {} at {pc:#x}", code.symbol);
                assert!(*refuted || value == Some(constant(start)), "{case}: {name} at {pc:#x}: {value:?}");
            }
        }
        // What was taken away can be said again, and the other way round, of what had nothing to begin with, too.
        let again: Vec<_> = codes.iter().map(|code| claims(&after, code, !refuted)).collect();
        let output = folder.write("repaired-again", &after.repair(&again).unwrap().bytes);
        nothing_new_of_readelf(input, &output);
    }
}

const COMPILERS: [(&str, &str); 4] =
    [("gcc-12", "-gdwarf-4"), ("clang-19", "-gdwarf-4"), ("gcc-12", "-gdwarf-5"), ("clang-19", "-gdwarf-5")];

#[test]
fn lists_of_a_unit_go_between_those_of_the_units_around_it() {
    for (compiler, dwarf) in COMPILERS {
        let folder = Folder::new();
        let program = program(&folder, compiler, dwarf);
        let own = ["c", "a", "b", "g", "d", "e", "outer", "second", "f", "main", "h"];
        let verified = verified(&program, Duration::from_secs(10));
        assert!(compiler == "gcc-12" || verified.is_some(), "{compiler} {dwarf}");
        let cases = [
            (&["b"][..], false),
            (&["c"], false),
            (&["b", "g"], false),
            (&["e", "f", "h"], false),
            (&["c", "e", "second", "f"], false),
            (&own, false),
            (&["a"], true),
            (&["outer", "main"], true),
            (&["a", "d", "outer", "second", "main"], true),
        ];
        check(&folder, &program, verified.as_deref(), &cases, &own);
    }
}

#[test]
fn lists_of_an_object_leave_no_hole_when_all_they_said_is_wrong() {
    for (compiler, dwarf) in COMPILERS {
        let folder = Folder::new();
        let source = folder.write("n.cc", MIXED.replace("NAME", "n").as_bytes());
        let object = folder.compile(compiler, &[dwarf, "-O1"], &source, "n.o");
        let verified = verified(&object, Duration::from_secs(10));
        assert!(compiler == "gcc-12" || verified.is_some(), "{compiler} {dwarf}");
        let own = ["outer", "second"];
        let cases = [
            (&["outer"][..], true),
            (&["second"], true),
            (&own, true),
            (&["outer"], false),
            (&["second"], false),
            (&own, false),
        ];
        check(&folder, &object, verified.as_deref(), &cases, &own);
    }
}
