//! A function in C beside one in assembly, and what is said of the two.
#![allow(dead_code)] // Each test program uses its part.

use crate::judging;
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::prove::{Cost, ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};

const DATA: &str = "extern int X[240], Y[240], val;\n";

/// The verdict on `f` in C, compiled with flags that say what it means, and in assembly.
pub fn verdict(source: &str, flags: &[&str], assembly: &str) -> Verdict {
    verdict_with(source, flags, assembly, ProveOptions::default()).0
}

/// The same with options, and what it cost.
pub fn verdict_with(source: &str, flags: &[&str], assembly: &str, options: ProveOptions) -> (Verdict, Cost) {
    let folder = tempfile::tempdir().unwrap();
    let (source_file, assembly_file) = (folder.path().join("f.c"), folder.path().join("g.s"));
    std::fs::write(&source_file, format!("{DATA}{source}")).unwrap();
    let frame = format!("\t.text\n\t.globl f\n\t.type f, @function\nf:\n{assembly}\n\t.size f, .-f\n");
    std::fs::write(&assembly_file, frame).unwrap();
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let text = compile::text(judging::llvm(), &source_file, &flags).unwrap();
    let module = Module::parse("f.c", &text).unwrap();
    let object = judging::object("gcc-12".as_ref(), &assembly_file, &[], folder.path());
    let object = ObjectFile::parse("f.o", &std::fs::read(object).unwrap()).unwrap();
    let code = object.function("f").unwrap().clone();
    prove(&module, &code, &Program::find(Kind::Z3).unwrap(), options).unwrap()
}

/// A verdict in words.
pub fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Proved(_) => "proved".to_owned(),
        Verdict::Refuted(refuted) => format!("refuted: {}", refuted.what),
        Verdict::Unknown(failure) => format!("unknown: {failure}"),
        Verdict::Unsupported(what) => what.clone(),
    }
}
