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

/// The convention has a truth value in a whole byte, the upper bits 0, and gcc reads it so; nothing is above the byte.
#[test]
fn a_truth_value_is_passed_in_a_byte() {
    let said =
        |assembly: &str| assembled::said(&assembled::verdict("int f(_Bool c) { return c; }", &[], assembly));
    let byte = said("\tmovzbl %dil, %eax\n\tret");
    assert!(!byte.starts_with("refuted"), "{byte}");
    assert_eq!(said("\tmovl %edi, %eax\n\tandl $1, %eax\n\tret"), "proved");
    for wrong in ["movl %edi, %eax", "movzwl %di, %eax", "movsbl %dil, %eax\n\tnegl %eax"] {
        let wrong = said(&format!("\t{wrong}\n\tret"));
        assert!(wrong.starts_with("refuted"), "{wrong}");
    }
}
