//! The kernels of `regress/kernels`, compiled and made into graphs.
#![allow(dead_code)] // Each program uses its part.

use crate::judging::{self, Random, Tally};
use metaloc_prover::expr::Arena;
use metaloc_prover::ir::{Global, Module, compile};
use metaloc_prover::native::{Input, Native, Side, judge};
use metaloc_prover::object_file::{FunctionCode, ObjectFile};
use metaloc_prover::pair::{Pair, PairError, pair};
use metaloc_prover::region::Partition;
use std::path::{Path, PathBuf};

pub use metaloc_corpus::kernels::{Configuration, Kernel};

/// Folder of the kernels.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/kernels")
}

/// All of them.
pub fn all() -> Vec<Kernel> {
    metaloc_corpus::kernels::all(&folder()).unwrap()
}

/// All compilers and flags.
pub fn configurations() -> Vec<Configuration> {
    Configuration::all(judging::llvm()).unwrap()
}

/// What became of a kernel.
pub enum Outcome {
    /// Both sides are graphs.
    Graphs {
        /// Whether all memory but the frame is one region.
        merged: bool,
        /// Runs of each side.
        tallies: Vec<(&'static str, Tally)>,
    },
    /// A side is not, and why.
    Refused(&'static str, String),
}

/// An object of a file, compiled as a configuration says.
pub fn object(configuration: &Configuration, code: &Path, folder: &Path) -> PathBuf {
    judging::object(&configuration.compiler, code, &configuration.flags, folder)
}

/// Compiles a kernel and makes graphs of it; runs them if asked to.
pub fn try_kernel(configuration: &Configuration, kernel: &Kernel, run: bool) -> Outcome {
    try_with(configuration, kernel, run, &kernel.path)
}

/// The same with machine code from another file.
pub fn try_with(configuration: &Configuration, kernel: &Kernel, run: bool, code: &Path) -> Outcome {
    let llvm = judging::llvm();
    let folder = tempfile::tempdir().unwrap();
    let small: &[String] = if run { &kernel.small } else { &[] };
    let defines = [kernel.defines.clone(), small.to_vec()].concat();
    let with = |flags: &[String]| [flags.to_vec(), defines.clone()].concat();
    let text = compile::text(llvm, &kernel.path, &with(&configuration.meaning)).unwrap();
    let module = Module::parse(&kernel.path.display().to_string(), &text).unwrap();
    let object = judging::object(&configuration.compiler, code, &with(&configuration.flags), folder.path());
    let file = match ObjectFile::parse("kernel.o", &std::fs::read(&object).unwrap()) {
        Ok(file) => file,
        Err(error) => return Outcome::Refused("object", error.to_string()),
    };
    let mut arena = Arena::new();
    let source = module.function(&kernel.name).unwrap();
    let machine = file.function(&kernel.name).unwrap();
    let pair = match pair(&mut arena, &module, source, machine) {
        Ok(pair) => pair,
        Err(PairError::Source(error)) => return Outcome::Refused("source", error.to_string()),
        Err(PairError::Machine(error)) => return Outcome::Refused("machine", error.to_string()),
    };
    let tallies = match run {
        // Without -fwrapv most sums of random numbers are undefined.
        true => judge_pair(&mut arena, &module, kernel, (&pair, machine), &object, configuration.wraps),
        false => Vec::new(),
    };
    Outcome::Graphs { merged: pair.partition == Partition::Merged, tallies }
}

const INPUTS: usize = 6;
const ELSEWHERE: &str = "metaloc_elsewhere";

/// Runs both graphs against the object.
fn judge_pair(
    arena: &mut Arena,
    module: &Module,
    kernel: &Kernel,
    (pair, code): (&Pair, &FunctionCode),
    object: &Path,
    wraps: bool,
) -> Vec<(&'static str, Tally)> {
    let clang = judging::llvm().clang().unwrap().to_owned();
    let mut globals: Vec<Global> = module.globals.clone();
    // A place that no global of the program overlaps, for pointers that are passed in.
    globals.push(Global {
        symbol: ELSEWHERE.to_owned(),
        size_bytes: 64,
        align_bytes: 16,
        constant: None,
        read_only: false,
        defined: false,
        initial: None,
        internal: false,
    });
    let native = Native::link(
        &clang,
        module.layout.pointer_bits,
        &[object.to_owned()],
        &globals,
        std::slice::from_ref(&kernel.name),
    )
    .unwrap();
    let mut random =
        Random(kernel.name.bytes().fold(11, |seed: u64, byte| seed.wrapping_mul(31) + u64::from(byte)));
    let inputs: Vec<Input> = (0..INPUTS)
        .map(|number| {
            let mut input = judging::input(&mut random, &kernel.name, &pair.source, &native);
            if !wraps {
                input.memory.iter_mut().for_each(|bytes| make_small(bytes));
            }
            within_conditions(&mut input, &native, &mut random, number);
            input
        })
        .collect();
    let returns_bits = pair.source.returns_bits;
    let limit = 2_000_000;
    let source = match judge(arena, Side::Source(&pair.source), returns_bits, &native, &inputs, limit) {
        Ok(source) => source,
        Err(error) => {
            return vec![("native", Tally { wrong: vec![error.to_string()], ..Tally::default() })];
        }
    };
    // The machine is asked only where the source is defined.
    let defined: Vec<Input> = inputs
        .iter()
        .zip(&source)
        .filter(|(_, ran)| !matches!(ran, metaloc_prover::native::Ran::Undefined(_)))
        .map(|(input, _)| input.clone())
        .collect();
    let machine =
        judge(arena, Side::Machine(&pair.machine, code), returns_bits, &native, &defined, limit).unwrap();
    vec![("source", judging::tally(&inputs, &source)), ("machine", judging::tally(&defined, &machine))]
}

/// Numbers from -1 to 2.
fn make_small(bytes: &mut [u8]) {
    for word in bytes.chunks_exact_mut(4) {
        let number = i32::from(word[1] & 3) - 1;
        word.copy_from_slice(&number.to_le_bytes());
    }
}

/// Arguments and pointers for which the kernels are defined (regress/kernels/README.md).
fn within_conditions(input: &mut Input, native: &Native, random: &mut Random, number: usize) {
    let at = |symbol: &str| native.globals().iter().position(|placed| placed.global.symbol == symbol);
    let number = number as u64;
    match input.function.as_str() {
        "s122" => input.arguments[..2].copy_from_slice(&[1 + number % 3, 1 + number * number % 7]),
        "s162" => input.arguments[0] = number % 2,
        "s171" => input.arguments[0] = number % 2,
        "s174" => input.arguments[0] = [0, 1, 7, 64, 119, 120][number as usize % 6],
        "init1d" | "bounded" => input.arguments[0] = [0, 1, 5, 31, 60, 64][number as usize % 6],
        "sum" => {
            input.arguments[0] = [0, 1, 9, 100, 500, 999][number as usize % 6];
            if let (Some(pointer), Some(place)) = (at("sum2"), at(ELSEWHERE)) {
                let address = native.globals()[place].address.to_le_bytes();
                let size = native.globals()[pointer].global.size_bytes as usize;
                input.memory[pointer] = address[..size].to_vec();
            }
        }
        "loopSplitting" => {
            // Indices into an array.
            if let Some(array) = at("a") {
                for word in input.memory[array].chunks_exact_mut(4) {
                    word.copy_from_slice(&((random.next() % 64) as u32).to_le_bytes());
                }
            }
        }
        "s4115" => {
            // The array itself holds the indices.
            if let Some(array) = at("b") {
                for word in input.memory[array].chunks_exact_mut(4) {
                    word.copy_from_slice(&((random.next() % 240) as u32).to_le_bytes());
                }
                input.arguments[0] = native.globals()[array].address;
            }
        }
        _ => {}
    }
}
