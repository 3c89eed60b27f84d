//! What only the file itself sees: its compiler knows all that is done with a `static` variable and how a `static`
//! function is called, so a run that rests on anything else refutes nothing. The twins are refuted, or not proved.

mod assembled;
mod judging;

use assembled::{said, verdict};

fn of(source: &str, assembly: &str) -> String {
    said(&verdict(source, &["-fwrapv"], assembly))
}

#[test]
fn a_variable_that_nobody_writes_to_holds_what_it_does_at_first() {
    let source = "static int k = 5;\nint f(int x) { return x + k; }";
    let found = of(source, "\tleal 5(%rdi), %eax\n\tret\n");
    assert!(found.starts_with("unknown"), "{found}");
    assert!(of(source, "\tleal 6(%rdi), %eax\n\tret\n").starts_with("refuted"));
    // It is 5 or 7.
    let set = "static int k = 5;\nint f(int x) { return k == 6 ? x : 1; }\nvoid g(void) { k = 7; }";
    let found = of(set, "\tmovl $1, %eax\n\tret\n");
    assert!(found.starts_with("unknown"), "{found}");
    assert!(of(set, "\tmovl $2, %eax\n\tret\n").starts_with("refuted"));
    // Other files may write to this one.
    let shared = source.replace("static ", "");
    assert!(of(&shared, "\tleal 5(%rdi), %eax\n\tret\n").starts_with("refuted"));
}

#[test]
fn what_is_left_in_a_variable_of_the_file_shows_nothing() {
    let source = "static int k;\nint f(int *p) { k = 3; *p = 1; return k; }";
    let found = of(source, "\tmovl $1, (%rdi)\n\tmovl $3, %eax\n\tret\n");
    assert!(found.starts_with("unknown"), "{found}");
    assert!(of(source, "\tmovl $2, (%rdi)\n\tmovl $3, %eax\n\tret\n").starts_with("refuted"));
    assert!(of(source, "\tmovl $1, (%rdi)\n\tmovl $4, %eax\n\tret\n").starts_with("refuted"));
}

#[test]
fn no_pointer_leads_to_a_variable_of_the_file() {
    let source = "static int k = 5;\nint f(int *p) { *p = 1; return k; }\nvoid g(int v) { k = v; }";
    let data = "\t.data\n\t.align 4\n\t.type k, @object\n\t.size k, 4\nk:\n\t.long 5\n\t.text\n";
    let found = of(source, &format!("\tmovl k(%rip), %eax\n\tmovl $1, (%rdi)\n\tret\n{data}"));
    assert!(found.starts_with("unknown"), "{found}");
    let shared = source.replace("static ", "");
    let found = of(&shared, &format!("\tmovl k(%rip), %eax\n\tmovl $1, (%rdi)\n\tret\n\t.globl k\n{data}"));
    assert!(!found.starts_with("proved"), "{found}");
}

#[test]
fn a_function_of_the_file_is_called_with_what_it_is_called_with() {
    let source = "static __attribute__((noinline)) int f(int x) { X[x] = x; return X[x + 1]; }\nint g(void) { return f(5); }";
    let body = "\tmovl $5, X+20(%rip)\n\tmovl X+24(%rip), %eax\n\tret\n";
    let found = of(source, body);
    assert!(found.starts_with("unknown"), "{found}");
    assert!(of(&source.replace("static ", ""), body).starts_with("refuted"));
}

/// `.bss+4` with a register added is taken for a place before `b`, and is one in `a`.
#[test]
fn a_wrong_guess_of_the_variable_refutes_nothing() {
    let source = "static int a[4], b;\nint f(int i) { return a[(i & 1) + 1] + b; }\nvoid g(int i) { a[i & 3] = i; b = i; }";
    let data = "\t.bss\n\t.align 16\n\t.type a, @object\n\t.size a, 16\na:\n\t.zero 16\n\t.type b, @object\n\
                \t.size b, 4\nb:\n\t.zero 4\n\t.text\n";
    let body = "\tandl $1, %edi\n\tmovl .bss+4(,%rdi,4), %eax\n\taddl .bss+16(%rip), %eax\n\tret\n";
    let found = of(source, &format!("{body}{data}"));
    assert!(!found.starts_with("refuted"), "{found}");
    let found = of(source, &format!("{}{data}", body.replace("+4", "+8")));
    assert!(!found.starts_with("proved"), "{found}");
}

#[test]
fn a_variable_of_the_file_holds_at_first_what_the_source_says() {
    let source = "static int k = 5;\nint f(void) { return k; }\nvoid g(int v) { k = v; }";
    let data = "\t.data\n\t.align 4\n\t.type k, @object\n\t.size k, 4\nk:\n\t.long 5\n\t.text\n";
    let right = format!("\tmovl k(%rip), %eax\n\tret\n{data}");
    assert_eq!(of(source, &right), "proved");
    let found = of(source, &right.replace(".long 5", ".long 6"));
    assert!(found.contains("with other contents at first"), "{found}");
}
