//! What a name means in a source and in an object, how large things are that a source only declares, and bytes that
//! are not the ones that will run. Each mistake has a twin that is proved.

mod assembled;
mod judging;

fn said(source: &str, assembly: &str) -> String {
    let said = assembled::said(&assembled::verdict(source, &["-fwrapv"], assembly));
    // The source is in a folder that is new each time, and clang may leave out what it has in common with ours.
    match said.rsplit_once(" at ") {
        Some((what, place)) if place.contains("f.c:") => what.to_owned(),
        _ => said,
    }
}

/// As large as its definition, so no access is out of bounds for being past what is declared.
#[test]
fn what_is_declared_without_an_end_has_none() {
    let seven = "\tmovl $7, %eax\n\tret";
    let choice = "int f(int i) { if (i < 0) return 7; return";
    let unsupported = "unsupported: address of @a, which is declared without its size";
    assert_eq!(said(&format!("extern int a[]; {choice} a[i]; }}"), seven), unsupported);
    assert_eq!(said(&format!("extern struct {{ int n, d[]; }} a; {choice} a.d[i]; }}"), seven), unsupported);
    assert_eq!(
        said("extern int a[8]; int f(void) { return a[1]; }", "\tmovl a+4(%rip), %eax\n\tret"),
        "proved"
    );
}

#[test]
fn what_may_not_be_there_is_not_read() {
    let read = "\tmovq w@GOTPCREL(%rip), %rax\n\tmovl (%rax), %eax\n\tret";
    let weak = "extern int w __attribute__((weak)); int f(void) { if (&w) return w; return 0; }";
    assert_eq!(
        said(weak, &format!("\t.weak w\n{read}")),
        "unsupported: address of @w, which may not be there"
    );
    assert_eq!(said("extern int w; int f(void) { if (&w) return w; return 0; }", read), "proved");
}

#[test]
fn assembly_at_file_level_may_make_two_symbols_one() {
    let stores = "\tmovl $1, X\n\tmovl $2, val\n\tmovl $1, %eax\n\tret";
    let source = "int f(void) { X[0] = 1; val = 2; return X[0]; }";
    assert_eq!(said(source, stores), "proved");
    let alias = format!("asm(\".globl val\\n.set val, X\"); {source}");
    assert!(said(&alias, stores).starts_with("unsupported: assembly at file level"));
}

/// Of two relocations of a field the linker's last one counts; one that begins elsewhere changes what is not its own.
#[test]
fn relocations_are_whole_fields_and_alone() {
    let source = "int g(int); int h(int); int f(int x) { return g(x) + 1; }";
    let call =
        |more: &str| format!("\tsubq $8, %rsp\n\tcall g\n{more}\taddl $1, %eax\n\taddq $8, %rsp\n\tret");
    assert_eq!(said(source, &call("")), "proved");
    let twice = said(source, &call("\t.reloc .-4, R_X86_64_PLT32, h-4\n"));
    assert_eq!(twice, "unsupported: a relocation at 0x5 that others reach into at 0x0");
    let one = |behind: u32| {
        format!(
            "\tjmp 1f\n\t.byte 0xcc,0xcc,0xcc,0xcc,0xcc,0xcc\n\t.reloc .-{behind}, R_X86_64_32, val\n1:\tmovl $1, %eax\n\tret"
        )
    };
    assert_eq!(said("int f(void) { return 1; }", &one(4)), "proved", "it ends where the instruction begins");
    let over = said("int f(void) { return 1; }", &one(2));
    assert_eq!(over, "unsupported: relocation over the edge of mov eax,1 at 0x8");
}

#[test]
fn a_name_of_the_object_alone_is_not_that_of_another_file() {
    let call = "\tsubq $8, %rsp\n\tcall g\n\taddl $1, %eax\n\taddq $8, %rsp\n\tret\n";
    let local =
        format!("{call}\t.text 1\n\t.type g, @function\ng:\tmovl $5, %eax\n\tret\n\t.size g, .-g\n\t.text 0");
    let shared = "int g(int); int f(int x) { return g(x) + 1; }";
    assert_eq!(said(shared, call), "proved");
    assert_eq!(
        said(shared, &local),
        "unsupported: `g` is the object's own, and the source shares it with other files"
    );
    // That both have their own is what compilers make of it; that these are the same is proved of `g`.
    let own = "__attribute__((noinline)) static int g(int x) { return 5; } int f(int x) { return g(x) + 1; }";
    assert_eq!(said(own, &local), "proved");
}

#[test]
fn a_section_is_not_the_variable_of_its_name() {
    let source = "int f(void) { return val; }";
    assert_eq!(said(source, "\tmovl val(%rip), %eax\n\tret"), "proved");
    let section = "\tmovl local(%rip), %eax\n\tret\n\t.section val, \"aw\"\nlocal:\t.long 99\n\t.text";
    let verdict = said(source, section);
    assert!(verdict.starts_with("unsupported: the code uses `val#"), "{verdict}");
}
