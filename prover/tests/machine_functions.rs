//! Graphs of machine code, judged by running it: small C functions compiled by both compilers at three levels, for
//! x86-64 and, where such programs run, for i386. Unlike the kernels these use the stack, narrow types, division,
//! shifts and structs.

mod judging;

use judging::{Random, input, object, tally};
use metaloc_prover::expr::Arena;
use metaloc_prover::ir::{Global, Module, compile};
use metaloc_prover::lift::lift;
use metaloc_prover::native::{Input, Native, Ran, Side, judge};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::source::{self, SourceFunction};
use std::path::{Path, PathBuf};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/judging/functions.c");

/// Functions whose graphs agreed, and why others have none.
#[derive(Debug, Default)]
struct Result {
    agreed: usize,
    refused: Vec<String>,
}

fn judge_object(compiler: &Path, level: &str, mode: &str) -> Result {
    let folder = tempfile::tempdir().unwrap();
    let text = compile::text(judging::llvm(), Path::new(SOURCE), &["-fwrapv".into(), mode.into()]).unwrap();
    let module = Module::parse(SOURCE, &text).unwrap();
    let flags = [level, mode, "-fwrapv", "-fno-strict-aliasing", "-fno-builtin", "-fno-pic", "-fno-inline"];
    let flags: Vec<String> = flags
        .iter()
        .chain(&["-fno-jump-tables", "-fcf-protection=none", "-w"])
        .map(ToString::to_string)
        .collect();
    let object = object(compiler, Path::new(SOURCE), &flags, folder.path());
    let file = ObjectFile::parse("functions.o", &std::fs::read(&object).unwrap()).unwrap();
    let globals: Vec<Global> =
        module.globals.iter().filter(|global| global.constant.is_none()).cloned().collect();
    let names: Vec<String> = module.functions().iter().map(|function| function.name.clone()).collect();
    let bits = module.layout.pointer_bits;
    let clang = judging::llvm().clang().unwrap();
    let native = Native::link(clang, bits, &[object], &globals, &names).unwrap();
    let mut result = Result::default();
    for function in module.functions() {
        let mut arena = Arena::new();
        let code = file.function(&function.name).unwrap();
        let graph = match lift(&mut arena, code) {
            Ok(graph) => graph,
            Err(error) => {
                result.refused.push(format!("{}: {error}", function.name));
                continue;
            }
        };
        let source = source::lower(&mut Arena::new(), &module, function).unwrap();
        let inputs = defined_inputs(&module, &source, &function.name, &native);
        let returns_bits = source.returns_bits.filter(|returned| *returned <= bits);
        let side = Side::Machine(&graph, code);
        let ran = judge(&mut arena, side, returns_bits, &native, &inputs, 20_000).unwrap();
        let tally = tally(&inputs, &ran);
        assert!(
            tally.wrong.is_empty(),
            "{} {compiler:?} {level} {mode}: {:?}",
            function.name,
            tally.wrong[0]
        );
        assert!(tally.same > 5, "{} {compiler:?} {level} {mode}: {tally:?}", function.name);
        result.agreed += 1;
    }
    result
}

/// Inputs on which the source does nothing undefined: the code is free to do anything on the others.
fn defined_inputs(module: &Module, source: &SourceFunction, name: &str, native: &Native) -> Vec<Input> {
    let mut random = Random(name.bytes().fold(3, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte)));
    let inputs: Vec<Input> = (0..60).map(|_| input(&mut random, name, source, native)).collect();
    let mut arena = Arena::new();
    let again = source::lower(&mut arena, module, module.function(name).unwrap()).unwrap();
    let ran = judge(&mut arena, Side::Source(&again), again.returns_bits, native, &inputs, 100_000).unwrap();
    let defined = |ran: &Ran| !matches!(ran, Ran::Undefined(_));
    inputs.into_iter().zip(&ran).filter(|(_, ran)| defined(ran)).map(|(input, _)| input).collect()
}

fn judge_mode(mode: &str) {
    let clang = judging::llvm().clang().unwrap().to_owned();
    for compiler in [PathBuf::from("gcc-12"), clang] {
        for level in ["-O0", "-O1", "-O2"] {
            let result = judge_object(&compiler, level, mode);
            println!("{compiler:?} {level} {mode}: {result:?}");
            assert!(result.agreed >= 30, "{compiler:?} {level} {mode}: {result:?}");
        }
    }
}

#[test]
fn graphs_of_64_bit_code_do_what_it_does() {
    judge_mode("-m64");
}

#[test]
fn graphs_of_32_bit_code_do_what_it_does() {
    if judging::runs_32_bit_programs() {
        judge_mode("-m32");
    }
}
