//! One function from object and IR to verdict: what `metaloc prove` does for each.

use crate::expr::{Arena, Sort};
use crate::ir::{IrError, Module};
use crate::object_file::{FunctionCode, RelocationKind};
use crate::pair::{PairError, pair};
use crate::product::document::{Described, function};
use crate::product::problem::{Problem, ProblemError, Setting};
use crate::product::refute::{Refuted, refute};
use crate::product::search::{Effort, Failure, Options, Search};
use crate::smt::{Limits, Program, Solver, Statistics, thread_time};
use crate::source::RETURN_VALUE;
use metaloc_proof as proof;
use std::time::Duration;

/// Inputs that are tried before a search begins, and hops of a run.
const REFUTING_RUNS: u64 = 8;
const REFUTING_STEPS: usize = 400_000;

/// What came of one function. Only `Proved` says anything about all inputs.
#[derive(Debug)]
pub enum Verdict {
    /// Every obligation was shown.
    Proved(Box<Proved>),
    /// The two differ on an input that was run.
    Refuted(Refuted),
    /// Nothing was shown, and nothing was shown to differ.
    Unknown(Failure),
    /// Something in the function has no meaning here.
    Unsupported(String),
}

/// A proved function.
#[derive(Debug)]
pub struct Proved {
    /// Its part of the document.
    pub function: proof::Function,
    /// Globals that it names.
    pub globals: Vec<proof::Global>,
    /// How often the source goes round its loop while the machine goes round once, the most; `None` without a
    /// loop.
    pub unroll: Option<usize>,
}

/// What one function cost.
#[derive(Debug, Clone, Default)]
pub struct Cost {
    /// Processor time, the solver's included.
    pub time: Duration,
    /// What the search did.
    pub effort: Effort,
    /// Who settled what.
    pub statistics: Statistics,
    /// Correlations that turned out wrong, with reasons.
    pub notes: Vec<String>,
}

/// Why a function could not even be looked at.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The source.
    #[error(transparent)]
    Ir(#[from] IrError),
    /// The solver.
    #[error(transparent)]
    Solver(#[from] crate::smt::SmtError),
    /// A finished proof that its own rules refuse: a defect of the prover.
    #[error("a proof that is none: {0}")]
    Invalid(String),
}

/// Limits of one function.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProveOptions {
    /// Of the search.
    pub search: Options,
    /// Of each question to the solver.
    pub query: Limits,
}

/// Tries to prove that code behaves as the function of that name in the module does.
pub fn prove(
    module: &Module,
    code: &FunctionCode,
    program: &Program,
    options: ProveOptions,
) -> Result<(Verdict, Cost), ProveError> {
    let begun = thread_time();
    let mut solver = Solver::new(program.clone(), options.query);
    let mut cost = Cost::default();
    let verdict = attempt(module, code, &mut solver, options, &mut cost)?;
    let slow = solver.slow.iter().map(|(name, time)| format!("slow: {name}: {time:?}"));
    cost.notes.extend(slow);
    (cost.time, cost.statistics) = (thread_time() - begun + solver.statistics.spent, solver.statistics);
    Ok((verdict, cost))
}

fn attempt(
    module: &Module,
    code: &FunctionCode,
    solver: &mut Solver,
    options: ProveOptions,
    cost: &mut Cost,
) -> Result<Verdict, ProveError> {
    if code.address_bits != 64 {
        return Ok(Verdict::Unsupported("unsupported: proofs of i386 code".into()));
    }
    let ir = module.function(&code.name)?;
    let mut arena = Arena::new();
    let pair = match pair(&mut arena, module, ir, code) {
        Ok(pair) => pair,
        Err(PairError::Source(error)) => return Ok(Verdict::Unsupported(error.to_string())),
        Err(PairError::Machine(error)) => return Ok(Verdict::Unsupported(error.to_string())),
    };
    let source = pair.source;
    let globals: Vec<proof::Global> = source
        .globals
        .iter()
        .map(|global| proof::Global {
            symbol: global.symbol.clone(),
            size_bytes: global.size_bytes,
            align_bytes: global.align_bytes,
        })
        .collect();
    let returned = source.returns_bits.map(|bits| arena.variable(RETURN_VALUE, Sort::Bits(bits)));
    let problem = Problem {
        source: source.graph.clone(),
        machine: pair.machine,
        globals: globals.clone(),
        parameters: source.parameters.iter().map(|parameter| parameter.variable).collect(),
        returned,
        low_globals: low_globals(code),
        alignments: code.alignments.clone(),
    };
    let setting = match Setting::new(&mut arena, problem) {
        Ok(setting) => setting,
        Err(error @ (ProblemError::StackParameters | ProblemError::Call(_))) => {
            return Ok(Verdict::Unsupported(error.to_string()));
        }
    };
    if let Some(refuted) = refute(&mut arena, &setting, REFUTING_RUNS, REFUTING_STEPS) {
        return Ok(Verdict::Refuted(refuted));
    }
    let (name, version) = solver_name(solver);
    let mut search = Search::new(&mut arena, solver, &setting, options.search);
    let found = search.run().and_then(|product| Ok((search.certify(&product)?, product)));
    let refuted = search.refuted.take();
    cost.effort = search.effort;
    cost.notes = std::mem::take(&mut search.notes);
    let rewrites = search.context.normaliser.used().map(str::to_owned).collect();
    drop(search);
    let (certified, product) = match found {
        Ok(found) => found,
        Err(Failure::Solver(error)) => return Err(error.into()),
        Err(failure) => return Ok(refuted.map_or(Verdict::Unknown(failure), Verdict::Refuted)),
    };
    let described = Described { source: &source, code, solver: (name, version), rewrites };
    let function = function(&mut arena, &setting, &product, &certified, &described)
        .ok_or_else(|| ProveError::Invalid("the document has no words for it".into()))?;
    let innermost = product.edges.iter().filter(|edge| edge.from == edge.to);
    let unroll = innermost.map(|edge| edge.step.source.len()).max();
    if options.search.required.is_all() {
        validate(&function, &globals)?;
    }
    Ok(Verdict::Proved(Box::new(Proved { function, globals, unroll })))
}

/// What the document's own rules say of a function, whatever file it will be in.
fn validate(function: &proof::Function, globals: &[proof::Global]) -> Result<(), ProveError> {
    let name = || function.name.clone();
    let hash = function.machine.sha256.clone();
    let document = proof::Document {
        schema: proof::SCHEMA.to_owned(),
        object: proof::Object {
            name: name(),
            sha256: hash.clone(),
            architecture: proof::Architecture::X86_64,
            kind: proof::ObjectKind::Relocatable,
        },
        source: proof::Source { name: name(), sha256: hash.clone(), ir_sha256: hash },
        globals: globals.to_vec(),
        functions: vec![function.clone()],
    };
    match proof::Proof::new(document) {
        Ok(_) => Ok(()),
        Err(defects) => Err(ProveError::Invalid(format!("{defects:?}"))),
    }
}

fn solver_name(solver: &Solver) -> (String, String) {
    (solver.program().name(), solver.program().version.clone())
}

/// Globals whose address stands in a 32-bit field: the linker puts them below 2^31.
fn low_globals(code: &FunctionCode) -> std::collections::BTreeSet<String> {
    let low = |kind| matches!(kind, RelocationKind::Absolute32 | RelocationKind::Absolute32Signed);
    let named = code.relocations.iter().filter(|relocation| low(relocation.kind));
    named.map(|relocation| relocation.symbol.clone()).collect()
}
