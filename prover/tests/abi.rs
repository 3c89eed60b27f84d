//! Proofs by the calling conventions: small functions in machine code, as they should be and with one thing wrong.

use metaloc_prover::ir::Module;
use metaloc_prover::object_file::FunctionCode;
use metaloc_prover::prove::{ProveError, ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};
use std::collections::BTreeMap;

const X86_64: &str = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";
const I386: &str = "e-m:e-p:32:32-p270:32:32-p271:32:32-p272:64:64-i128:128-f64:32:64-f80:32-n8:16:32-S128";

fn module(layout: &str, function: &str) -> Module {
    let text = format!("target datalayout = \"{layout}\"\n\n{function}\n");
    Module::parse("f.ll", &text).unwrap()
}

fn code(address_bits: u32, bytes: &[&[u8]]) -> FunctionCode {
    FunctionCode {
        name: "f".into(),
        section: ".text".into(),
        low_pc: 0,
        bytes: bytes.concat(),
        address_bits,
        relocations: Vec::new(),
        constants: BTreeMap::new(),
        alignments: BTreeMap::new(),
        pc_thunks: BTreeMap::new(),
        image: None,
        entries: Default::default(),
        locals: Default::default(),
        refused: None,
        definitions: Default::default(),
    }
}

fn verdict(module: &Module, code: &FunctionCode) -> Verdict {
    prove(module, code, &Program::find(Kind::Z3).unwrap(), ProveOptions::default()).unwrap().0
}

fn is_proved(module: &Module, code: &FunctionCode) -> bool {
    matches!(verdict(module, code), Verdict::Proved(_))
}

const RET: &[u8] = &[0xc3];
/// mov eax, [esp+4]
const FIRST: &[u8] = &[0x8b, 0x44, 0x24, 0x04];
/// sub eax, [esp+8]
const MINUS_SECOND: &[u8] = &[0x2b, 0x44, 0x24, 0x08];

#[test]
fn i386_code_takes_its_parameters_from_the_stack() {
    let module = module(
        I386,
        "define i32 @f(i32 noundef %a, i32 noundef %b) {\n  %s = sub i32 %a, %b\n  ret i32 %s\n}",
    );
    let right = code(32, &[FIRST, MINUS_SECOND, RET]);
    let found = verdict(&module, &right);
    assert!(matches!(found, Verdict::Proved(_)), "{found:?}");
    // The places of its parameters are the callee's to write to.
    let writes = |offset: u8| code(32, &[FIRST, MINUS_SECOND, &[0x89, 0x44, 0x24, offset], RET]);
    assert!(is_proved(&module, &writes(4)) && is_proved(&module, &writes(8)));
    for (what, wrong) in [
        ("the parameters are exchanged", code(32, &[&[0x8b, 0x44, 0x24, 0x08, 0x2b, 0x44, 0x24, 0x04], RET])),
        ("the caller's frame is written", writes(12)),
        ("ebx is not given back", code(32, &[FIRST, MINUS_SECOND, &[0x31, 0xdb], RET])),
        ("esi is not given back", code(32, &[FIRST, MINUS_SECOND, &[0x31, 0xf6], RET])),
        ("edi is not given back", code(32, &[FIRST, MINUS_SECOND, &[0x31, 0xff], RET])),
        ("ebp is not given back", code(32, &[FIRST, MINUS_SECOND, &[0x31, 0xed], RET])),
        ("it takes its parameters off the stack", code(32, &[FIRST, MINUS_SECOND, &[0xc2, 0x08, 0x00]])),
        ("it returns elsewhere", code(32, &[FIRST, MINUS_SECOND, &[0x83, 0x04, 0x24, 0x01], RET])),
        ("the result is in ecx", code(32, &[&[0x8b, 0x4c, 0x24, 0x04, 0x2b, 0x4c, 0x24, 0x08], RET])),
    ] {
        assert!(matches!(verdict(&module, &wrong), Verdict::Refuted(_)), "{what}");
    }
    // ecx is the callee's.
    assert!(is_proved(&module, &code(32, &[FIRST, MINUS_SECOND, &[0x31, 0xc9], RET])));
}

#[test]
fn a_64_bit_result_of_i386_is_in_two_registers() {
    let module = module(I386, "define i64 @f(i32 noundef %a, i64 noundef %b) {\n  ret i64 %b\n}");
    // mov eax, [esp+8]; mov edx, [esp+12]
    let (low, high): (&[u8], &[u8]) = (&[0x8b, 0x44, 0x24, 0x08], &[0x8b, 0x54, 0x24, 0x0c]);
    // No relation speaks of the halves of a value, so this is not proved either.
    assert!(!matches!(verdict(&module, &code(32, &[low, high, RET])), Verdict::Refuted(_)));
    assert!(matches!(verdict(&module, &code(32, &[low, RET])), Verdict::Refuted(_)), "no high half");
}

#[test]
fn the_seventh_parameter_of_x86_64_is_on_the_stack() {
    let parameters: Vec<String> = (0..7).map(|number| format!("i32 noundef %p{number}")).collect();
    let text = format!("define i32 @f({}) {{\n  ret i32 %p6\n}}", parameters.join(", "));
    let module = module(X86_64, &text);
    let loads = |offset: u8| code(64, &[&[0x8b, 0x44, 0x24, offset], RET]);
    assert!(is_proved(&module, &loads(8)));
    assert!(!is_proved(&module, &loads(16)), "the eighth");
    // mov eax, r9d
    assert!(matches!(verdict(&module, &code(64, &[&[0x44, 0x89, 0xc8], RET])), Verdict::Refuted(_)));
}

#[test]
fn what_the_conventions_do_not_cover_is_unsupported() {
    let identity = code(64, &[RET]);
    for (header, what) in [
        ("define fastcc i32 @f(i32 %a)", "calling convention fastcc"),
        ("define x86_fastcallcc i32 @f(i32 %a)", "calling convention x86_fastcallcc"),
        ("define i32 @f(i32 inreg %a)", "parameters"),
        ("define i32 @f(i32 %a, i128 %b)", "i128"),
    ] {
        let module = module(X86_64, &format!("{header} {{\n  ret i32 %a\n}}"));
        let Verdict::Unsupported(said) = verdict(&module, &identity) else { panic!("{header}") };
        assert!(said.contains(what), "{said}");
    }
    let narrow = module(I386, "define void @f() {\n  ret void\n}");
    let error = prove(&narrow, &identity, &Program::find(Kind::Z3).unwrap(), ProveOptions::default());
    assert!(matches!(error, Err(ProveError::Widths { source_bits: 32, machine_bits: 64 })), "{error:?}");
}
