//! Registers that hold several parts of the states taken together: a stride times a counter, the last index or the
//! product by lanes. Each is proved, and a twin in which the code differs for few inputs is not.

mod assembled;
mod judging;

use assembled::{said, verdict, verdict_with};
use metaloc_proof::{Operation, Predicate, Term};
use metaloc_prover::product::search::Options;
use metaloc_prover::prove::{ProveOptions, Verdict};
use std::time::Duration;

/// The operations that the invariants of a proof name.
fn operations(verdict: &Verdict) -> Vec<Operation> {
    let Verdict::Proved(proved) = verdict else { panic!("{}", said(verdict)) };
    let mut found = Vec::new();
    for invariant in proved.function.nodes.iter().flat_map(|node| &node.invariants) {
        let Predicate::Zero { sum } = invariant else { continue };
        for term in &sum.terms {
            if let Term::Fold { operation, .. } = term.term {
                found.push(operation);
            }
        }
    }
    found
}

fn is_proved(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Proved(_))
}

const STRIDE: &str =
    "int f(int n) {\n  for (int i = 0; i < 20; i++)\n    X[i * n] += Y[i];\n  return 0;\n}\n";

/// The index is counted in steps of the stride, modulo 2^32; `tweak` may change it in `%rcx`.
fn counted_index(tweak: &str) -> Verdict {
    let assembly = format!(
        "\txorl %eax, %eax\n\txorl %edx, %edx\n1:\tmovl Y(,%rax,4), %esi\n\tmovslq %edx, %rcx\n{tweak}\
         \taddl %esi, X(,%rcx,4)\n\taddl %edi, %edx\n\tincq %rax\n\tcmpq $20, %rax\n\tjne 1b\n\
         \txorl %eax, %eax\n\tret"
    );
    verdict(STRIDE, &["-fwrapv"], &assembly)
}

/// So is the address, in 64 bits; `tweak` may change the step in `%rsi`.
fn counted_address(flags: &[&str], tweak: &str) -> Verdict {
    let assembly = format!(
        "\tmovslq %edi, %rsi\n\tshlq $2, %rsi\n{tweak}\tmovl $X, %edx\n\txorl %eax, %eax\n\
         1:\tmovl Y(,%rax,4), %ecx\n\taddl %ecx, (%rdx)\n\taddq %rsi, %rdx\n\tincq %rax\n\tcmpq $20, %rax\n\
         \tjne 1b\n\txorl %eax, %eax\n\tret"
    );
    let search = Options { time: Duration::from_secs(20), ..Options::default() };
    verdict_with(STRIDE, flags, &assembly, ProveOptions { search, ..ProveOptions::default() }).0
}

#[test]
fn an_index_in_steps_of_a_stride_is_proved() {
    assert!(operations(&counted_index("")).contains(&Operation::Product));
}

/// Only in the last turn and only for n = 11 is another element changed.
#[test]
fn an_index_that_is_wrong_once_is_not_proved() {
    let verdict = counted_index("\tcmpl $209, %edx\n\tjne 2f\n\tincq %rcx\n2:\n");
    assert!(!is_proved(&verdict), "a false proof");
}

#[test]
fn an_address_in_steps_of_a_stride_is_proved_if_products_do_not_overflow() {
    assert!(operations(&counted_address(&[], "")).contains(&Operation::Product));
}

#[test]
fn a_stride_that_is_wrong_for_one_input_is_not_proved() {
    let verdict = counted_address(&[], "\tcmpl $11, %edi\n\tjne 2f\n\taddq $4, %rsi\n2:\n");
    assert!(!is_proved(&verdict), "a false proof");
}

/// What `j` is at the end of a loop that takes every fourth element in a lane of its own: `begin` sets the counter in
/// `%rax` and the lanes' counters in `%xmm1`, `turn` reads four elements into `%xmm3` and moves on.
fn by_lanes(source: &str, begin: &str, turn: &str, extreme: &str, data: &str) -> Verdict {
    let assembly = format!(
        "\tmovdqa 3f(%rip), %xmm1\n\tmovdqa 4f(%rip), %xmm2\n\tmovdqa 5f(%rip), %xmm5\n{begin}\
         1:\tpxor %xmm0, %xmm0\n{turn}\tpcmpgtd %xmm3, %xmm0\n\tpblendvb %xmm0, %xmm1, %xmm2\n\
         \tpaddd %xmm5, %xmm1\n\tcmpq $240, %rax\n\tjb 1b\n\
         \tmovdqa %xmm2, %xmm0\n\tpsrldq $8, %xmm2\n\t{extreme} %xmm2, %xmm0\n\tmovdqa %xmm0, %xmm2\n\
         \tpsrldq $4, %xmm2\n\t{extreme} %xmm2, %xmm0\n\tmovd %xmm0, %eax\n\tret\n\
         \t.section .rodata\n\t.align 16\n{data}\t.text"
    );
    verdict(source, &["-fwrapv"], &assembly)
}

/// The last index at which an element is negative.
fn last_index(extreme: &str) -> Verdict {
    let source = "int f(void) {\n  int j = -1;\n  for (int i = 0; i < 240; i++)\n    if (X[i] < 0)\n      j = i;\n  return j;\n}\n";
    by_lanes(
        source,
        "\txorl %eax, %eax\n",
        "\tmovdqa X(,%rax,4), %xmm3\n\taddq $4, %rax\n",
        extreme,
        "3:\t.long 0, 1, 2, 3\n4:\t.long -1, -1, -1, -1\n5:\t.long 4, 4, 4, 4\n",
    )
}

/// The first one, and one more, by a loop that goes down.
fn first_index(extreme: &str) -> Verdict {
    let source = "int f(void) {\n  int j = 241;\n  for (int i = 240; i > 0; i--)\n    if (X[i - 1] < 0)\n      j = i;\n  return j;\n}\n";
    by_lanes(
        source,
        "\tmovl $236, %eax\n",
        "\tpshufd $27, X(,%rax,4), %xmm3\n\tsubq $4, %rax\n",
        extreme,
        "3:\t.long 240, 239, 238, 237\n4:\t.long 241, 241, 241, 241\n5:\t.long -4, -4, -4, -4\n",
    )
}

#[test]
fn the_greatest_of_lanes_is_proved() {
    assert!(operations(&last_index("pmaxsd")).contains(&Operation::Greatest));
}

#[test]
fn the_least_of_lanes_is_proved() {
    assert!(operations(&first_index("pminsd")).contains(&Operation::Least));
}

/// Without signs -1 is the greatest: wrong where some lane has seen nothing, which of random elements is rare.
#[test]
fn the_greatest_without_signs_is_not_proved() {
    assert!(!is_proved(&last_index("pmaxud")), "a false proof");
}

/// A power by lanes; `tweak` may change the lanes in `%xmm0` before the loop.
fn power(tweak: &str) -> Verdict {
    let source =
        "int f(int n) {\n  int q = 1;\n  for (int i = 0; i < 240; i++)\n    q *= 99;\n  return q;\n}\n";
    let assembly = format!(
        "\tmovdqa 4f(%rip), %xmm1\n\tmovdqa 3f(%rip), %xmm0\n\txorl %eax, %eax\n{tweak}\
         1:\tpmulld %xmm1, %xmm0\n\tincl %eax\n\tcmpl $60, %eax\n\tjne 1b\n\
         \tmovdqa %xmm0, %xmm2\n\tpsrldq $8, %xmm2\n\tpmulld %xmm2, %xmm0\n\tmovdqa %xmm0, %xmm2\n\
         \tpsrldq $4, %xmm2\n\tpmulld %xmm2, %xmm0\n\tmovd %xmm0, %eax\n\tret\n\
         \t.section .rodata\n\t.align 16\n3:\t.long 1, 1, 1, 1\n4:\t.long 99, 99, 99, 99\n\t.text"
    );
    verdict(source, &["-fwrapv"], &assembly)
}

#[test]
fn a_product_of_lanes_is_proved() {
    assert!(operations(&power("")).contains(&Operation::Product));
}

#[test]
fn a_product_that_is_wrong_for_one_input_is_not_proved() {
    let verdict = power("\tcmpl $12345677, %edi\n\tjne 2f\n\tpaddd %xmm0, %xmm0\n2:\n");
    assert!(!is_proved(&verdict), "a false proof");
}
