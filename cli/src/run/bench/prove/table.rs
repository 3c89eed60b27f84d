//! The rows of `metaloc bench prove` as a table.

use std::collections::BTreeMap;
use std::fmt::Write;

use metaloc_proof::Proof;
use serde::Serialize;

use crate::run::prove::check::Counts;
use crate::run::prove::{FunctionResult, VerdictName};

/// One kernel.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    /// Name with definitions.
    pub(super) kernel: String,
    #[serde(flatten)]
    pub(super) result: FunctionResult,
    pub(super) product: Option<Shape>,
    /// Largest resident set of the prover or of its solver.
    pub(super) memory_mib: u64,
    /// What another solver says; `null` if none was asked.
    pub(super) confirmed: Option<Counts>,
    /// What was checked out when a row that is kept in a file was made.
    pub(super) commit: Option<String>,
}

impl Row {
    /// Whether there is a proof that no other solver was asked about.
    pub(super) fn could_be_confirmed(&self) -> bool {
        self.result.verdict == VerdictName::Proved && self.confirmed.is_none()
    }
}

/// Nodes and edges of the product, and paths of the source and of the machine in its edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Shape {
    pub(super) nodes: usize,
    pub(super) edges: usize,
    pub(super) source_paths: u64,
    pub(super) machine_paths: u64,
}

impl Shape {
    pub(super) fn of(proof: &Proof) -> Shape {
        let mut shape = Shape { nodes: 0, edges: 0, source_paths: 0, machine_paths: 0 };
        for function in &proof.functions {
            shape.nodes += function.nodes.len();
            shape.edges += function.edges.len();
            for edge in &function.edges {
                shape.source_paths = shape.source_paths.saturating_add(edge.source.paths.count());
                shape.machine_paths = shape.machine_paths.saturating_add(edge.machine.paths.count());
            }
        }
        shape
    }
}

/// What a table is of.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    /// Compiler, flags and target.
    pub(super) configuration: String,
    pub(super) limit_seconds: u64,
    pub(super) order: &'static str,
}

impl Asked {
    /// For people, and to know a file again.
    pub(super) fn title(&self) -> String {
        format!("{}, {} s for each function, {} order", self.configuration, self.limit_seconds, self.order)
    }
}

/// `metaloc.bench-prove/1`.
#[derive(Debug, Serialize)]
pub(super) struct Table {
    schema: &'static str,
    #[serde(flatten)]
    asked: Asked,
    proved: usize,
    of: usize,
    /// Mean time of the kernels that were proved.
    mean_seconds: f64,
    most_seconds: f64,
    most_memory_mib: u64,
    /// What another solver says of the obligations of all proofs; `null` if none was asked.
    confirmed: Option<Counts>,
    /// Kernels that were not proved, by class.
    classes: BTreeMap<String, Vec<String>>,
    kernels: Vec<Row>,
}

impl Table {
    pub(super) fn new(asked: Asked, kernels: Vec<Row>) -> Table {
        let proved: Vec<f64> = kernels
            .iter()
            .filter(|row| row.result.verdict == VerdictName::Proved)
            .map(|row| row.result.seconds)
            .collect();
        let mut classes = BTreeMap::<String, Vec<String>>::new();
        for row in kernels.iter().filter(|row| row.result.verdict != VerdictName::Proved) {
            classes.entry(class(&row.result).to_owned()).or_default().push(row.kernel.clone());
        }
        let counted = kernels.iter().filter_map(|row| row.confirmed);
        let confirmed = counted.reduce(|sum, counts| Counts {
            confirmed: sum.confirmed + counts.confirmed,
            open: sum.open + counts.open,
            refuted: sum.refuted + counts.refuted,
        });
        Table {
            schema: "metaloc.bench-prove/1",
            asked,
            proved: proved.len(),
            of: kernels.len(),
            mean_seconds: proved.iter().sum::<f64>() / proved.len().max(1) as f64,
            most_seconds: proved.iter().copied().fold(0.0, f64::max),
            most_memory_mib: kernels.iter().map(|row| row.memory_mib).max().unwrap_or(0),
            confirmed,
            classes,
            kernels,
        }
    }

    pub(super) fn count(&self, verdict: VerdictName) -> usize {
        self.kernels.iter().filter(|row| row.result.verdict == verdict).count()
    }

    /// Obligations of which another solver says the opposite.
    pub(super) fn unconfirmed(&self) -> usize {
        self.confirmed.map_or(0, |counts| counts.refuted)
    }

    pub(super) fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.asked.title());
        let _ = writeln!(
            text,
            "{:8} {:11} {:11} {:>6} {:>5} {:>7} {:>6} {:>6} {:>5} {:>5} {:>6} {:>5} {:>5} {:>5}",
            "kernel",
            "verdict",
            "class",
            "s",
            "MiB",
            "obligs",
            "rewr",
            "solver",
            "unr",
            "nodes",
            "edges",
            "cand",
            "wrong",
            "cex"
        );
        for row in &self.kernels {
            let result = &row.result;
            let unroll = result.unroll.map_or("-".to_owned(), |unroll| unroll.to_string());
            let (nodes, edges) = row.product.as_ref().map_or(("-".to_owned(), "-".to_owned()), |shape| {
                (shape.nodes.to_string(), shape.edges.to_string())
            });
            let class = if result.verdict == VerdictName::Proved { "" } else { class(result) };
            let _ = writeln!(
                text,
                "{:8} {:11} {:11} {:>6.1} {:>5} {:>7} {:>6} {:>6} {:>5} {:>5} {:>6} {:>5} {:>5} {:>5}",
                row.kernel,
                result.verdict.text(),
                class,
                result.seconds,
                row.memory_mib,
                result.obligations,
                result.queries.normaliser,
                result.queries.solver,
                unroll,
                nodes,
                edges,
                result.candidates,
                result.retries,
                result.counterexamples,
            );
        }
        let _ = writeln!(
            text,
            "\n{} of {} proved, mean {:.1} s, most {:.1} s, {} MiB at most",
            self.proved, self.of, self.mean_seconds, self.most_seconds, self.most_memory_mib
        );
        if let Some(Counts { confirmed, open, refuted }) = self.confirmed {
            let asked = (confirmed + open + refuted).max(1);
            let share = 100.0 * confirmed as f64 / asked as f64;
            let _ = writeln!(
                text,
                "{confirmed} of {asked} obligations confirmed ({share:.1}%), {open} open, {refuted} refuted"
            );
        }
        for (class, names) in &self.classes {
            let _ = writeln!(text, "{class}: {} ({})", names.len(), names.join(" "));
        }
        text
    }
}

pub(super) fn class(result: &FunctionResult) -> &str {
    match (&result.class, result.verdict) {
        (Some(class), _) => class,
        (None, verdict) => verdict.text(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::run::prove::Queries;

    pub(in crate::run::bench::prove) fn row(
        name: &str,
        verdict: VerdictName,
        class: Option<&str>,
        seconds: f64,
    ) -> Row {
        let result = FunctionResult {
            name: name.to_owned(),
            verdict,
            class: class.map(str::to_owned),
            reason: None,
            seconds,
            unroll: Some(4),
            obligations: 7,
            queries: Queries { normaliser: 5, solver: 2 },
            counterexamples: 0,
            candidates: 3,
            retries: 1,
        };
        Row { kernel: name.to_owned(), result, product: None, memory_mib: 12, confirmed: None, commit: None }
    }

    fn asked() -> Asked {
        Asked { configuration: "x".to_owned(), limit_seconds: 60, order: "ranked" }
    }

    #[test]
    fn the_mean_is_that_of_proofs_and_failures_are_counted_by_class() {
        let table = Table::new(
            asked(),
            vec![
                row("one", VerdictName::Proved, None, 2.0),
                row("two", VerdictName::Proved, None, 4.0),
                row("slow", VerdictName::Unknown, Some("time"), 60.0),
                row("odd", VerdictName::Unsupported, None, 0.1),
            ],
        );
        assert_eq!((table.proved, table.of, table.mean_seconds, table.most_seconds), (2, 4, 3.0, 4.0));
        assert_eq!(table.classes.keys().collect::<Vec<_>>(), ["time", "unsupported"]);
        assert!(table.text().contains("2 of 4 proved, mean 3.0 s"), "{}", table.text());
    }

    #[test]
    fn what_another_solver_says_is_summed_up_and_the_opposite_is_a_finding() {
        let mut rows: Vec<Row> =
            ["one", "two", "three"].map(|name| row(name, VerdictName::Proved, None, 1.0)).into();
        rows[0].confirmed = Some(Counts { confirmed: 9, open: 1, refuted: 0 });
        rows[2].confirmed = Some(Counts { confirmed: 9, open: 0, refuted: 1 });
        let table = Table::new(asked(), rows);
        assert_eq!(table.unconfirmed(), 1);
        let text = table.text();
        assert!(text.contains("18 of 20 obligations confirmed (90.0%), 1 open, 1 refuted"), "{text}");
    }
}
