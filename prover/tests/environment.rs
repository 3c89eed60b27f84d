//! What a proof takes for granted of the world around the code, and what is refused because it cannot: the linker
//! moves constants, signal handlers write below the stack pointer, pages cannot be written to, and the object has
//! variables of its own. Beside each there is a twin that is proved.

mod assembled;
mod judging;

use assembled::{said, verdict};

/// The code is proved, and its twin is not: what is said of it begins like that.
fn only(source: &str, proved: &str, refused: &str, why: &str) {
    let right = said(&verdict(source, &["-fwrapv"], proved));
    assert_eq!(right, "proved", "{source}\n{proved}");
    let wrong = said(&verdict(source, &["-fwrapv"], refused));
    assert!(wrong.starts_with(why), "{wrong}, want {why}: {source}\n{refused}");
}

/// Constants may be on pages that cannot be written to.
#[test]
fn constants_are_not_written_back() {
    let load = "movl c+4(%rip), %eax\n";
    let store = "movl c+4(%rip), %eax\n movl %eax, c+4(%rip)\n";
    let constant = "extern const int c[4];\nint f(void) { return c[1]; }";
    only(constant, &format!("{load} ret"), &format!("{store} ret"), "unknown");
    // With one region for all, as the pointer may point to anything.
    let merged = "extern const int c[4];\nint f(int *p) { return *p + c[1]; }";
    let add = "addl (%rdi), %eax\n ret";
    only(merged, &format!("{load} {add}"), &format!("{store} {add}"), "unknown");
}

/// What the source only reads, another thread may write to.
#[test]
fn what_is_written_back_is_what_the_source_writes() {
    let blend = "movl X+4(%rip), %eax\n movl $3, %ecx\n cmpl $0, val(%rip)\n cmovne %ecx, %eax\n";
    let store = "movl %eax, X+4(%rip)\n";
    let written = "int f(void) { if (val) X[1] = 3; return X[1]; }";
    let verdict = said(&verdict(written, &["-fwrapv"], &format!("{blend} {store} ret")));
    assert_eq!(verdict, "proved");
    let read = "int f(void) { return val ? 3 : X[1]; }";
    let same = "movl X+4(%rip), %edx\n movl %edx, X+4(%rip)\n";
    only(read, &format!("{blend} ret"), &format!("{same} {blend} ret"), "unknown");
}

#[test]
fn memory_below_the_red_zone_is_not_relied_on() {
    let source = "int f(int x) { return x; }";
    let at = |offset: i32| {
        format!("movl %edi, {offset}(%rsp)\n xorl %eax, %eax\n movl {offset}(%rsp), %eax\n ret")
    };
    only(source, &at(-128), &at(-132), "unsupported: access below what is kept of the stack");
    // What is kept moves with the stack pointer.
    let moved = |between: &str| {
        let before = "subq $200, %rsp\n movl %edi, (%rsp)\n";
        format!("{before} {between} xorl %eax, %eax\n movl (%rsp), %eax\n addq $200, %rsp\n ret")
    };
    let (little, much) = ("addq $128, %rsp\n subq $128, %rsp\n", "addq $200, %rsp\n subq $200, %rsp\n");
    only(source, &moved(little), &moved(much), "unsupported: read of stack that was given back");
    // In a loop it is given back in the turn before.
    let pushed = "pushq %rdi\n popq %rax\n pushq %rdi\n popq %rax\n ret";
    assert_eq!(said(&verdict(source, &["-fwrapv"], pushed)), "proved");
}

/// The same where the distance depends on the input.
#[test]
fn memory_below_the_red_zone_is_not_relied_on_by_an_index() {
    let at = |offset: i32| {
        format!(
            "xorl %ecx, %ecx\n testl %esi, %esi\n je 1f\n movl $1, %ecx\n1: movl %edi, {offset}(%rsp,%rcx,8)\n \
             xorl %eax, %eax\n movl {offset}(%rsp,%rcx,8), %eax\n ret"
        )
    };
    only("int f(int x, int y) { return x; }", &at(-16), &at(-4096), "unknown");
}

/// The linker makes one of equal entries: what follows an entry is anything.
#[test]
fn constants_that_are_merged_are_read_one_by_one() {
    let at = |load: &str, section: &str, bytes: u32| {
        format!(
            ".pushsection {section},\"aM\",@progbits,{bytes}\n .balign {bytes}\n one: .long 1\n two: .long 2\n \
             .popsection\n {load}, %eax\n ret"
        )
    };
    let source = "int f(void) { return 2; }";
    let behind = "movl one+4(%rip)";
    let whole = at(behind, ".rodata.cst8", 8);
    only(source, &whole, &at(behind, ".rodata.cst4", 4), "unsupported: the code uses `one`");
    // Here the relocation names the section.
    let (itself, indexed) = (at("movl two", ".rodata.cst4", 4), at("movl one+4", ".rodata.cst4", 4));
    only(source, &itself, &indexed, "unsupported");
}

#[test]
fn what_the_object_defines_is_as_the_source_says() {
    let data = |section: &str, rest: &str, code: &str| {
        format!(".pushsection {section}\n {rest}\n .popsection\n {code}\n ret")
    };
    let table = |last: u32| {
        let bytes =
            format!(".balign 16\n .globl t\n .type t, @object\n .size t, 16\nt: .long 1, 2, 3, {last}");
        data(".rodata", &bytes, "andl $3, %edi\n movl t(,%rdi,4), %eax")
    };
    let source = "const int t[4] = {1, 2, 3, 4};\nint f(unsigned i) { return t[i & 3]; }";
    only(source, &table(4), &table(5), "unsupported: `t`, which the object has with other contents");

    let two = |between: &str| {
        let bytes = format!(".balign 4\n .globl x, y\nx: {between}\ny: .long 0");
        data(".data", &bytes, "movl $1, x(%rip)\n movl $2, y(%rip)\n movl x(%rip), %eax")
    };
    let source = "int x, y;\nint f(void) { x = 1; y = 2; return x; }";
    only(source, &two(".long 0"), &two(""), "unsupported: `x` and `y`, which the object has in one place");

    let clear = |align: u32| {
        let bytes = format!(".byte 1\n .globl a\n .size a, 32\n .balign {align}\na: .zero 32");
        data(".data", &bytes, "pxor %xmm0, %xmm0\n movaps %xmm0, a(%rip)")
    };
    let source = "int a[8];\nvoid f(void) { a[0] = 0; a[1] = 0; a[2] = 0; a[3] = 0; }";
    only(source, &clear(16), &clear(4), "unsupported: `a`, which the object has at a multiple of 4 bytes");

    let called = |section: &str, mark: &str, after: &str| {
        let bytes = format!(".balign 4\n .type t, @object\n .size t, 4\nt: .long 0\n {mark}");
        let code =
            format!("pushq %rbx\n movl t(%rip), %ebx\n call g\n movl %ebx, %eax\n {after}\n popq %rbx");
        data(section, &bytes, &code)
    };
    let source = "static int t;\nextern void g(void);\nvoid set(int v) { t = v; }\n\
                  int f(void) { int a = t; g(); return a - t; }";
    let again = called(".data", ".globl t", "subl t(%rip), %eax");
    // Of a local symbol of such a section the object has the name.
    let once = called(".rodata.cst4,\"aM\",@progbits,4", "", "subl %ebx, %eax");
    only(source, &again, &once, "unsupported: `t`, which the object has where it cannot be written to");
}

/// Processors differ in what it means.
#[test]
fn a_branch_with_an_operand_size_prefix_has_no_meaning() {
    let jump =
        |prefix: &str| format!("xchgw %ax, %ax\n movl %edi, %eax\n .byte {prefix}0xe9\n .long 0\n ret");
    let why = "unsupported: jmp with an operand-size prefix";
    only("int f(int x) { return x; }", &jump(""), &jump("0x66, "), why);
}

/// A caller may look at the whole byte.
#[test]
fn a_truth_value_is_a_byte() {
    let set = |more: &str| format!("xorl %eax, %eax\n cmpl $3, %edi\n setg %al\n {more} ret");
    only("_Bool f(int x) { return x > 3; }", &set(""), &set("orl $2, %eax\n"), "refuted");
    let shorter = said(&verdict("_Bool f(int x) { return x > 3; }", &[], "cmpl $3, %edi\n setg %al\n ret"));
    assert_eq!(shorter, "proved", "above the byte there may be anything");
}
