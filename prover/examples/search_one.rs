//! Searches for a product of one function: `search_one OBJECT IR FUNCTION`. For people who work on the search.

use metaloc_prover::expr::Arena;
use metaloc_prover::ir::Module;
use metaloc_prover::lift::lift_by;
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::product::problem::{Problem, Setting};
use metaloc_prover::product::search::{Options, Search};
use metaloc_prover::region::Partition;
use metaloc_prover::smt::{Kind, Limits, Program, Solver};
use metaloc_prover::source::lower_by;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, object, ir, name] = arguments.as_slice() else { return Err("OBJECT IR FUNCTION".into()) };
    let code = ObjectFile::parse(object, &std::fs::read(object)?)?.function(name)?.clone();
    let module = Module::parse(ir, &std::fs::read_to_string(ir)?)?;
    let function = module.function(name)?;
    let mut arena = Arena::new();
    let mut machine = lift_by(&mut arena, &code, Partition::ByGlobal)?;
    let mut source = lower_by(&mut arena, &module, function, Partition::ByGlobal)?;
    if machine.needs_merging() || source.graph.needs_merging() {
        machine = lift_by(&mut arena, &code, Partition::Merged)?;
        source = lower_by(&mut arena, &module, function, Partition::Merged)?;
    }
    let globals = source
        .globals
        .iter()
        .map(|global| metaloc_proof::Global {
            symbol: global.symbol.clone(),
            size_bytes: global.size_bytes,
            align_bytes: global.align_bytes,
        })
        .collect();
    let returned = source.returns_bits.map(|bits| {
        arena.variable(metaloc_prover::source::RETURN_VALUE, metaloc_prover::expr::Sort::Bits(bits))
    });
    let parameters = source.parameters.iter().map(|parameter| parameter.variable).collect();
    let problem = Problem { source: source.graph, machine, globals, parameters, returned, address_bits: 31 };
    let setting = Setting::new(&mut arena, problem)?;
    let mut solver = Solver::new(Program::find(Kind::Z3)?, Limits::default());
    let begun = Instant::now();
    let mut search = Search::new(&mut arena, &mut solver, &setting, Options::default());
    let found = search.run();
    let effort = search.effort;
    for note in &search.notes {
        println!("wrong: {note}");
    }
    drop(search);
    match found {
        Ok(product) => {
            for edge in &product.edges {
                println!(
                    "{} -> {}: {:?} / {:?}",
                    edge.from, edge.to, edge.step.machine.edges, edge.step.source
                );
            }
            for (number, node) in product.nodes.iter().enumerate() {
                println!("node {number}: {:?} {:?}", node.source, node.machine);
            }
            println!("{name}: product with {} nodes, {} edges", product.nodes.len(), product.edges.len());
        }
        Err(failure) => println!("{name}: {failure}"),
    }
    println!("{effort:?} {:?} {:?}", solver.statistics, begun.elapsed());
    Ok(())
}
