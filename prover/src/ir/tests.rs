//! Reading IR text: what is read, and that nothing is read by halves.

use super::*;
use crate::bits::Bits;

/// A module with one function around some lines.
fn module(header: &str, lines: &str) -> Module {
    let text = format!(
        "target datalayout = \"e-m:e-i64:64-n8:16:32:64-S128\"\n%struct.P = type {{ i8, [3 x i32], i64 }}\n\
         @a = external global [100 x i32], align 16\n@tab = internal constant [2 x i16] [i16 1, i16 -2], align 2\n\
         @t = thread_local global i32 0\n{header}\n{lines}\n}}\n"
    );
    Module::parse("t.ll", &text).unwrap()
}

fn operations(lines: &str) -> Vec<Operation> {
    let module = module("define i32 @f(i32 noundef %0, ptr %p) #0 !dbg !5 {", lines);
    let block = &module.function("f").unwrap().blocks[0];
    block.instructions.iter().map(|instruction| instruction.operation.clone()).collect()
}

fn one(line: &str) -> Operation {
    operations(line).remove(0)
}

fn refused(line: &str) -> String {
    match one(line) {
        Operation::Unsupported(what) => what,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn instructions_are_read_with_their_promises() {
    let Operation::Binary { operator, nsw, nuw, left, right } = one("%2 = add nsw i32 %0, -7, !dbg !9")
    else {
        panic!("no sum")
    };
    assert_eq!((operator, nsw, nuw), (BinaryOperator::Add, true, false));
    assert_eq!(left, Typed { of: Type::Int(32), value: Value::Local("0".into()) });
    assert_eq!(right, Value::Constant(Bits::new(32, -7i128 as u128)));
    let element = one("%3 = getelementptr inbounds %struct.P, ptr %p, i32 0, i32 1, i64 %2");
    assert!(matches!(element, Operation::Address { inbounds: true, ref indices, .. } if indices.len() == 3));
    let load = one("%4 = load i32, ptr getelementptr inbounds ([100 x i32], ptr @a, i64 0, i64 5), align 4");
    let pointer = Value::Offset { global: "a".into(), bytes: 20 };
    assert_eq!(load, Operation::Load { of: Type::Int(32), pointer });
}

#[test]
fn a_switch_goes_over_lines() {
    let found =
        operations("  switch i32 %0, label %7 [\n    i32 1, label %2\n    i32 -7, label %3\n  ], !dbg !29");
    let Operation::Switch { default, cases, .. } = &found[0] else { panic!("{found:?}") };
    assert_eq!((default.as_str(), cases.len(), cases[1].0.signed()), ("7", 2, -7));
}

#[test]
fn records_locations_and_labels_belong_to_what_follows() {
    let module = module(
        "define void @f(i32 %0, i32 %n) {",
        "    #dbg_value(i32 0, !15, !DIExpression(), !17)\n  br label %x, !dbg !18, !llvm.loop !3\n\nx: ; preds = %1\n    \
         #dbg_value(i32 %0, !15, !DIExpression(DW_OP_deref), !17)\n    #dbg_declare(ptr %0, !16, !DIExpression(), !17)\n  ret void",
    );
    let function = module.function("f").unwrap();
    let labels: Vec<&str> = function.blocks.iter().map(|block| block.label.as_str()).collect();
    assert_eq!(labels, ["1", "x"], "one parameter has no name");
    let jump = &function.blocks[0].instructions[0];
    assert_eq!((jump.location, jump.records[0].variable), (Some(18), 15));
    assert!(jump.records[0].value.is_some());
    let later = &function.blocks[1].instructions[0].records;
    assert!(later.iter().all(|record| record.value.is_none()), "{later:?}");
}

#[test]
fn what_is_not_understood_to_the_last_word_is_unsupported() {
    for line in [
        "%2 = add nsw i32 %0, 1 2",
        "%2 = fadd fast float %x, 1.0",
        "%2 = fadd half %x, 1.0",
        "%2 = fadd float %x, 0x3FB999999999999A",
        "%2 = fadd float %x, 0x7FF8000000000000",
        "%2 = call nnan float @llvm.fabs.f32(float %x)",
        "%2 = frem float %x, %y",
        "%2 = add <4 x i32> %x, %y zeroinitializer",
        "%2 = load volatile i32, ptr %p, align 4",
        "%2 = load atomic i32, ptr %p seq_cst, align 4",
        "%2 = alloca i32, i64 %n, align 16",
        "%2 = call i32 %p(i32 1)",
        "%2 = call i32 asm \"nop\", \"\"()",
        "call void @g(ptr byval(i32) %p)",
        "store i32 %0, ptr addrspace(1) %p",
        "%2 = add i128 %x, %y",
        "%2 = add i8 %x, 256",
        "%2 = freeze i32 %0",
        "invoke void @g() to label %a unwind label %b",
    ] {
        // An operand of an unknown type is read, and has no meaning later.
        match one(line) {
            Operation::Unsupported(_) => {}
            Operation::Binary { left, .. } => assert!(matches!(left.of, Type::Other(_)), "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert!(refused("%2 = fadd fast float %x, 1.0").starts_with("fadd (with fast)"));
}

#[test]
fn numbers_are_read_with_their_constants() {
    let sum = one("%2 = fadd float %x, 0x3FB99999A0000000");
    let Operation::Float { operation, operands, to } = sum else { panic!("{sum:?}") };
    assert_eq!(operation, FloatOperation::Arithmetic(crate::float::Operator::Add));
    assert_eq!(operands[1].value, Value::Constant(Bits::new(32, 0x3dcc_cccd)));
    assert_eq!(to, Type::Float(crate::float::Format::Single));
    let relation = one("%2 = fcmp ult double %x, -1.500000e+00");
    let Operation::Float { operation, operands, to } = relation else { panic!("{relation:?}") };
    assert_eq!(operation, FloatOperation::Compare(FloatPredicate::Ult));
    assert_eq!(operands[1].value, Value::Constant(Bits::new(64, 0xbff8_0000_0000_0000)));
    assert_eq!(to, Type::Int(1));
    let call = one("%2 = call float @llvm.fmuladd.f32(float %x, float %x, float 1.0)");
    assert!(matches!(call, Operation::Float { operation: FloatOperation::MultiplyAdd, .. }), "{call:?}");
}

#[test]
fn globals_have_sizes_and_constants_have_bytes() {
    let module = module("define void @f() {", "  ret void");
    let a = module.global("a").unwrap();
    assert_eq!((a.size_bytes, a.align_bytes, &a.constant), (400, 16, &None));
    assert_eq!(module.global("tab").unwrap().constant, Some(vec![1, 0, 0xfe, 0xff]));
    assert!(module.global("t").is_none(), "each thread has its own");
}

#[test]
fn bad_text_is_one_clear_error_each() {
    let error = |text: &str| Module::parse("t.ll", text).unwrap_err().to_string();
    let layout = "target datalayout = \"e-i64:64\"\n";
    assert!(error("").contains("data layout"));
    assert!(error("target datalayout = \"E-i64:64\"\n").contains("data layout"));
    assert!(error(&format!("{layout}int main() {{}}")).contains("t.ll:2: not readable"));
    assert!(error(&format!("{layout}define void @f() {{\n  ret void\n")).contains("without an end"));
    let module = Module::parse("t.ll", layout).unwrap();
    assert!(module.function("f").unwrap_err().to_string().contains("no function `f`"));
}

proptest::proptest! {
    #[test]
    fn cut_and_changed_text_does_not_panic(seed: u64, cut in 0usize..4000) {
        let text = include_str!("../../../regress/objects/s000.ll");
        let mut bytes = text.as_bytes()[..cut.min(text.len())].to_vec();
        let at = seed as usize % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(at) {
            *byte = (seed >> 32) as u8 & 0x7f;
        }
        if let Ok(module) = Module::parse("t.ll", &String::from_utf8_lossy(&bytes)) {
            for function in module.functions() {
                let _ = crate::source::lower(&mut crate::expr::Arena::new(), &module, function);
            }
        }
    }
}
