//! What the language promises at default flags: each promise makes a proof that there is none without it, and code that
//! goes one step further than the promise is not proved.

mod assembled;
mod judging;

use assembled::verdict;
use metaloc_proof::AssumptionKind;
use metaloc_prover::prove::Verdict;

/// Asserts a proof that uses a promise.
fn proved_by(kind: AssumptionKind, source: &str, assembly: &str) {
    let verdict = verdict(source, &[], assembly);
    let Verdict::Proved(proved) = verdict else { panic!("{source}: {verdict:?}") };
    let used = &proved.function.assumptions;
    assert!(used.iter().any(|assumption| assumption.kind == kind), "{source}: {used:?}");
}

fn not_proved(source: &str, flags: &[&str], assembly: &str) {
    let verdict = verdict(source, flags, assembly);
    assert!(!matches!(verdict, Verdict::Proved(_)), "{source} with {flags:?}: a false proof");
}

const NEXT_IS_MORE: &str = "int f(int n) {\n  return n + 1 > n;\n}\n";
const ALWAYS: &str = "\tmovl $1, %eax\n\tret";

#[test]
fn sums_do_not_overflow() {
    proved_by(AssumptionKind::NoSignedWrap, NEXT_IS_MORE, ALWAYS);
    not_proved(NEXT_IS_MORE, &["-fwrapv"], ALWAYS);
    not_proved("int f(unsigned n) {\n  return n + 1 > n;\n}\n", &[], ALWAYS);
}

/// The largest number that may be increased.
#[test]
fn the_last_sum_that_does_not_overflow_counts() {
    let but_for = |number: &str| format!("\txorl %eax, %eax\n\tcmpl ${number}, %edi\n\tsetne %al\n\tret");
    proved_by(AssumptionKind::NoSignedWrap, NEXT_IS_MORE, &but_for("0x7fffffff"));
    not_proved(NEXT_IS_MORE, &[], &but_for("0x7ffffffe"));
}

/// A 32-bit sum that is computed in 64 bits.
#[test]
fn a_sum_may_be_wider_than_it_says() {
    let wide = "\tmovslq %edi, %rax\n\tmovslq %esi, %rcx\n\taddq %rcx, %rax\n\tret";
    let signed = "long f(int a, int b) {\n  return a + b;\n}\n";
    proved_by(AssumptionKind::NoSignedWrap, signed, wide);
    not_proved(signed, &["-fwrapv"], wide);
    not_proved("long f(unsigned a, unsigned b) {\n  return (int)(a + b);\n}\n", &[], wide);
}

const NOT_BELOW: &str = "int f(int i) {\n  int *p = X + i;\n  return p >= X;\n}\n";

#[test]
fn addresses_stay_in_their_object() {
    proved_by(AssumptionKind::InBounds, NOT_BELOW, ALWAYS);
    not_proved(NOT_BELOW, &["-fwrapv"], ALWAYS);
}

/// One past the end is an address of the array, two past are not.
#[test]
fn the_end_of_an_object_is_in_bounds() {
    let but_for = |number: u32| format!("\txorl %eax, %eax\n\tcmpl ${number}, %edi\n\tsetne %al\n\tret");
    proved_by(AssumptionKind::InBounds, NOT_BELOW, &but_for(241));
    not_proved(NOT_BELOW, &[], &but_for(240));
}

/// A sum of what is in memory that may not overflow, beside indices that may not either: the easy promises are tried
/// without the hard ones, and the hard ones count where they are needed.
#[test]
fn promises_about_memory_count_too() {
    let source = "int f(int i) {\n  int a = X[i], b = Y[i];\n  return a + b + 1 > a + b;\n}\n";
    let loads =
        |rest: &str| format!("\tmovslq %edi, %rdi\n\tmovl X(,%rdi,4), %eax\n\taddl Y(,%rdi,4), %eax\n{rest}");
    proved_by(AssumptionKind::NoSignedWrap, source, &loads("\tmovl $1, %eax\n\tret"));
    not_proved(source, &["-fwrapv"], &loads("\tmovl $1, %eax\n\tret"));
    let but_for = "\tcmpl $0x7ffffffe, %eax\n\tsetne %al\n\tmovzbl %al, %eax\n\tret";
    not_proved(source, &[], &loads(but_for));
}
