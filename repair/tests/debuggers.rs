//! What gdb and lldb print of repaired objects: the hand-written proof of s000, and the structure of the debug
//! information over compilers, widths, versions of DWARF and kinds of executables.

mod tools;

use metaloc_proof::{Exact, Extend, MachinePlace, Place, Proof, Sum, SumTerm, Term, Word};
use metaloc_repair::{Claim, FunctionClaims, FunctionCode, Object, VariableClaims, Verdict};
use std::collections::BTreeMap;
use std::ops::Range;
use tools::{Folder, regress};

fn claims(symbol: &str, instructions: &[Range<u64>], variables: Vec<VariableClaims>) -> FunctionClaims {
    let pcs = instructions[0].start..instructions[instructions.len() - 1].end;
    let code = FunctionCode { symbol: symbol.to_owned(), pcs };
    FunctionClaims { code, instructions: instructions.to_vec(), variables }
}

/// The locations of a hand-written proof, each up to the next instruction.
fn located(proof: &Proof, instructions: &[Range<u64>]) -> FunctionClaims {
    let function = &proof.functions[0];
    let mut variables = Vec::new();
    for variable in &function.variables {
        let mut found = BTreeMap::new();
        for location in function.locations.iter().filter(|location| location.variable == variable.id) {
            let end = location.machine_prefix.paths.ends().unwrap().map(|(_, to)| to);
            let point = end.unwrap_or(function.nodes[location.node as usize].machine_point);
            let MachinePlace::Instruction { pc } = function.machine_points[point as usize].place else {
                panic!()
            };
            found.insert(pc, Claim { is: Verdict::Value(location.value.clone()), grouped: true });
        }
        variables.push(VariableClaims {
            name: variable.name.clone(),
            line: u64::from(variable.declared.line),
            column: u64::from(variable.declared.column),
            claims: found,
        });
    }
    claims(&function.machine.symbol, instructions, variables)
}

#[test]
fn the_loop_counter_of_s000_has_its_true_values_in_both_debuggers() {
    for (compiler, step) in [("gcc12", 4), ("clang19", 16)] {
        let folder = Folder::new();
        let object = regress(&format!("objects/s000-{compiler}-nopic.o"));
        let proof = std::fs::read(regress(&format!("proofs/equal/s000-{compiler}-nopic.json"))).unwrap();
        let proof = Proof::from_json(&proof).unwrap();
        let instructions = tools::instructions(&object, "s000");
        let function = located(&proof, &instructions);
        let bytes = std::fs::read(&object).unwrap();
        let repaired = Object::parse(&bytes).unwrap().repair(std::slice::from_ref(&function)).unwrap();
        assert_ne!(repaired.bytes, bytes);
        let written = folder.write("repaired.o", &repaired.bytes);
        tools::nothing_new(&object, &written);
        let driver = folder.write(
            "driver.c",
            b"int X[32000] __attribute__((aligned(16))), Y[32000] __attribute__((aligned(16))), val = 3;
              int s000(void); int main(void) { return s000(); }",
        );
        let program = folder.link("gcc-12", &["-no-pie"], &[&driver, &written]);
        let pcs: Vec<u64> = function.variables[0].claims.keys().copied().collect();
        assert!(!pcs.is_empty(), "the proof has locations");
        for pc in pcs {
            let at = format!("s000+{pc}");
            let expected = [0, step, 2 * step].map(|value| value.to_string());
            assert_eq!(tools::gdb(&program, &at, 3, &["i"]), expected, "gdb, {compiler} {at}");
            assert_eq!(tools::lldb(&program, "s000", pc, 3, &["i"]), expected, "lldb, {compiler} {at}");
        }
        // Once more changes nothing.
        let again = Object::parse(&repaired.bytes).unwrap().repair(&[function]).unwrap();
        assert!(again.bytes == repaired.bytes, "{compiler}: a second repair changes something");
    }
}

fn constant(value: i64, width_bits: u32) -> Exact {
    let word = Word(value as u128 & (u128::MAX >> (128 - width_bits)));
    Exact { sum: Sum { width_bits, terms: Vec::new(), constant: word }, divisor: Word(1), signed: true }
}

/// Claims that no proof would make, to see that both debuggers read what was written: a constant, and the address of a
/// global as it is known only at run time.
fn made_up(object: &std::path::Path, wide: bool, signed: bool) -> FunctionClaims {
    let instructions = tools::instructions(object, "f");
    let bits = if wide { 64 } else { 32 };
    let address =
        SumTerm { coefficient: Word(1), term: Term::Address { symbol: "X".into() }, extend: Extend::None };
    let address = Exact {
        sum: Sum { width_bits: bits, terms: vec![address], constant: Word(4) },
        divisor: Word(1),
        signed: true,
    };
    let stack =
        Place::Register { name: if wide { "rsp" } else { "esp" }.into(), low_bit: 0, width_bits: bits };
    let stack = SumTerm { coefficient: Word(1), term: Term::Machine { place: stack }, extend: Extend::None };
    let stack = Exact {
        sum: Sum { width_bits: bits, terms: vec![stack], constant: Word(8) },
        divisor: Word(4),
        signed: wide || signed,
    };
    let everywhere = |value: &Exact| {
        let claim = Claim { is: Verdict::Value(value.clone()), grouped: false };
        instructions.iter().map(|instruction| (instruction.start, claim.clone())).collect()
    };
    let variable = |name: &str, line, value: &Exact| VariableClaims {
        name: name.to_owned(),
        line,
        column: 0,
        claims: everywhere(value),
    };
    let variables = vec![
        variable("a", 4, &address),
        variable("b", 5, &stack),
        variable("i", 6, &constant(-77, 32)),
        variable("n", 3, &constant(4242, 32)),
    ];
    claims("f", &instructions, variables)
}

const PROGRAM: &str = "extern int X[], Y[];
static int g(int m) { int q = m * 3; return q ^ X[0]; }
int f(int n) {
  long a = n;
  long b = 2;
  for (int i = 0; i < n; i++) {
    int t = X[i] + g(i);
    Y[i] = t;
  }
  return n;
}
int after(int k) { int u = k + 1; Y[0] = u; return u * 2; }
";

#[test]
fn structures_of_all_kinds_are_read_back_by_both_debuggers() {
    let kinds: [(&[&str], &str); 2] = [
        (&["-gdwarf-5", "-O2", "-fno-pie"], "-no-pie"),
        (&["-gdwarf-4", "-O2", "-ffunction-sections", "-fPIE"], "-pie"),
    ];
    for (compiler, width) in
        [("gcc-12", "-m64"), ("gcc-12", "-m32"), ("clang-19", "-m64"), ("clang-19", "-m32")]
    {
        for (flags, linking) in kinds {
            let folder = Folder::new();
            let source = folder.write("t.c", PROGRAM.as_bytes());
            let all = [&[width], flags].concat();
            let object = folder.compile(compiler, &all, &source, "t.o");
            let bytes = std::fs::read(&object).unwrap();
            // A stack pointer of 32 bits is a negative number.
            let signed = linking == "-pie";
            let function = made_up(&object, width == "-m64", signed);
            let repaired = Object::parse(&bytes).unwrap().repair(std::slice::from_ref(&function)).unwrap();
            let what = format!("{compiler} {all:?}");
            assert!(repaired.counts[0].unwrap().updated_pcs > 0, "{what}");
            let again =
                Object::parse(&repaired.bytes).unwrap().repair(std::slice::from_ref(&function)).unwrap();
            assert!(again.bytes == repaired.bytes, "{what}: a second repair changes something");
            let written = folder.write("repaired.o", &repaired.bytes);
            tools::nothing_new(&object, &written);
            tools::same_program(&object, &written);
            let main = folder.write(
                "main.c",
                b"int X[100], Y[100]; int f(int); int after(int);
                  int main(void) { f(3); return after(2) != 6; }",
            );
            // Another unit before it, so that offsets in the linked file are not those of the object.
            let program = folder.link("gcc-12", &[width, linking, "-g"], &[&main, &written]);
            let pc = function.instructions[2].start - function.instructions[0].start;
            let at = format!("f+{pc}");
            let shifted = match signed {
                true => "b - ((long)($sp + 8) >> 2)",
                false => "b - (long)((unsigned long)($sp + 8) >> 2)",
            };
            let wanted = ["n", "a - (long)&X[1]", shifted];
            let expected = ["4242", "0", "0"];
            assert_eq!(tools::gdb(&program, &at, 1, &wanted), expected, "gdb: {what} at {at}");
            assert_eq!(tools::lldb(&program, "f", pc, 1, &wanted), expected, "lldb: {what} at {at}");
            // The function after the changed one still has its own.
            assert_eq!(tools::gdb(&program, "after", 1, &["k"]), ["2"], "{what}");
        }
    }
}

/// Another unit with lists of its own, after the changed one.
const OTHER: &str = "int other(int k, int n) {
  int u = k;
  for (int i = 0; i < n; i++) { u = u * 3 + i; k ^= u; }
  return u - k;
}
";

#[test]
fn linked_programs_and_libraries_are_repaired_as_they_are() {
    let mut complete = 0;
    for (compiler, width, dwarf, linking) in [
        ("gcc-12", "-m64", "-gdwarf-5", "-no-pie"),
        ("gcc-12", "-m64", "-gdwarf-4", "-pie"),
        ("clang-19", "-m64", "-gdwarf-5", "-pie"),
        ("clang-19", "-m32", "-gdwarf-4", "-no-pie"),
        ("gcc-12", "-m32", "-gdwarf-5", "-pie"),
        ("gcc-12", "-m64", "-gdwarf-5", "-shared"),
        // References from unit to unit.
        ("gcc-12", "-m64", "-gdwarf-5", "-flto"),
    ] {
        let folder = Folder::new();
        let what = format!("{compiler} {width} {dwarf} {linking}");
        let sources = [
            folder.write("before.c", OTHER.replace("other", "before").as_bytes()),
            folder.write("t.c", PROGRAM.as_bytes()),
            folder.write("other.c", OTHER.as_bytes()),
            folder.write(
                "main.c",
                b"int X[100], Y[100]; int f(int); int after(int); int other(int, int); int before(int, int);
                  int main(void) { f(3); before(1, 2); return other(1, 2) + after(2) == 7; }",
            ),
        ];
        let position = if linking == "-no-pie" { "-fno-pie" } else { "-fPIC" };
        let flags = match linking {
            "-flto" => vec![width, dwarf, "-O2", "-flto", "-fno-inline", "-fno-ipa-cp", "-fno-ipa-sra"],
            _ => vec![width, dwarf, "-O2", position, linking],
        };
        let inputs: Vec<&std::path::Path> = sources.iter().map(std::path::PathBuf::as_path).collect();
        let program = folder.link(compiler, &flags, &inputs);
        let bytes = std::fs::read(&program).unwrap();
        let mut function = made_up(&program, width == "-m64", false);
        if linking == "-flto" {
            function.variables.retain(|variable| ["n", "i"].contains(&variable.name.as_str()));
        }
        let repaired = Object::parse(&bytes).unwrap().repair(std::slice::from_ref(&function));
        let repaired = repaired.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(repaired.counts[0].unwrap().updated_pcs > 0, "{what}");
        let again = Object::parse(&repaired.bytes).unwrap().repair(std::slice::from_ref(&function)).unwrap();
        assert!(again.bytes == repaired.bytes, "{what}: a second repair changes something");
        assert_eq!(again.counts[0].unwrap().updated_pcs, 0, "{what}: a second repair counts something");
        let written = folder.write_program("repaired", &repaired.bytes);
        tools::nothing_new(&program, &written);
        tools::same_program(&program, &written);
        // No program, and one whose calls are optimised away.
        if ["-shared", "-flto"].contains(&linking) {
            continue;
        }
        let pc = function.instructions[2].start - function.instructions[0].start;
        let at = format!("f+{pc}");
        assert_eq!(tools::gdb(&written, &at, 1, &["n"]), ["4242"], "gdb: {what} at {at}");
        assert_eq!(tools::lldb(&written, "f", pc, 1, &["n"]), ["4242"], "lldb: {what} at {at}");
        // What comes before and after it is as it was.
        for function in ["other", "before"] {
            let shown = |program| tools::gdb(program, function, 1, &["n", "k", "sizeof(u)"]);
            assert_eq!(shown(&written), shown(&program), "{what}");
        }
        complete += 1;
    }
    assert_eq!(complete, 5);
}

/// A block with two variables that begins after the function does and ends before it, with an inlined function before
/// it and one in it.
const BLOCK: &str = "extern int X[], Y[], Z;
static inline int g(int m) { int q = m * 3; return q ^ X[m]; }
int f(int n) {
  Z = g(n & 3);
  for (int i = 0, s = 5; i < 9; i++) {
    Y[i] = g(i) + s * n;
  }
  Z += 7;
  return n;
}
";

/// `i` is -77 at some instructions wherever the block is.
fn in_block(instructions: &[Range<u64>], wanted: impl Fn(usize) -> bool) -> FunctionClaims {
    let claim = Claim { is: Verdict::Value(constant(-77, 32)), grouped: false };
    let chosen = instructions.iter().enumerate().filter(|(number, _)| wanted(*number));
    let claims_of_i = VariableClaims {
        name: "i".into(),
        line: 5,
        column: 0,
        claims: chosen.map(|(_, instruction)| (instruction.start, claim.clone())).collect(),
    };
    claims("f", instructions, vec![claims_of_i])
}

#[test]
fn blocks_that_leave_out_proved_values_are_widened() {
    let main = "int X[100], Y[100], Z; int f(int); int main(void) { return f(3) != 3; }";
    let (mut by_ends, mut by_list, mut silenced) = (0, 0, 0);
    for (compiler, width, dwarf, kind) in [
        ("gcc-12", "-m64", "-gdwarf-5", "-pie"),
        ("gcc-12", "-m64", "-gdwarf-4", "-no-pie"),
        ("gcc-12", "-m32", "-gdwarf-5", "-no-pie"),
        ("clang-19", "-m64", "-gdwarf-5", "-pie"),
        ("clang-19", "-m32", "-gdwarf-4", "-pie"),
        ("clang-19", "-m64", "-gdwarf-4", "-no-pie"),
    ] {
        // After the block, everywhere, and at every second instruction, so that it has one range or several.
        for (every, linked) in [(0, false), (0, true), (1, false), (1, true), (2, false), (2, true)] {
            let what = format!("{compiler} {width} {dwarf} {kind}, every {every}, linked {linked}");
            let folder = Folder::new();
            let source = folder.write("t.c", BLOCK.as_bytes());
            let main = folder.write("main.c", main.as_bytes());
            let other = folder.write("other.c", OTHER.as_bytes());
            let position = if kind == "-pie" { "-fPIE" } else { "-fno-pie" };
            let flags = [width, dwarf, position, "-O2", "-ffunction-sections"];
            let object = folder.compile(compiler, &flags, &source, "t.o");
            let others = folder.compile(compiler, &flags, &other, "other.o");
            let linking = [width, kind, "-g"];
            let input = match linked {
                true => folder.link("gcc-12", &linking, &[&main, &object, &others]),
                false => object.clone(),
            };
            let bytes = std::fs::read(&input).unwrap();
            let instructions = tools::instructions(&input, "f");
            let read = Object::parse(&bytes).unwrap();
            let code = in_block(&instructions, |_| false).code;
            let said =
                |object: &Object| object.said(std::slice::from_ref(&code)).unwrap()[0].clone().unwrap();
            let visible = |said: &metaloc_repair::Said, pc: u64, name: &str| {
                said.variables.iter().any(|one| one.name == name && one.is_visible(pc))
            };
            let before = said(&read);
            let end = instructions.iter().rposition(|one| visible(&before, one.start, "i")).unwrap();
            let function = in_block(&instructions, |number| match every {
                0 => number > end,
                _ => number % every == (instructions.len() - 1) % every,
            });
            let repaired = read.repair(std::slice::from_ref(&function)).unwrap();
            let parsed = Object::parse(&repaired.bytes).unwrap();
            let again = parsed.repair(std::slice::from_ref(&function)).unwrap();
            assert!(again.bytes == repaired.bytes, "{what}: a second repair changes something");
            let written = folder.write_program("repaired", &repaired.bytes);
            tools::nothing_new(&input, &written);
            tools::same_program(&input, &written);
            let after = said(&parsed);
            let inlined = tools::inlined(&input);
            let has_list = tools::block_has_list(&written, "i");
            by_ends += usize::from(!has_list);
            by_list += usize::from(has_list);
            let program = match linked {
                true => written,
                false => folder.link("gcc-12", &linking, &[&main, &written, &others]),
            };
            // The function returns in any case, and nothing else is said there of what the block declares.
            let (first, last) = (instructions[0].start, instructions[instructions.len() - 1].start);
            assert!(!visible(&before, last, "i") && visible(&after, last, "i"), "{what}");
            let at = format!("f+{}", last - first);
            assert_eq!(tools::gdb(&program, &at, 1, &["i", "s"]), ["-77", "<optimized out>"], "gdb: {what}");
            assert_eq!(tools::lldb(&program, "f", last - first, 1, &["i"]), ["-77"], "lldb: {what}");
            silenced += usize::from(before.variables.iter().any(|one| one.name == "s" && one.is_there(last)));
            let inside = instructions.iter().map(|one| one.start).find(|pc| {
                before.variables.iter().any(|one| one.name == "s" && one.is_visible(*pc) && one.is_there(*pc))
                    && !inlined.iter().any(|range| range.contains(pc))
            });
            let inside = inside.expect("somewhere it is said") - first;
            assert_eq!(tools::gdb(&program, &format!("f+{inside}"), 1, &["s"]), ["5"], "{what}");
            // Only what is claimed is gained, and an inlined function keeps what is its own.
            let mut refused = 0;
            for instruction in &instructions {
                let pc = instruction.start;
                let own = inlined.iter().any(|range| range.contains(&pc));
                let claimed = function.variables[0].claims.contains_key(&pc);
                let expected = visible(&before, pc, "i") || (claimed && !own);
                assert_eq!(visible(&after, pc, "i"), expected, "{what}: {pc:#x}");
                refused += usize::from(own && claimed && !visible(&before, pc, "i"));
            }
            assert!(refused > 0 || every == 0, "{what}");
        }
    }
    assert!(by_ends > 0 && by_list > 0 && silenced > 0, "{by_ends} {by_list} {silenced}");
}
