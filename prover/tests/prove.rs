//! Whole proofs: s000 as gcc-12 compiles it is proved with no assertion, and no mutant of it is.

use metaloc_proof::{Claim, Discharge, Document, Proof};
use metaloc_prover::ir::Module;
use metaloc_prover::object_file::{FunctionCode, ObjectFile};
use metaloc_prover::product::document::sha256;
use metaloc_prover::product::search::{Options, Order};
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};
use std::time::Duration;

const OBJECT: &str = "s000-gcc12-nopic.o";

fn read(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../regress/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn code() -> FunctionCode {
    let bytes = read(&format!("objects/{OBJECT}"));
    ObjectFile::parse(OBJECT, &bytes).unwrap().function("s000").unwrap().clone()
}

fn module() -> Module {
    Module::parse("s000.ll", &String::from_utf8(read("objects/s000.ll")).unwrap()).unwrap()
}

fn verdict(module: &Module, code: &FunctionCode) -> Verdict {
    verdict_within(module, code, 60)
}

fn verdict_within(module: &Module, code: &FunctionCode, seconds: u64) -> Verdict {
    let search = Options { time: Duration::from_secs(seconds), ..Options::default() };
    let options = ProveOptions { search, ..ProveOptions::default() };
    prove(module, code, &Program::find(Kind::Z3).unwrap(), options).unwrap().0
}

#[test]
fn s000_is_proved_with_no_assertion() {
    let Verdict::Proved(proved) = verdict(&module(), &code()) else { panic!("s000 is not proved") };
    let hash = sha256(b"");
    let document = Document {
        schema: metaloc_proof::SCHEMA.to_owned(),
        object: metaloc_proof::Object {
            name: OBJECT.to_owned(),
            sha256: hash.clone(),
            architecture: metaloc_proof::Architecture::X86_64,
            kind: metaloc_proof::ObjectKind::Relocatable,
        },
        source: metaloc_proof::Source { name: "s000.c".into(), sha256: hash.clone(), ir_sha256: hash },
        globals: proved.globals.clone(),
        functions: vec![proved.function.clone()],
    };
    Proof::new(document).expect("the document keeps its own rules");
    let function = &proved.function;
    assert_eq!(function.asserted().count(), 0);
    // The step of the vector loop was read off the runs.
    let turn = function.edges.iter().find(|edge| edge.from == edge.to).expect("there is a loop");
    assert_eq!((turn.source.delta, turn.machine.delta), (4, 1));
    let rewritten = |discharge: &Discharge| matches!(discharge, Discharge::Normaliser { .. });
    let settled = function.obligations.iter().filter(|obligation| rewritten(&obligation.discharge)).count();
    assert!(settled > 0 && settled < function.obligations.len(), "{settled}");
    // What rewriting has to do with is said of the solver's as well: it was asked after rewriting.
    let listed = |discharge: &Discharge| match discharge {
        Discharge::Normaliser { rewrites, .. } | Discharge::Solver { rewrites, .. } => !rewrites.is_empty(),
        Discharge::Assertion { .. } => false,
    };
    assert!(function.obligations.iter().all(|obligation| listed(&obligation.discharge)));
    let kinds = |wanted: fn(&Claim) -> bool| function.obligations.iter().any(|part| wanted(&part.claim));
    assert!(kinds(|claim| matches!(claim, Claim::Coverage { .. })));
    assert!(kinds(|claim| matches!(claim, Claim::Access { .. })));
}

/// Every mutant behaves differently on every input, and is refuted by a run.
#[test]
fn mutants_of_s000_are_refuted() {
    let module = module();
    let replace = |at: usize, old: &[u8], new: &[u8]| {
        let mut code = code();
        assert_eq!(&code.bytes[at..at + old.len()], old, "the object is another one");
        code.bytes[at..at + new.len()].copy_from_slice(new);
        code
    };
    let mutants = [
        ("the loop ends early", replace(0x29, &[0x00, 0xf4], &[0xf0, 0xf3])),
        ("a step of 32 bytes", replace(0x1b, &[0x10], &[0x20])),
        ("a difference instead of a sum", replace(0x1e, &[0xfe], &[0xfa])),
        ("lanes of 16 bits", replace(0x1e, &[0xfe], &[0xfd])),
        ("another lane is spread", replace(0xe, &[0x00], &[0x01])),
        ("another register is cleared at the end", replace(0x2f, &[0x31, 0xc0], &[0x31, 0xc9])),
        ("a callee-saved register is cleared", replace(0x2f, &[0x31, 0xc0], &[0x31, 0xdb])),
        ("the stack pointer is moved", replace(0xf, &[0x90], &[0x53])),
        ("the condition is inverted", replace(0x2d, &[0x75], &[0x74])),
        ("the loop is left at once", replace(0x2e, &[0xe1], &[0x00])),
    ];
    for (name, code) in &mutants {
        let verdict = verdict(&module, code);
        assert!(matches!(verdict, Verdict::Refuted(_)), "{name}: {verdict:?}");
    }
    let mut elsewhere = code();
    elsewhere.relocations.iter_mut().find(|relocation| relocation.symbol == "X").unwrap().addend += 4;
    assert!(matches!(verdict(&module, &elsewhere), Verdict::Refuted(_)), "stores 4 bytes further on");
    let mut other = code();
    other.relocations.iter_mut().find(|relocation| relocation.symbol == "Y").unwrap().symbol = "X".into();
    assert!(matches!(verdict(&module, &other), Verdict::Refuted(_)), "reads another array");
}

/// A loop that never ends where the source ends is no proof, though no path to an exit is wrong.
#[test]
fn an_endless_loop_is_not_proved() {
    let mut code = code();
    // jmp instead of jne.
    code.bytes[0x2d] = 0xeb;
    let verdict = verdict_within(&module(), &code, 8);
    assert!(!matches!(verdict, Verdict::Proved(_)), "{verdict:?}");
}

/// Depth first and without ranking the same step is found by trying those before it, and no mutant is proved.
#[test]
fn without_ranking_the_step_is_found_by_trying() {
    let ordered = |code: &FunctionCode, order: Order| {
        let search = Options { order, ..Options::default() };
        let options = ProveOptions { search, ..ProveOptions::default() };
        prove(&module(), code, &Program::find(Kind::Z3).unwrap(), options).unwrap()
    };
    let (verdict, cost) = ordered(&code(), Order::Static);
    let Verdict::Proved(proved) = verdict else { panic!("{verdict:?}") };
    assert!(proved.function.edges.iter().any(|edge| (edge.source.delta, edge.machine.delta) == (4, 1)));
    let ranked = ordered(&code(), Order::Ranked).1.effort;
    assert!(cost.effort.retries >= 3 && ranked.retries == 0, "{:?} {ranked:?}", cost.effort);
    assert!(cost.effort.candidates > ranked.candidates, "{:?} {ranked:?}", cost.effort);
    let mut endless = code();
    endless.bytes[0x2d] = 0xeb;
    let search = Options { order: Order::Static, time: Duration::from_secs(4), ..Options::default() };
    let options = ProveOptions { search, ..ProveOptions::default() };
    let verdict = prove(&module(), &endless, &Program::find(Kind::Z3).unwrap(), options).unwrap().0;
    assert!(!matches!(verdict, Verdict::Proved(_)), "{verdict:?}");
}
