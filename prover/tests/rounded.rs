//! Loops whose end is rounded, and paths that no defined run takes: each is proved, and a twin in which the code
//! differs for one input that no run is likely to have is not.

mod assembled;
mod judging;

use assembled::verdict;
use metaloc_prover::prove::Verdict;

/// Two elements in each turn, up to `n` rounded down; `rounded` may change the end in `%ecx`.
fn by_two(rounded: &str) -> Verdict {
    let element = |from: &str, offset: &str| {
        format!(
            "\tmovl Y{offset}(,%{from},4), %edx\n\taddl val(%rip), %edx\n\tmovl %edx, X{offset}(,%{from},4)\n"
        )
    };
    let assembly = format!(
        "\ttestl %edi, %edi\n\tjle 3f\n\tmovl %edi, %ecx\n\tandl $-2, %ecx\n{rounded}\tje 2f\n\txorl %eax, %eax\n\
         1:\n{}{}\taddq $2, %rax\n\tcmpq %rax, %rcx\n\tjne 1b\n2:\ttestb $1, %dil\n\tje 3f\n{}\
         3:\txorl %eax, %eax\n\tret",
        element("rax", ""),
        element("rax", "+4"),
        element("rcx", ""),
    );
    verdict(
        "int f(int n) {\n  for (int i = 0; i < n; i++)\n    X[i] = Y[i] + val;\n  return 0;\n}\n",
        &["-fwrapv"],
        &assembly,
    )
}

#[test]
fn a_rounded_end_is_proved() {
    let verdict = by_two("");
    assert!(matches!(verdict, Verdict::Proved(_)), "{verdict:?}");
}

/// For n = 137 the loop ends two elements early.
#[test]
fn an_end_that_is_wrong_once_is_not_proved() {
    let verdict =
        by_two("\txorl %edx, %edx\n\tcmpl $137, %edi\n\tsete %dl\n\taddl %edx, %edx\n\tsubl %edx, %ecx\n");
    assert!(!matches!(verdict, Verdict::Proved(_)), "a false proof");
}

/// The source reads `Y[k]` at once; where `condition` holds of `k`, the code stores something else first.
fn elsewhere(condition: &str) -> Verdict {
    let assembly = format!(
        "\ttestl %edi, %edi\n\tjle 3f\n\txorl %eax, %eax\n\tmovl %edi, %ecx\n{condition}\n\
         1:\tmovl Y(,%rcx,4), %edx\n\tmovl %edx, X(,%rax,4)\n\tincq %rcx\n\tincq %rax\n\tcmpq $20, %rax\n\tjne 1b\n\
         3:\txorl %eax, %eax\n\tret\n4:\tmovl $7, X(%rip)\n\tincq %rax\n\tincq %rcx\n\tjmp 1b"
    );
    let source = "int f(int k) {\n  if (k > 0)\n    for (int i = 0; i < 20; i++)\n      X[i] = Y[i + k];\n  return 0;\n}\n";
    verdict(source, &["-fwrapv"], &assembly)
}

#[test]
fn what_happens_only_if_the_source_is_undefined_does_not_matter() {
    let verdict = elsewhere("\tcmpl $239, %edi\n\tjg 4f");
    assert!(matches!(verdict, Verdict::Proved(_)), "{verdict:?}");
}

#[test]
fn what_happens_in_one_defined_run_does() {
    let verdict = elsewhere("\tcmpl $219, %edi\n\tje 4f");
    assert!(!matches!(verdict, Verdict::Proved(_)), "a false proof");
}
