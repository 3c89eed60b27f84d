//! Objects that are broken or not for us: one clear error each, and never a panic.

use metaloc_prover::expr::Arena;
use metaloc_prover::lift::lift;
use metaloc_prover::object_file::ObjectFile;
use metaloc_toolchain::process::Task;
use std::path::Path;

fn s000() -> Vec<u8> {
    let path = format!("{}/../regress/objects/s000-gcc12-nopic.o", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

fn said(bytes: &[u8]) -> String {
    ObjectFile::parse("f.o", bytes).map(|_| ()).unwrap_err().to_string()
}

/// Parses, and lifts what there is: the result does not matter, that it ends without a panic does.
fn survive(bytes: &[u8]) {
    if let Ok(file) = ObjectFile::parse("f.o", bytes) {
        for function in file.functions() {
            let _ = lift(&mut Arena::new(), function);
        }
    }
}

#[test]
fn a_truncated_object_is_an_error_at_every_length() {
    let whole = s000();
    for length in 0..whole.len() {
        survive(&whole[..length]);
    }
    assert!(said(&[]).contains("f.o: not a readable object"), "{}", said(&[]));
    assert!(said(&whole[..40]).contains("f.o: not a readable object"), "{}", said(&whole[..40]));
    assert!(said(b"int main() {}").contains("f.o: not a readable object"));
    let missing = ObjectFile::parse("f.o", &whole).unwrap().function("s111").unwrap_err().to_string();
    assert_eq!(missing, "f.o: no function `s111`; there are: s000");
}

#[test]
fn no_changed_byte_makes_the_reader_panic() {
    let whole = s000();
    let mut changed = whole.clone();
    for position in 0..whole.len() {
        for value in [0x00, 0xff, whole[position] ^ 0x01] {
            changed[position] = value;
            survive(&changed);
        }
        changed[position] = whole[position];
    }
}

#[test]
fn other_processors_are_named() {
    let mut arm = s000();
    // e_machine: EM_AARCH64.
    arm[18..20].copy_from_slice(&183u16.to_le_bytes());
    assert_eq!(said(&arm), "f.o: for little-endian Aarch64, want little-endian x86-64 or i386");
    // The header of a relocatable big-endian object for PowerPC, with no section.
    let mut big = vec![0x7f, b'E', b'L', b'F', 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    big.extend([0, 1, 0, 21, 0, 0, 0, 1]);
    big.extend([0; 28]);
    big.extend([0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(said(&big), "f.o: for big-endian PowerPc64, want little-endian x86-64 or i386");
}

/// Compiles text with a tool's flags and gives the bytes.
fn compiled(folder: &Path, flags: &[&str], text: &str) -> Vec<u8> {
    let (source, to) = (folder.join("f.c"), folder.join("f.out"));
    std::fs::write(&source, text).unwrap();
    let outcome = Task::new("gcc-12").args(flags).arg(&source).arg("-o").arg(&to).run().unwrap();
    assert!(outcome.exit.success(), "{}", outcome.stderr_text());
    std::fs::read(&to).unwrap()
}

#[test]
fn a_stripped_object_and_a_core_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), &["-c"], "int f(void) { return 1; }");
    let object = folder.path().join("f.out");
    assert!(Task::new("strip").arg(&object).run().unwrap().exit.success());
    let stripped = std::fs::read(&object).unwrap();
    assert_eq!(said(&stripped), "f.o: no function symbols (stripped?)");
    let mut core = s000();
    // e_type: ET_CORE.
    core[16..18].copy_from_slice(&4u16.to_le_bytes());
    assert!(said(&core).starts_with("f.o: unsupported: a file of kind core"), "{}", said(&core));
}

#[test]
fn functions_of_linked_objects_are_found_by_symbol() {
    let folder = tempfile::tempdir().unwrap();
    let text = "int X[100]; static int h(int a) { return a * 3; }\n\
                int f(int i) { return X[i] + h(i); }\nint main(void) { return f(1); }";
    for flags in
        [&["-O2", "-no-pie", "-fno-pie"][..], &["-O2", "-pie", "-fpie"], &["-O2", "-shared", "-fpic"]]
    {
        let bytes = compiled(folder.path(), flags, text);
        let file = ObjectFile::parse("a.out", &bytes).unwrap();
        let function = file.function("f").unwrap();
        assert!(function.bytes.len() > 4 && function.low_pc >= 0x1000, "{flags:?}");
        assert_eq!(file.kind(), metaloc_proof::ObjectKind::Linked);
        let image = function.image.as_ref().unwrap();
        assert_eq!(image.fixed, flags.contains(&"-no-pie"), "{flags:?}");
        match image.address("X") {
            // Another object may have an `X` of its own, which then is the one.
            None => assert!(flags.contains(&"-shared"), "{flags:?}"),
            Some(start) => assert_eq!(image.at(start + 396).unwrap().symbol, "X", "{flags:?}"),
        }
        lift(&mut Arena::new(), function).unwrap();
    }
}

/// What lifting `f` of an assembled file says, with options for the linker if there are any.
fn refused(assembly: &str, link: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let (source, to) = (folder.path().join("f.s"), folder.path().join("f.o"));
    std::fs::write(&source, assembly).unwrap();
    let task = Task::new("gcc-12").args(if link.is_empty() { &["-c"] } else { link });
    let outcome = task.arg(&source).arg("-o").arg(&to).run().unwrap();
    assert!(outcome.exit.success(), "{}", outcome.stderr_text());
    let file = ObjectFile::parse("f.o", &std::fs::read(&to).unwrap()).unwrap();
    lift(&mut Arena::new(), file.function("f").unwrap()).err().map(|error| error.to_string())
}

#[test]
fn code_that_cannot_run_is_not_lifted() {
    let code = |section: &str| {
        format!(
            "\t.section {section}\n\t.globl f\n\t.type f, @function\nf:\tmovl $1, %eax\n\tret\n\t.size f, .-f\n"
        )
    };
    assert_eq!(refused(&code(".text"), &[]), None);
    let said = refused(&code(".rodata"), &[]).unwrap();
    assert_eq!(said, "unsupported: code in .rodata, which is not executable at 0x0");
}

/// The dynamic linker writes the address of a variable into the code.
#[test]
fn code_that_is_changed_when_it_is_loaded_is_not_lifted() {
    let code = |read: &str| {
        format!(
            "\t.text\n\t.globl f\n\t.type f, @function\nf:\t{read}\n\tret\n\t.size f, .-f\n\t.comm x,4,4\n"
        )
    };
    let library = ["-shared", "-nostdlib", "-Wl,-z,notext"];
    assert_eq!(refused(&code("movq x@GOTPCREL(%rip), %rax"), &library), None);
    let said = refused(&code("movabsq $x, %rax"), &library).unwrap();
    assert!(said.starts_with("unsupported: code that the dynamic linker changes"), "{said}");
}
