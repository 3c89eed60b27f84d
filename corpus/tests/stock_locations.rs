//! Stock `opt` against what the inputs and the table of known errors say: no plugin takes part.
//!
//! Needs at least one of the supported LLVMs; those that are not installed are left out and named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use metaloc_corpus::ir_text::{self, DestinationInfo};
use metaloc_corpus::truth::{Origin, TruthCase, TruthRecord};
use metaloc_corpus::{Error, llvm_tests, regress, truth};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::{Stdin, Task};

fn regress_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../regress")
}

fn records() -> Vec<TruthRecord> {
    truth::records(&regress_folder().join("llvm-truth.json")).unwrap()
}

fn inputs() -> Vec<regress::RegressInput> {
    regress::inputs(&regress_folder().join("passes")).unwrap()
}

fn installed() -> Vec<Llvm> {
    let installed = Llvm::installed();
    assert!(!installed.is_empty(), "no LLVM is installed");
    installed
}

fn run(llvm: &Llvm, args: &[String], input: &[u8]) -> Result<String, String> {
    let task = Task::new(&llvm.opt).arg("-S").args(args).stdin(Stdin::Bytes(input.to_vec()));
    let outcome = task.run().map_err(|error| error.to_string())?;
    if !outcome.exit.success() {
        return Err(format!("{}: {}\n{}", task.command_line(), outcome.exit, outcome.stderr_text()));
    }
    Ok(outcome.stdout_text())
}

fn destination(llvm: &Llvm, case: &TruthCase) -> Result<DestinationInfo, String> {
    let ir = run(llvm, &case.opt_args, &case.input)?;
    ir_text::destination(&ir, &case.probe).ok_or_else(|| "the destination is not there".into())
}

/// What a case shows with an LLVM, if that is not what it is expected to show.
fn surprise(llvm: &Llvm, case: &TruthCase) -> Option<String> {
    let said = match destination(llvm, case) {
        Ok(destination)
            if case.expected.as_ref().is_none_or(|location| *location == destination.location) =>
        {
            return None;
        }
        Ok(destination) => format!("{} is at {}", destination.opcode, destination.location),
        Err(problem) => problem,
    };
    let path = match &case.origin {
        Origin::Upstream(path) | Origin::Own(path) => path.display(),
    };
    let expected = case.expected.as_ref().map_or("anything", |location| &location.0);
    Some(format!("LLVM {}, {}, {path}: {said}, not {expected}", llvm.major, case.record.id))
}

#[test]
fn regress_inputs_show_what_they_say() {
    let inputs = inputs();
    let mut surprises = Vec::new();
    for llvm in installed() {
        for record in records() {
            // An instruction that the record itself did not find in this version is not asked for here.
            let known = record.location_in(llvm.major).is_some() || llvm.major == 15;
            let cases = record.own_cases(&inputs, &llvm).unwrap();
            surprises.extend(cases.iter().filter(|_| known).filter_map(|case| surprise(&llvm, case)));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}

#[test]
fn clean_inputs_show_no_known_error() {
    for input in inputs().iter().filter(|input| input.clean) {
        assert!(input.header.shows.is_empty(), "{}", input.path.display());
    }
}

#[test]
fn every_record_but_one_has_an_input_of_ours() {
    let shown: BTreeSet<String> =
        inputs().into_iter().flat_map(|input| input.header.shows).map(|shown| shown.record).collect();
    let all: BTreeSet<String> = records().into_iter().map(|record| record.id).collect();
    assert!(shown.is_subset(&all), "unknown records: {:?}", shown.difference(&all));
    // The code of this one is younger than LLVM 16.
    assert_eq!(all.difference(&shown).collect::<Vec<_>>(), ["table6-97662-6"]);
}

#[test]
fn inputs_that_show_nothing_run_all_the_same() {
    let mut failures = Vec::new();
    for llvm in installed() {
        let silent = |input: &&regress::RegressInput| input.header.shows.is_empty();
        for input in inputs().iter().filter(silent).filter(|input| input.header.llvm.contains(llvm.major)) {
            let prepared = input.prepare(&llvm).unwrap();
            failures.extend(run(&llvm, &prepared.opt_args, &prepared.input).err());
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn upstream_tests_give_the_locations_of_the_table() {
    let source = llvm_tests::source(&|text| eprintln!("{text}")).unwrap();
    let mut surprises = Vec::new();
    for llvm in installed() {
        let (mut reproduced, mut unadaptable, mut unknown) = (0, 0, 0);
        for record in records() {
            match record.upstream_case(&source, &llvm) {
                Err(Error::Unadaptable { .. }) => unadaptable += 1,
                Err(error) => panic!("{error}"),
                Ok(case) if case.expected.is_none() => unknown += 1,
                Ok(case) => match surprise(&llvm, &case) {
                    Some(surprise) => surprises.push(surprise),
                    None => reproduced += 1,
                },
            }
        }
        println!(
            "LLVM {}: {reproduced} reproduced, {unadaptable} not adaptable, {unknown} unknown",
            llvm.major
        );
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
}
