//! One function from object and IR to verdict: what `metaloc prove` does for each.

use crate::abi::Abi;
use crate::expr::{Arena, Sort};
use crate::graph::Graph;
use crate::ir::{Function, IrError, Module, Operation};
use crate::object_file::{FunctionCode, RelocationKind};
use crate::pair::{Pair, PairError, pair, pair_by};
use crate::product::document::{Described, function};
use crate::product::problem::{Placement, Problem, Setting};
use crate::product::refute::{Refuted, refute};
use crate::product::search::{Effort, Failure, Options, Search};
use crate::region::Partition;
use crate::smt::{Limits, Program, Solver, Statistics, thread_time};
use crate::source::{PointInfo, RETURN_VALUE, SourceFunction};
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
    /// The source was compiled for another word size than the object.
    #[error("the source has {source_bits}-bit pointers, the object {machine_bits}-bit ones")]
    Widths {
        /// Of the source.
        source_bits: u32,
        /// Of the object.
        machine_bits: u32,
    },
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
    let mut verdict = attempt(module, code, None, &mut solver, options, &mut cost)?;
    // In a linked object the symbol that a number belongs to is a guess. A run shows something only if it does
    // not rest on guesses: with one region for all but the frame there are none.
    if code.image.is_some() && matches!(verdict, Verdict::Refuted(_)) {
        verdict = attempt(module, code, Some(Partition::Merged), &mut solver, options, &mut cost)?;
    }
    let slow = solver.slow.iter().map(|(name, time)| format!("slow: {name}: {time:?}"));
    cost.notes.extend(slow);
    (cost.time, cost.statistics) = (thread_time() - begun + solver.statistics.spent, solver.statistics);
    Ok((verdict, cost))
}

fn attempt(
    module: &Module,
    code: &FunctionCode,
    partition: Option<Partition>,
    solver: &mut Solver,
    options: ProveOptions,
    cost: &mut Cost,
) -> Result<Verdict, ProveError> {
    if code.address_bits != module.layout.pointer_bits {
        return Err(ProveError::Widths {
            source_bits: module.layout.pointer_bits,
            machine_bits: code.address_bits,
        });
    }
    let ir = module.function(&code.name)?;
    if let Some(symbol) = own_name(module, ir, code) {
        let what =
            format!("unsupported: `{symbol}` is the object's own, and the source shares it with other files");
        return Ok(Verdict::Unsupported(what));
    }
    let mut arena = Arena::new();
    let found = match partition {
        None => pair(&mut arena, module, ir, code),
        Some(partition) => pair_by(&mut arena, module, ir, code, partition),
    };
    let pair = match found {
        Ok(Pair { foreign: Some(symbol), .. }) => {
            let what = format!("unsupported: the code uses `{symbol}`, which the source does not name");
            return Ok(Verdict::Unsupported(what));
        }
        Ok(pair) => pair,
        Err(PairError::Source(error)) => return Ok(Verdict::Unsupported(error.to_string())),
        Err(PairError::Machine(error)) => return Ok(Verdict::Unsupported(error.to_string())),
    };
    let source = pair.source;
    if let Some(what) = code.definitions.disagreement(&source.globals) {
        return Ok(Verdict::Unsupported(format!("unsupported: {what}")));
    }
    let mut problem = problem(&mut arena, &source, pair.machine, code);
    problem.callers_known = !module.is_external(&code.name);
    let mut globals = problem.globals.clone();
    let setting = match Setting::new(&mut arena, problem) {
        Ok(setting) => setting,
        Err(error) => return Ok(Verdict::Unsupported(error.to_string())),
    };
    // Nothing is accessed there by that name: only where it is, is said.
    let place = |symbol: &String| proof::Global { symbol: symbol.clone(), size_bytes: 0, align_bytes: 1 };
    globals.extend(setting.own_addresses.iter().map(place));
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
        validate(code, &function, &globals)?;
    }
    Ok(Verdict::Proved(Box::new(Proved { function, globals, unroll })))
}

/// A symbol that both programs use and that means one thing in the object and another in the source. A call without a
/// relocation leads to a function of the object; that both call the same one is shown by its name.
fn own_name<'a>(module: &Module, ir: &'a Function, code: &'a FunctionCode) -> Option<&'a str> {
    let related = code.relocations.iter().map(|relocation| &relocation.symbol);
    let instructions = ir.blocks.iter().flat_map(|block| &block.instructions);
    let called = instructions.filter_map(|instruction| match &instruction.operation {
        Operation::Call { callee, .. } => Some(callee),
        _ => None,
    });
    let own = |symbol: &&String| code.locals.contains(*symbol) && module.is_external(symbol);
    related.chain(called).find(own).map(String::as_str)
}

/// What is to be proved of a pair of graphs.
pub(crate) fn problem(
    arena: &mut Arena,
    source: &SourceFunction,
    machine: Graph,
    code: &FunctionCode,
) -> Problem {
    let global = |global: &crate::ir::Global| proof::Global {
        symbol: global.symbol.clone(),
        size_bytes: global.size_bytes,
        align_bytes: global.align_bytes,
    };
    let returned = source.returns_bits.map(|bits| arena.variable(RETURN_VALUE, Sort::Bits(bits)));
    let globals: Vec<proof::Global> = source.globals.iter().map(global).collect();
    let read_only = source.globals.iter().filter(|global| global.read_only);
    let line = |point: &PointInfo| point.location.as_ref().map(|location| (location.line, location.column));
    let pointers = source.parameters.iter().filter(|parameter| parameter.pointer);
    let extensions = source.parameters.iter().map(|parameter| (parameter.variable, parameter.extension));
    let contents =
        source.globals.iter().filter_map(|global| Some((global.symbol.clone(), global.constant.clone()?)));
    let internal = source.globals.iter().filter(|global| global.internal && !global.read_only);
    let internal = internal.map(|global| (global.symbol.clone(), global.initial.clone()));
    let abi = Abi::of(code.address_bits);
    let floats = source.parameters.iter().filter(|parameter| parameter.float && abi.vectors > 0);
    Problem {
        abi,
        source: source.graph.clone(),
        lines: source.points.iter().map(line).collect(),
        machine,
        parameters: source.parameters.iter().map(|parameter| parameter.variable).collect(),
        pointers: pointers.map(|parameter| parameter.variable).collect(),
        floats: floats.map(|parameter| parameter.variable).collect(),
        extensions: extensions.collect(),
        returned,
        returns_float: source.returns_float,
        low_globals: low_globals(code),
        placed: placement(code, &globals),
        globals,
        alignments: code.alignments.clone(),
        read_only: read_only.map(|global| global.symbol.clone()).collect(),
        written: source.written.clone(),
        contents: contents.collect(),
        internal: internal.collect(),
        callers_known: false,
    }
}

/// What the document's own rules say of a function, whatever file it will be in.
fn validate(
    code: &FunctionCode,
    function: &proof::Function,
    globals: &[proof::Global],
) -> Result<(), ProveError> {
    let name = || function.name.clone();
    let hash = function.machine.sha256.clone();
    let document = proof::Document {
        schema: proof::SCHEMA.to_owned(),
        object: proof::Object {
            name: name(),
            sha256: hash.clone(),
            architecture: code.architecture(),
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

/// Where a linked object has the globals of the source and the constants of the machine.
fn placement(code: &FunctionCode, globals: &[proof::Global]) -> Option<Placement> {
    let image = code.image.as_ref()?;
    let named = globals.iter().map(|global| &global.symbol).chain(code.constants.keys());
    let symbols = named.filter_map(|symbol| Some((symbol.clone(), image.address(symbol)?))).collect();
    Some(Placement { symbols, fixed: image.fixed })
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
