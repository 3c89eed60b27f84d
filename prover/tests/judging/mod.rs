//! Compiled code as judge of graphs: compiling, random inputs, counting.
#![allow(dead_code)] // Each test program uses its part.

use metaloc_prover::expr::Arena;
use metaloc_prover::ir::{Extension, Global, Module, compile};
use metaloc_prover::native::{ARGUMENTS, Input, Native, Ran, Side, judge};
use metaloc_prover::source::{self, SourceFunction};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::llvm::Which;
use metaloc_toolchain::process::Task;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The LLVM that makes the IR.
pub fn llvm() -> &'static Llvm {
    static FOUND: OnceLock<Llvm> = OnceLock::new();
    FOUND.get_or_init(|| Llvm::find(&Which::Number(19), None).expect("LLVM 19 is installed (./test does)"))
}

/// Whether there is a C library for i386 and a kernel that runs such programs; says so if not.
pub fn runs_32_bit_programs() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("f.c"), folder.path().join("f"));
    std::fs::write(&source, "#include <stdio.h>\nint main(void) { return puts(\"\") < 0; }").unwrap();
    let compiled = Task::new("gcc-12").arg("-m32").arg(&source).arg("-o").arg(&program).run();
    let runs = compiled.is_ok_and(|outcome| outcome.exit.success())
        && Task::new(&program).run().is_ok_and(|outcome| outcome.exit.success());
    if !runs {
        eprintln!("skipped: no 32-bit programs here (packages gcc-multilib and libc6-dev-i386)");
    }
    runs
}

/// Compiles a file to an object.
pub fn object(compiler: &Path, source: &Path, flags: &[String], folder: &Path) -> PathBuf {
    let to = folder.join(source.file_stem().unwrap()).with_extension("o");
    let outcome = Task::new(compiler).args(flags).arg("-c").arg(source).arg("-o").arg(&to).run().unwrap();
    assert!(outcome.exit.success(), "{}", outcome.stderr_text());
    to
}

/// A source of numbers that look random.
pub struct Random(pub u64);

impl Random {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number that is often at a corner of some width.
    pub fn corner(&mut self) -> u64 {
        let picked = self.next();
        let base = match picked % 8 {
            0 => return self.next(),
            1 | 2 => picked >> 32 & 0x7f,
            3 => 0,
            4 => 1 << (picked >> 8 & 63),
            5 => u64::MAX << (picked >> 8 & 63),
            6 => [0x7f, 0x7fff, 0x7fff_ffff, i64::MAX as u64][(picked >> 8 & 3) as usize],
            _ => (picked as i32) as u64,
        };
        base.wrapping_add((picked >> 40) % 3).wrapping_sub(1)
    }
}

/// How runs ended.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Same result as the compiled function.
    pub same: usize,
    /// Undefined in the source.
    pub undefined: usize,
    /// Anything else, described.
    pub wrong: Vec<String>,
}

/// A translation unit with its compiled form.
pub struct Unit {
    /// Its IR.
    pub module: Module,
    /// Its functions, compiled.
    pub native: Native,
}

impl Unit {
    /// Compiles a C or IR file, as given and at -O0.
    pub fn new(source: &Path, flags: &[&str], folder: &Path) -> Unit {
        let llvm = llvm();
        let flags: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
        let text = compile::text(llvm, source, &flags).unwrap();
        let module = Module::parse(&source.display().to_string(), &text).unwrap();
        let clang = llvm.clang().unwrap();
        let plain: Vec<String> = [vec!["-O0".to_owned(), "-w".to_owned()], flags].concat();
        let object = object(clang, source, &plain, folder);
        let globals: Vec<Global> =
            module.globals.iter().filter(|global| global.constant.is_none()).cloned().collect();
        let names: Vec<String> = module.functions().iter().map(|function| function.name.clone()).collect();
        let native = Native::link(clang, module.layout.pointer_bits, &[object], &globals, &names).unwrap();
        Unit { module, native }
    }

    /// Runs every function on random inputs.
    pub fn judge_all(&self, inputs: usize, adjust: &dyn Fn(&mut Input)) -> BTreeMap<String, Tally> {
        let mut tallies = BTreeMap::new();
        for function in self.module.functions() {
            let mut arena = Arena::new();
            let source = source::lower(&mut arena, &self.module, function)
                .unwrap_or_else(|error| panic!("{}: {error}", function.name));
            let mut random = Random(
                function.name.bytes().fold(7, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte)),
            );
            let inputs: Vec<Input> = (0..inputs)
                .map(|_| {
                    let mut input = input(&mut random, &function.name, &source, &self.native);
                    adjust(&mut input);
                    input
                })
                .collect();
            let side = Side::Source(&source);
            let ran = judge(&mut arena, side, source.returns_bits, &self.native, &inputs, 100_000).unwrap();
            tallies.insert(function.name.clone(), tally(&inputs, &ran));
        }
        tallies
    }
}

/// Counts how runs ended.
pub fn tally(inputs: &[Input], ran: &[Ran]) -> Tally {
    let mut tally = Tally::default();
    for (input, ran) in inputs.iter().zip(ran) {
        match ran {
            Ran::Same => tally.same += 1,
            Ran::Undefined(_) => tally.undefined += 1,
            other => tally.wrong.push(format!("{:x?}: {other:x?}", input.arguments)),
        }
    }
    tally
}

/// Arguments as a caller passes them, and memory.
pub fn input(random: &mut Random, function: &str, source: &SourceFunction, native: &Native) -> Input {
    let mut arguments = [0; ARGUMENTS];
    for (argument, parameter) in arguments.iter_mut().zip(&source.parameters) {
        let (value, unused) = (random.corner(), 64 - parameter.width_bits);
        // Above 32 bits the ABI promises nothing, and below it only what is stated.
        let narrow = match parameter.extension {
            Extension::None => value,
            Extension::Zero => value << unused >> unused & 0xffff_ffff,
            Extension::Sign => (((value << unused) as i64 >> unused) as u64) & 0xffff_ffff,
        };
        let promised = parameter.width_bits.max(32);
        *argument = if promised < 64 { narrow ^ (random.next() << promised) } else { narrow };
    }
    let memory = native.globals().iter().map(|placed| {
        let words = placed.global.size_bytes.div_ceil(8);
        let bytes: Vec<u8> = (0..words).flat_map(|_| random.corner().to_le_bytes()).collect();
        bytes[..placed.global.size_bytes as usize].to_vec()
    });
    Input { function: function.to_owned(), arguments, memory: memory.collect() }
}
