//! Tables that compilers make of a `switch`: jumps through them, and numbers read from them, as compilers make them
//! and as mistakes would make them.

mod assembled;
mod judging;

use assembled::{said, verdict};
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};

const SWITCH: &str = "int f(int x, int y) { switch (x) { case 0: case 3: return y + 1; case 1: return y + 5; \
                      case 2: return y ^ 7; default: return 0; } }";

const CASES: &str = ".La:\n\tleal 1(%rsi), %eax\n\tret\n.Lb:\n\tleal 5(%rsi), %eax\n\tret\n.Lc:\n\tmovl %esi, %eax\n\
                     \txorl $7, %eax\n\tret\n.Ld:\n\txorl %eax, %eax\n\tret\n";

const ABSOLUTE: &str = "\tcmpl $3, %edi\n\tja .Ld\n\tmovl %edi, %eax\n\tjmp *.Lt(,%rax,8)\n";
const ADDRESSES: &str = "\t.section .rodata\n\t.align 8\n.Lt:\n\t.quad .La, .Lb, .Lc, .La\n\t.text\n";

const RELATIVE: &str = "\tcmpl $3, %edi\n\tja .Ld\n\tleaq .Lt(%rip), %rdx\n\tmovl %edi, %eax\n\
                        \tmovslq (%rdx,%rax,4), %rax\n\taddq %rdx, %rax\n\tjmp *%rax\n";
const DISTANCES: &str =
    "\t.section .rodata\n\t.align 4\n.Lt:\n\t.long .La-.Lt, .Lb-.Lt, .Lc-.Lt, .La-.Lt\n\t.text\n";

fn of(source: &str, assembly: &str) -> String {
    said(&verdict(source, &["-fwrapv"], assembly))
}

/// What is said of a part that is there once and replaced.
fn changed(source: &str, assembly: &str, from: &str, to: &str) -> String {
    assert_eq!(assembly.matches(from).count(), 1, "{from} is there once");
    of(source, &assembly.replace(from, to))
}

#[test]
fn jumps_through_addresses_are_proved_and_mistakes_are_not() {
    let right = [ABSOLUTE, CASES, ADDRESSES].concat();
    assert_eq!(of(SWITCH, &right), "proved");
    let wrong = [
        ("entries swapped", ".quad .La, .Lb", ".quad .Lb, .La"),
        ("a case less", "cmpl $3", "cmpl $2"),
        ("a case more", "$3, %edi", "$4, %edi"),
        ("a signed comparison", "ja .Ld", "jg .Ld"),
        ("a comparison of a byte", "cmpl $3, %edi", "cmpb $3, %dil"),
        ("no comparison", "\tja .Ld\n", ""),
        ("a comparison of something else", "cmpl $3, %edi", "cmpl $3, %esi"),
        ("an index that is not extended", "movl %edi, %eax", "movl %edi, %eax\n\tshlq $32, %rax"),
        ("another element", ".Lt(,%rax,8)", ".Lt+8(,%rax,8)"),
        ("a table that can be written to", ".section .rodata", ".section .data"),
        ("a table of another name that is writable", ".section .rodata", ".section .tables, \"aw\""),
        ("a place in an instruction", ".Lc, .La", ".Lc+1, .La"),
        ("another function", ".Lc, .La", "g, .La"),
        ("numbers", ".Lc, .La", "64, .La"),
        ("a place in a case", ".Lc, .La", ".Lc+2, .La"),
    ];
    for (what, from, to) in wrong {
        assert_ne!(changed(SWITCH, &right, from, to), "proved", "{what}: a false proof");
    }
    // The table goes on: a case that the source does not have.
    let more = right.replace("$3, %edi", "$4, %edi").replace(".Lc, .La", ".Lc, .La, .Lb");
    assert_ne!(of(SWITCH, &more), "proved", "a case more, and its entry");
    assert!(changed(SWITCH, &right, "ja .Ld", "jg .Ld").contains("jump table of unknown size at 0x"));
    let other = changed(SWITCH, &right, ".Lc, .La", "g, .La");
    assert!(other.contains("jump table whose entry 2 is no place in the function"), "{other}");
}

#[test]
fn jumps_by_distances_are_proved_and_mistakes_are_not() {
    let right = [RELATIVE, CASES, DISTANCES].concat();
    assert_eq!(of(SWITCH, &right), "proved");
    let wrong = [
        ("entries swapped", ".long .La-.Lt, .Lb-.Lt", ".long .Lb-.Lt, .La-.Lt"),
        ("another base", "addq %rdx, %rax", "leaq .Lt+4(%rip), %rdx\n\taddq %rdx, %rax"),
        ("distances that are not negative", "movslq (%rdx,%rax,4), %rax", "movl (%rdx,%rax,4), %eax"),
        ("a distance of something else", ".Lc-.Lt", ".Lc-.Lt+4"),
        ("half of a distance", "movslq (%rdx,%rax,4), %rax", "movswq (%rdx,%rax,4), %rax"),
        ("a comparison of a byte", "cmpl $3, %edi", "cmpb $3, %dil"),
        ("the base twice", "addq %rdx, %rax", "addq %rdx, %rax\n\taddq %rdx, %rax"),
    ];
    for (what, from, to) in wrong {
        assert_ne!(changed(SWITCH, &right, from, to), "proved", "{what}: a false proof");
    }
}

#[test]
fn numbers_of_a_table_are_proved_and_mistakes_are_not() {
    let source = "int f(int x) { switch (x) { case 0: return 17; case 1: return 23; case 2: return 5; \
                  case 3: return 99; default: return -1; } }";
    let right = "\tmovl $-1, %eax\n\tcmpl $3, %edi\n\tja .Ld\n\tmovl %edi, %edi\n\tmovl .Lv(,%rdi,4), %eax\n.Ld:\n\tret\n\
                 \t.section .rodata\n\t.align 4\n.Lv:\n\t.long 17, 23, 5, 99\n\t.long 1, 2, 3, 4\n\t.text\n";
    assert_eq!(of(source, right), "proved");
    let wrong = [
        ("another number", "17, 23", "17, 24"),
        ("numbers swapped", "17, 23", "23, 17"),
        ("another width", ".Lv(,%rdi,4)", ".Lv(,%rdi,8)"),
        ("another element", ".Lv(,%rdi,4)", ".Lv+4(,%rdi,4)"),
        ("a case more", "cmpl $3", "cmpl $4"),
        ("a comparison of a byte", "cmpl $3, %edi", "cmpb $3, %dil"),
        ("a table that can be written to", ".section .rodata", ".section .data"),
        ("an entry that the linker writes", "5, 99", "g, 99"),
        ("no comparison", "\tja .Ld\n", ""),
    ];
    for (what, from, to) in wrong {
        assert_ne!(changed(source, right, from, to), "proved", "{what}: a false proof");
    }
}

/// The commonest number of a table is what a read beyond its end would be taken for, were it not required that there is
/// none: a source that returns just that number there must not make up for a comparison that is missing.
#[test]
fn nothing_is_read_beyond_the_end_of_a_table() {
    let source =
        "int f(unsigned x) { switch (x) { case 1: return 7; case 2: return 9; default: return 5; } }";
    let right = "\tmovl $5, %eax\n\tcmpl $3, %edi\n\tja .Ld\n\tmovl %edi, %edi\n\tmovl .Lv(,%rdi,4), %eax\n.Ld:\n\tret\n\
                 \t.section .rodata\n\t.align 4\n.Lv:\n\t.long 5, 7, 9, 5\n\t.text\n";
    assert_eq!(of(source, right), "proved");
    for (what, from, to) in
        [("no comparison", "\tja .Ld\n", ""), ("another place is compared", "cmpl $3, %edi", "cmpl $3, %esi")]
    {
        assert_ne!(changed(source, right, from, to), "proved", "{what}: a false proof");
    }
}

/// What the source says that a constant holds, it holds: a run with something else there shows nothing.
#[test]
fn numbers_that_are_folded_are_not_refuted() {
    let source = "static const int t[4] = {3, 1, 4, 1};\nint f(int i) { return t[i & 3] < 5; }";
    let found = of(source, "\tmovl $1, %eax\n\tret\n");
    assert!(!found.starts_with("refuted"), "{found}");
}

#[test]
fn a_variable_of_the_file_is_known_by_its_place_in_its_section() {
    let source =
        "static int a[4], b;\nint f(int i) { return a[i & 3] + b; }\nvoid g(int i) { a[i & 3] = i; b = i; }";
    let data = "\t.local a\n\t.comm a,16,16\n\t.local b\n\t.comm b,4,4\n";
    let body = "\tandl $3, %edi\n\tmovl a(,%rdi,4), %eax\n\taddl b(%rip), %eax\n\tret\n";
    assert_eq!(of(source, &[body, data].concat()), "proved");
    for (what, from, to) in [
        ("another variable", "addl b(%rip)", "addl a(%rip)"),
        ("past its end", "addl b(%rip)", "addl b+4(%rip)"),
        ("another element", "a(,%rdi,4)", "a+4(,%rdi,4)"),
    ] {
        assert_ne!(changed(source, &[body, data].concat(), from, to), "proved", "{what}: a false proof");
    }
}

const COMPILED: &str = "int sw(int x, int y) { switch (x) { case 0: return y + 1; case 1: return y * 3; case 2: \
                        return y - 7; case 3: return y + 77; case 4: return y ^ 99; case 5: return y << 3; default: \
                        return 0; } }\nint val(int x) { switch (x) { case 0: return 17; case 1: return 23; case 2: \
                        return 5; case 3: return 99; case 4: return 7; case 5: return 1; default: return -1; } }\n";

/// Verdicts on what a compiler makes of all functions of a text.
fn compiled(text: &str, compiler: &str, flags: &[&str]) -> Vec<(String, Verdict)> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("s.c");
    std::fs::write(&source, text).unwrap();
    let means = |flag: &&&str| **flag == "-m32" || **flag == "-fwrapv";
    let width: Vec<String> = flags.iter().filter(means).map(|flag| (*flag).to_owned()).collect();
    let module = Module::parse("s.c", &compile::text(judging::llvm(), &source, &width).unwrap()).unwrap();
    let mut flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    if compiler.starts_with("gcc") {
        flags.push("-fno-reorder-blocks-and-partition".to_owned());
    }
    let object = judging::object(compiler.as_ref(), &source, &flags, folder.path());
    let object = ObjectFile::parse("s.o", &std::fs::read(object).unwrap()).unwrap();
    let program = Program::find(Kind::Z3).unwrap();
    let verdict = |name: &str| {
        let code = object.function(name).unwrap();
        let mut options = ProveOptions::default();
        options.search.time = std::time::Duration::from_secs(180);
        prove(&module, code, &program, options).unwrap().0
    };
    module.functions().iter().map(|function| (function.name.clone(), verdict(&function.name))).collect()
}

fn all_proved(text: &str, compiler: &str, flags: &[&str]) {
    for (name, verdict) in compiled(text, compiler, &[flags, &["-O2", "-fwrapv"]].concat()) {
        assert_eq!(said(&verdict), "proved", "{name} of {compiler} {flags:?}");
    }
}

#[test]
fn what_compilers_make_of_a_switch_is_proved() {
    for compiler in ["gcc-12", "clang-19"] {
        for flags in [&["-fno-pic"][..], &["-fpie"], &["-m32", "-fno-pic"], &["-m32", "-fPIC"]] {
            all_proved(COMPILED, compiler, flags);
        }
    }
}

/// The address of the table is in a register that is set before the loop.
#[test]
fn a_table_whose_address_is_kept_over_a_loop_is_proved() {
    let text = "extern int X[240];\nint f(int n) { int s = 0; for (int i = 0; i < n; i++) { switch (X[i & 127]) { \
                case 1: s += 3; break; case 2: s ^= 5; break; case 3: s *= 7; break; case 4: s -= i; break; case 5: \
                s = 0; break; } } return s; }\n";
    all_proved(text, "gcc-12", &["-fpie"]);
}

/// How many entries a table has is a guess. Where it is wrong, a run of the machine shows nothing.
#[test]
fn a_wrong_guess_refutes_nothing() {
    let number = |entry: u32| (entry * entry * 7 + 3) % 1000;
    let cases: String = (0..64).map(|entry| format!("case {entry}: return {};", number(entry))).collect();
    let source = format!(
        "int f(unsigned x, int n) {{ if (n == 0 && x > 3) return -1; switch (x) {{ {cases} \
         default: __builtin_unreachable(); }} }}"
    );
    let entries: Vec<String> = (0..64).map(|entry| number(entry).to_string()).collect();
    let body = "\ttestl %esi, %esi\n\tjne .Lgo\n\tcmpl $3, %edi\n\tja .Ld\n.Lgo:\n\tmovl %edi, %eax\n\
                \tmovl .Lv(,%rax,4), %eax\n\tret\n.Ld:\n\tmovl $-1, %eax\n\tret\n";
    let table = format!("\t.section .rodata\n\t.align 4\n.Lv:\n\t.long {}\n\t.text\n", entries.join(", "));
    let found = of(&source, &format!("{body}{table}"));
    assert!(!found.starts_with("refuted"), "{found}");
    // Where the guess is right, a wrong number is found.
    let found = of(&source, &format!("{}{table}", body.replace("$3, %edi", "$2, %edi")));
    assert!(!found.starts_with("proved"), "{found}");
}

/// The linker writes eight bytes from four in front of the table: its first entry is not what the file says.
#[test]
fn an_entry_that_a_field_reaches_into_is_not_read() {
    let source = "int f(int x) { switch (x) { case 0: return 0; case 1: return 23; case 2: return 5; \
                  case 3: return 99; default: return -1; } }";
    let right = "\tmovl $-1, %eax\n\tcmpl $3, %edi\n\tja .Ld\n\tmovl %edi, %edi\n\tmovl CSWTCH.1(,%rdi,4), %eax\n.Ld:\n\tret\n\
                 \t.section .rodata\n\t.align 8\n\t.reloc ., R_X86_64_32, f\n\t.long 0\n\t.type CSWTCH.1, @object\n\
                 \t.size CSWTCH.1, 16\nCSWTCH.1:\n\t.long 0, 23, 5, 99\n\t.text\n";
    assert_eq!(of(source, right), "proved");
    let wrong = changed(source, right, "R_X86_64_32, f", "R_X86_64_64, f + 0x1700000000");
    assert_ne!(wrong, "proved", "a false proof");
}
