//! Loops whose counter has no sign, or whose end is a pointer: machine code asks whether the end is reached, not
//! whether it is passed, so that what is less without sign has to be an invariant.

mod assembled;
mod judging;

use metaloc_prover::prove::{ProveOptions, Verdict};
use std::time::Duration;

fn is_proved(source: &str, assembly: &str) -> bool {
    matches!(assembled::verdict(source, &["-fwrapv"], assembly), Verdict::Proved(_))
}

/// The right ones take a few seconds; a wrong one would be tried for longer than a test should take.
fn is_soon_proved(source: &str, assembly: &str) -> bool {
    let mut options = ProveOptions::default();
    options.search.time = Duration::from_secs(30);
    matches!(assembled::verdict_with(source, &["-fwrapv"], assembly, options).0, Verdict::Proved(_))
}

/// What is counted is the bytes that are equal to `c`.
fn count(first: &str, step: &str) -> bool {
    let source = "unsigned long f(const unsigned char *s, unsigned long n, int c) {\n\
                  unsigned long k = 0; for (unsigned long i = 0; i < n; i++) if (s[i] == c) k++; return k; }";
    let assembly = format!(
        "\txorl %eax, %eax\n\ttestq %rsi, %rsi\n\t{first} .Lend\n\taddq %rdi, %rsi\n.Lturn:\n\tmovzbl (%rdi), %ecx\n\
         \txorl %r8d, %r8d\n\tcmpl %edx, %ecx\n\tsete %r8b\n\taddq %r8, %rax\n\taddq ${step}, %rdi\n\tcmpq %rdi, %rsi\n\
         \tjne .Lturn\n.Lend:\n\tret"
    );
    is_soon_proved(source, &assembly)
}

#[test]
fn a_counter_without_sign() {
    assert!(count("je", "1"));
}

#[test]
fn mistakes_at_either_end_of_it_are_not_proved() {
    assert!(!count("jle", "1"), "counts of 2^63 and more");
    assert!(!count("je", "2"), "every other byte");
}

#[test]
fn a_pointer_and_its_end() {
    let source = "int f(const int *p, const int *end) { int t = 0; while (p < end) t += *p++; return t; }";
    let sum = |skip: &str| {
        format!(
            "\txorl %eax, %eax\n\tcmpq %rsi, %rdi\n\t{skip} .Lend\n.Lturn:\n\taddl (%rdi), %eax\n\taddq $4, %rdi\n\
             \tcmpq %rsi, %rdi\n\tjb .Lturn\n.Lend:\n\tret"
        )
    };
    assert!(is_proved(source, &sum("jae")));
    assert!(!is_soon_proved(source, &sum("ja")), "one element of an empty range");
}
