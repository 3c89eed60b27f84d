//! The one state of the plugin: everything observed in this process so far.
//!
//! Hooks feed it; at the end of every pass run it hands the record of that run to the judgement and keeps
//! only what was found. All of it is behind one lock (see [`crate::landing`]): contexts of several threads
//! share the process, and their instructions live at addresses of one heap.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::Arc;

use metaloc_analyzer::Memory;
use metaloc_record::{BlockId, Event, EventKind, InstId, PassRun, StackId};
use metaloc_report::pass_names;

use crate::crash;
use crate::ffi::{self, Ptr, Unit};
use crate::findings::{Findings, Seen};
use crate::identity::{Identities, LookupIn};
use crate::landing;
use crate::locations::Locations;
use crate::mirror::{FunctionKey, Mirrors, Unseen};
use crate::output::{self, Output, Target};
use crate::partition::Parts;
use crate::runs::{Inserting, Run, RunStack, Scope, is_manager};
use crate::slots::Slots;
use crate::stacks::Stacks;
use crate::swap::{About, Captures};

/// Everything observed in this process.
pub struct Session {
    pub(crate) identities: Identities,
    pub(crate) locations: Locations,
    pub(crate) mirrors: Mirrors,
    pub(crate) stacks: Stacks,
    pub(crate) findings: Findings,
    /// Recompiled passes, if some were swapped in.
    pub(crate) swapped: Option<Captures>,
    classes: HashMap<String, Class>,
    /// Functions that something changed while no pass was running.
    strays: Vec<FunctionKey>,
    runs_begun: u64,
    audit: bool,
    /// What the judgement remembers, of one function: passes mostly run on one after the other, and a memory of
    /// each would double what is kept.
    memory: Memory,
    remembered: Option<FunctionKey>,
}

struct Class {
    pass: Arc<str>,
    manager: bool,
}

impl Session {
    /// A session that has seen nothing. `audit` checks every mirror against the function itself.
    pub fn new(audit: bool) -> Self {
        Session {
            identities: Identities::new(),
            locations: Locations::default(),
            mirrors: Mirrors::default(),
            stacks: Stacks::new(),
            findings: Findings::new(),
            swapped: None,
            classes: HashMap::new(),
            strays: Vec::new(),
            runs_begun: 0,
            audit,
            memory: Memory::default(),
            remembered: None,
        }
    }

    /// Takes the passes that were swapped in.
    pub fn swap(&mut self, swapped: Option<Captures>) {
        if swapped.is_some() {
            self.stacks.keep_frames();
        }
        self.swapped = swapped;
    }

    // --- pass runs ----------------------------------------------------------------------------------

    pub(crate) fn begin(
        &mut self,
        runs: &mut RunStack,
        class: &str,
        pass: &str,
        unit: &Unit<'_>,
        frame: *const c_void,
    ) {
        let (pass, manager) = self.class(class, pass);
        self.runs_begun += 1;
        let serial = self.runs_begun;
        if !manager {
            // The pass around this one sees what this one leaves behind as its new beginning.
            self.settle(runs.current(), true);
            for stray in std::mem::take(&mut self.strays) {
                self.mirrors.refresh(stray, Unseen::All, &mut self.identities, &mut self.locations);
            }
            self.findings.note_run(&pass);
        }
        let scope = if manager { Scope::Many(Arc::new([])) } else { self.scope(unit) };
        if !matches!(scope, Scope::Loop(..)) {
            self.read_unread_edges(&scope);
        }
        self.findings.note_module(unit.module);
        if !manager {
            self.remember(&pass, &scope);
        }
        // The callback and the pass are both called from the pass manager's frame, which lies above this one
        // at a distance of the callback's own few frames. Going a little too far is harmless: sites are
        // looked for from the inside.
        let stack_limit = frame as usize + 1024;
        let (events, notes) = if manager { Default::default() } else { runs.room() };
        runs.push(Run {
            pass,
            manager,
            serial,
            stack_limit,
            scope,
            events,
            touched: Vec::new(),
            names: HashMap::new(),
            notes,
        });
    }

    pub(crate) fn end(&mut self, runs: &mut RunStack, all_preserved: bool, cfg_preserved: bool) {
        let Some(mut run) = runs.pop() else {
            return;
        };
        if run.manager {
            return;
        }
        // A claim about the graph is one about the function that the pass ran on.
        let edges = match run.scope {
            Scope::Function(_) | Scope::Loop(..) => !cfg_preserved,
            Scope::Many(_) => !all_preserved,
        };
        self.settle(Some(&mut run), edges);
        if edges && !all_preserved {
            let untouched =
                run.scope.functions().iter().filter(|f| !run.touched.iter().any(|(t, _)| t == *f));
            for &function in untouched {
                let unseen = run.scope.unseen();
                self.mirrors.refresh(function, unseen, &mut self.identities, &mut self.locations);
            }
        }
        if self.audit {
            self.audit(&run);
        }
        runs.reuse(run.events, run.notes);
        if let Some(outer) = runs.current() {
            self.remember(&outer.pass, &outer.scope);
        }
    }

    /// Takes the names in functions that a run begins with, if somebody wants to see it.
    fn remember(&mut self, pass: &str, scope: &Scope) {
        let Some(kept) = self.findings.kept.as_mut().filter(|kept| kept.wants(pass)) else { return };
        for mirror in scope.functions().iter().filter_map(|function| self.mirrors.get(*function)) {
            kept.remember(mirror, &self.identities);
        }
    }

    /// Judges what a run did so far and lets it begin anew from here.
    fn settle(&mut self, run: Option<&mut Run>, edges: bool) {
        let Some(run) = run else {
            return;
        };
        if run.touched.is_empty() {
            run.events.clear();
            run.notes.clear();
            if let Some(swapped) = &mut self.swapped {
                swapped.clear();
            }
            return;
        }
        self.findings.note_changed(&run.pass);
        self.findings.stats.events += run.events.len() as u64;
        for (function, _) in &run.touched {
            let unseen = match edges {
                false => Unseen::None,
                true if run.scope.functions().contains(function) => run.scope.unseen(),
                true => Unseen::All,
            };
            self.mirrors.refresh(*function, unseen, &mut self.identities, &mut self.locations);
            if let Some(mirror) = self.mirrors.get_mut(*function) {
                mirror.saved_by = 0;
            }
        }
        let alone = run.touched.len() == 1;
        let parts = if alone { Parts::default() } else { Parts::new(&run.events, &self.identities) };
        for (function, before) in &run.touched {
            let Some(mirror) = self.mirrors.get(*function) else {
                continue;
            };
            let events = if alone { &run.events[..] } else { parts.of(*function) };
            let record = PassRun {
                pass: &run.pass,
                before,
                after: &mirror.snapshot,
                events,
                locations: self.locations.table(),
                lookup: &LookupIn { identities: &self.identities, function: *function, notes: &run.notes },
            };
            if self.remembered != Some(*function) {
                self.remembered = Some(*function);
                self.memory = Memory::default();
            }
            metaloc_analyzer::judge_and(&record, &mut self.memory, |judgement, paths| {
                if self.audit {
                    let whole = metaloc_analyzer::judge_whole(&record);
                    if judgement != whole {
                        eprintln!("metaloc: audit: {} judged {judgement:?}, whole {whole:?}", run.pass);
                    }
                }
                let seen = Seen {
                    record: &record,
                    mirror,
                    names: &run.names,
                    identities: &self.identities,
                    stacks: &self.stacks,
                    swapped: self.swapped.as_ref(),
                    slots: Slots::of(mirror, &self.identities),
                    paths,
                };
                self.findings.add(&seen, judgement);
            });
        }
        run.events.clear();
        run.names.clear();
        run.notes.clear();
        if let Some(swapped) = &mut self.swapped {
            swapped.clear();
        }
        if !self.audit {
            run.touched.clear();
        }
    }

    /// Writes the report of this process.
    pub(crate) fn report(&mut self) {
        crash::finished();
        let mut document = self.findings.document(!landing::broken());
        document.reached = self.swapped.as_ref().map(Captures::reached).unwrap_or_default();
        let target = Output::of_environment().target(self.findings.input().unwrap_or("-"));
        if target == Target::Stderr && document.stats.pass_runs == 0 {
            // Nothing ran, as with `opt --version` or an input that does not parse: nothing to say.
            return;
        }
        if let Err(error) = output::write(&document, &target) {
            match target {
                Target::File(path) => eprintln!("metaloc: cannot write {}: {error}", path.display()),
                Target::Stderr => {}
            }
        }
    }

    fn audit(&mut self, run: &Run) {
        for &function in run.scope.functions() {
            if let Err(difference) = self.mirrors.audit(function, &mut self.identities, &mut self.locations) {
                eprintln!("metaloc: audit: after {}: {difference}", run.pass);
            }
        }
    }

    fn class(&mut self, class: &str, pass: &str) -> (Arc<str>, bool) {
        let entry = self.classes.entry(class.to_owned()).or_insert_with(|| Class {
            pass: match pass {
                "" => pass_names::of_class(class).unwrap_or(class).into(),
                known => known.into(),
            },
            manager: is_manager(class),
        });
        (entry.pass.clone(), entry.manager)
    }

    /// Loop passes have read the edges of their own loop only.
    fn read_unread_edges(&mut self, scope: &Scope) {
        for &function in scope.functions() {
            if self.mirrors.get(function).is_some_and(|mirror| mirror.edges_unread) {
                self.mirrors.refresh(function, Unseen::All, &mut self.identities, &mut self.locations);
            }
        }
    }

    fn scope(&mut self, unit: &Unit<'_>) -> Scope {
        if let [one] = unit.functions {
            let function = self.mirrors.ensure(*one, &mut self.identities, &mut self.locations);
            if unit.blocks.is_empty() {
                return Scope::Function(function);
            }
            let blocks = unit.blocks.iter().filter_map(|block| self.mirrors.block(*block));
            return Scope::Loop(function, blocks.map(|(_, id)| id).collect());
        }
        let mut all = unit.functions.to_vec();
        if all.is_empty() && !unit.module.is_null() {
            // SAFETY: the module that the pass is about to run on.
            unsafe {
                ffi::read_all(&mut all, |out, capacity| {
                    ffi::metaloc_module_functions(unit.module, out, capacity)
                });
            }
        }
        let ensure = |function| self.mirrors.ensure(function, &mut self.identities, &mut self.locations);
        Scope::Many(all.into_iter().map(ensure).collect())
    }

    /// The legacy manager begins with a module: its passes on call graphs may change any function of it.
    pub(crate) fn on_module(&mut self, module: Ptr) {
        self.findings.note_module(module);
        self.scope(&Unit { module, functions: &[], blocks: &[] });
    }

    // --- events -------------------------------------------------------------------------------------

    pub(crate) fn on_create(&mut self, runs: &mut RunStack, inst: Ptr, opcode: u32, frame: *const c_void) {
        // Before the first pass and between passes, instructions are met when a function is read.
        let Some(run) = runs.current() else {
            return;
        };
        let id = self.identities.create(inst, opcode, None);
        let stack = self.stack(frame, run.stack_limit);
        run.record(EventKind::Create { inst: id }, stack);
        self.note(run, stack, About::made(id));
    }

    pub(crate) fn on_clone(&mut self, runs: &mut RunStack, new: Ptr, old: Ptr, frame: *const c_void) {
        let Some(run) = runs.current() else {
            return;
        };
        let (Some(new), Some(old)) = (self.identities.get(new), self.identities.get(old)) else {
            return;
        };
        let stack = self.stack(frame, run.stack_limit);
        run.record(EventKind::Clone { new, old }, stack);
        self.note(run, stack, About::made(new));
    }

    pub(crate) fn on_insert(&mut self, runs: &mut RunStack, inst: Ptr, frame: *const c_void) {
        // SAFETY: LLVM is putting this instruction into a block, and has told it which.
        let block = unsafe { ffi::metaloc_inst_block(inst) };
        let place = self.change_block(runs, block);
        let (Some(run), Some(id)) = (runs.current(), self.identities.get(inst)) else {
            return;
        };
        if let Some((function, _)) = place {
            self.identities.set_function(id, function);
        }
        // A block without a function, or in one that is new, has no id yet.
        let block = place.map_or(BlockId::NOWHERE, |(_, block)| block);
        let stack = self.stack(frame, run.stack_limit);
        let inserting = Inserting { address: inst, inst: id, serial: run.serial, event: run.events.len() };
        run.record(EventKind::Insert { inst: id, block, before: None }, stack);
        self.note(run, stack, About::placed(id));
        runs.inserting = Some(inserting);
    }

    /// Called before every hook: completes the insertion that the hook before this one was about.
    pub(crate) fn finish_insertion(&mut self, runs: &mut RunStack) {
        let Some(Inserting { address, inst, serial, event }) = runs.inserting.take() else {
            return;
        };
        let Some(run) = runs.current().filter(|run| run.serial == serial) else {
            return;
        };
        if let Some(Event { kind: EventKind::Insert { before, .. }, .. }) = run.events.get_mut(event)
            && self.identities.get(address) == Some(inst)
        {
            // SAFETY: known and not erased, so alive, and linked by now.
            let next = unsafe { ffi::metaloc_inst_next(address) };
            *before = if next.is_null() { None } else { self.identities.get(next) };
        }
    }

    pub(crate) fn on_insert_after(&mut self, runs: &mut RunStack, inst: Ptr, after: Ptr) {
        let known = (self.identities.get(inst), self.identities.get(after));
        if let (Some(run), (Some(inst), Some(after))) = (runs.current(), known) {
            run.record(EventKind::InsertAfter { inst, after }, Stacks::UNKNOWN);
        }
    }

    pub(crate) fn on_remove(&mut self, runs: &mut RunStack, inst: Ptr) {
        // SAFETY: LLVM is about to take this instruction out of its block.
        let block = unsafe { ffi::metaloc_inst_block(inst) };
        let place = self.change_block(runs, block);
        let (Some(run), Some(id), Some((_, block))) = (runs.current(), self.identities.get(inst), place)
        else {
            return;
        };
        // SAFETY: about to be taken out, so alive.
        unsafe { run.notes.take(id, inst, &self.identities) };
        run.record(EventKind::Remove { inst: id, block }, Stacks::UNKNOWN);
    }

    pub(crate) fn on_transfer(
        &mut self,
        runs: &mut RunStack,
        insts: &[Ptr],
        from: Ptr,
        frame: *const c_void,
    ) {
        let Some(&first) = insts.first() else {
            return;
        };
        // SAFETY: LLVM has just moved these instructions into a block.
        let to = unsafe { ffi::metaloc_inst_block(first) };
        let origin = self.change_block(runs, from);
        let target = self.change_block(runs, to);
        let (Some(run), Some((_, from)), Some((function, to))) = (runs.current(), origin, target) else {
            return;
        };
        let stack = self.stack(frame, run.stack_limit);
        for &inst in insts {
            if let Some(inst) = self.identities.get(inst) {
                self.identities.set_function(inst, function);
                run.record(EventKind::Move { inst, from, to }, stack);
                self.note(run, stack, About::placed(inst));
            }
        }
    }

    pub(crate) fn on_replace(
        &mut self,
        runs: &mut RunStack,
        old: Ptr,
        new: Ptr,
        all: bool,
        frame: *const c_void,
    ) {
        let (Some(run), Some(old)) = (runs.current(), self.identities.get(old)) else {
            return;
        };
        let new = if new.is_null() { None } else { self.identities.get(new) };
        let stack = self.stack(frame, run.stack_limit);
        run.record(EventKind::Replace { old, new, all }, stack);
        self.note(run, stack, About::replaced(old, new));
    }

    pub(crate) fn on_erase(&mut self, runs: &mut RunStack, inst: Ptr) {
        if let (Some(run), Some(id)) = (runs.current(), self.identities.get(inst)) {
            keep_name(run, id, inst);
            run.record(EventKind::Erase { inst: id }, Stacks::UNKNOWN);
            if let Some(swapped) = &mut self.swapped {
                swapped.note_erased(id, inst);
            }
        }
        self.identities.erase(inst);
    }

    pub(crate) fn on_take_name(&mut self, runs: &mut RunStack, inst: Ptr) {
        if let (Some(run), Some(id)) = (runs.current(), self.identities.get(inst)) {
            keep_name(run, id, inst);
        }
    }

    pub(crate) fn on_set_location(
        &mut self,
        runs: &mut RunStack,
        inst: Ptr,
        location: Ptr,
        frame: *const c_void,
    ) {
        // Most slots that are written belong to no instruction, but to a variable of the pass.
        let Some(id) = self.identities.get(inst) else {
            return;
        };
        // SAFETY: known and not erased, so alive.
        let block = unsafe { ffi::metaloc_inst_block(inst) };
        if !block.is_null() {
            self.change_block(runs, block);
        }
        let Some(run) = runs.current() else {
            return;
        };
        let loc = self.locations.intern(location, self.context_of(id));
        run.record(EventKind::SetLocation { inst: id, loc }, Stacks::UNKNOWN);
        if self.swapped.is_some() {
            let stack = self.stack(frame, run.stack_limit);
            self.note(run, stack, About::located(id));
        }
    }

    pub(crate) fn on_merge_location(
        &mut self,
        runs: &mut RunStack,
        inst: Ptr,
        a: Ptr,
        b: Ptr,
        frame: *const c_void,
    ) {
        let (Some(run), Some(inst)) = (runs.current(), self.identities.get(inst)) else {
            return;
        };
        let context = self.context_of(inst);
        let (a, b) = (self.locations.intern(a, context), self.locations.intern(b, context));
        let stack = self.stack(frame, run.stack_limit);
        run.record(EventKind::MergeLocation { inst, a, b }, stack);
    }

    pub(crate) fn on_drop_location(
        &mut self,
        runs: &mut RunStack,
        inst: Ptr,
        after_hoist: bool,
        frame: *const c_void,
    ) {
        let (Some(run), Some(inst)) = (runs.current(), self.identities.get(inst)) else {
            return;
        };
        let kind = match after_hoist {
            true => EventKind::UpdateAfterHoist { inst },
            false => EventKind::DropLocation { inst },
        };
        run.record(kind, self.stack(frame, run.stack_limit));
    }

    pub(crate) fn on_block_insert(&mut self, runs: &mut RunStack, block: Ptr) {
        // SAFETY: LLVM has just put this block into a function.
        let function = unsafe { ffi::metaloc_block_function(block) };
        // The snapshot is saved before the mirror learns of the change.
        if let Some(owner) = self.mirrors.owner(function) {
            self.save(runs, owner);
            self.mirrors.insert_block(block, function);
        }
    }

    pub(crate) fn on_block_remove(&mut self, runs: &mut RunStack, block: Ptr) {
        if let Some((owner, _)) = self.mirrors.block(block) {
            self.save(runs, owner);
            self.mirrors.remove_block(block);
        }
    }

    /// Marks a block as changed, if its function has a mirror, and says which it is.
    fn change_block(&mut self, runs: &mut RunStack, block: Ptr) -> Option<(FunctionKey, BlockId)> {
        let (function, id) = self.mirrors.block(block)?;
        self.save(runs, function);
        self.mirrors.mark(function, id);
        Some((function, id))
    }

    /// Keeps the function as it is in the mirror for the run that is about to change it.
    fn save(&mut self, runs: &mut RunStack, function: FunctionKey) {
        let Some(mirror) = self.mirrors.get_mut(function) else {
            return;
        };
        let Some(run) = runs.current() else {
            if !self.strays.contains(&function) {
                self.strays.push(function);
            }
            return;
        };
        if mirror.saved_by != run.serial {
            mirror.saved_by = run.serial;
            run.touched.push((function, mirror.snapshot.clone()));
        }
    }

    /// The context that an instruction's locations live in. One that was never in a function has none yet:
    /// its locations come from instructions that were, and are known already.
    fn context_of(&self, inst: InstId) -> Ptr {
        let function = self.identities.known(inst).function;
        function.and_then(|f| self.mirrors.get(f)).map_or(std::ptr::null(), |mirror| mirror.context)
    }

    /// Lets the swapped passes see the event that the last stack was captured for.
    fn note(&mut self, run: &Run, stack: StackId, about: About) {
        if let Some(swapped) = &mut self.swapped {
            swapped.note(&run.pass, (stack, self.stacks.frames()), about, &self.identities);
        }
    }

    fn stack(&mut self, frame: *const c_void, limit: usize) -> StackId {
        // SAFETY: the frame of the detour entry that this hook was called from.
        unsafe { self.stacks.capture(frame, limit) }
    }
}

fn keep_name(run: &mut Run, id: InstId, inst: Ptr) {
    // SAFETY: the destructor, or the taking of the name, has not begun yet.
    let name = unsafe { ffi::metaloc_value_name(inst) };
    if !name.is_empty() {
        // SAFETY: as above.
        run.names.entry(id).or_insert_with(|| unsafe { name.text() });
    }
}
