//! A document for tests, with every optional field in both forms between its two shapes.

use crate::document::{
    Actual, Confidence, Destination, Document, Error, Kind, Operation, Site, Source, Stats, Trace, Update,
    Witness,
};
use crate::kept_run::{Graph, GraphBlock, GraphInst, KeptRun, Mark, Spot};
use crate::summary::PassSummary;

/// A block that the pass splits off, with an instruction of the first that keeps its location there.
pub(crate) fn run() -> KeptRun {
    let inst = |text: &str, opcode: &str, name: Option<&str>, location: Option<&str>| GraphInst {
        text: text.to_owned(),
        opcode: opcode.to_owned(),
        name: name.map(str::to_owned),
        location: location.map(str::to_owned),
    };
    let block = |name: &str, successors: &[usize], instructions: Vec<GraphInst>| GraphBlock {
        name: name.to_owned(),
        successors: successors.to_vec(),
        instructions,
    };
    let add = |name| inst(&format!("{name} = add i32 %a, 1"), "add", Some(name), Some("t.c:5:35"));
    let branch = || inst("br i1 %c, label %yes, label %no", "br", None, Some("t.c:4:3"));
    let ret = || inst("ret i32 %a", "ret", None, None);
    let before = Graph {
        blocks: vec![
            block("entry", &[1, 2], vec![branch()]),
            block("yes", &[], vec![add("%add"), ret()]),
            block("no", &[], vec![ret()]),
        ],
    };
    let mut after = before.clone();
    after.blocks[2].instructions.insert(0, add("%accumulator.ret.tr"));
    let mark = Mark {
        error: "0011223344556677".to_owned(),
        destination: Spot { block: 2, instruction: 0 },
        sources: vec![Spot { block: 1, instruction: 0 }],
        extra: vec!["t.c:5:35".to_owned()],
        path: vec![0, 2],
    };
    let (pass, function) = ("tailcallelim".to_owned(), "sum".to_owned());
    KeptRun { pass, function, before, after, marks: vec![mark] }
}

pub(crate) fn document() -> Document {
    let stats = Stats { inputs: 1, pass_runs: 3, changed_runs: 2, events: 120, judged: 17, seconds: 0.25 };
    let pass = PassSummary { runs: 3, changed_runs: 2, ..PassSummary::new("tailcallelim") };
    let errors = vec![error("0011223344556677")];
    let mut document = Document { errors, passes: vec![pass], stats, ..Document::empty("16.0.6") };
    document.count_errors();
    document
}

/// As found without the source of the pass.
pub(crate) fn error(id: &str) -> Error {
    Error {
        id: id.to_owned(),
        pass: "tailcallelim".to_owned(),
        operation: Operation::Drop,
        actual: Actual::Preserve,
        kind: Kind::Incorrect,
        rule: "foreign_locations".to_owned(),
        site: Site {
            function: None,
            file: None,
            line: None,
            column: None,
            symbol: "llvm::TailCallElimPass::run(llvm::Function&)+0x1f".to_owned(),
        },
        destination: Destination {
            variable: None,
            opcode: "add".to_owned(),
            name: Some("%accumulator.ret.tr".to_owned()),
            location: Some("t.c:5:35".to_owned()),
        },
        sources: vec![Source {
            variable: None,
            opcode: "add".to_owned(),
            name: Some("%add".to_owned()),
            location: Some("t.c:5:35".to_owned()),
            link: "clone".to_owned(),
        }],
        update: None,
        skeleton: None,
        confidence: Confidence::Certain,
        occurrences: 2,
        witnesses: vec![Witness {
            input: "t.ll".to_owned(),
            function: "sum".to_owned(),
            size: 14,
            name: Some("%accumulator.ret.tr".to_owned()),
            extra: vec!["t.c:7:20".to_owned()],
            path: vec!["entry".to_owned(), "if.end".to_owned(), "return".to_owned()],
        }],
        trace: None,
        confirmation: None,
    }
}

/// As found with the source of the pass, with no names in the IR.
pub(crate) fn error_with_source(id: &str) -> Error {
    let mut error = error(id);
    error.operation = Operation::Merge;
    error.actual = Actual::Drop;
    error.kind = Kind::Lost;
    error.confidence = Confidence::Likely;
    error.site = Site {
        function: Some("createCall".to_owned()),
        file: Some("TailRecursionElimination.cpp".to_owned()),
        line: Some(777),
        column: Some(5),
        symbol: error.site.symbol,
    };
    error.destination = Destination {
        variable: Some("New".to_owned()),
        opcode: "store".to_owned(),
        name: None,
        location: None,
    };
    error.sources[0].variable = Some("Old".to_owned());
    error.sources.push(Source {
        variable: None,
        opcode: "store".to_owned(),
        name: None,
        location: None,
        link: "position".to_owned(),
    });
    error.update = Some(Update { line: 779, column: 5 });
    error.skeleton = Some("Line 779 Merge(New, Old)".to_owned());
    error.trace = Some(Trace {
        module: "/cache/Pass.so".to_owned(),
        pc: 0x1234,
        update_pc: 0x1250,
        direct: true,
        destination: vec![3],
        sources: vec![vec![1], Vec::new()],
        sources_at_site: vec![vec![0, 1], Vec::new()],
    });
    error.witnesses[0].extra.clear();
    error.witnesses[0].path.clear();
    error.witnesses[0].name = None;
    error
}
