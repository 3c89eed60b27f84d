//! Merging documents: one error per id, however many processes and inputs show it.
//!
//! The result does not depend on the order of the documents, so a parallel run gives the same report as a
//! sequential one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Document, Error, Kind, Operation, Stats, Witness};
use crate::summary::{NotRun, PassSummary, Reached};

/// Witnesses kept per error; `occurrences` counts all.
pub const WITNESSES_KEPT: usize = 5;

/// Documents of different LLVMs say nothing about each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a report of LLVM {other} cannot be merged with one of LLVM {llvm}")]
pub struct OtherLlvm {
    /// Version of the documents so far.
    pub llvm: String,
    /// Version of the document that does not fit.
    pub other: String,
}

/// Takes documents and gives one.
#[derive(Debug)]
pub struct Merger {
    llvm: String,
    complete: bool,
    errors: BTreeMap<String, Error>,
    passes: BTreeMap<String, PassSummary>,
    not_run: Vec<NotRun>,
    stats: Stats,
    reached: BTreeMap<String, BTreeSet<u64>>,
}

impl Merger {
    /// For documents of one LLVM.
    pub fn new(llvm: impl Into<String>) -> Merger {
        Merger {
            llvm: llvm.into(),
            complete: true,
            errors: BTreeMap::new(),
            passes: BTreeMap::new(),
            not_run: Vec::new(),
            stats: Stats::default(),
            reached: BTreeMap::new(),
        }
    }

    /// Adds an input of which there is no document, or not all of one.
    pub fn add_not_run(&mut self, not_run: NotRun) {
        self.not_run.push(not_run);
    }

    /// Adds a document.
    pub fn add(&mut self, document: Document) -> Result<(), OtherLlvm> {
        if document.llvm != self.llvm {
            return Err(OtherLlvm { llvm: self.llvm.clone(), other: document.llvm });
        }
        self.complete &= document.complete;
        self.stats = sum(self.stats, document.stats);
        self.not_run.extend(document.not_run);
        for pass in document.passes {
            match self.passes.entry(pass.pass.clone()) {
                Entry::Vacant(entry) => drop(entry.insert(pass)),
                Entry::Occupied(mut entry) => {
                    let known = entry.get_mut();
                    known.runs += pass.runs;
                    known.changed_runs += pass.changed_runs;
                }
            }
        }
        for Reached { module, pcs } in document.reached {
            self.reached.entry(module).or_default().extend(pcs);
        }
        for error in document.errors {
            insert(&mut self.errors, error);
        }
        Ok(())
    }

    /// All of them in one: most certain first, then by pass, then by id.
    pub fn finish(mut self) -> Document {
        let mut errors: Vec<_> = self.errors.into_values().collect();
        errors.sort_by(|a, b| (a.confidence, &a.pass, &a.id).cmp(&(b.confidence, &b.pass, &b.id)));
        self.not_run.sort();
        let mut document = Document {
            complete: self.complete,
            errors,
            passes: self.passes.into_values().collect(),
            not_run: self.not_run,
            stats: self.stats,
            reached: self.reached.into_iter().map(|(module, pcs)| Reached { module, pcs }).collect(),
            ..Document::empty(self.llvm)
        };
        document.count_errors();
        document
    }
}

/// Makes one error of all those at one line of a pass's source, with the id of that line. To be done once the
/// lines are known: until then the site is an address, and a line has several.
pub fn by_line(mut document: Document) -> Document {
    let mut errors = BTreeMap::new();
    for mut error in std::mem::take(&mut document.errors) {
        error.id = line_id(&error);
        insert(&mut errors, error);
    }
    let mut merger = Merger::new(document.llvm.clone());
    merger.errors = errors;
    let errors = merger.finish().errors;
    let mut document = Document { errors, ..document };
    document.count_errors();
    document
}

/// The id that [`by_line`] gives an error.
pub fn line_id(error: &Error) -> String {
    match (&error.site.file, error.site.line) {
        (Some(file), Some(line)) => {
            error_id(&error.pass, error.operation, error.kind, &format!("{file}:{line}"))
        }
        _ => error.id.clone(),
    }
}

/// The id of an error: 16 hexadecimal digits, FNV-1a over the names of pass, operation and kind and the site, each
/// ended by a zero byte. The site is `file:line` of the pass, or `symbol+offset` where there is no source. It does
/// not depend on the witness: the same error has the same id whatever it was found with.
pub fn error_id(pass: &str, operation: Operation, kind: Kind, site: &str) -> String {
    let (operation, kind) = (format!("{operation:?}"), format!("{kind:?}"));
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in [pass, &operation, &kind, site].iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

fn insert(errors: &mut BTreeMap<String, Error>, error: Error) {
    match errors.entry(error.id.clone()) {
        Entry::Vacant(entry) => drop(entry.insert(with_sorted_witnesses(error))),
        Entry::Occupied(mut entry) => join(entry.get_mut(), with_sorted_witnesses(error)),
    }
}

fn sum(a: Stats, b: Stats) -> Stats {
    Stats {
        inputs: a.inputs + b.inputs,
        pass_runs: a.pass_runs + b.pass_runs,
        changed_runs: a.changed_runs + b.changed_runs,
        events: a.events + b.events,
        judged: a.judged + b.judged,
        seconds: a.seconds + b.seconds,
    }
}

/// The surer of the two speaks for both, with its own witnesses: those of the other do not show as much.
/// Of equally sure ones, the one with the smaller witness speaks.
fn join(error: &mut Error, mut other: Error) {
    if speaks_before(&other, error) {
        std::mem::swap(error, &mut other);
    }
    error.occurrences += other.occurrences;
    if error.confidence == other.confidence {
        error.witnesses.append(&mut other.witnesses);
        sort_witnesses(&mut error.witnesses);
    }
}

fn speaks_before(a: &Error, b: &Error) -> bool {
    // An error without a witness comes last: there is nothing to look at.
    let smallest = smallest_witness(a).cmp(&smallest_witness(b));
    // Two that differ only in what they say of one witness should not exist; the order is fixed all the same.
    let rest = |error: &Error| {
        format!("{:?}", (&error.destination, &error.sources, &error.site, error.actual, &error.rule))
    };
    a.confidence.cmp(&b.confidence).then(smallest).then_with(|| rest(a).cmp(&rest(b))).is_lt()
}

fn smallest_witness(error: &Error) -> impl Ord + '_ {
    let first = error.witnesses.first().map(rank);
    (first.is_none(), first)
}

fn with_sorted_witnesses(mut error: Error) -> Error {
    sort_witnesses(&mut error.witnesses);
    error
}

fn sort_witnesses(witnesses: &mut Vec<Witness>) {
    witnesses.sort_by(|a, b| rank(a).cmp(&rank(b)));
    witnesses.dedup();
    witnesses.truncate(WITNESSES_KEPT);
}

/// A total order, so that the outcome does not depend on which document came first.
pub fn rank(witness: &Witness) -> impl Ord + '_ {
    let Witness { input, function, size, name, extra, path } = witness;
    (size, path.len(), input, function, name, path, extra)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Confidence;
    use crate::example;
    use proptest::prelude::*;

    fn merged(documents: impl IntoIterator<Item = Document>) -> Document {
        let mut merger = Merger::new("16.0.6");
        for document in documents {
            merger.add(document).unwrap();
        }
        merger.finish()
    }

    fn document(errors: Vec<Error>) -> Document {
        Document { errors, ..example::document() }
    }

    fn with_witness(size: u64, input: &str) -> Error {
        let mut error = example::error("a");
        error.witnesses[0].size = size;
        error.witnesses[0].input = input.to_owned();
        error.destination.name = Some(format!("%in.{input}"));
        error
    }

    #[test]
    fn one_error_per_id_with_the_smallest_witness_first() {
        let sizes = [30, 9, 70, 12, 50, 41];
        let documents = sizes.map(|size| document(vec![with_witness(size, &format!("{size}.ll"))]));
        let all = merged(documents);
        let [error] = &all.errors[..] else { panic!("{:?}", all.errors) };
        assert_eq!(error.occurrences, 6 * example::error("a").occurrences);
        assert_eq!(error.witnesses.iter().map(|w| w.size).collect::<Vec<_>>(), [9, 12, 30, 41, 50]);
        // The destination is that of the witness shown first.
        assert_eq!(error.destination.name.as_deref(), Some("%in.9.ll"));
    }

    #[test]
    fn other_ids_stay_apart_and_are_sorted_by_confidence_pass_and_id() {
        let mut errors = ["d", "c", "b", "a"].map(example::error);
        errors[0].confidence = Confidence::Certain;
        errors[1].confidence = Confidence::Note;
        errors[2].pass = "adce".to_owned();
        for error in &mut errors[2..] {
            error.confidence = Confidence::Likely;
        }
        let all = merged(errors.map(|error| document(vec![error])));
        assert_eq!(all.errors.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["d", "b", "a", "c"]);
    }

    #[test]
    fn the_surer_one_speaks() {
        let mut sure = with_witness(90, "sure.ll");
        sure.confidence = Confidence::Certain;
        let mut unsure = with_witness(2, "unsure.ll");
        unsure.confidence = Confidence::Note;
        let all = merged([document(vec![unsure]), document(vec![sure])]);
        assert_eq!(all.errors[0].confidence, Confidence::Certain);
        assert_eq!(all.errors[0].destination.name.as_deref(), Some("%in.sure.ll"));
        assert_eq!(all.errors[0].witnesses.len(), 1);
        assert_eq!(all.errors[0].occurrences, 2 * example::error("a").occurrences);
    }

    #[test]
    fn the_same_witness_is_kept_once() {
        let all = merged([document(vec![with_witness(3, "x.ll")]), document(vec![with_witness(3, "x.ll")])]);
        assert_eq!(all.errors[0].witnesses.len(), 1);
    }

    #[test]
    fn incomplete_stays_incomplete_and_stats_are_added() {
        let crashed = Document { complete: false, ..document(vec![]) };
        let all = merged([document(vec![]), crashed, document(vec![])]);
        assert!(!all.complete);
        assert_eq!(all.stats.pass_runs, 3 * example::document().stats.pass_runs);
        assert!(merged([document(vec![])]).complete);
    }

    #[test]
    fn another_llvm_is_refused() {
        let error = Merger::new("19.1.7").add(document(vec![])).unwrap_err();
        assert_eq!(error.to_string(), "a report of LLVM 16.0.6 cannot be merged with one of LLVM 19.1.7");
    }

    #[test]
    fn passes_are_added_up_and_their_errors_counted_once() {
        let all = merged([document(vec![example::error("a")]), document(vec![example::error("a")])]);
        let [pass] = &all.passes[..] else { panic!("{:?}", all.passes) };
        assert_eq!((pass.runs, pass.changed_runs, pass.certain), (6, 4, 1));
    }

    #[test]
    fn inputs_that_did_not_run_are_in_order() {
        let not_run = |input: &str| NotRun {
            input: input.to_owned(),
            why: crate::summary::Why::Failed,
            detail: String::new(),
        };
        let mut merger = Merger::new("16.0.6");
        merger.add_not_run(not_run("b"));
        merger.add_not_run(not_run("a"));
        let inputs: Vec<_> = merger.finish().not_run.into_iter().map(|n| n.input).collect();
        assert_eq!(inputs, ["a", "b"]);
    }

    #[test]
    fn one_line_is_one_error() {
        let at = |id: &str, line, operation, size| {
            let mut error = example::error_with_source(id);
            error.operation = operation;
            error.site.line = Some(line);
            error.witnesses[0].size = size;
            error
        };
        let (merge, drop) = (Operation::Merge, Operation::Drop);
        let errors = vec![
            at("a", 7, merge, 20),
            at("b", 7, merge, 4),
            at("c", 8, merge, 1),
            at("d", 7, drop, 1),
            example::error("e"),
        ];
        let all = by_line(merged([document(errors)]));
        assert_eq!(all.errors.len(), 4);
        let known = error_id("tailcallelim", merge, Kind::Lost, "TailRecursionElimination.cpp:7");
        let joined = all.errors.iter().find(|error| error.id == known).unwrap();
        assert_eq!(joined.witnesses.iter().map(|w| w.size).collect::<Vec<_>>(), [4, 20]);
        assert_eq!(all.passes[0].likely, 3);
        assert!(all.errors.iter().any(|error| error.id == "e"), "without a line the address is the site");
    }

    #[test]
    fn ids_differ_where_parts_do() {
        let id = |pass, site| error_id(pass, Operation::Drop, Kind::Lost, site);
        assert_eq!(id("a", "b"), id("a", "b"));
        assert_ne!(id("a", "b"), id("ab", ""));
        assert_ne!(id("a", "b"), error_id("a", Operation::Merge, Kind::Lost, "b"));
    }

    fn arbitrary_error() -> impl Strategy<Value = Error> {
        (0..3u8, 0..3u8, 0..4u64, 0..3u8).prop_map(|(id, confidence, size, input)| {
            let mut error = with_witness(size, &format!("{input}.ll"));
            error.id = format!("id{id}");
            error.confidence =
                [Confidence::Certain, Confidence::Likely, Confidence::Note][usize::from(confidence)];
            error
        })
    }

    proptest! {
        #[test]
        fn order_and_grouping_do_not_matter(
            errors in proptest::collection::vec(arbitrary_error(), 0..12),
            split in 0..12usize,
            seed in any::<u64>(),
        ) {
            // Whole seconds: sums of other fractions depend on the order in the last bit.
            let documents: Vec<_> = errors.iter().map(|e| {
                let mut one = document(vec![e.clone()]);
                one.stats.seconds = 1.0;
                one
            }).collect();
            let straight = merged(documents.clone());
            let mut shuffled = documents.clone();
            shuffled.sort_by_key(|d| {
                let text = format!("{seed}{}", d.to_json());
                text.bytes().fold(seed, |hash, byte| hash.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte))
            });
            prop_assert_eq!(&merged(shuffled), &straight);
            let split = split.min(documents.len());
            let (left, right) = documents.split_at(split);
            let grouped = merged([merged(left.to_vec()), merged(right.to_vec())]);
            prop_assert_eq!(&grouped, &straight);
        }
    }
}
