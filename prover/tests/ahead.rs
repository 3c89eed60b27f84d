//! States that only undefined runs come to: what the source does right after an edge may say that it was one. And what it
//! does not say there.

mod assembled;
mod judging;

use metaloc_corpus::kernels::{Compiler, Configuration, Flags, Target};
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};
use std::path::Path;
use std::time::Duration;

const FLAGS: [&str; 2] = ["-fwrapv", "-fno-wrapv-pointer"];

/// `X[i + n] = Y[i]`, two elements in a turn. For `n` = 2^62 the end of the loop is 0 modulo 2^64, and the loop goes on
/// until it faults; the source has written beyond `X` at once.
fn verdict(before: &str, rounded: &str) -> Verdict {
    let source = format!(
        "void g(void); void f(long n) {{ for (long i = 0; i < n; i++) {{ {before} X[i + n] = Y[i]; }} }}"
    );
    let assembly = format!(
        "\tcmpq $1, %rdi\n\tjle .Lone\n\tleaq X(,%rdi,4), %rcx\n\tmovq %rdi, %rdx\n\tshrq %rdx\n\tshlq ${rounded}, %rdx\n\
         \txorl %eax, %eax\n.Lturn:\n\tmovl Y(%rax), %esi\n\tmovl %esi, (%rcx,%rax)\n\tmovl Y+4(%rax), %esi\n\
         \tmovl %esi, 4(%rcx,%rax)\n\taddq $8, %rax\n\tcmpq %rax, %rdx\n\tjne .Lturn\n\tmovq %rdi, %rax\n\
         \tandq $-2, %rax\n\ttestb $1, %dil\n\tje .Lend\n\tjmp .Llast\n.Lone:\n\ttestq %rdi, %rdi\n\tjle .Lend\n\
         \txorl %eax, %eax\n.Llast:\n\tleaq (%rdi,%rax), %rcx\n\tmovl Y(,%rax,4), %esi\n\tmovl %esi, X(,%rcx,4)\n\
         .Lend:\n\tret"
    );
    let mut options = ProveOptions::default();
    options.search.time = Duration::from_secs(40);
    assembled::verdict_with(&source, &FLAGS, &assembly, options).0
}

/// s174 as 32-bit code: for `M` = 2^30 the vector loop has no end, and `a[M]` is undefined at once.
#[test]
fn what_is_undefined_at_once_needs_no_invariant() {
    let llvm = judging::llvm();
    let configuration = Configuration::new(llvm, Compiler::Gcc12, Flags::Paper, Target::I386).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/kernels/s174.c");
    let object = judging::object(&configuration.compiler, &source, &configuration.flags, folder.path());
    let object = ObjectFile::parse("s174.o", &std::fs::read(object).unwrap()).unwrap();
    let text = compile::text(llvm, &source, &configuration.meaning).unwrap();
    let module = Module::parse("s174.c", &text).unwrap();
    let code = object.function("s174").unwrap();
    let solver = Program::find(Kind::Z3).unwrap();
    let (verdict, _) = prove(&module, code, &solver, ProveOptions::default()).unwrap();
    assert_eq!(assembled::said(&verdict), "proved");
}

#[test]
fn a_call_or_an_end_before_that_counts() {
    for before in ["if (n > 1000) g();", "if (n > 1000) break;"] {
        assert!(!matches!(verdict(before, "3"), Verdict::Proved(_)), "{before}");
    }
    assert!(!matches!(verdict("", "4"), Verdict::Proved(_)), "twice as far");
}
