//! Every class of obligation is needed: for each there is a pair of programs that differ on one of 2^32 inputs
//! only, so that no run shows it, and that are "proved" if that class is left out.

mod judging;

use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::product::required::{Class, Required};
use metaloc_prover::product::search::Options;
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};
use std::path::PathBuf;
use std::time::Duration;

/// The value for which something is different.
const SECRET: &str = "1554098974";

/// Both programs as text.
struct Pair {
    source: String,
    assembly: String,
}

const DATA: &str = "extern int X[240] __attribute__((aligned(16))), Y[240] __attribute__((aligned(16)));\n\
                    extern int val;\n";

/// `X[i] = Y[i] + val`, with `inside` before that in the loop of the source; in the machine code `first` at the
/// start, `turn` before the store, and `last` before the return.
fn pair(inside: &str, first: &str, turn: &str, last: &str) -> Pair {
    Pair {
        source: format!(
            "{DATA}int f(void) {{\n  for (int i = 0; i < 240; i++) {{\n    {inside}\n    X[i] = Y[i] + val;\n  \
             }}\n  return 0;\n}}\n"
        ),
        assembly: format!(
            "\t.text\n\t.globl f\n\t.type f, @function\nf:\n{first}\n\tmovd val(%rip), %xmm1\n\
             \tpshufd $0, %xmm1, %xmm1\n\txorl %eax, %eax\n.Lturn:\n\tmovdqa Y(%rax), %xmm0\n\
             \tpaddd %xmm1, %xmm0\n{turn}\n\tmovaps %xmm0, X(%rax)\n\taddq $16, %rax\n\tcmpq $960, %rax\n\
             \tjne .Lturn\n\txorl %eax, %eax\n{last}\n\tret\n\t.size f, .-f\n"
        ),
    }
}

/// A call of a function that nobody knows, with `val`.
fn calling(call: &str) -> Pair {
    Pair {
        source: format!("{DATA}void h(int);\nint f(void) {{\n  h(val);\n  return X[val & 15];\n}}\n"),
        assembly: format!(
            "\t.text\n\t.globl f\n\t.type f, @function\nf:\n\tsubq $8, %rsp\n{call}\n\tmovl val(%rip), %eax\n\
             \tandl $15, %eax\n\tmovl X(,%rax,4), %eax\n\taddq $8, %rsp\n\tret\n\t.size f, .-f\n"
        ),
    }
}

/// A pair whose only difference is what the class is there to notice.
fn difference(class: Class) -> Option<Pair> {
    Some(match class {
        // A branch that no run takes.
        Class::Coverage => {
            let door = format!("\tcmpl ${SECRET}, val(%rip)\n\tjne 1f\n\tmovl $1, X+8(%rip)\n\tret\n1:");
            pair("", &door, "", "")
        }
        // One element is one less.
        Class::Preservation => {
            let first = format!("\tmovl ${SECRET}, %ecx\n\tmovd %ecx, %xmm2\n\tpshufd $0, %xmm2, %xmm2");
            pair("", &first, "\tmovdqa %xmm0, %xmm3\n\tpcmpeqd %xmm2, %xmm3\n\tpaddd %xmm3, %xmm0", "")
        }
        // The source stops early.
        Class::Correlation => pair(&format!("if (Y[i] == {SECRET}) return 0;"), "", "", ""),
        // A read far behind the array, of a value that is not used.
        Class::Access => {
            let read = format!(
                "\txorl %ecx, %ecx\n\tcmpl ${SECRET}, val(%rip)\n\tsete %cl\n\tshll $20, %ecx\n\tmovl Y(%rcx), %edx"
            );
            pair("", &read, "", "")
        }
        // Another result.
        Class::Observable => pair("", "", "", &format!("\tcmpl ${SECRET}, val(%rip)\n\tsete %al")),
        // Another argument.
        Class::Event => {
            let call = |extra: &str| {
                format!("\tmovl val(%rip), %edi\n\txorl %eax, %eax\n{extra}\taddl %eax, %edi\n\tcall h")
            };
            calling(&call(&format!("\tcmpl ${SECRET}, val(%rip)\n\tsete %al\n")))
        }
        // A loop without end.
        Class::Progress => pair("", &format!("2:\tcmpl ${SECRET}, val(%rip)\n\tje 2b"), "", ""),
        // A pointer that is aligned only if the caller chose to.
        Class::Precondition => Pair {
            source: format!("{DATA}int f(int *p) {{\n  X[0] = p[0] + p[1] + p[2] + p[3];\n  return 0;\n}}\n"),
            assembly: "\t.text\n\t.globl f\n\t.type f, @function\nf:\n\tmovdqa (%rdi), %xmm0\n\
                       \tmovdqa %xmm0, %xmm1\n\tpsrldq $8, %xmm1\n\tpaddd %xmm1, %xmm0\n\tmovdqa %xmm0, %xmm1\n\
                       \tpsrldq $4, %xmm1\n\tpaddd %xmm1, %xmm0\n\tmovd %xmm0, X(%rip)\n\txorl %eax, %eax\n\tret\n\
                       \t.size f, .-f\n"
                .to_owned(),
        },
        // Follows from the others: the entry has a model, and edges keep invariants. It is there so that a
        // mistake in the prover does not make everything true.
        Class::Satisfiable => return None,
    })
}

fn said(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Proved(_) => "proved".to_owned(),
        Verdict::Refuted(refuted) => refuted.what.clone(),
        Verdict::Unknown(failure) => failure.to_string(),
        Verdict::Unsupported(what) => what.clone(),
    }
}

fn verdict(pair: &Pair, required: Required) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let (source, assembly) = (folder.path().join("f.c"), folder.path().join("g.s"));
    std::fs::write(&source, &pair.source).unwrap();
    std::fs::write(&assembly, &pair.assembly).unwrap();
    let text = compile::text(judging::llvm(), &source, &["-fwrapv".to_owned()]).unwrap();
    let module = Module::parse("f.c", &text).unwrap();
    let object: PathBuf = judging::object("gcc-12".as_ref(), &assembly, &[], folder.path());
    let code =
        ObjectFile::parse("f.o", &std::fs::read(object).unwrap()).unwrap().function("f").unwrap().clone();
    let search = Options { time: Duration::from_secs(240), required, ..Options::default() };
    let options = ProveOptions { search, ..ProveOptions::default() };
    prove(&module, &code, &Program::find(Kind::Z3).unwrap(), options).unwrap().0
}

#[test]
fn without_a_difference_it_is_proved() {
    let verdict = verdict(&pair("", "", "", ""), Required::default());
    assert!(matches!(verdict, Verdict::Proved(_)), "{}", said(&verdict));
}

#[test]
fn the_twin_that_calls_with_the_same_is_proved() {
    let verdict = verdict(&calling("\tmovl val(%rip), %edi\n\tcall h"), Required::default());
    assert!(matches!(verdict, Verdict::Proved(_)), "{}", said(&verdict));
}

#[test]
fn the_twin_that_loads_unaligned_is_proved() {
    let mut pair = difference(Class::Precondition).unwrap();
    pair.assembly = pair.assembly.replacen("movdqa", "movdqu", 1);
    let verdict = verdict(&pair, Required::default());
    assert!(matches!(verdict, Verdict::Proved(_)), "{}", said(&verdict));
}

#[test]
fn every_class_notices_what_no_run_shows() {
    for class in Class::ALL {
        let Some(pair) = difference(class) else { continue };
        let with = verdict(&pair, Required::default());
        assert!(!matches!(with, Verdict::Proved(_)), "{class:?}: a false proof");
        let without = verdict(&pair, Required::without(class));
        assert!(matches!(without, Verdict::Proved(_)), "{class:?} left out: {}", said(&without));
    }
}
