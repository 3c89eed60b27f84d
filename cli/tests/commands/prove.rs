//! `metaloc prove`: a proof, its check, a refutation, and bad input.

use std::path::PathBuf;

use serde_json::Value;

use crate::stand_in::{metaloc, ran};

fn regress(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../regress").join(name)
}

fn schema() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(include_str!("../../schemas/prove-1.json")).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn s000_is_proved_and_the_proof_is_confirmed_by_a_solver() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("proof.json");
    let object = regress("objects/s000-gcc12-nopic.o");
    let source = regress("objects/s000.ll");
    let prove = metaloc().arg("prove").arg(&object).arg("--source").arg(&source);
    let picture = folder.path().join("s000.svg");
    let prove = prove.arg("--graph").arg(&picture);
    let said = ran(prove.args(["--format", "json", "-o"]).arg(&proof)).with_status(0).stdout;
    let drawn = std::fs::read_to_string(&picture).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("same memory: X, Y, val"), "{drawn}");
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(schema().is_valid(&said), "{said}");
    let function = said["functions"][0].clone();
    assert_eq!((function["name"].as_str(), function["verdict"].as_str()), (Some("s000"), Some("proved")));
    assert_eq!(function["unroll"].as_u64(), Some(4), "four elements in a vector");
    let mut more = said.clone();
    more["functions"][0]["more"] = Value::from(1);
    assert!(!schema().is_valid(&more), "the schema is strict");
    let graph = folder.path().join("s000.dot");
    let check = metaloc().args(["prove", "--check"]).arg(&proof).arg("--graph").arg(&graph);
    let checked = ran(check).with_status(0).stdout;
    assert!(std::fs::read_to_string(&graph).unwrap().contains("n0_1 -> n0_1"), "the loop");
    let count = function["obligations"].as_u64().unwrap();
    assert_eq!(checked, format!("{count} obligations confirmed by z3, 0 open, 0 refuted\n"));
    // Nothing to check is nothing confirmed.
    let mut none: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    none["functions"] = Value::Array(Vec::new());
    let empty = folder.path().join("empty.json");
    std::fs::write(&empty, none.to_string()).unwrap();
    let refused = ran(metaloc().args(["prove", "--check"]).arg(&empty)).with_status(2);
    assert!(refused.stderr.contains("has the proof of no function"), "{}", refused.stderr);
    // A proof of something else: the condition of one query is turned around.
    let text = std::fs::read_to_string(&proof).unwrap().replacen("(bvslt", "(bvult", 1);
    std::fs::write(&proof, text).unwrap();
    let refused = ran(metaloc().args(["prove", "--check"]).arg(&proof)).with_status(2);
    assert!(refused.stderr.contains("not a proof"), "{}", refused.stderr);
}

/// Each with a global of its own, one of which calls: all in one document, which is one that can be read again.
#[test]
fn functions_with_other_globals_are_proved_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text = "extern int X[99], Y[99], last; int next(int);
        void up(void) { X[3] += 1; }
        void down(void) { Y[4] -= 2; }
        int ask(int n) { return next(n) + last; }";
    std::fs::write(at("three.c"), text).unwrap();
    let compile =
        metaloc_toolchain::process::Task::new("gcc-12").args(["-O2", "-g", "-fno-pic", "-fwrapv", "-c"]);
    let compiled = compile.arg(at("three.c")).arg("-o").arg(at("three.o")).run().unwrap();
    assert!(compiled.exit.success(), "{}", compiled.stderr_text());
    let prove = metaloc().arg("prove").arg(at("three.o")).arg("--source").arg(at("three.c"));
    ran(prove.args(["--flag", "-fwrapv", "-o"]).arg(at("proof.json"))).with_status(0);
    let proof: Value = serde_json::from_slice(&std::fs::read(at("proof.json")).unwrap()).unwrap();
    let functions = proof["functions"].as_array().unwrap();
    let globals: Vec<&Value> = functions.iter().map(|function| &function["globals"]).collect();
    assert_eq!(globals, [&serde_json::json!(["X"]), &serde_json::json!(["Y"]), &serde_json::json!(["last"])]);
    let calls =
        |function: &Value| function["edges"].as_array().unwrap().iter().any(|edge| edge["calls"] == true);
    assert_eq!(functions.iter().map(calls).collect::<Vec<_>>(), [false, false, true]);
    let checked = ran(metaloc().args(["prove", "--check"]).arg(at("proof.json"))).with_status(0).stdout;
    assert!(checked.ends_with("confirmed by z3, 0 open, 0 refuted\n"), "{checked}");
    // Values in a function that calls are not followed, and nothing is said of them.
    let repair = metaloc().arg("repair").arg(at("three.o")).arg("--source").arg(at("three.c"));
    let repair = repair.args(["--flag", "-fwrapv", "--function", "ask", "-o"]).arg(at("out.o"));
    ran(repair).with_status(0);
    assert_eq!(std::fs::read(at("out.o")).unwrap(), std::fs::read(at("three.o")).unwrap());
}

/// A function that the object does not have is said, and of two with one name none is meant.
#[test]
fn what_is_not_looked_at_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let gcc = |arguments: &[&str]| {
        let compile = metaloc_toolchain::process::Task::new("gcc-12").args(["-O2", "-fno-pic"]);
        let compile = arguments.iter().fold(compile, |task, argument| match argument.split_once('.') {
            Some(_) => task.arg(at(argument)),
            None => task.arg(argument),
        });
        let compiled = compile.run().unwrap();
        assert!(compiled.exit.success(), "{}", compiled.stderr_text());
    };
    let text = "int f(int x) { return x + 1; }\n#ifndef LESS\nint g(int x) { return x; }\n#endif\n";
    std::fs::write(at("missing.c"), text).unwrap();
    gcc(&["-DLESS", "-c", "missing.c", "-o", "missing.o"]);
    let prove = |object: &str, source: &str| {
        metaloc().arg("prove").arg(at(object)).arg("--source").arg(at(source)).args(["--flag", "-fwrapv"])
    };
    let said = ran(prove("missing.o", "missing.c")).with_status(0);
    assert!(said.stderr.contains("missing.o has no function g, which"), "{}", said.stderr);
    let said = ran(prove("missing.o", "missing.c").args(["--function", "f"])).with_status(0);
    assert!(said.stderr.is_empty(), "{}", said.stderr);
    for (name, value) in [("one.c", 1), ("two.c", 2)] {
        let text = format!("__attribute__((used)) static int f(void) {{ return {value}; }}\n");
        std::fs::write(at(name), text).unwrap();
    }
    gcc(&["-c", "one.c", "-o", "one.o"]);
    gcc(&["-c", "two.c", "-o", "two.o"]);
    gcc(&["-r", "-nostdlib", "one.o", "two.o", "-o", "twice.o"]);
    let said = ran(prove("twice.o", "one.c").args(["--function", "f"])).with_status(2);
    assert!(said.stderr.contains("unsupported: 2 functions with the name `f`"), "{}", said.stderr);
    gcc(&["-r", "-nostdlib", "one.o", "-o", "once.o"]);
    ran(prove("once.o", "one.c").args(["--function", "f"])).with_status(0);
}

#[test]
fn a_hand_written_proof_is_only_asserted() {
    let proof = regress("proofs/equal/s000-gcc12-nopic.json");
    let checked = ran(metaloc().args(["prove", "--check"]).arg(proof)).with_status(1).stdout;
    assert!(checked.contains("is only asserted") && checked.contains("0 obligations confirmed"), "{checked}");
}

#[test]
fn what_cannot_be_proved_has_one_clear_error() {
    let source = regress("objects/s000.ll");
    let prove = |object: PathBuf| {
        ran(metaloc().arg("prove").arg(object).arg("--source").arg(&source)).with_status(2).stderr
    };
    assert!(prove(source.clone()).contains("not a readable object"));
    assert!(prove("/no/such.o".into()).contains("cannot read /no/such.o"));
    let object = regress("objects/s000-gcc12-nopic.o");
    let other = metaloc().arg("prove").arg(&object).arg("--source").arg(&source).args(["--function", "main"]);
    assert!(ran(other).with_status(2).stderr.contains("no function `main`"));
    let picture = metaloc().arg("prove").arg(&object).arg("--source").arg(&source).args(["--graph", "f.png"]);
    assert!(ran(picture).with_status(2).stderr.contains("f.png: want a name that ends in .svg or .dot"));
    let nowhere = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = nowhere.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let bytes = std::fs::read(&object).unwrap();
    assert!(prove(file("cut.o", &bytes[..700])).contains("cut.o: not a readable object"));
    let mut arm = bytes.clone();
    // e_machine
    arm[18..20].copy_from_slice(&183u16.to_le_bytes());
    assert!(prove(file("arm.o", &arm)).contains("for little-endian Aarch64, want"));
    let with_source = |source: PathBuf| {
        let command = metaloc().arg("prove").arg(&object).arg("--source").arg(source);
        ran(command).with_status(2).stderr
    };
    let broken = with_source(file("broken.c", b"int s000(void) { return x; }"));
    assert!(broken.contains("broken.c: clang says") && broken.contains("undeclared identifier"), "{broken}");
    let another = with_source(file("another.c", b"int another(void) { return 0; }"));
    assert!(another.contains("no function `s000` with a body; there are: another"), "{another}");
    let nothing = ran(metaloc().arg("prove")).with_status(2).stderr;
    assert!(nothing.contains("want OBJECT and --source FILE, or --check PROOF"), "{nothing}");
}

#[test]
fn the_bench_proves_a_kernel_and_counts_those_it_wants() {
    let bench = || metaloc().args(["bench", "prove", "--only", "vpv", "--format", "json"]);
    let said = ran(bench().args(["--at-least", "1"])).with_status(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["proved"].as_u64(), said["of"].as_u64()), (Some(1), Some(1)), "{said}");
    let row = &said["kernels"][0];
    assert_eq!((row["name"].as_str(), row["unroll"].as_u64()), (Some("vpv"), Some(4)), "{row}");
    assert_eq!(row["product"]["nodes"].as_u64(), Some(3), "entry, loop, exit");
    ran(bench().args(["--at-least", "2"])).with_status(1);
    let unknown = ran(metaloc().args(["bench", "prove", "--only", "nothing"])).with_status(2).stderr;
    assert!(unknown.contains("no kernel 'nothing'"), "{unknown}");
}

#[test]
fn mutants_are_refuted_and_the_same_for_a_seed() {
    let bench = |seed: &str| {
        let args =
            ["bench", "soundness", "--only", "vpv", "--mutants", "11", "--limit", "5", "--format", "json"];
        let said = ran(metaloc().args(args).args(["--seed", seed])).with_status(0).stdout;
        serde_json::from_str::<Value>(&said).unwrap()
    };
    let first = bench("3");
    assert_eq!((first["different"].as_u64(), first["false_proofs"].as_array().unwrap().len()), (Some(11), 0));
    assert!(first["confirmed"].as_u64() >= Some(8), "{first}");
    assert_eq!(first["originals_not_proved"].as_array().unwrap().len(), 0, "{first}");
    let tried = |said: &Value| -> Vec<Option<u64>> {
        said["kinds"].as_array().unwrap().iter().map(|row| row["tried"].as_u64()).collect()
    };
    assert_eq!(tried(&first), tried(&bench("3")));
    let refused = ran(metaloc().args(["bench", "soundness", "--only", "s4115"])).with_status(2).stderr;
    assert!(refused.contains("s4115 is not defined for all inputs"), "{refused}");
}

#[test]
fn a_kernel_is_proved_as_32_bit_code() {
    let bench = metaloc().args(["bench", "prove", "--only", "vpv", "--target", "i386", "--limit", "240"]);
    let said = ran(bench.args(["--format", "json", "--at-least", "1"])).with_status(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["configuration"].as_str(), Some("gcc-12, paper's flags, i386"), "{said}");
}

#[test]
fn a_table_that_is_kept_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.tsv");
    let bench = |kernels: &str| metaloc().args(["bench", "prove", "--only", kernels, "--save"]).arg(&table);
    ran(bench("vpv")).with_status(0);
    // A row that is there is taken as it is.
    let text = std::fs::read_to_string(&table).unwrap();
    let seconds = text.lines().last().unwrap().split('\t').nth(3).unwrap().to_owned();
    std::fs::write(&table, text.replace(&format!("\t{seconds}\t"), "\t77.50\t")).unwrap();
    let said = ran(bench("va,vpv").args(["--format", "json"])).with_status(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["proved"].as_u64(), said["most_seconds"].as_f64()), (Some(2), Some(77.5)), "{said}");
    let text = std::fs::read_to_string(&table).unwrap();
    let kernels: Vec<&str> = text.lines().skip(2).map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(kernels, ["va", "vpv"]);
    let other = ran(bench("va").args(["--target", "i386"])).with_status(2).stderr;
    assert!(other.contains("has rows of \"gcc-12, paper's flags, 60 s"), "{other}");
}

#[test]
fn obligations_are_asked_for_again_and_the_share_is_said() {
    let bench = metaloc().args(["bench", "prove", "--only", "vpv", "--confirm", "z3", "--every", "9"]);
    let said = ran(bench.args(["--format", "json"])).with_status(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    let counts = &said["confirmed"];
    assert!(counts["confirmed"].as_u64() >= Some(5), "{counts}");
    assert_eq!((counts["open"].as_u64(), counts["refuted"].as_u64()), (Some(0), Some(0)), "{counts}");
}
