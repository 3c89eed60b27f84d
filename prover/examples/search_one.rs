//! Proves one function: `search_one OBJECT IR FUNCTION [PROOF.json]`. For people who work on the search.

use metaloc_prover::ir::Module;
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::product::document::sha256;
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, object, ir, name, output @ ..] = arguments.as_slice() else {
        return Err("OBJECT IR FUNCTION".into());
    };
    let bytes = std::fs::read(object)?;
    let file = ObjectFile::parse(object, &bytes)?;
    let code = file.function(name)?.clone();
    let text = std::fs::read_to_string(ir)?;
    let module = Module::parse(ir, &text)?;
    let mut options = ProveOptions::default();
    if let Some(seconds) = std::env::var("METALOC_TIME").ok().and_then(|text| text.parse().ok()) {
        options.search.time = std::time::Duration::from_secs(seconds);
    }
    if std::env::var("METALOC_ORDER").is_ok_and(|order| order == "static") {
        options.search.order = metaloc_prover::product::search::Order::Static;
    }
    let (verdict, cost) = prove(&module, &code, &Program::find(Kind::Z3)?, options)?;
    match verdict {
        Verdict::Proved(proved) => {
            let function = &proved.function;
            println!(
                "{name}: PROVED with {} nodes, {} edges, {} obligations",
                function.nodes.len(),
                function.edges.len(),
                function.obligations.len()
            );
            let document = metaloc_proof::Document {
                schema: metaloc_proof::SCHEMA.to_owned(),
                object: metaloc_proof::Object {
                    name: object.clone(),
                    sha256: sha256(&bytes),
                    architecture: file.architecture(),
                    kind: file.kind(),
                },
                source: metaloc_proof::Source {
                    name: ir.clone(),
                    sha256: sha256(text.as_bytes()),
                    ir_sha256: sha256(text.as_bytes()),
                },
                globals: proved.globals.clone(),
                functions: vec![proved.function],
            };
            match metaloc_proof::Proof::new(document) {
                Ok(proof) => {
                    if let [path] = output {
                        std::fs::write(path, proof.to_json())?;
                    }
                }
                Err(defects) => println!("DEFECTS: {defects:?}"),
            }
        }
        Verdict::Refuted(refuted) => println!("{name}: REFUTED {refuted:?}"),
        Verdict::Unknown(reason) => println!("{name}: unknown: {reason}"),
        Verdict::Unsupported(what) => println!("{name}: {what}"),
    }
    for note in &cost.notes {
        println!("note: {note}");
    }
    println!("{:?} {:?} {:?}", cost.effort, cost.statistics, cost.time);
    Ok(())
}
