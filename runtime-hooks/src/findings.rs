//! What was found so far, one error per site: the judgement's ids turned into words while they still can be.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use metaloc_analyzer as analyzer;
use metaloc_record::{BlockId, InstId, LocId, PassRun};
use metaloc_report::merge::{WITNESSES_KEPT, error_id, rank};
use metaloc_report::{
    Actual, Confidence, Destination, Document, Error, Kind, Operation, PassSummary, Site, Source, Stats,
    Trace, Witness,
};

use crate::crash;
use crate::ffi::{self, Ptr};
use crate::identity::Identities;
use crate::kept_runs::{KeptRuns, Shown};
use crate::mirror::Mirror;
use crate::slots::Slots;
use crate::stacks::Stacks;
use crate::swap::{Captures, Question};
use crate::symbols::Symbols;

/// The errors of this process.
pub struct Findings {
    /// How much was looked at.
    pub stats: Stats,
    errors: Vec<Error>,
    by_site: HashMap<SiteKey, usize>,
    passes: BTreeMap<Arc<str>, PassSummary>,
    /// Runs that somebody wants to see whole.
    pub kept: Option<KeptRuns>,
    symbols: Option<Symbols>,
    input: Option<Arc<str>>,
    started: Instant,
}

/// One error is one site in a pass, one operation and its consequence.
type SiteKey = (String, analyzer::Operation, analyzer::Kind, usize);

/// Where a judgement's ids can be looked up.
pub struct Seen<'a> {
    /// The run that was judged.
    pub record: &'a PassRun<'a>,
    /// The function after it.
    pub mirror: &'a Mirror,
    /// Names of instructions that are gone or lost theirs.
    pub names: &'a HashMap<InstId, String>,
    /// All instructions.
    pub identities: &'a Identities,
    /// All call stacks.
    pub stacks: &'a Stacks,
    /// Recompiled passes.
    pub swapped: Option<&'a Captures>,
    /// What the values of the function are called.
    pub slots: Slots<'a>,
    /// The paths of the judgement.
    pub paths: &'a dyn analyzer::Paths,
}

impl Findings {
    /// Nothing found yet.
    pub fn new() -> Self {
        Findings {
            stats: Stats { inputs: 1, ..Stats::default() },
            errors: Vec::new(),
            by_site: HashMap::new(),
            passes: BTreeMap::new(),
            kept: KeptRuns::of_environment(),
            symbols: None,
            input: None,
            started: Instant::now(),
        }
    }

    /// Remembers the module that witnesses come from.
    pub fn note_module(&mut self, module: Ptr) {
        if module.is_null() {
            return;
        }
        // SAFETY: the module that a pass is about to run on.
        let name = unsafe { ffi::metaloc_module_identifier(module).text() };
        if self.input.as_deref() != Some(&name) {
            crash::note_input(&name);
            self.input = Some(name.into());
        }
    }

    /// A pass begins.
    pub fn note_run(&mut self, pass: &Arc<str>) {
        self.stats.pass_runs += 1;
        self.summary(pass).runs += 1;
    }

    /// A pass has changed something.
    pub fn note_changed(&mut self, pass: &Arc<str>) {
        self.stats.changed_runs += 1;
        self.summary(pass).changed_runs += 1;
    }

    fn summary(&mut self, pass: &Arc<str>) -> &mut PassSummary {
        self.passes.entry(pass.clone()).or_insert_with(|| PassSummary::new(&**pass))
    }

    /// The module that was seen last.
    pub fn input(&self) -> Option<&str> {
        self.input.as_deref()
    }

    /// Adds what the judgement of one run of one function says.
    pub fn add(&mut self, seen: &Seen<'_>, judgement: analyzer::Judgement) {
        self.stats.judged += judgement.judged as u64;
        let mut shown = Vec::new();
        for finding in judgement.findings {
            let error = self.add_one(seen, &finding);
            if self.kept.is_some() {
                shown.push(seen.shown(&finding, &self.errors[error]));
            }
        }
        if let Some(kept) = self.kept.as_mut().filter(|kept| kept.wants(seen.record.pass)) {
            let functions = (seen.record.before, seen.mirror);
            kept.keep(functions, seen.record.locations, seen.identities, shown);
        }
        crash::note_stats(&self.stats);
    }

    /// The document of this process.
    pub fn document(&self, complete: bool) -> Document {
        // SAFETY: a string literal of the shim.
        let llvm = unsafe { ffi::metaloc_llvm_version().text() };
        let stats = Stats { seconds: self.started.elapsed().as_secs_f64(), ..self.stats };
        let mut errors = self.errors.clone();
        errors.sort_by(|a, b| (a.confidence, &a.pass, &a.id).cmp(&(b.confidence, &b.pass, &b.id)));
        let passes = self.passes.values().cloned().collect();
        let runs = self.kept.as_ref().map(KeptRuns::runs).unwrap_or_default();
        let mut document = Document { complete, errors, passes, stats, runs, ..Document::empty(llvm) };
        document.count_errors();
        document
    }

    /// Gives the place of the error in the list.
    fn add_one(&mut self, seen: &Seen<'_>, finding: &analyzer::Finding) -> usize {
        let symbols = self.symbols.get_or_insert_with(Symbols::load);
        let (pc, trace) = match seen.swapped_site(finding, symbols) {
            Some((pc, trace)) => (pc, trace),
            None => (seen.stacks.site(finding.site, symbols), None),
        };
        let key = (seen.record.pass.to_owned(), finding.operation, finding.kind, pc);
        let input = self.input.as_deref().unwrap_or("-");
        match self.by_site.get(&key) {
            None => {
                let error = seen.error(finding, symbols.text(pc), trace, input);
                crash::note_error(&error);
                self.by_site.insert(key, self.errors.len());
                self.errors.push(error);
                self.errors.len() - 1
            }
            Some(&index) => {
                seen.join(&mut self.errors[index], finding, trace, input);
                index
            }
        }
    }
}

impl Seen<'_> {
    /// The site in a recompiled pass, and what is known there; `None` if the event has none in its stack.
    fn swapped_site(
        &self,
        finding: &analyzer::Finding,
        symbols: &mut Symbols,
    ) -> Option<(usize, Option<Trace>)> {
        let swapped = self.swapped?;
        let stack = self.stacks.addresses(finding.site);
        let (place, pc) = swapped.site(self.record.pass, stack)?;
        let makes_only =
            |pc: &usize| symbols.is_ours(*pc) || swapped.is_in_header(*pc) || symbols.is_ir_library(*pc);
        let direct = stack[..place].iter().all(makes_only);
        // A temporary that stood between the two is what the pass has a variable for, more often than not.
        let stand_ins = |source: &analyzer::Source| source.via.into_iter().chain([source.inst]).collect();
        let sources: Vec<Vec<InstId>> = finding.sources.iter().map(stand_ins).collect();
        let by_update = finding.sources.iter().all(|source| source.link == analyzer::Link::Update);
        let question = Question {
            stack: finding.site,
            destination: finding.destination,
            sources: &sources,
            is_update: by_update && !sources.is_empty(),
            direct,
            is_kept: finding.operation != analyzer::Operation::Preserve
                && finding.actual == analyzer::Actual::Preserve,
        };
        match swapped.trace(&question, self.identities) {
            Some((pc, trace)) => Some((pc, Some(trace))),
            None => Some((pc, None)),
        }
    }

    fn error(&self, finding: &analyzer::Finding, symbol: String, trace: Option<Trace>, input: &str) -> Error {
        let pass = self.record.pass.to_owned();
        let (operation, kind) = (operation(finding.operation), kind(finding.kind));
        Error {
            id: error_id(&pass, operation, kind, &symbol),
            pass,
            operation,
            actual: actual(finding.actual),
            kind,
            rule: finding.rule.to_owned(),
            site: Site { function: None, file: None, line: None, column: None, symbol },
            destination: self.destination(finding),
            sources: self.sources(finding),
            update: None,
            skeleton: None,
            confidence: confidence(finding.confidence),
            occurrences: 1,
            witnesses: vec![self.witness(finding, input)],
            trace,
            confirmation: None,
        }
    }

    /// One more showing of a known error. The surest speak, with their own witnesses; the first of those, in the
    /// order of merged reports, is the one that is described.
    fn join(&self, error: &mut Error, finding: &analyzer::Finding, trace: Option<Trace>, input: &str) {
        error.occurrences += 1;
        let certainty = confidence(finding.confidence);
        if certainty > error.confidence {
            return;
        }
        if certainty < error.confidence {
            error.confidence = certainty;
            error.witnesses.clear();
        }
        // A witness has a path, which takes a walk through the function. One that is no smaller than all that
        // are kept is not looked at, and neither is a function that another run has shown it in: passes make
        // functions smaller and smaller, so that it would be taken again and again.
        let full = error.witnesses.len() >= WITNESSES_KEPT;
        let (size, function) = (self.size(), self.function());
        if full && error.witnesses.last().is_some_and(|last| last.size <= size)
            || error.witnesses.iter().any(|known| known.function == function && known.size != size)
        {
            return;
        }
        let witness = self.witness(finding, input);
        let at = error.witnesses.partition_point(|known| rank(known) <= rank(&witness));
        if at == 0 {
            error.actual = actual(finding.actual);
            finding.rule.clone_into(&mut error.rule);
            error.destination = self.destination(finding);
            error.sources = self.sources(finding);
            error.trace = trace;
        }
        error.witnesses.insert(at, witness);
        error.witnesses.truncate(WITNESSES_KEPT);
    }

    fn function(&self) -> String {
        // SAFETY: a function with a mirror is alive.
        unsafe { ffi::metaloc_function_name(self.mirror.function).text() }
    }

    fn size(&self) -> u64 {
        self.record.before.instructions() as u64
    }

    fn destination(&self, finding: &analyzer::Finding) -> Destination {
        let id = finding.destination;
        let block = self.record.lookup.home(id).and_then(|block| self.record.after.get(block));
        let inst = block.and_then(|block| block.insts.iter().find(|inst| inst.id == id));
        let location = inst.map_or(LocId::NONE, |inst| inst.loc);
        Destination {
            variable: None,
            opcode: self.identities.known(id).opcode.name().to_owned(),
            name: self.name(id),
            location: self.location(location),
        }
    }

    fn sources(&self, finding: &analyzer::Finding) -> Vec<Source> {
        let source = |source: &analyzer::Source| Source {
            variable: None,
            opcode: self.identities.known(source.inst).opcode.name().to_owned(),
            name: self.name(source.inst),
            location: self.location(source.loc),
            link: source.link.name().to_owned(),
        };
        finding.sources.iter().map(source).collect()
    }

    fn shown(&self, finding: &analyzer::Finding, error: &Error) -> Shown {
        Shown {
            error: error.id.clone(),
            destination: finding.destination,
            sources: finding.sources.iter().map(|source| source.inst).collect(),
            extra: finding.extra.iter().filter_map(|&loc| self.location(loc)).collect(),
            path: self.paths.of(finding),
        }
    }

    fn witness(&self, finding: &analyzer::Finding, input: &str) -> Witness {
        Witness {
            input: input.to_owned(),
            function: self.function(),
            size: self.size(),
            name: self.name(finding.destination),
            extra: finding.extra.iter().filter_map(|&loc| self.location(loc)).collect(),
            path: self.paths.of(finding).iter().map(|&block| self.block_name(block)).collect(),
        }
    }

    fn location(&self, loc: LocId) -> Option<String> {
        loc.is_some().then(|| self.record.locations.text(loc))
    }

    /// `%name`, from LLVM if the instruction is alive, else as it was when it went.
    fn name(&self, id: InstId) -> Option<String> {
        if let Some(name) = self.names.get(&id) {
            return Some(format!("%{name}"));
        }
        let address = self.identities.known(id).address;
        if address.is_null() {
            return None;
        }
        // SAFETY: not erased, so alive.
        unsafe { self.slots.inst(address) }
    }

    fn block_name(&self, block: BlockId) -> String {
        let address = self.mirror.block_address(block);
        if address.is_null() {
            return "?".to_owned();
        }
        // SAFETY: a block of the function's current layout.
        unsafe { self.slots.block(address) }
    }
}

fn operation(operation: analyzer::Operation) -> Operation {
    match operation {
        analyzer::Operation::Preserve => Operation::Preserve,
        analyzer::Operation::Merge => Operation::Merge,
        analyzer::Operation::Drop => Operation::Drop,
    }
}

fn actual(actual: analyzer::Actual) -> Actual {
    match actual {
        analyzer::Actual::Preserve => Actual::Preserve,
        analyzer::Actual::Merge => Actual::Merge,
        analyzer::Actual::Drop => Actual::Drop,
        analyzer::Actual::Other => Actual::Other,
    }
}

fn kind(kind: analyzer::Kind) -> Kind {
    match kind {
        analyzer::Kind::Lost => Kind::Lost,
        analyzer::Kind::Incorrect => Kind::Incorrect,
    }
}

fn confidence(confidence: analyzer::Confidence) -> Confidence {
    match confidence {
        analyzer::Confidence::Certain => Confidence::Certain,
        analyzer::Confidence::Likely => Confidence::Likely,
        analyzer::Confidence::Note => Confidence::Note,
    }
}
