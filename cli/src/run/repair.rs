//! `metaloc repair`: the functions of an object that are proved get locations for their variables.

mod asked;
mod check;
mod correlation;
mod table;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use metaloc_proof::{Document, Function, Global, Proof};
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::{FunctionCode, ObjectFile};
use metaloc_prover::product::document::sha256;
use metaloc_prover::product::locate::Locator;
use metaloc_prover::product::search::Options;
use metaloc_prover::prove::{ProveError, ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Limits, Program};
use metaloc_repair::derive::{Schedule, Variant, derive};
use metaloc_repair::{Counts, FunctionClaims, Object, Repaired, Said, Verdict as Known};
use metaloc_toolchain::atomic::PendingFile;

use super::find_llvm;
use super::prove::{VerdictName, behind_verdict};
use crate::args::{Repair, Spread, TableFormat};
use crate::output::{self, Output};
use crate::parallel;
use crate::progress::Progress;
use crate::status::Status;
use asked::Asked;
use check::Checked;
pub use check::{Counted, Outcome};
use correlation::Correlation;
pub use table::{FunctionRow, Row, Summary, VariantRow};

pub fn run(args: &Repair) -> Result<Status> {
    let name = args.object.display().to_string();
    let asked = check::Asked::read(args)?;
    let bytes = read(&args.object)?;
    let object = Object::parse(&bytes).with_context(|| name.clone())?;
    let file = ObjectFile::parse(&name, &bytes)?;
    let codes: Vec<FunctionCode> = match &args.function {
        Some(function) => vec![file.function(function)?.clone()],
        None => {
            let own = |function: &&FunctionCode| !function.pc_thunks.contains_key(&function.name);
            file.functions().iter().filter(own).cloned().collect()
        }
    };
    let mut flags = args.flags.clone();
    if file.address_bits() == 32 && !flags.iter().any(|flag| flag == "-m32") {
        flags.push("-m32".to_owned());
    }
    let source_bytes = read(&args.source)?;
    let llvm = find_llvm(&args.llvm)?;
    let text = compile::text(&llvm, &args.source, &flags)?;
    let module = Module::parse(&args.source.display().to_string(), &text)?;
    let given = match &args.proof {
        None => None,
        Some(path) => {
            let proof = Proof::from_json(&read(path)?).with_context(|| path.display().to_string())?;
            if proof.source.ir_sha256 != sha256(compile::identified(&args.source, &text).as_bytes()) {
                bail!("{}: proves another source, other flags or another LLVM's IR", path.display());
            }
            Some(proof)
        }
    };
    let program = Program::find(Kind::Z3)?;
    let mut output = args.output.as_deref().map(PendingFile::new).transpose()?;
    let kept_proof = args.write_proof.as_deref().map(|path| Output::open(Some(path))).transpose()?;

    let places: Vec<metaloc_repair::FunctionCode> = codes
        .iter()
        .map(|code| metaloc_repair::FunctionCode {
            symbol: code.name.clone(),
            pcs: code.low_pc..code.low_pc + code.bytes.len() as u64,
        })
        .collect();
    let said = object.said(&places).with_context(|| name.clone())?;
    let work: Vec<(&FunctionCode, &Option<Said>)> = codes.iter().zip(&said).collect();
    let progress = Progress::new(work.len());
    let setting = Setting { args, module: &module, program: &program, proof: given.as_ref() };
    let found = parallel::map(&work, parallel::workers(args.jobs), |(code, said)| {
        let found = setting.function(code, said.as_ref());
        progress.done(&code.name);
        found
    })?;
    drop(progress);

    let claims: Vec<FunctionClaims> = found.iter().filter_map(|found| found.claims.clone()).collect();
    let repaired = object.repair_and_check(&claims).with_context(|| name.clone())?;
    let mut ablation = Vec::new();
    for (number, variant) in LESS.into_iter().enumerate().filter(|_| args.ablation) {
        let claims: Vec<FunctionClaims> =
            found.iter().filter_map(|found| found.less.get(number).cloned()).collect();
        let repaired = object.repair_and_check(&claims).with_context(|| name.clone())?;
        let counts = repaired.counts.into_iter().flatten().fold(Counts::default(), |mut total, counts| {
            total += counts;
            total
        });
        ablation.push(VariantRow { variant: variant.name().to_owned(), total: Row::from(counts) });
    }
    let outcome = match &asked {
        None => None,
        Some(asked) => {
            let is_linked = file.kind() != metaloc_proof::ObjectKind::Relocatable;
            let functions: Vec<Checked> = found.iter().filter_map(Found::checked).collect();
            Some(asked.run(args, (&llvm, &flags), (&repaired.bytes, is_linked), &functions)?)
        }
    };
    let is_wrong = outcome.as_ref().is_some_and(Outcome::is_wrong);
    if let Some(kept) = kept_proof {
        let object = metaloc_proof::Object {
            name: name.clone(),
            sha256: sha256(&bytes),
            architecture: file.architecture(),
            kind: file.kind(),
        };
        let document = document(object, args, &source_bytes, &text, &found);
        let proof = Proof::new(document).map_err(|defects| ProveError::Invalid(format!("{defects:?}")))?;
        kept.finish(&proof.to_json())?;
    }
    // What is seen to be wrong is not left for others to find.
    if let Some(mut file) = output.take().filter(|_| !is_wrong) {
        file.write(&repaired.bytes)?;
        keep_rights(&args.object, file.temporary())?;
        file.commit()?;
    }
    let mut summary = summary(args, &name, found, &repaired, repaired.bytes != bytes);
    summary.check = outcome;
    summary.ablation = ablation;
    print(args, &summary)?;
    Ok(if is_wrong { Status::Findings } else { Status::Clean })
}

/// A program can be run after it as before.
fn keep_rights(from: &Path, to: &Path) -> Result<()> {
    let rights =
        std::fs::metadata(from).with_context(|| format!("cannot read {}", from.display()))?.permissions();
    std::fs::set_permissions(to, rights).with_context(|| format!("cannot write {}", to.display()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// A proved function with the globals that its proof names.
type Given = (Function, Vec<Global>);

/// Why there is no proof to work with.
type NotProved = (VerdictName, String);

/// What came of one function.
struct Found {
    name: String,
    verdict: VerdictName,
    reason: Option<String>,
    seconds: f64,
    claims: Option<FunctionClaims>,
    /// With `--ablation`, those of the variants that spread less, in their order.
    less: Vec<FunctionClaims>,
    proved: Option<(Function, Vec<Global>)>,
    correlation: Option<Result<Correlation, String>>,
}

impl Found {
    fn checked(&self) -> Option<Checked<'_>> {
        let (_, globals) = self.proved.as_ref()?;
        let globals = globals.iter().map(|global| global.symbol.clone()).collect();
        Some(Checked { claims: self.claims.as_ref()?, correlation: self.correlation.as_ref()?, globals })
    }
}

/// What is found for a proved function.
struct Located {
    claims: FunctionClaims,
    less: Vec<FunctionClaims>,
    function: Function,
    correlation: Result<Correlation, String>,
}

/// The variants that spread less than all.
const LESS: [Spread; 3] = [Spread::None, Spread::Forward, Spread::Reversible];

struct Setting<'a> {
    args: &'a Repair,
    module: &'a Module,
    program: &'a Program,
    proof: Option<&'a Proof>,
}

impl Setting<'_> {
    fn function(&self, code: &FunctionCode, said: Option<&Said>) -> Result<Found> {
        let begun = Instant::now();
        let mut found = Found {
            name: code.name.clone(),
            verdict: VerdictName::Unsupported,
            reason: None,
            seconds: 0.0,
            claims: None,
            less: Vec::new(),
            proved: None,
            correlation: None,
        };
        let Some(said) = said else {
            found.reason = Some("no debug information".to_owned());
            return Ok(found);
        };
        let limits = Limits { time: Duration::from_secs(self.args.query_time), ..Limits::default() };
        match self.proved(code, limits)? {
            Ok((function, globals)) => {
                found.verdict = VerdictName::Proved;
                match Locator::new(self.module, code, &function, self.program, limits) {
                    Ok(locator) => {
                        let located = self.located(locator, code, said, function)?;
                        found.claims = Some(located.claims);
                        found.less = located.less;
                        found.correlation = Some(located.correlation);
                        found.proved = Some((located.function, globals));
                    }
                    Err(error) => found.reason = Some(error.to_string()),
                }
            }
            Err((verdict, reason)) => (found.verdict, found.reason) = (verdict, Some(reason)),
        }
        found.seconds = begun.elapsed().as_secs_f64();
        Ok(found)
    }

    /// The proof of a function: given, or found now.
    fn proved(&self, code: &FunctionCode, query: Limits) -> Result<Result<Given, NotProved>> {
        if let Some(proof) = self.proof {
            let Some(function) = proof.functions.iter().find(|function| function.name == code.name) else {
                return Ok(Err((VerdictName::Unknown, "not in the proof".to_owned())));
            };
            if function.machine.sha256 != sha256(&code.bytes) {
                return Ok(Err((VerdictName::Unknown, "the proof is of other code".to_owned())));
            }
            if function.asserted().next().is_some() {
                return Ok(Err((
                    VerdictName::Unknown,
                    "the proof has obligations that are only asserted".to_owned(),
                )));
            }
            return Ok(Ok((function.clone(), proof.globals.clone())));
        }
        let search = Options { time: Duration::from_secs(self.args.time), ..Options::default() };
        Ok(match prove(self.module, code, self.program, ProveOptions { search, query }) {
            Ok((Verdict::Proved(proved), _)) => Ok((proved.function, proved.globals)),
            Ok((Verdict::Refuted(refuted), _)) => Err((VerdictName::Refuted, refuted.what.to_string())),
            Ok((Verdict::Unknown(failure), _)) => Err((VerdictName::Unknown, failure.to_string())),
            Ok((Verdict::Unsupported(what), _)) => Err((VerdictName::Unsupported, what)),
            Err(ProveError::Ir(error)) => Err((VerdictName::Unsupported, error.to_string())),
            Err(error) => return Err(error.into()),
        })
    }

    /// Claims, the proof with their obligations, and how the two programs can be followed.
    fn located(
        &self,
        locator: Locator,
        code: &FunctionCode,
        said: &Said,
        function: Function,
    ) -> Result<Located> {
        let place = metaloc_repair::FunctionCode {
            symbol: code.name.clone(),
            pcs: code.low_pc..code.low_pc + code.bytes.len() as u64,
        };
        let mut asked = Asked(locator);
        let schedule = Schedule::new(&mut asked, said)?;
        let mut claimed = |spread| {
            let variant = match spread {
                Spread::None => Variant::None,
                Spread::Forward => Variant::Forward,
                Spread::Reversible => Variant::Reversible,
                Spread::All => Variant::All,
            };
            derive(&mut asked, place.clone(), said, &schedule, variant)
        };
        let claims = claimed(self.args.variant)?;
        let less: Vec<FunctionClaims> = match self.args.ablation {
            true => LESS.into_iter().map(&mut claimed).collect::<Result<_, _>>()?,
            false => Vec::new(),
        };
        let correlation = Correlation::new(&function, &asked.0, schedule.points());
        let mut used = HashSet::new();
        for (number, variable) in function.variables.iter().enumerate() {
            let claimed = claims.variables.iter().find(|claims| {
                claims.name == variable.name && claims.line == u64::from(variable.declared.line)
            });
            for (pc, claim) in claimed.into_iter().flat_map(|claims| &claims.claims) {
                if claim.is != Known::Refuted {
                    used.insert((number as u32, *pc));
                }
            }
        }
        let located = asked.0.finish(|variable, pc| used.contains(&(variable, pc)));
        Ok(Located { claims, less, function: located.unwrap_or(function), correlation })
    }
}

fn document(
    object: metaloc_proof::Object,
    args: &Repair,
    source: &[u8],
    ir: &str,
    found: &[Found],
) -> Document {
    let mut document = Document {
        schema: metaloc_proof::SCHEMA.to_owned(),
        object,
        source: metaloc_proof::Source {
            name: args.source.display().to_string(),
            sha256: sha256(source),
            ir_sha256: sha256(compile::identified(&args.source, ir).as_bytes()),
        },
        globals: Vec::new(),
        functions: Vec::new(),
    };
    for (function, globals) in found.iter().filter_map(|found| found.proved.as_ref()) {
        for global in globals {
            if !document.globals.contains(global) {
                document.globals.push(global.clone());
            }
        }
        document.functions.push(function.clone());
    }
    document
}

fn summary(args: &Repair, name: &str, found: Vec<Found>, repaired: &Repaired, changed: bool) -> Summary {
    let mut total = Counts::default();
    let mut counts = repaired.counts.iter();
    let functions = found
        .into_iter()
        .map(|found| {
            let counted =
                found.claims.as_ref().and_then(|_| counts.next().copied().flatten()).unwrap_or_default();
            total += counted;
            FunctionRow {
                name: found.name,
                verdict: found.verdict,
                reason: found.reason,
                seconds: found.seconds,
                row: Row::from(counted),
            }
        })
        .collect();
    Summary {
        schema: "metaloc.repair/1".to_owned(),
        object: name.to_owned(),
        source: args.source.display().to_string(),
        variant: args.variant.name().to_owned(),
        changed,
        debug_bytes_before: repaired.debug_bytes.0,
        debug_bytes_after: repaired.debug_bytes.1,
        functions,
        total: Row::from(total),
        ablation: Vec::new(),
        check: None,
    }
}

fn print(args: &Repair, summary: &Summary) -> Result<()> {
    match args.format {
        TableFormat::Json => output::print(&format!("{}\n", serde_json::to_string_pretty(summary)?)),
        TableFormat::Csv => output::print(&table::csv(summary)),
        TableFormat::Text => {
            let is_wrong = summary.check.as_ref().is_some_and(Outcome::is_wrong);
            for function in &summary.functions {
                let reason = behind_verdict(function.reason.as_deref());
                output::print(&format!(
                    "{}: {}{reason} ({:.1} s)\n",
                    function.name,
                    function.verdict.text(),
                    function.seconds
                ))?;
            }
            let (before, after) = (summary.debug_bytes_before, summary.debug_bytes_after);
            let repaired = summary.functions.iter().filter(|function| function.is_repaired()).count();
            let said = match (&args.output, summary.changed) {
                (None, _) => "nothing is written without -o".to_owned(),
                (Some(_), _) if is_wrong => {
                    "nothing is written, as a debugger shows what is not true".to_owned()
                }
                (Some(output), true) => format!("written to {}", output.display()),
                (Some(output), false) => format!("nothing to change: {} is as the input", output.display()),
            };
            let all = summary.functions.len();
            output::print(&format!("{repaired} of {all} functions with proved values; {said}\n"))?;
            output::print(&format!("debug sections: {before} bytes before, {after} after\n"))?;
            if args.stats {
                output::print(&table::text(summary))?;
            }
            summary.check.as_ref().map_or(Ok(()), |outcome| output::print(&outcome.text()))
        }
    }
}
