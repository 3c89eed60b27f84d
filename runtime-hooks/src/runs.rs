//! The pass runs that are under way on one thread, innermost last.

use std::collections::HashMap;
use std::sync::Arc;

use metaloc_record::{BlockId, Event, EventKind, InstId, Snapshot, StackId};

use crate::ffi::Ptr;
use crate::mirror::{FunctionKey, Unseen};
use crate::notes::Notes;

/// One pass run.
pub struct Run {
    /// Name as in `-passes=`.
    pub pass: Arc<str>,
    /// Managers, adaptors and wrappers run others and change nothing themselves.
    pub manager: bool,
    /// Unique in the process; names the run in [`crate::mirror::Mirror::saved_by`].
    pub serial: u64,
    /// The stack is walked up to here: what lies above is the pass manager.
    pub stack_limit: usize,
    /// The functions that the run may change unseen.
    pub scope: Scope,
    /// What happened so far.
    pub events: Vec<Event>,
    /// Functions that it changed, as they were before.
    pub touched: Vec<(FunctionKey, Snapshot)>,
    /// Names of instructions that were erased or had their name taken.
    pub names: HashMap<InstId, String>,
    /// What instructions used that were taken out of their blocks.
    pub notes: Notes,
}

/// What a pass was asked to work on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// One function.
    Function(FunctionKey),
    /// A loop of a function: the blocks whose edges the pass may change unseen.
    Loop(FunctionKey, Vec<BlockId>),
    /// The functions of an SCC or of a whole module.
    Many(Arc<[FunctionKey]>),
}

impl Scope {
    /// The functions in it.
    pub fn functions(&self) -> &[FunctionKey] {
        match self {
            Scope::Function(one) | Scope::Loop(one, _) => std::slice::from_ref(one),
            Scope::Many(all) => all,
        }
    }

    /// The edges that a run on this may have changed unseen, if it may have changed any.
    pub fn unseen(&self) -> Unseen<'_> {
        match self {
            Scope::Loop(_, blocks) => Unseen::Of(blocks),
            Scope::Function(_) | Scope::Many(_) => Unseen::All,
        }
    }
}

impl Run {
    /// Adds an event.
    pub fn record(&mut self, kind: EventKind, stack: StackId) {
        self.events.push(Event { kind, stack });
    }
}

/// The runs of one thread.
#[derive(Default)]
pub struct RunStack {
    runs: Vec<Run>,
    /// Room for the events of the next run: a list grown anew for each would be copied again and again.
    spare: Vec<Event>,
    /// The same for its notes.
    spare_notes: Notes,
    /// The last insertion, whose place in the block is not known yet.
    pub inserting: Option<Inserting>,
}

/// LLVM announces an insertion before it links the instruction into the list. Nothing changes a list without a
/// hook, so at the next hook of this thread the instruction is where it was put.
pub struct Inserting {
    /// The instruction.
    pub address: Ptr,
    /// Its id.
    pub inst: InstId,
    /// The run that it belongs to.
    pub serial: u64,
    /// The event that waits for it.
    pub event: usize,
}

impl RunStack {
    /// A pass begins.
    pub fn push(&mut self, run: Run) {
        self.runs.push(run);
    }

    /// Empty lists for the events and notes of a run.
    pub fn room(&mut self) -> (Vec<Event>, Notes) {
        (std::mem::take(&mut self.spare), std::mem::take(&mut self.spare_notes))
    }

    /// Takes back the lists of a run that has ended.
    pub fn reuse(&mut self, mut events: Vec<Event>, mut notes: Notes) {
        events.clear();
        notes.clear();
        if events.capacity() > self.spare.capacity() {
            self.spare = events;
        }
        self.spare_notes = notes;
    }

    /// The innermost pass ends.
    pub fn pop(&mut self) -> Option<Run> {
        self.runs.pop()
    }

    /// The run that events belong to: the innermost that is not a manager.
    pub fn current(&mut self) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|run| !run.manager)
    }
}

/// Is this the class of a pass that only runs others?
pub fn is_manager(class: &str) -> bool {
    // Classes are printed with their template arguments: `PassManager<llvm::Function>`.
    const RUN_OTHERS: &[&str] = &[
        "PassManager",
        "PassAdaptor",
        "AnalysisManagerProxy",
        "RequireAnalysisPass",
        "InvalidateAnalysisPass",
        "InvalidateAllAnalysesPass",
        "RepeatedPass",
        "DevirtSCCRepeatedPass",
        "ModuleInlinerWrapperPass",
        "ExtraVectorPassManager",
        "ExtraLoopPassManager",
        "ExtraFunctionPassManager",
    ];
    let base = class.split('<').next().unwrap_or(class);
    let base = base.rsplit("::").next().unwrap_or(base);
    RUN_OTHERS.iter().any(|known| base.ends_with(known))
}

#[cfg(test)]
mod tests {
    use super::is_manager;

    #[test]
    fn managers_and_adaptors_are_told_from_passes() {
        for class in [
            "PassManager<llvm::Function>",
            "ModuleToFunctionPassAdaptor",
            "FunctionToLoopPassAdaptor",
            "RequireAnalysisPass<llvm::GlobalsAA, llvm::Module>",
            "DevirtSCCRepeatedPass",
            "PassManager<LazyCallGraph::SCC, CGSCCAnalysisManager, LazyCallGraph &, CGSCCUpdateResult &>",
        ] {
            assert!(is_manager(class), "{class}");
        }
        for class in ["InstCombinePass", "SimplifyCFGPass", "LoopPassThing", "InlinerPass"] {
            assert!(!is_manager(class), "{class}");
        }
    }
}
