//! Functions of linked objects: proved where they are right, refuted where they are wrong, whatever the linker has
//! put beside what.

mod judging;

use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};
use metaloc_toolchain::process::Task;

const KINDS: [(&str, &[&str]); 4] = [
    ("fixed, i386", &["-m32", "-no-pie", "-fno-pic"]),
    ("fixed", &["-no-pie", "-fno-pic"]),
    ("position-independent", &["-pie", "-fpie"]),
    ("library", &["-shared", "-fpic"]),
];

/// s000 as gcc links it with its data, the sum being what is given.
fn verdict(flags: &[&str], sum: &str) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let (source, to) = (folder.path().join("s000.c"), folder.path().join("s000"));
    let text = format!(
        "int before[64], X[32000] __attribute__((aligned(16))), Y[32000] __attribute__((aligned(16))), val, after[64];\n\
         int s000(void) {{ for (int i = 0; i < 32000; i++) X[i] = {sum}; return 0; }}\n\
         int main(void) {{ return s000() + before[0] + after[0]; }}\n"
    );
    std::fs::write(&source, text).unwrap();
    let task = Task::new("gcc-12").args(["-O3", "-msse4.2", "-fwrapv", "-fcf-protection=none"]).args(flags);
    let outcome = task.arg(&source).arg("-o").arg(&to).run().unwrap();
    assert!(outcome.exit.success(), "{}", outcome.stderr_text());
    let file = ObjectFile::parse("s000", &std::fs::read(&to).unwrap()).unwrap();
    let ir = match file.address_bits() {
        32 => {
            let c = "extern int X[32000] __attribute__((aligned(16))), Y[32000] __attribute__((aligned(16))), val;\n\
                     int s000(void) { for (int i = 0; i < 32000; i++) X[i] = Y[i] + val; return 0; }\n";
            std::fs::write(&source, c).unwrap();
            compile::text(judging::llvm(), &source, &["-m32".to_owned(), "-fwrapv".to_owned()]).unwrap()
        }
        _ => {
            let folder = env!("CARGO_MANIFEST_DIR");
            std::fs::read_to_string(format!("{folder}/../regress/objects/s000.ll")).unwrap()
        }
    };
    let module = Module::parse("s000.ll", &ir).unwrap();
    let solver = Program::find(Kind::Z3).unwrap();
    prove(&module, file.function("s000").unwrap(), &solver, ProveOptions::default()).unwrap().0
}

#[test]
fn linked_code_is_proved() {
    for (kind, flags) in KINDS {
        let found = verdict(flags, "Y[i] + val");
        assert!(matches!(found, Verdict::Proved(_)), "{kind}: {found:?}");
    }
}

#[test]
fn wrong_linked_code_is_refuted() {
    for (kind, flags) in KINDS {
        let found = verdict(flags, "Y[i] - val");
        assert!(matches!(found, Verdict::Refuted(_)), "{kind}: {found:?}");
    }
}
