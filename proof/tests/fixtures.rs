//! The kept proofs are accepted as they are written; each broken twin, one edit away, is refused for the
//! reason it was made for.

use metaloc_proof::{Proof, ReadError};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress/proofs").join(name)
}

fn json_files(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(name)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    assert!(!files.is_empty(), "no fixtures in {name}");
    files
}

#[test]
fn kept_proofs_are_accepted_and_written_back_byte_for_byte() {
    for path in json_files("equal") {
        let bytes = fs::read(&path).unwrap();
        let proof = Proof::from_json(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if std::env::var_os("METALOC_BLESS").is_some() {
            fs::write(&path, proof.to_json()).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap() == proof.to_json(),
            "{}: not in its text form",
            path.display()
        );
    }
}

#[test]
fn hand_written_proofs_do_not_pass_for_computed_ones() {
    for path in json_files("equal") {
        let proof = Proof::from_json(&fs::read(&path).unwrap()).unwrap();
        assert!(proof.functions.iter().all(|function| function.asserted().next().is_some()));
    }
}

#[test]
fn kept_proofs_name_the_kept_files() {
    use sha2::{Digest, Sha256};
    let hash = |path: PathBuf| -> String {
        Sha256::digest(fs::read(path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect()
    };
    for path in json_files("equal") {
        let proof = Proof::from_json(&fs::read(&path).unwrap()).unwrap();
        let near = |part: &str| folder("..").join(part);
        assert_eq!(proof.object.sha256, hash(near("objects").join(&proof.object.name)));
        assert_eq!(proof.source.sha256, hash(near("kernels").join(&proof.source.name)));
        assert_eq!(
            proof.source.ir_sha256,
            hash(near("objects").join(proof.source.name.replace(".c", ".ll")))
        );
    }
}

#[test]
fn broken_twins_are_refused_for_their_reason() {
    for path in json_files("broken") {
        let twin: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let original = folder("equal").join(twin["of"].as_str().unwrap());
        let mut document: Value = serde_json::from_slice(&fs::read(original).unwrap()).unwrap();
        for edit in twin["edits"].as_array().unwrap() {
            apply(&mut document, edit);
        }
        let refused = match Proof::from_json(document.to_string().as_bytes()) {
            Ok(_) => panic!("{}: accepted", path.display()),
            Err(ReadError::Invalid(defects)) => {
                let mut names: Vec<_> = defects.iter().map(metaloc_proof::Defect::name).collect();
                names.dedup();
                names.join(" ")
            }
            Err(ReadError::Shape(_)) => "shape".to_owned(),
            Err(ReadError::Schema { .. }) => "schema".to_owned(),
            Err(ReadError::Syntax(_)) => "syntax".to_owned(),
        };
        assert_eq!(refused, twin["refused"].as_str().unwrap(), "{}", path.display());
    }
}

/// Numbers, texts and lists of a kept proof, changed at random, give an answer and no panic.
#[test]
fn changed_documents_do_not_panic() {
    let bytes = fs::read(&json_files("equal")[0]).unwrap();
    let original: Value = serde_json::from_slice(&bytes).unwrap();
    let places = pointers(&original);
    let mut seed = 1u64;
    let mut draw = |limit: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % limit
    };
    let (mut refused, rounds) = (0, 400);
    for _ in 0..rounds {
        let mut document = original.clone();
        for _ in 0..2 {
            let place = &places[draw(places.len())];
            let Some(value) = document.pointer_mut(place) else { continue };
            *value = match value {
                Value::Number(_) => [0u64, 1, 5, 128, u64::from(u32::MAX), u64::MAX][draw(6)].into(),
                Value::String(_) => {
                    ["", "0x0", "0xffffffffffffffffffffffffffffffff", "rax", "X"][draw(5)].into()
                }
                Value::Array(list) if !list.is_empty() => {
                    list.remove(draw(list.len()));
                    Value::Array(list.clone())
                }
                _ => Value::Null,
            };
        }
        refused += usize::from(Proof::from_json(document.to_string().as_bytes()).is_err());
    }
    assert!(refused > rounds / 2, "only {refused} of {rounds} changes were noticed");
}

/// Paths to all parts of a document.
fn pointers(value: &Value) -> Vec<String> {
    let below =
        |key: String, part: &Value| pointers(part).into_iter().map(move |rest| format!("/{key}{rest}"));
    let parts: Vec<String> = match value {
        Value::Object(fields) => fields.iter().flat_map(|(key, part)| below(key.clone(), part)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().flat_map(|(n, part)| below(n.to_string(), part)).collect()
        }
        _ => Vec::new(),
    };
    std::iter::once(String::new()).chain(parts).collect()
}

/// One operation of JSON Patch (RFC 6902): `add` to the end of a list or as a field, `remove`, `replace`.
fn apply(document: &mut Value, edit: &Value) {
    let path = edit["path"].as_str().unwrap();
    match edit["op"].as_str().unwrap() {
        "replace" => *document.pointer_mut(path).expect(path) = edit["value"].clone(),
        operation => {
            let (parent, last) = path.rsplit_once('/').unwrap();
            match (operation, document.pointer_mut(parent).expect(path)) {
                ("add", Value::Array(list)) if last == "-" => list.push(edit["value"].clone()),
                ("add", Value::Object(fields)) => drop(fields.insert(last.to_owned(), edit["value"].clone())),
                ("remove", Value::Array(list)) => drop(list.remove(last.parse().unwrap())),
                ("remove", Value::Object(fields)) => drop(fields.remove(last).expect(path)),
                _ => panic!("{path}: no such edit"),
            }
        }
    }
}
