//! What floating point in IR means, judged by compiled code: every operation of both formats on corner values, numbers
//! passed as the integers of their bits.

mod judging;

use judging::{Random, Unit};
use metaloc_prover::native::Input;
use std::cell::RefCell;
use std::fmt::Write;

const PREDICATES: [&str; 16] = [
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
];

/// One function per operation and format.
fn operations() -> String {
    let mut text = String::from(
        "target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
         target triple = \"x86_64-pc-linux-gnu\"\n",
    );
    for (of, bits) in [("float", 32), ("double", 64)] {
        let short = if bits == 32 { "f32" } else { "f64" };
        for name in ["fabs", "sqrt"] {
            let _ = writeln!(text, "declare {of} @llvm.{name}.{short}({of})");
        }
        let _ = writeln!(text, "declare {of} @llvm.fmuladd.{short}({of}, {of}, {of})");
        let numbers = |count: usize| -> (String, String) {
            let names = ["a", "b", "c"].into_iter().take(count);
            let parameters: Vec<String> = names.clone().map(|name| format!("i{bits} %{name}")).collect();
            let read: String =
                names.map(|name| format!("  %{name}.f = bitcast i{bits} %{name} to {of}\n")).collect();
            (parameters.join(", "), read)
        };
        let mut define = |name: &str, count: usize, result: &str, body: &str| {
            let (parameters, read) = numbers(count);
            let _ = writeln!(
                text,
                "define {result} @{name}_{bits}({parameters}) {{\n{read}{body}  ret {result} %r\n}}"
            );
        };
        let back = format!("  %r = bitcast {of} %x to i{bits}\n");
        let integer = format!("i{bits}");
        for operator in ["fadd", "fsub", "fmul", "fdiv"] {
            define(operator, 2, &integer, &format!("  %x = {operator} {of} %a.f, %b.f\n{back}"));
        }
        define("fneg", 1, &integer, &format!("  %x = fneg {of} %a.f\n{back}"));
        for name in ["fabs", "sqrt"] {
            define(name, 1, &integer, &format!("  %x = call {of} @llvm.{name}.{short}({of} %a.f)\n{back}"));
        }
        let fused =
            format!("  %x = call {of} @llvm.fmuladd.{short}({of} %a.f, {of} %b.f, {of} %c.f)\n{back}");
        define("fmuladd", 3, &integer, &fused);
        define("constant", 1, &integer, &format!("  %x = fdiv {of} %a.f, 0x3FB99999A0000000\n{back}"));
        for predicate in PREDICATES {
            define(predicate, 2, "i1", &format!("  %r = fcmp {predicate} {of} %a.f, %b.f\n"));
        }
        for to in [32, 64] {
            define(
                &format!("fptosi_{to}"),
                1,
                &format!("i{to}"),
                &format!("  %r = fptosi {of} %a.f to i{to}\n"),
            );
        }
        let other = if bits == 32 { ("fpext", "double", 64) } else { ("fptrunc", "float", 32) };
        let converted = format!(
            "  %x = {} {of} %a.f to {}\n  %r = bitcast {} %x to i{}\n",
            other.0, other.1, other.1, other.2
        );
        define(other.0, 1, &format!("i{}", other.2), &converted);
        for from in [1, 8, 16, 32, 64] {
            let _ = writeln!(
                text,
                "define i{bits} @sitofp_{from}_{bits}(i{from} %a) {{\n  %x = sitofp i{from} %a to {of}\n{back}  ret i{bits} %r\n}}"
            );
            if from < 64 {
                let _ = writeln!(
                    text,
                    "define i{bits} @uitofp_{from}_{bits}(i{from} %a) {{\n  %x = uitofp i{from} %a to {of}\n{back}  ret i{bits} %r\n}}"
                );
            }
        }
    }
    text
}

const SINGLES: [u32; 12] = [
    0,
    1,
    0x3f80_0000,
    0x3fc0_0000,
    0x4f00_0000,
    0x4eff_ffff,
    0x5f00_0000,
    0x7f7f_ffff,
    0x7f80_0000,
    0x7f80_0001,
    0x7fc0_0000,
    0x7fc0_1234,
];

/// A number at a corner, of either format.
fn corner(random: &mut Random) -> u64 {
    let drawn = random.next();
    let single = SINGLES[drawn as usize % SINGLES.len()] | (drawn >> 32) as u32 & 0x8000_0000;
    match drawn >> 61 {
        0 => random.next(),
        1 => random.corner(),
        2 | 3 => f64::from(f32::from_bits(single)).to_bits(),
        // A NaN of 64 bits with a payload.
        4 => 0x7ff0_0000_0000_0000 | drawn & 0x800f_0000_0000_ffff | 1,
        _ => u64::from(single),
    }
}

#[test]
fn every_operation_is_what_compiled_code_does() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("floats.ll");
    std::fs::write(&source, operations()).unwrap();
    let unit = Unit::new(&source, &[], folder.path());
    let random = RefCell::new(Random(5));
    let tallies = unit.judge_all(600, &|input: &mut Input| {
        let mut random = random.borrow_mut();
        let of_an_integer = input.function.contains("itofp");
        input
            .arguments
            .iter_mut()
            .filter(|_| !of_an_integer)
            .for_each(|argument| *argument = corner(&mut random));
        // Equal operands.
        if random.next().is_multiple_of(4) && !of_an_integer {
            input.arguments[1] = input.arguments[0];
        }
    });
    assert!(tallies.len() >= 2 * (9 + 16 + 3 + 9), "{}", tallies.len());
    for (name, tally) in &tallies {
        assert!(tally.wrong.is_empty(), "{name}: {:?}", &tally.wrong[..tally.wrong.len().min(5)]);
        assert!(tally.same >= 500, "{name}: {tally:?}");
    }
}
