//! `metaloc repair --check`: the repaired program and the one as it is written, under real debuggers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use metaloc_corpus::shell::{Token, split};
use metaloc_prover::ir::{Module, compile};
use metaloc_repair::{FunctionClaims, Object, Said};
use metaloc_toolchain::Llvm;
use metaloc_toolchain::process::Task;
use metaloc_tracer::check::{Extent, Report, check};
use metaloc_tracer::program::Program;
use metaloc_tracer::{Debugger, Gdb, Limits, Lldb};
use serde::{Deserialize, Serialize};

use super::correlation::{Correlation, Marks};
use crate::args::{DebuggerName, Repair};

/// Far more than linking needs.
const LINK_LIMIT: Duration = Duration::from_secs(300);
/// A debugger on a busy machine: lldb may take its time to come to the first breakpoint.
const ANSWER: Duration = Duration::from_secs(300);
/// For the walk of one function: far more than stops take that tell something, and an end to what goes astray.
const WALK: Duration = Duration::from_secs(240);
/// What is printed of what is wrong.
const MOST_FINDINGS: usize = 20;

/// How values are checked, as it was asked for.
pub struct Asked {
    /// Arguments of the program.
    arguments: Vec<String>,
    link: Vec<String>,
}

/// A function to be checked.
pub struct Checked<'a> {
    pub claims: &'a FunctionClaims,
    pub correlation: &'a Result<Correlation, String>,
    /// Global variables that the proof speaks of.
    pub globals: Vec<String>,
}

/// What came out, as it is printed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Outcome {
    /// By debugger.
    pub debuggers: Vec<Counted>,
    /// Functions that could not be followed, with the reason.
    pub not_checked: Vec<NotChecked>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotChecked {
    pub function: String,
    pub reason: String,
}

/// What one debugger shows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Counted {
    pub debugger: String,
    #[serde(flatten)]
    pub report: Report,
    /// What is wrong, for people.
    pub findings: Vec<String>,
}

impl Outcome {
    /// Whether a debugger shows something that is not true, or the walk went astray.
    pub fn is_wrong(&self) -> bool {
        self.debuggers.iter().any(|one| one.report.untrue() > 0)
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for one in &self.debuggers {
            let report = &one.report;
            text += &format!(
                "{}: {} values compared, {} wrong, {} stale, {} missing, {} unreadable; not compared: {} without a \
                 true value, {} without a place, {} not reached; by memory {} compared, {} wrong; kept: {} compared, \
                 {} untrue{}{}\n",
                one.debugger,
                report.compared,
                report.wrong,
                report.stale,
                report.missing,
                report.unreadable,
                report.uncompared,
                report.unplaced,
                report.unreached,
                report.memory_compared,
                report.memory_wrong,
                report.kept.compared,
                report.kept.untrue,
                if report.cut { "; ended at a limit" } else { "" },
                report.early.as_ref().map(|why| format!(": {why}")).unwrap_or_default(),
            );
            for finding in &one.findings {
                text += &format!("  {finding}\n");
            }
        }
        for one in &self.not_checked {
            text += &format!("{}: not checked: {}\n", one.function, one.reason);
        }
        text
    }
}

impl Counted {
    fn new(debugger: &str, report: Report) -> Counted {
        let findings = report.findings.iter().take(MOST_FINDINGS).map(ToString::to_string).collect();
        Counted { debugger: debugger.to_owned(), report, findings }
    }
}

impl Asked {
    /// What `--check` and `--link` say; nothing without `--check`.
    pub fn read(args: &Repair) -> Result<Option<Asked>> {
        let Some(command) = &args.check else { return Ok(None) };
        let mut arguments = words("--check", command)?;
        if arguments.first().is_none_or(|first| first != "{}") {
            bail!("--check '{command}': the program is called {{}}, so the command begins with that");
        }
        arguments.remove(0);
        let Some(link) = &args.link else {
            bail!("--check needs --link: how an object of the source becomes a program");
        };
        let link = words("--link", link)?;
        for part in ["{object}", "{program}"] {
            if !link.iter().any(|word| word.contains(part)) {
                bail!("--link has no {part}");
            }
        }
        if args.source.extension().is_some_and(|extension| extension == "ll") {
            bail!("--check needs the source in C: locals of IR may be in registers already");
        }
        for debugger in debuggers(args) {
            debugger.find()?;
        }
        Ok(Some(Asked { arguments, link }))
    }

    /// Runs the programs and compares. `repaired` is the output, `is_linked` says whether it is a program already.
    pub fn run(
        &self,
        args: &Repair,
        (llvm, flags): (&Llvm, &[String]),
        (repaired, is_linked): (&[u8], bool),
        functions: &[Checked],
    ) -> Result<Outcome> {
        let folder = tempfile::Builder::new().prefix("metaloc-").tempdir().context("no temporary folder")?;
        let place = |name: &str| folder.path().join(name);
        let marked = compile::marked(llvm, &args.source, flags)?.context("the source is no C")?;
        compile::object(llvm, &marked.stops, flags, &place("plain.o"))?;
        self.link(&place("plain.o"), &place("plain"))?;
        if is_linked {
            write_program(&place("optimised"), repaired)?;
        } else {
            std::fs::write(place("repaired.o"), repaired).context("cannot write a temporary file")?;
            self.link(&place("repaired.o"), &place("optimised"))?;
        }
        let (optimised, plain) = (Program::read(&place("optimised"))?, Program::read(&place("plain"))?);
        let module = Module::parse("the marked source", &marked.lines)?;
        let object = Object::parse(repaired)?;
        let codes: Vec<_> = functions.iter().map(|function| function.claims.code.clone()).collect();
        let said = object.said(&codes)?;
        let mut outcome = Outcome { debuggers: Vec::new(), not_checked: Vec::new() };
        let mut plans = Vec::new();
        for (function, said) in functions.iter().zip(&said) {
            match plan(function, said.as_ref(), &module, &optimised) {
                Ok(plan) => plans.push((plan, function)),
                Err(reason) => outcome
                    .not_checked
                    .push(NotChecked { function: function.claims.code.symbol.clone(), reason }),
            }
        }
        for debugger in debuggers(args) {
            let mut total = Report::default();
            for (plan, function) in &plans {
                let known = |name: &&String| {
                    optimised.globals().contains_key(*name) && plain.globals().contains_key(*name)
                };
                let globals: Vec<String> = function.globals.iter().filter(known).cloned().collect();
                let extent = Extent {
                    stops_per_pc: args.check_stops,
                    stops: 500 * args.check_stops,
                    steps: 1000 * args.check_stops as usize,
                    patience: 32 * args.check_stops,
                    time: WALK,
                    limits: Limits { answer: ANSWER, ..Limits::default() },
                };
                total.add(check(debugger, &optimised, &plain, &self.arguments, plan, &globals, extent)?);
            }
            outcome.debuggers.push(Counted::new(debugger.name(), total));
        }
        Ok(outcome)
    }

    fn link(&self, object: &Path, program: &Path) -> Result<()> {
        let text = |path: &Path| path.display().to_string();
        let words: Vec<String> = self
            .link
            .iter()
            .map(|word| word.replace("{object}", &text(object)).replace("{program}", &text(program)))
            .collect();
        let outcome = Task::new(&words[0]).args(&words[1..]).timeout(LINK_LIMIT).run()?;
        if !outcome.exit.success() {
            bail!("{}: {}: {}", words.join(" "), outcome.exit, outcome.stderr_text().trim());
        }
        Ok(())
    }
}

/// The plan of a function, or why there is none.
fn plan(
    function: &Checked,
    said: Option<&Said>,
    module: &Module,
    optimised: &Program,
) -> Result<metaloc_tracer::check::Plan, String> {
    let said = said.ok_or("no debug information")?;
    let correlation = function.correlation.as_ref().map_err(Clone::clone)?;
    let symbol = &function.claims.code.symbol;
    let marks = Marks::of(module, symbol).map_err(|error| error.to_string())?;
    let start = optimised.function(symbol).map_err(|error| error.to_string())?.range.start;
    correlation.plan(&marks, function.claims, said, start)
}

fn debuggers(args: &Repair) -> Vec<&'static dyn Debugger> {
    let of = |name: &DebuggerName| -> &'static dyn Debugger {
        match name {
            DebuggerName::Gdb => &Gdb,
            DebuggerName::Lldb => &Lldb,
        }
    };
    match args.debuggers.is_empty() {
        true => vec![&Gdb, &Lldb],
        false => args.debuggers.iter().map(of).collect(),
    }
}

/// A command as words.
fn words(option: &str, command: &str) -> Result<Vec<String>> {
    let tokens = split(command).with_context(|| format!("{option} '{command}'"))?;
    let word = |token| match token {
        Token::Word(word) => Ok(word),
        _ => bail!("{option} '{command}': one command, no shell"),
    };
    let words = tokens.into_iter().map(word).collect::<Result<Vec<_>>>()?;
    if words.is_empty() {
        bail!("{option}: no command");
    }
    Ok(words)
}

fn write_program(path: &PathBuf, bytes: &[u8]) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, bytes).context("cannot write a temporary file")?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
        .context("cannot make a file executable")
}
