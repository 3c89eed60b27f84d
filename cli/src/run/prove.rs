//! `metaloc prove`: that an object behaves as its source does, function by function.
//!
//! - [`check`]: a finished proof checked with a solver of the user's choice.

pub(super) mod check;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use metaloc_proof::{Document, Proof, draw};
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::{FunctionCode, ObjectFile};
use metaloc_prover::product::document::sha256;
use metaloc_prover::product::refute::InputSource;
use metaloc_prover::product::search::{Options, Order};
use metaloc_prover::prove::{Cost, ProveError, ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Limits, Program};
use serde::{Deserialize, Serialize};

use super::find_llvm;
use crate::args::{Format, Prove, SearchOrder};
use crate::output::{self, Output};
use crate::status::Status;

pub fn run(args: &Prove) -> Result<Status> {
    let picture = args.graph.as_deref().map(Picture::new).transpose()?;
    match (&args.check, &args.object, &args.source) {
        (Some(proof), ..) => check::run(args, proof, picture),
        (None, Some(object), Some(source)) => search(args, object, source, picture),
        _ => bail!("want OBJECT and --source FILE, or --check PROOF"),
    }
}

/// What `--graph` asks for.
struct Picture {
    output: Output,
    draw: fn(&Document) -> String,
}

impl Picture {
    /// The format is in the name; that it can be written is found out before anything is proved.
    fn new(path: &Path) -> Result<Picture> {
        let draw = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => draw::svg,
            Some("dot") => draw::dot,
            _ => bail!("{}: want a name that ends in .svg or .dot", path.display()),
        };
        Ok(Picture { output: Output::open(Some(path))?, draw })
    }

    /// A picture of nothing is not written.
    fn finish(self, document: &Document) -> Result<()> {
        if document.functions.is_empty() {
            return Ok(());
        }
        self.output.finish(&(self.draw)(document))
    }
}

/// `metaloc.prove/1`: what came of each function.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Summary {
    schema: String,
    object: String,
    source: String,
    pub(super) functions: Vec<FunctionResult>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FunctionResult {
    pub(super) name: String,
    pub(super) verdict: VerdictName,
    /// What kind of limit an unknown one ran into.
    pub(super) class: Option<String>,
    /// Why not proved; `null` for a proof.
    pub(super) reason: Option<String>,
    pub(super) seconds: f64,
    /// Source iterations in one iteration of the machine's innermost loops, the most; `null` without a proof.
    pub(super) unroll: Option<usize>,
    /// Obligations in the proof.
    pub(super) obligations: usize,
    pub(super) queries: Queries,
    pub(super) counterexamples: usize,
    pub(super) candidates: usize,
    pub(super) retries: usize,
}

/// The four verdicts, as documents write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum VerdictName {
    Proved,
    Refuted,
    Unknown,
    Unsupported,
}

impl VerdictName {
    pub(super) fn text(self) -> &'static str {
        match self {
            VerdictName::Proved => "proved",
            VerdictName::Refuted => "refuted",
            VerdictName::Unknown => "unknown",
            VerdictName::Unsupported => "unsupported",
        }
    }
}

/// Questions settled while searching and proving.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Queries {
    pub(super) normaliser: u64,
    pub(super) solver: u64,
}

fn search(args: &Prove, object: &Path, source: &Path, picture: Option<Picture>) -> Result<Status> {
    let bytes = std::fs::read(object).with_context(|| format!("cannot read {}", object.display()))?;
    let name = object.display().to_string();
    let file = ObjectFile::parse(&name, &bytes)?;
    let functions: Vec<FunctionCode> = match &args.function {
        Some(function) => vec![file.function(function)?.clone()],
        None => {
            let own = |function: &&FunctionCode| !function.pc_thunks.contains_key(&function.name);
            file.functions().iter().filter(own).cloned().collect()
        }
    };
    let program = Program::find(Kind::Z3)?;
    let source_bytes = std::fs::read(source).with_context(|| format!("cannot read {}", source.display()))?;
    let mut flags = args.flags.clone();
    if file.address_bits() == 32 {
        flags.push("-m32".to_owned());
    }
    let text = compile::text(&find_llvm(&args.llvm)?, source, &flags)?;
    let module = Module::parse(&source.display().to_string(), &text)?;
    match &args.function {
        Some(function) => {
            module.function(function)?;
        }
        // An object may have functions of other sources, too; but not only such.
        None => {
            let mut found = functions.iter().map(|function| module.function(&function.name));
            if !found.any(|function| function.is_ok())
                && let Some(first) = functions.first()
            {
                module.function(&first.name)?;
            }
        }
    }
    let output = Output::open(args.output.as_deref())?;
    let mut document = Document {
        schema: metaloc_proof::SCHEMA.to_owned(),
        object: metaloc_proof::Object {
            name,
            sha256: sha256(&bytes),
            architecture: file.architecture(),
            kind: file.kind(),
        },
        source: metaloc_proof::Source {
            name: source.display().to_string(),
            sha256: sha256(&source_bytes),
            ir_sha256: sha256(compile::identified(source, &text).as_bytes()),
        },
        globals: Vec::new(),
        functions: Vec::new(),
    };
    let order = match args.order {
        SearchOrder::Ranked => Order::Ranked,
        SearchOrder::Static => Order::Static,
    };
    let mut results = Vec::new();
    for code in &functions {
        let options = ProveOptions {
            search: Options { time: Duration::from_secs(args.time), order, ..Options::default() },
            query: Limits { time: Duration::from_secs(args.query_time), ..Limits::default() },
        };
        let outcome = prove(&module, code, &program, options);
        results.push(take(&mut document, code, outcome)?);
    }
    let all = results.iter().all(|result| result.verdict == VerdictName::Proved);
    let status = if all { Status::Clean } else { Status::Findings };
    let summary = Summary {
        schema: "metaloc.prove/1".to_owned(),
        object: document.object.name.clone(),
        source: document.source.name.clone(),
        functions: results,
    };
    let proof = Proof::new(document).map_err(|defects| ProveError::Invalid(format!("{defects:?}")))?;
    if args.output.is_some() {
        output.finish(&proof.to_json())?;
    }
    if let Some(picture) = picture {
        picture.finish(&proof)?;
    }
    if args.function.is_none() {
        let has = |name: &str| functions.iter().any(|code| code.name == name);
        let missing = module.functions().iter().map(|function| function.name.as_str());
        let missing: Vec<&str> = missing.filter(|name| !has(name)).collect();
        if !missing.is_empty() {
            output::complain(&format!(
                "{} has no function {}, which {} has: nothing is said of it",
                summary.object,
                missing.join(", "),
                summary.source,
            ));
        }
    }
    match args.format {
        Format::Text => print_summary(&summary)?,
        Format::Json => output::print(&format!("{}\n", serde_json::to_string_pretty(&summary)?))?,
    }
    Ok(status)
}

/// Adds a proved function to the document; says what came of it.
fn take(
    document: &mut Document,
    code: &FunctionCode,
    outcome: Result<(Verdict, Cost), ProveError>,
) -> Result<FunctionResult> {
    let (verdict, cost) = match outcome {
        Ok(found) => found,
        // Another function than one of this source: the object may have several.
        Err(ProveError::Ir(error)) => (Verdict::Unsupported(error.to_string()), Cost::default()),
        Err(error) => return Err(error.into()),
    };
    let (mut obligations, mut unroll) = (0, None);
    let mut class = None;
    let (verdict, reason) = match verdict {
        Verdict::Proved(proved) => {
            obligations = proved.function.obligations.len();
            unroll = proved.unroll;
            for global in proved.globals {
                if !document.globals.contains(&global) {
                    document.globals.push(global);
                }
            }
            document.functions.push(proved.function);
            (VerdictName::Proved, None)
        }
        Verdict::Refuted(refuted) => {
            let parameters: Vec<String> =
                refuted.parameters.iter().map(|value| format!("{value:#x}")).collect();
            let input = match refuted.input {
                InputSource::Seed(seed) => format!("input {seed}"),
                InputSource::Model => "an input that the solver found".to_owned(),
            };
            let input = format!("{input} with parameters [{}]", parameters.join(", "));
            (VerdictName::Refuted, Some(format!("{}, on {input}", refuted.what)))
        }
        Verdict::Unknown(failure) => {
            class = Some(failure.class().name().to_owned());
            (VerdictName::Unknown, Some(failure.to_string()))
        }
        Verdict::Unsupported(what) => (VerdictName::Unsupported, Some(what)),
    };
    Ok(FunctionResult {
        name: code.name.clone(),
        verdict,
        class,
        reason,
        seconds: cost.time.as_secs_f64(),
        unroll,
        obligations,
        queries: Queries {
            normaliser: cost.statistics.normaliser,
            solver: cost.statistics.unsat + cost.statistics.sat + cost.statistics.unknown,
        },
        counterexamples: cost.effort.counterexamples,
        candidates: cost.effort.candidates,
        retries: cost.effort.retries,
    })
}

/// A reason as it stands behind a verdict, which has said "unsupported" already.
pub(super) fn behind_verdict(reason: Option<&str>) -> String {
    reason.map_or(String::new(), |reason| {
        format!(": {}", reason.strip_prefix("unsupported: ").unwrap_or(reason))
    })
}

fn print_summary(summary: &Summary) -> Result<()> {
    for result in &summary.functions {
        let reason = behind_verdict(result.reason.as_deref());
        output::print(&format!(
            "{}: {}{reason} ({:.1} s, {} obligations, settled {} by rewriting, {} questions to the solver)\n",
            result.name,
            result.verdict.text(),
            result.seconds,
            result.obligations,
            result.queries.normaliser,
            result.queries.solver,
        ))?;
    }
    Ok(())
}
