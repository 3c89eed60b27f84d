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
    let said = ran(prove.args(["--format", "json", "-o"]).arg(&proof)).with_status(0).stdout;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(schema().is_valid(&said), "{said}");
    let function = said["functions"][0].clone();
    assert_eq!((function["name"].as_str(), function["verdict"].as_str()), (Some("s000"), Some("proved")));
    assert_eq!(function["unroll"].as_u64(), Some(4), "four elements in a vector");
    let mut more = said.clone();
    more["functions"][0]["more"] = Value::from(1);
    assert!(!schema().is_valid(&more), "the schema is strict");
    let checked = ran(metaloc().args(["prove", "--check"]).arg(&proof)).with_status(0).stdout;
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
    let nothing = ran(metaloc().arg("prove")).with_status(2).stderr;
    assert!(nothing.contains("want OBJECT and --source FILE, or --check PROOF"), "{nothing}");
}
