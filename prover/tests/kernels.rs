//! The kernels as graphs: all of them on both sides, and both graphs of some run against the compiled function.
//! `cargo run --release -p metaloc-prover --example lift_kernels -- --judge` does it for all.

mod judging;
#[path = "kernels/mod.rs"]
mod kernels;

use kernels::{Configuration, Kernel, Outcome, try_kernel};
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::product::search::Options;
use metaloc_prover::prove::{Cost, ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Program};
use std::sync::Mutex;

/// Calls `visit` for each kernel in each configuration whose name, behind that of the compiler, is this one, on two
/// threads.
fn each(wanted: impl Fn(&Kernel) -> bool, name: &str, visit: impl Fn(&Configuration, &Kernel) + Sync) {
    let mut configurations = kernels::configurations();
    configurations.retain(|known| known.name.split_once(", ").is_some_and(|(_, rest)| rest == name));
    assert_eq!(configurations.len(), 2, "both compilers have {name}");
    let mut work = Vec::new();
    for kernel in kernels::all().into_iter().filter(wanted) {
        work.push(kernel);
    }
    let work = Mutex::new(work);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(kernel) = { work.lock().unwrap().pop() } {
                    configurations.iter().for_each(|configuration| visit(configuration, &kernel));
                }
            });
        }
    });
}

#[test]
fn all_kernels_become_graphs_on_both_sides() {
    let count = Mutex::new(0);
    each(
        |kernel| kernel.defines.iter().all(|define| !define.contains("UNROLL")),
        "paper's flags",
        |configuration, kernel| match try_kernel(configuration, kernel, false) {
            Outcome::Graphs { .. } => *count.lock().unwrap() += 1,
            Outcome::Refused(side, reason) => {
                panic!("{} with {}: {side}: {reason}", kernel.label(), configuration.name)
            }
        },
    );
    assert!(*count.lock().unwrap() >= 2 * (76 + 5 + 24), "{count:?}");
}

/// One of each shape: plain, reversed, reduction, branches, constants, nests, pointers, arguments.
const JUDGED: [&str; 14] = [
    "s1112",
    "s112",
    "vdotr",
    "s441",
    "s442",
    "s276",
    "s114",
    "s2233",
    "s1351",
    "s1421",
    "s174",
    "s4115",
    "vif",
    "loopSplitting",
];

#[test]
fn graphs_do_what_the_compiled_function_does() {
    judge("paper's flags", &JUDGED);
}

#[test]
fn graphs_of_32_bit_code_do_what_it_does() {
    if judging::runs_32_bit_programs() {
        judge("paper's flags, i386", &JUDGED);
    }
}

/// Through the global offset table, and the pc that i386 code has to ask for.
#[test]
fn graphs_of_position_independent_code_do_what_it_does() {
    // Without s442: clang makes a table of addresses of its switch, which the driver does not fill in.
    let kernels = ["s1112", "s112", "vdotr", "s276", "s1351", "s174", "s4115", "vif"];
    judge("default flags, PIE", &kernels);
    if judging::runs_32_bit_programs() {
        judge("default flags, i386, PIE", &kernels);
    }
}

fn judge(configurations: &str, kernels: &[&str]) {
    each(
        |kernel| kernels.contains(&kernel.name.as_str()),
        configurations,
        |configuration, kernel| match try_kernel(configuration, kernel, true) {
            Outcome::Graphs { tallies, .. } => {
                for (side, tally) in tallies {
                    assert!(
                        tally.wrong.is_empty(),
                        "{} {}, {side}: {tally:?}",
                        kernel.name,
                        configuration.name
                    );
                    assert!(tally.same > 0, "{} {}, {side}: {tally:?}", kernel.name, configuration.name);
                }
            }
            Outcome::Refused(side, reason) => panic!("{}: {side}: {reason}", kernel.label()),
        },
    );
}

#[test]
fn a_graph_of_another_function_is_noticed() {
    // The IR of one kernel against the code of another that has its name.
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("vpv.c");
    std::fs::copy(kernels::folder().join("tsvc.h"), folder.path().join("tsvc.h")).unwrap();
    let text = std::fs::read_to_string(kernels::folder().join("vpv.c")).unwrap();
    std::fs::write(&other, text.replace("a[i] += b[i]", "a[i] += b[i] | 1")).unwrap();
    let configuration = &kernels::configurations()[0];
    let kernel = Kernel {
        path: kernels::folder().join("vpv.c"),
        name: "vpv".into(),
        defines: Vec::new(),
        small: vec!["-DL=240".into()],
    };
    let Outcome::Graphs { tallies, .. } = kernels::try_with(configuration, &kernel, true, &other) else {
        panic!("vpv is supported")
    };
    let wrong: Vec<(&str, bool)> =
        tallies.iter().map(|(side, tally)| (*side, !tally.wrong.is_empty())).collect();
    assert_eq!(wrong, [("source", true), ("machine", false)]);
}

/// The search blames one edge where a kernel fails, and here it gives up at the first: then it goes on depth first.
#[test]
fn what_seemed_wrong_is_tried_again_depth_first() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, other) = (kernels::folder().join("s114.c"), folder.path().join("s114.c"));
    std::fs::copy(kernels::folder().join("tsvc.h"), folder.path().join("tsvc.h")).unwrap();
    let text = std::fs::read_to_string(&kernel).unwrap();
    std::fs::write(&other, text.replace("aa[j][i] + bb", "aa[j][i] | bb")).unwrap();
    let configurations = kernels::configurations();
    let gcc = configurations.iter().find(|known| known.name == "gcc-12, paper's flags").unwrap();
    let object = kernels::object(gcc, &kernel, folder.path());
    let verdict = |source: &std::path::Path| -> (Verdict, Cost) {
        let text = compile::text(judging::llvm(), source, &gcc.meaning).unwrap();
        let module = Module::parse("s114.c", &text).unwrap();
        let file = ObjectFile::parse("s114.o", &std::fs::read(&object).unwrap()).unwrap();
        let search = Options { most_retries: 0, ..Options::default() };
        let options = ProveOptions { search, ..ProveOptions::default() };
        let solver = Program::find(Kind::Z3).unwrap();
        prove(&module, file.function("s114").unwrap(), &solver, options).unwrap()
    };
    let (proved, cost) = verdict(&kernel);
    assert!(matches!(proved, Verdict::Proved(_)) && cost.effort.retries > 0, "{proved:?} {:?}", cost.effort);
    let (different, _) = verdict(&other);
    assert!(!matches!(different, Verdict::Proved(_)), "a false proof");
}
