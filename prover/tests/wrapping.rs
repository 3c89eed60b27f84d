//! `-fwrapv -fno-wrapv-pointer`: numbers wrap around, and addresses of elements lie in their arrays.

mod assembled;
mod judging;

use metaloc_corpus::kernels;
use metaloc_prover::ir::compile;
use metaloc_prover::prove::Verdict;
use std::path::Path;

const BOTH: [&str; 2] = ["-fwrapv", "-fno-wrapv-pointer"];

fn is_proved(source: &str, flags: &[&str], assembly: &str) -> bool {
    matches!(assembled::verdict(source, flags, assembly), Verdict::Proved(_))
}

#[test]
fn the_bytes_to_an_element_do_not_wrap_around() {
    // For `k` = 2 the index is 2^62, and `X[0]` is read if four times that may wrap around.
    let source = "int f(int k) { return X[(long)k << 61] + ((k & 7) == 0); }";
    let assembly = "\tmovl X, %eax\n\tincl %eax\n\tret";
    assert!(is_proved(source, &BOTH, assembly));
    assert!(is_proved(source, &[], assembly));
    assert!(!is_proved(source, &["-fwrapv"], assembly), "where clang promises nothing of it");
    let other = "int f(int k) { return X[(long)k << 61] + ((k & 7) == 4); }";
    assert!(!is_proved(other, &BOTH, assembly));
}

#[test]
fn numbers_wrap_around() {
    let source = "int f(int k) { return k + 1 > k; }";
    let assembly = "\tmovl $1, %eax\n\tret";
    assert!(is_proved(source, &[], assembly));
    assert!(!is_proved(source, &BOTH, assembly));
    assert!(!is_proved(source, &["-fwrapv"], assembly));
}

/// What an older clang is not told is all that is dropped from what it makes: but for promises of addresses, the text is
/// that of `-fwrapv`.
#[test]
fn nothing_else_depends_on_the_flag() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/kernels");
    let mut checked = 0;
    for kernel in kernels::all(&folder).unwrap().iter().step_by(6) {
        let text = |flags: &[&str]| {
            let flags: Vec<String> =
                flags.iter().map(|flag| (*flag).to_owned()).chain(kernel.defines.clone()).collect();
            compile::text(judging::llvm(), &kernel.path, &flags).unwrap()
        };
        let without_addresses = |text: String| text.replace("getelementptr inbounds ", "getelementptr ");
        let (both, numbers) = (text(&BOTH), text(&["-fwrapv"]));
        checked += usize::from(both.contains("getelementptr inbounds "));
        assert_eq!(without_addresses(both), without_addresses(numbers), "{}", kernel.label());
    }
    assert!(checked > 10);
}
