//! `metaloc repair`: a loop counter that gdb and lldb print rightly afterwards, a proof that keeps the obligations, and
//! bad input.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metaloc_toolchain::process::Task;
use serde_json::Value;

use crate::stand_in::{metaloc, ran};

fn regress(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../regress").join(name)
}

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(include_str!("../../schemas/repair-1.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

fn output(program: &str, arguments: &[String]) -> String {
    let outcome = Task::new(program).args(arguments).timeout(Duration::from_secs(120)).run().unwrap();
    outcome.stdout_text()
}

/// What gdb prints of expressions at a place, pass by pass.
fn gdb(program: &Path, at: &str, passes: usize, expressions: &[&str]) -> Vec<String> {
    let mut arguments: Vec<String> = ["-nx", "-batch", "-ex"].map(str::to_owned).to_vec();
    arguments.extend([format!("break *({at})"), "-ex".into(), "run".into()]);
    for _ in 0..passes {
        for expression in expressions {
            arguments.extend(["-ex".into(), format!("print {expression}")]);
        }
        arguments.extend(["-ex".into(), "continue".into()]);
    }
    arguments.push(program.display().to_string());
    let text = output("gdb", &arguments);
    let values = text.lines().filter_map(|line| line.strip_prefix('$')?.split_once(" = "));
    values.map(|(_, value)| value.to_owned()).collect()
}

/// What lldb prints of a variable at a distance from a function's start, pass by pass.
fn lldb(program: &Path, function: &str, distance: u64, passes: usize, variable: &str) -> Vec<String> {
    let mut arguments: Vec<String> = ["-x", "-b"].map(str::to_owned).to_vec();
    let mut command = |text: String| arguments.extend(["-o".to_owned(), text]);
    command("breakpoint set -n main".into());
    command("run".into());
    command(format!("breakpoint set -a `(unsigned long)&{function}+{distance}`"));
    for _ in 0..passes {
        command("continue".into());
        command(format!("frame variable {variable}"));
    }
    arguments.push(program.display().to_string());
    let text = output("lldb-19", &arguments);
    let values = text.lines().filter_map(|line| line.strip_prefix('(')?.split_once(" = "));
    values.map(|(_, value)| value.to_owned()).collect()
}

/// The instructions of the loop in the object.
const LOOP: [u64; 6] = [0x10, 0x18, 0x1c, 0x20, 0x27, 0x2d];

#[test]
fn the_counter_of_s000_is_true_at_every_pc_of_its_loop() {
    let folder = tempfile::tempdir().unwrap();
    let (object, source) = (regress("objects/s000-gcc12-nopic.o"), regress("objects/s000.ll"));
    let (repaired, proof) = (folder.path().join("s000.o"), folder.path().join("proof.json"));
    let repair = metaloc().arg("repair").arg(&object).arg("--source").arg(&source).arg("-o").arg(&repaired);
    let said = ran(repair.args(["--ablation", "--format", "json", "--write-proof"]).arg(&proof))
        .with_status(0)
        .stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(schema().is_valid(&said), "{said}");
    let mut more = said.clone();
    more["functions"][0]["more"] = Value::from(1);
    assert!(!schema().is_valid(&more), "the schema is strict");
    let total = &said["total"];
    let number = |name: &str| total[name].as_u64().unwrap();
    // The six instructions of the loop had nothing before.
    assert_eq!((number("V"), number("M"), number("corrected")), (1, LOOP.len() as u64, 0), "{said}");
    // The node, up to the instruction that changes the register, and what can be undone.
    let less = said["ablation"].as_array().unwrap();
    let less = less.iter().map(|one| (one["variant"].as_str().unwrap(), one["total"]["M"].as_u64().unwrap()));
    assert_eq!(less.collect::<Vec<_>>(), [("none", 1), ("forward", 2), ("reversible", 6)], "{said}");

    // Every value that was written is an obligation of the proof, for each point of the source that its instruction
    // belongs to, and a solver confirms all of them.
    let document: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    let locations = document["functions"][0]["locations"].as_array().unwrap();
    let instructions: BTreeSet<String> =
        locations.iter().map(|shown| format!("{} {}", shown["node"], shown["machine_prefix"])).collect();
    assert_eq!(instructions.len() as u64, number("M") + number("confirmed"), "{said}");
    let checked = ran(metaloc().args(["prove", "--check"]).arg(&proof)).with_status(0).stdout;
    assert!(checked.ends_with("0 open, 0 refuted\n"), "{checked}");

    // The same from the proof, and a second repair changes nothing.
    let again = folder.path().join("again.o");
    let repair = metaloc().arg("repair").arg(&object).arg("--source").arg(&source).arg("--proof").arg(&proof);
    ran(repair.arg("-o").arg(&again)).with_status(0);
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&repaired).unwrap());
    let repair =
        metaloc().arg("repair").arg(&repaired).arg("--source").arg(&source).arg("--proof").arg(&proof);
    ran(repair.arg("-o").arg(&again)).with_status(0);
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&repaired).unwrap(), "a second repair");

    let driver = folder.path().join("driver.c");
    let text = "int X[32000], Y[32000], val = 3; int s000(void);
        int main(void) { for (int k = 0; k < 32000; k++) Y[k] = k + 1; return s000(); }";
    std::fs::write(&driver, text).unwrap();
    let program = folder.path().join("program");
    let arguments = ["-no-pie", "-g", "-o"].map(str::to_owned).into_iter();
    let paths = [&program, &driver, &repaired].map(|path| path.display().to_string());
    output("gcc-12", &arguments.chain(paths).collect::<Vec<_>>());
    for pc in LOOP {
        // Memory is that of the source at a step with that value of i: everything before X[i] is written, nothing
        // after it.
        let same = "(i == 0 || X[i - 1] == Y[i - 1] + val) && X[i + 1] == 0";
        let values = gdb(&program, &format!("s000+{pc}"), 3, &["i", same]);
        assert_eq!(values.len(), 6, "{pc:#x}: {values:?}");
        let counter: Vec<String> = values.iter().step_by(2).cloned().collect();
        assert!(values.iter().skip(1).step_by(2).all(|value| value == "1"), "{pc:#x}: {values:?}");
        let first: i64 = counter[0].parse().unwrap();
        assert_eq!(counter, [0, 4, 8].map(|step| (first + step).to_string()), "{pc:#x}");
        assert_eq!(lldb(&program, "s000", pc, 3, "i"), counter, "lldb at {pc:#x}");
    }
}

#[test]
fn counts_are_for_people_and_spreadsheets() {
    let (object, source) = (regress("objects/s000-gcc12-nopic.o"), regress("objects/s000.ll"));
    let repair = || metaloc().arg("repair").arg(&object).arg("--source").arg(&source);
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof.json");
    let text =
        ran(repair().args(["--stats", "--ablation", "--write-proof"]).arg(&proof)).with_status(0).stdout;
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("function ")).collect();
    let first = |row: &&str| row.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    let expected =
        ["function verdict", "s000 proved", "total 12", "total none", "total forward", "total reversible"];
    assert_eq!(rows.iter().map(first).collect::<Vec<_>>(), expected, "{text}");
    let csv = ran(repair().args(["--format", "csv", "--proof"]).arg(&proof)).with_status(0).stdout;
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0][..8], ["function", "verdict", "T", "U", "V", "O", "M", "I"], "{csv}");
    assert_eq!(lines[1][..3], ["s000", "proved", "12"], "{csv}");
    assert_eq!(lines[2][..2], ["total", ""], "{csv}");
    assert_eq!(lines[1][2..], lines[2][2..], "{csv}");
}

#[test]
fn kernels_are_repaired_from_kept_proofs() {
    let folder = tempfile::tempdir().unwrap();
    let bench = || {
        let bench = metaloc().args(["bench", "repair", "--only", "s000", "--ablation", "--format", "json"]);
        let said = ran(bench.arg("--proofs").arg(folder.path())).with_status(0).stdout;
        let mut said: Value = serde_json::from_str(&said).unwrap();
        said["kernels"][0]["seconds"].take();
        said
    };
    let first = bench();
    let row = &first["kernels"][0];
    assert_eq!((&row["after"]["true"], &row["before"]["true"]), (&6.into(), &0.into()), "{first}");
    assert_eq!(row["variants"].as_array().unwrap().len(), 3, "{first}");
    let proofs: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(proofs.len(), 1);
    assert_eq!(bench(), first);
    // It is used: what is no proof of it is an error.
    std::fs::write(&proofs[0], "{}").unwrap();
    let bench = metaloc().args(["bench", "repair", "--only", "s000", "--proofs"]).arg(folder.path());
    let refused = ran(bench).with_status(2);
    assert!(refused.stdout.contains("s000: not measured"), "{}", refused.stdout);
}

#[test]
fn a_kept_proof_is_known_by_whatever_path_its_source_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("size.h"), "#define SIZE 64\n").unwrap();
    let source =
        "#include \"size.h\"\nint a[SIZE];\nvoid f(void) { for (int i = 0; i < SIZE; i++) a[i] = i; }\n";
    std::fs::write(place("f.c"), source).unwrap();
    let paths = ["-O1", "-g", "-fno-pic", "-c"].map(str::to_owned).to_vec();
    let files = [place("f.c").display().to_string(), "-o".into(), place("f.o").display().to_string()];
    output("gcc-12", &[paths, files.to_vec()].concat());
    let kept = metaloc().arg("prove").arg(place("f.o")).arg("--source").arg(place("f.c"));
    ran(kept.arg("-o").arg(place("f.json"))).with_status(0);
    let repair = || {
        let repair = metaloc().cwd(folder.path()).args(["repair", "f.o", "--source", "f.c"]);
        repair.args(["--proof", "f.json", "-o", "out.o"])
    };
    ran(repair()).with_status(0);
    std::fs::write(place("size.h"), "#define SIZE 65\n").unwrap();
    let refused = ran(repair()).with_status(2).stderr;
    assert!(refused.contains("f.json: proves another source"), "{refused}");
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.o");
    let source = regress("objects/s000.ll");
    let refused = |object: &Path, more: &[&str], said: &str| {
        let repair = metaloc().arg("repair").arg(object).arg("--source").arg(&source).arg("-o").arg(&out);
        let outcome = ran(repair.args(more)).with_status(2);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert!(!out.exists());
    };
    refused(&source, &[], "no ELF file");
    refused(Path::new("/nonexistent.o"), &[], "cannot read /nonexistent.o");
    // A proof of another IR.
    let asserted = regress("proofs/broken/dead-end.json");
    let object = regress("objects/s000-gcc12-nopic.o");
    refused(&object, &["--proof", asserted.to_str().unwrap()], "dead-end.json");
}

#[test]
fn assertions_are_no_proof() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.o");
    let object = regress("objects/s000-gcc12-nopic.o");
    let proof = regress("proofs/equal/s000-gcc12-nopic.json");
    let repair = metaloc().arg("repair").arg(&object).arg("--source").arg(regress("objects/s000.ll"));
    let outcome = ran(repair.arg("--proof").arg(proof).arg("-o").arg(&out));
    // By hand, of the same IR: refused by function, and the output is the input.
    let outcome = outcome.with_status(0);
    assert!(outcome.stdout.contains("only asserted"), "{}", outcome.stdout);
    assert!(std::fs::read(&out).unwrap() == std::fs::read(&object).unwrap());
}

#[test]
fn values_are_checked_in_both_debuggers_and_a_wrong_one_is_not_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let source = "int x[4000];
int f(int n) {
  int last = -1;
  for (int i = 0; i < 4000; i++) {
    x[i] = x[i] + n;
  }
  return last;
}
";
    std::fs::write(place("f.c"), source).unwrap();
    let driver = "int f(int); extern int x[]; int main(int count, char **words) {
        for (int k = 0; k < 4000; k++) x[k] = k * 7 % 31; return f(count) != -1; }";
    std::fs::write(place("main.c"), driver).unwrap();
    let text = |name: &str| place(name).display().to_string();
    let flags = ["-O3", "-g", "-fno-pic", "-fcf-protection=none", "-c"].map(str::to_owned);
    output("gcc-12", &[&flags[..], &[text("f.c"), "-o".into(), text("f.o")]].concat());
    let link = format!("gcc-12 -w -no-pie '{}' {{object}} -o {{program}}", text("main.c"));
    let repair = |more: &[&str]| {
        let command = metaloc().arg("repair").arg(place("f.o")).arg("--source").arg(place("f.c"));
        command.arg("-o").arg(place("out.o")).args(more)
    };
    let checked = ["--check", "{} one two", "--link", &link, "--check-stops", "4", "--format", "json"];
    let said = ran(repair(&checked)).with_status(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    let errors: Vec<String> = schema().iter_errors(&said).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let debuggers = said["check"]["debuggers"].as_array().unwrap();
    assert_eq!(debuggers.iter().map(|one| &one["debugger"]).collect::<Vec<_>>(), ["gdb", "lldb"]);
    for one in debuggers {
        assert!(one["compared"].as_u64().unwrap() >= 16, "{one}");
        assert!(one["memory_compared"].as_u64().unwrap() > 0, "{one}");
        for none in ["wrong", "stale", "missing", "unreadable", "memory_wrong", "lost"] {
            assert_eq!(one[none], 0, "{none}: {one}");
        }
    }
    assert!(place("out.o").exists());

    // A program that knows which of the two it is: what was proved is not true of both.
    std::fs::remove_file(place("out.o")).unwrap();
    let driver = "#include <string.h>
        int f(int); extern int x[]; int main(int count, char **words) {
        for (int k = 0; k < 4000; k++) x[k] = k * 7 % 31; return f(strstr(words[0], \"plain\") ? 5 : 1) != -1; }";
    std::fs::write(place("main.c"), driver).unwrap();
    let checked = ["--check", "{}", "--link", &link, "--debugger", "gdb", "--check-stops", "4"];
    let outcome = ran(repair(&checked)).with_status(1);
    assert!(outcome.stdout.contains("n is 1, wrong: 5"), "{}", outcome.stdout);
    assert!(!place("out.o").exists(), "what is seen to be wrong is not written");

    for (arguments, said) in [
        (&["--check", "{}"][..], "--check needs --link"),
        (&["--check", "prog", "--link", &link], "begins with that"),
        (&["--check", "{}", "--link", "gcc {object}"], "--link has no {program}"),
        (&["--check", "{}", "--link", "false {object} {program}"], "false"),
        (&["--check", "{} | cat", "--link", &link], "no shell"),
    ] {
        let refused = ran(repair(arguments)).with_status(2);
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
        assert!(!place("out.o").exists());
    }
}

/// What gdb, or lldb, says of variables of the caller each time that a function is called.
fn in_callers(
    debugger: &str,
    program: &Path,
    callee: &str,
    passes: usize,
    variables: &[&str],
) -> Vec<String> {
    let (first, flag, print): (&[&str], _, _) = match debugger {
        "gdb" => (&["-nx", "-batch"], "-ex", "print"),
        _ => (&["-x", "-b"], "-o", "frame variable"),
    };
    let mut arguments: Vec<String> = first.iter().map(|word| (*word).to_owned()).collect();
    let mut command = |text: String| arguments.extend([flag.to_owned(), text]);
    command(format!("break{} {callee}", if debugger == "gdb" { "" } else { "point set -n" }));
    command("run".into());
    for _ in 0..passes {
        command("up".into());
        variables.iter().for_each(|variable| command(format!("{print} {variable}")));
        command("continue".into());
    }
    arguments.push(program.display().to_string());
    let text = output(if debugger == "gdb" { "gdb" } else { "lldb-19" }, &arguments);
    // gdb numbers values, lldb has types and names.
    let value = |line: &str| match line.split_once(" = ")? {
        (before, value) if before.starts_with('$') || before.starts_with("(int)") => Some(value.to_owned()),
        _ => None,
    };
    text.lines().filter_map(value).collect()
}

/// In `last` the parameter is known by a register that the callee may change, in `even` the counter by an address.
const CALLING: &str = "int x[400];
int note(int);
int last(int i) {
  x[0] = 1;
  int r = note(i + 5);
  return r * 2;
}
int even(int n) {
  int s = 0;
  for (int i = 0; i < 200; i++) {
    s ^= note(x[2 * i + 1]);
    x[2 * i] = n;
  }
  return s;
}
int step(int n) {
  int k = 7;
  for (int i = 0; i < n; i += 3) {
    k = note(k + i);
    x[i] = k;
  }
  return k;
}
";

#[test]
fn callers_are_repaired_and_true_while_the_callee_runs() {
    for (compiler, width) in
        [("gcc-12", "-m64"), ("gcc-12", "-m32"), ("clang-19", "-m64"), ("clang-19", "-m32")]
    {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let text = |name: &str| place(name).display().to_string();
        std::fs::write(place("f.c"), CALLING).unwrap();
        let driver = "int last(int), even(int), step(int); extern int x[];
            int note(int v) { static int all; all = all * 5 + v; return all >> 3 ^ v; }
            int main(void) {
              for (int k = 0; k < 400; k++) x[k] = k * 7 % 31;
              return (last(11) + even(5) + step(300)) & 1; }";
        std::fs::write(place("main.c"), driver).unwrap();
        let compile = |level: &str, to: &str| {
            let flags = [level, "-g", width, "-fno-pic", "-fwrapv", "-fcf-protection=none", "-c"];
            let paths = [text("f.c"), "-o".into(), text(to)];
            output(compiler, &[flags.map(str::to_owned).as_slice(), &paths].concat());
        };
        compile("-O2", "f.o");
        compile("-O0", "plain.o");
        let link = format!("gcc-12 -O1 -w -no-pie {width} '{}' {{object}} -o {{program}}", text("main.c"));
        let repair = metaloc().arg("repair").arg(place("f.o")).arg("--source").arg(place("f.c"));
        let repair = repair.args(["--flag=-fwrapv", "--check-stops", "4", "--check", "{}", "--link", &link]);
        let said = ran(repair.args(["--format", "json", "-o"]).arg(place("out.o"))).with_status(0).stdout;
        let said: Value = serde_json::from_str(&said).unwrap();
        let what = format!("{compiler} {width}: {said}");
        for function in said["functions"].as_array().unwrap() {
            assert_eq!(
                (&function["verdict"], &function["reason"]),
                (&"proved".into(), &Value::Null),
                "{what}"
            );
        }
        assert!(said["total"]["M"].as_u64().unwrap() > 0, "{what}");
        for one in said["check"]["debuggers"].as_array().unwrap() {
            assert!(one["compared"].as_u64().unwrap() > 100, "{what}");
            for none in ["wrong", "stale", "missing", "unreadable", "memory_wrong", "lost"] {
                assert_eq!(one[none], 0, "{none}: {what}");
            }
        }
        // While the callee runs a debugger finds out the caller's registers: what it says of them is true, or nothing.
        for object in ["out", "plain"] {
            let words =
                link.replace("{object}", &text(&format!("{object}.o"))).replace("{program}", &text(object));
            let words: Vec<String> = words.split_whitespace().map(|word| word.replace('\'', "")).collect();
            output(&words[0], &words[1..]);
        }
        for debugger in ["gdb", "lldb"] {
            let passes = 6;
            let of = |program: &str, variables: &[&str]| {
                in_callers(debugger, &place(program), "note", passes, variables)
            };
            let (shown, truth) = (of("out", &["i"]), of("plain", &["i"]));
            assert_eq!(truth, ["11", "0", "1", "2", "3", "4"], "{debugger}, {what}");
            // lldb says why it has no value in a line of another form.
            let values = shown.iter().filter(|value| value.parse::<i64>().is_ok()).count();
            let true_ones = shown.iter().filter(|value| truth.contains(*value)).count();
            assert_eq!(values, true_ones, "{debugger}: {shown:?}: {what}");
            if debugger == "gdb" {
                let same = |(shown, truth): (&String, &String)| shown == truth || shown == "<optimized out>";
                assert_eq!(shown.len(), passes, "{shown:?}: {what}");
                assert!(shown.iter().zip(&truth).all(same), "{shown:?}: {what}");
            }
        }
    }
}

/// The paper's example (figure 2): the counter of s000 is printed as 0 throughout its loop, here for clang-19.
#[test]
fn the_paper_s_session_prints_the_true_values() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let text = |name: &str| place(name).display().to_string();
    let source = regress("kernels/s000.c");
    let body = std::fs::read_to_string(&source).unwrap();
    let line = 1 + body.lines().position(|line| line.contains("X[i] =")).unwrap();
    let driver = "int X[32000], Y[32000], val = 3; int s000(void); int main(void) { return s000(); }";
    std::fs::write(place("main.c"), driver).unwrap();
    let flags = ["-O2", "-g", "-fno-pic", "-fwrapv", "-c"].map(str::to_owned);
    let paths = [source.display().to_string(), "-o".into(), text("s000.o")];
    output("clang-19", &[&flags[..], &paths].concat());
    let repair = metaloc().arg("repair").arg(place("s000.o")).arg("--source").arg(&source);
    ran(repair.arg("--flag=-fwrapv").arg("-o").arg(place("repaired.o"))).with_status(0);
    let session = |object: &str| {
        output("gcc-12", &["-no-pie".into(), text("main.c"), text(object), "-o".into(), text("program")]);
        let mut arguments: Vec<String> = ["-nx", "-batch", "-ex"].map(str::to_owned).to_vec();
        arguments.extend([format!("break s000.c:{line}"), "-ex".into(), "run".into()]);
        for _ in 0..4 {
            arguments.extend(["-ex", "print i", "-ex", "continue"].map(str::to_owned));
        }
        arguments.push(text("program"));
        let all = output("gdb", &arguments);
        let values = all.lines().filter_map(|line| line.strip_prefix('$')?.split_once(" = "));
        values.map(|(_, value)| value.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(session("s000.o"), ["0"; 4]);
    let shown = session("repaired.o");
    assert_eq!(shown[0], "0");
    let shown: Vec<i64> = shown.iter().map(|value| value.parse().unwrap()).collect();
    assert!(shown.len() == 4 && shown[1] > 0, "{shown:?}");
    assert!((2..4).all(|at| shown[at] == at as i64 * shown[1]), "{shown:?}");
}

#[test]
fn debug_information_that_is_not_rewritten_is_refused_with_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let source = regress("kernels/s000.c");
    for (flags, said) in [
        (&["-g", "-gz"][..], "compressed section .debug"),
        (&["-g", "-gsplit-dwarf"], "split"),
        (&[], "without .debug_info"),
    ] {
        let all = ["-O2", "-c", "-o"].map(str::to_owned).into_iter();
        let all = all.chain([place("s000.o"), source.clone()].map(|path| path.display().to_string()));
        output("gcc-12", &all.chain(flags.iter().map(|flag| (*flag).to_owned())).collect::<Vec<_>>());
        let repair = metaloc().arg("repair").arg(place("s000.o")).arg("--source").arg(&source);
        let refused = ran(repair.arg("-o").arg(place("out.o"))).with_status(2);
        assert!(refused.stderr.contains(said), "{flags:?}: {}", refused.stderr);
        assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        assert!(!place("out.o").exists(), "{flags:?}");
    }
}

/// A floating-point variable is in a lane of a vector register or in memory: what the debug information says of it stays as
/// it is, while the counter beside it is repaired.
#[test]
fn floating_point_variables_are_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let (object, repaired) = (folder.path().join("largest.o"), folder.path().join("repaired.o"));
    let source = regress("kernels/floats/largest.c");
    let compiled = Task::new("gcc-12")
        .args(["-O3", "-msse4.2", "-g", "-fno-pic", "-fwrapv", "-std=c11", "-c"])
        .arg(&source)
        .arg("-o")
        .arg(&object);
    assert!(compiled.run().unwrap().exit.success());
    let repair = metaloc().arg("repair").arg(&object).arg("--source").arg(&source).arg("-o").arg(&repaired);
    let said = ran(repair.args(["--flag", "-fwrapv", "--flag", "-std=c11", "--format", "json", "--stats"]));
    let said: Value = serde_json::from_str(&said.with_status(0).stdout).unwrap();
    assert_eq!(said["total"]["V"].as_u64(), Some(1), "{said}");
    let of_most = |object: &Path| {
        let dump = output("llvm-dwarfdump-19", &["--debug-info".to_owned(), object.display().to_string()]);
        let lines = dump.lines().map(str::trim).filter(|line| line.contains("XMM"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let before = of_most(&object);
    assert!(!before.is_empty());
    assert_eq!(of_most(&repaired), before);
}
