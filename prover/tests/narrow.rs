//! Parameters and counters of 8 and 16 bits that stay in a register around a loop.

mod assembled;
mod judging;

use metaloc_prover::prove::Verdict;

/// A value of some bits is used in every turn, as `extend` widens it.
fn is_proved(of: &str, extend: &str, register: &str) -> bool {
    let source =
        format!("int f({of} c, int n) {{ int t = 0; for (int i = 0; i < n; i++) t += c; return t; }}");
    let assembly = format!(
        "\txorl %eax, %eax\n\ttestl %esi, %esi\n\tjle .Lend\n\txorl %ecx, %ecx\n.Lturn:\n\t{extend} {register}, %edx\n\
         \taddl %edx, %eax\n\tincl %ecx\n\tcmpl %esi, %ecx\n\tjne .Lturn\n.Lend:\n\tret"
    );
    matches!(assembled::verdict(&source, &["-fwrapv"], &assembly), Verdict::Proved(_))
}

#[test]
fn a_narrow_value_is_the_low_part_of_a_register() {
    assert!(is_proved("unsigned char", "movzbl", "%dil"));
    assert!(is_proved("short", "movswl", "%di"));
}

#[test]
fn the_wrong_part_or_extension_is_not_proved() {
    assert!(!is_proved("unsigned char", "movsbl", "%dil"));
    assert!(!is_proved("short", "movzwl", "%di"));
    assert!(!is_proved("short", "movsbl", "%dil"));
}

/// A caller widens what is narrower than 32 bits, and no further.
#[test]
fn a_narrow_parameter_is_passed_in_32_bits() {
    let of = |source: &str, body: &str| {
        assembled::said(&assembled::verdict(source, &[], &format!("\t{body}\n\tret")))
    };
    let (truth, short, byte) = (
        "int f(_Bool c) { return c; }",
        "long f(short c) { return c; }",
        "unsigned long f(unsigned char c) { return c; }",
    );
    for right in ["movl %edi, %eax", "movzbl %dil, %eax", "movzwl %di, %eax"] {
        assert_eq!(of(truth, right), "proved", "{right}");
    }
    for right in ["movslq %edi, %rax", "movswq %di, %rax"] {
        assert_eq!(of(short, right), "proved", "{right}");
    }
    assert_eq!(of(byte, "movl %edi, %eax"), "proved");
    for (source, wrong) in [
        (truth, "movsbl %dil, %eax\n\tnegl %eax"),
        (truth, "movq %rdi, %rax\n\tshrq $32, %rax"),
        (short, "movq %rdi, %rax"),
        (short, "movl %edi, %eax"),
        (short, "movzwl %di, %eax"),
        (byte, "movq %rdi, %rax"),
    ] {
        let said = of(source, wrong);
        assert!(said.starts_with("refuted"), "{wrong}: {said}");
    }
}
