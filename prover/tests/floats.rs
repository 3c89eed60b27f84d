//! Floating point, as compilers make it and as mistakes would make it.

mod assembled;
mod judging;

use assembled::{said, verdict_with};
use metaloc_prover::prove::{ProveOptions, Verdict};
use std::time::Duration;

const NUMBERS: &str = "extern float A[240], B[240];\nextern double D[240], E[240];\n";

/// The verdict on a function over numbers. The right ones take a few seconds; a wrong one would be tried for longer than
/// a test should take.
fn verdict(source: &str, assembly: &str) -> Verdict {
    verdict_of(source, &["-fwrapv", "-ffp-contract=off"], assembly)
}

fn verdict_of(source: &str, flags: &[&str], assembly: &str) -> Verdict {
    let mut options = ProveOptions::default();
    options.search.time = Duration::from_secs(40);
    verdict_with(&format!("{NUMBERS}{source}"), flags, assembly, options).0
}

fn proved(source: &str, assembly: &str) {
    assert_eq!(said(&verdict(source, assembly)), "proved", "{source}\n{assembly}");
}

fn not_proved(source: &str, assembly: &str) {
    let verdict = verdict(source, assembly);
    assert!(!matches!(verdict, Verdict::Proved(_)), "{source}\n{assembly}: a false proof");
}

fn refuted(source: &str, assembly: &str) {
    let said = said(&verdict(source, assembly));
    assert!(said.starts_with("refuted"), "{source}\n{assembly}: {said}");
}

/// What is neither: right, or at least nobody can say that it is wrong.
fn open(source: &str, assembly: &str) {
    let said = said(&verdict(source, assembly));
    assert!(said.starts_with("unknown"), "{source}\n{assembly}: {said}");
}

/// A loop over all elements, `rax` the index.
fn each(turn: &str) -> String {
    format!("\txorl %eax, %eax\n.Lturn:\n{turn}\taddq $1, %rax\n\tcmpq $240, %rax\n\tjne .Lturn\n\tret")
}

const UPDATE: &str = "void f(float a) { for (int i = 0; i < 240; i++) A[i] = a * A[i] - B[i]; }";
const TURN: &str =
    "\tmovss A(,%rax,4), %xmm1\n\tmulss %xmm0, %xmm1\n\tsubss B(,%rax,4), %xmm1\n\tmovss %xmm1, A(,%rax,4)\n";

#[test]
fn a_product_has_its_operands_in_any_order() {
    proved(UPDATE, &each(TURN));
    let other_way = "\tmovaps %xmm0, %xmm1\n\tmulss A(,%rax,4), %xmm1\n\tsubss B(,%rax,4), %xmm1\n\tmovss %xmm1, A(,%rax,4)\n";
    proved(UPDATE, &each(other_way));
}

/// What `-ffp-contract=on`, clang's default, allows to be one instruction.
#[test]
fn a_product_that_is_added_may_be_rounded() {
    let source = "void f(float a) { for (int i = 0; i < 240; i++) A[i] = a * A[i] + B[i]; }";
    let code = |turn: &str| each(&turn.replace("subss", "addss"));
    let said_of = |code: &str| said(&verdict_of(source, &["-fwrapv"], code));
    assert_eq!(said_of(&code(TURN)), "proved");
    assert!(said_of(&code(&TURN.replace("addss", "mulss").replace("mulss", "addss"))).starts_with("refuted"));
}

/// What a compiler computes itself it may round once; what it cannot know, code without fused instructions cannot.
#[test]
fn a_product_of_constants_may_be_fused() {
    let fused = |rest: &str| format!("\tmovl $0x300f5c29, %eax\n\tmovd %eax, %xmm1\n{rest}\tret");
    let said_of = |source: &str, code: &str| said(&verdict_of(source, &[], code));
    let start = "float f(float x) { float a = 0.1f; float y = a * a - 0.01f;";
    let alone = said_of(&format!("{start} return y; }}"), &fused("\tmovaps %xmm1, %xmm0\n"));
    assert!(alone.starts_with("unknown"), "{alone}");
    let used = said_of(&format!("{start} return x + y; }}"), &fused("\taddss %xmm1, %xmm0\n"));
    assert!(used.starts_with("unknown"), "{used}");
    // Through memory, too.
    let kept = said_of("float f(void) { A[0] = 0.1f; return A[0] * A[0] - 0.01f; }", &fused(""));
    assert!(kept.starts_with("unknown"), "{kept}");
    let unknown = said_of("float f(float x) { return x * x - 0.01f; }", &fused("\tmovaps %xmm1, %xmm0\n"));
    assert!(unknown.starts_with("refuted"), "{unknown}");
}

#[test]
fn mistakes_in_an_expression_are_refuted() {
    let mistakes = [
        ("mulss", "addss", "another operation"),
        ("mulss", "mulps", "more lanes: the same"),
        (
            "subss B(,%rax,4), %xmm1",
            "movss B(,%rax,4), %xmm2\n\tsubss %xmm1, %xmm2\n\tmovaps %xmm2, %xmm1",
            "turned",
        ),
        ("subss B", "subss A", "another array"),
        ("subss B", "subsd B", "another format"),
        ("mulss %xmm0, %xmm1", "mulss %xmm1, %xmm1", "another factor"),
        ("movss %xmm1, A", "movsd %xmm1, A", "a wider store"),
        ("\taddq", "\tcmpq $238, %rax\n\tje .Lend\n\taddq", "one element less"),
    ];
    for (from, to, what) in mistakes {
        let code = each(TURN).replacen(from, to, 1).replace("\tret", ".Lend:\n\tret");
        if what.ends_with("the same") {
            proved(UPDATE, &code);
        } else {
            refuted(UPDATE, &code);
        }
    }
}

/// A product is one value, whatever NaN it is: all its uses see the same one.
#[test]
fn a_product_is_one_nan() {
    let source = "void f(void) { float t = A[0] * B[0]; A[1] = t; B[1] = t; }";
    let start = "\tmovss A, %xmm0\n\tmovss B, %xmm1\n\tmovaps %xmm0, %xmm2\n";
    let both = "\tmulss %xmm1, %xmm0\n\tmulss %xmm2, %xmm1\n";
    let code = |products: &str, other: &str| {
        format!("{start}{products}\tmovss %xmm{other}, A+4\n\tmovss %xmm1, B+4\n\tret")
    };
    proved(source, &code("\tmulss %xmm2, %xmm1\n", "1"));
    open(source, &code(both, "0"));
}

#[test]
fn sums_are_not_associative() {
    let source = "double f(void) { double s = 0; for (int i = 0; i < 240; i++) s += D[i]; return s; }";
    let sum = |before: &str, turn: &str, after: &str| {
        format!("{before}.Lturn:\n{turn}\taddq $8, %rax\n\tcmpq $1920, %rax\n\tjne .Lturn\n{after}\tret")
    };
    let start = "\txorpd %xmm0, %xmm0\n\txorl %eax, %eax\n";
    proved(source, &sum(start, "\taddsd D(%rax), %xmm0\n", ""));
    proved(source, &sum(start, "\tmovsd D(%rax), %xmm1\n\taddsd %xmm0, %xmm1\n\tmovapd %xmm1, %xmm0\n", ""));
    // 0 and -0 make 0.
    not_proved(source, &sum("\tmovsd D, %xmm0\n\tmovl $8, %eax\n", "\taddsd D(%rax), %xmm0\n", ""));
    refuted(source, &sum(start, "\taddss D(%rax), %xmm0\n", ""));
    refuted(source, &sum(start, "\tsubsd D(%rax), %xmm0\n", ""));
    let two = "\taddsd D(%rax), %xmm0\n\taddq $8, %rax\n\taddsd D(%rax), %xmm1\n";
    let apart = format!("\txorpd %xmm1, %xmm1\n{start}");
    refuted(source, &sum(&apart, two, "\taddsd %xmm1, %xmm0\n"));
}

#[test]
fn a_maximum_has_its_operands_in_one_order() {
    let source =
        "float f(void) { float m = A[0]; for (int i = 0; i < 240; i++) if (A[i] > m) m = A[i]; return m; }";
    let code = |turn: &str| format!("\tmovss A, %xmm0\n{}", each(turn));
    let right = "\tmovss A(,%rax,4), %xmm1\n\tmaxss %xmm0, %xmm1\n\tmovaps %xmm1, %xmm0\n";
    proved(source, &code(right));
    not_proved(source, &code("\tmaxss A(,%rax,4), %xmm0\n"));
    refuted(source, &code(&right.replace("maxss", "minss")));
}

#[test]
fn comparisons_know_what_is_no_number() {
    let ask = |relation: &str| format!("int f(float a, float b) {{ return {relation}; }}");
    let code = |set: &str| format!("\txorl %eax, %eax\n\tucomiss %xmm1, %xmm0\n\t{set} %al\n\tret");
    proved(&ask("a > b"), &code("seta"));
    proved(&ask("!(a <= b)"), &code("seta").replace("%xmm1, %xmm0", "%xmm0, %xmm1").replace("seta", "setb"));
    not_proved(&ask("a > b"), &code("setae"));
    not_proved(&ask("!(a <= b)"), &code("seta"));
    not_proved(&ask("a < b"), &code("setb"));
    not_proved(&ask("a == b"), &code("sete"));
    let both = "\tucomiss %xmm1, %xmm0\n\tsetnp %al\n\tsete %cl\n\tandb %cl, %al\n\tmovzbl %al, %eax\n\tret";
    proved(&ask("a == b"), both);
    let itself = "\txorl %eax, %eax\n\tucomiss %xmm0, %xmm0\n\tsetp %al\n\tret";
    // Right, and not found: no run has a NaN, so that nothing suggests what the two results have in common.
    open(&ask("a != a"), itself);
    not_proved(&ask("a != a"), &itself.replace("setp", "setnp"));
}

/// A mask, as vector code selects.
#[test]
fn masks_select() {
    let source = "float f(float a, float b) { return a < b ? a : 1.0f; }";
    let code = |relation: &str| {
        format!(
            "\tmovaps %xmm0, %xmm2\n\tcmp{relation}ss %xmm1, %xmm2\n\tandps %xmm2, %xmm0\n\tmovl $0x3f800000, %eax\n\
             \tmovd %eax, %xmm1\n\tandnps %xmm1, %xmm2\n\torps %xmm2, %xmm0\n\tret"
        )
    };
    proved(source, &code("lt"));
    for wrong in ["le", "eq", "nlt", "unord"] {
        not_proved(source, &code(wrong));
    }
}

#[test]
fn conversions_round_as_they_should() {
    let source = "void f(void) { for (int i = 0; i < 240; i++) X[i] = (int)A[i]; }";
    let code = |convert: &str| each(&format!("\t{convert} A(,%rax,4), %ecx\n\tmovl %ecx, X(,%rax,4)\n"));
    proved(source, &code("cvttss2si"));
    refuted(source, &code("cvtss2si"));
    let source = "double f(int n) { return n; }";
    proved(source, "\tcvtsi2sdl %edi, %xmm0\n\tret");
    proved(source, "\tmovslq %edi, %rdi\n\tcvtsi2sdq %rdi, %xmm0\n\tret");
    refuted(source, "\tcvtsi2ssl %edi, %xmm0\n\tcvtss2sd %xmm0, %xmm0\n\tret");
    refuted("double f(unsigned n) { return n; }", "\tcvtsi2sdl %edi, %xmm0\n\tret");
}

#[test]
fn parameters_have_registers_by_their_kind() {
    let source = "float f(int n, float a, double b, float c) { return c; }";
    proved(source, "\tmovaps %xmm2, %xmm0\n\tret");
    refuted(source, "\tmovaps %xmm1, %xmm0\n\tret");
    refuted(source, "\tmovaps %xmm3, %xmm0\n\tret");
    proved("int f(float a, int n) { return n; }", "\tmovl %edi, %eax\n\tret");
    refuted("int f(float a, int n) { return n; }", "\tmovl %esi, %eax\n\tret");
    let many = "float f(float a, float b, float c, float d, float e, float g, float h, float i, float j) { return a; }";
    assert_eq!(said(&verdict(many, "\tret")), "unsupported: 9 parameters in vector registers");
}

/// A result that is no number in any case: LLVM does not say which NaN, so another one refutes nothing.
#[test]
fn another_nan_refutes_nothing() {
    open(
        "float f(float a) { return (a - a) / (a - a); }",
        "\tmovl $0x7fc00000, %eax\n\tmovd %eax, %xmm0\n\tret",
    );
    open("int f(float a) { return (int)(a / a - a / a + 1e30f); }", "\txorl %eax, %eax\n\tret");
}

/// The same number, computed in another way, bit for bit.
#[test]
fn constants_may_be_others() {
    let twice = "double f(double a) { return a * 2; }";
    proved(twice, "\taddsd %xmm0, %xmm0\n\tret");
    refuted(twice, "\tmulsd %xmm0, %xmm0\n\tret");
    let constant = |bits: &str| format!("\tmovl ${bits}, %eax\n\tmovd %eax, %xmm1\n");
    let half = "float f(float a) { return a / 2; }";
    proved(half, &format!("{}\tmulss %xmm1, %xmm0\n\tret", constant("0x3f000000")));
    refuted(half, &format!("{}\tmulss %xmm1, %xmm0\n\tret", constant("0x3f000001")));
    let third = "float f(float a) { return a / 3; }";
    not_proved(third, &format!("{}\tmulss %xmm1, %xmm0\n\tret", constant("0x3eaaaaab")));
    let less = "float f(float a) { return a - 1; }";
    proved(less, &format!("{}\taddss %xmm1, %xmm0\n\tret", constant("0xbf800000")));
    // Of -0 the opposite is 0, of 0 less 0 it is -0.
    not_proved(
        "float f(float a) { return 0 - a; }",
        &format!("{}\txorps %xmm1, %xmm0\n\tret", constant("0x80000000")),
    );
    proved(
        "float f(float a) { return -a; }",
        &format!("{}\txorps %xmm1, %xmm0\n\tret", constant("0x80000000")),
    );
    refuted(
        "float f(float a) { return -a; }",
        &format!("{}\tandnps %xmm0, %xmm1\n\tmovaps %xmm1, %xmm0\n\tret", constant("0x80000000")),
    );
}

#[test]
fn what_is_not_followed_is_said() {
    let what = |source: &str, flags: &[&str]| said(&verdict_of(source, flags, "\tret"));
    let fast = what("void f(void) { A[0] = A[1] + A[2]; }", &["-ffast-math"]);
    assert!(fast.starts_with("unsupported: fadd (with "), "{fast}");
    let call = what("float g(float);\nvoid f(float a) { A[0] = g(a); }", &[]);
    assert!(call.starts_with("unsupported: call of g with floating point"), "{call}");
    let wide = what("long double f(long double a) { return a; }", &[]);
    assert!(wide.starts_with("unsupported"), "{wide}");
}
