//! Pass runs that somebody wants to see whole: `METALOC_RUNS=PASS:FUNCTION` has the document keep the function
//! before and after each run of the pass that changed it.
//!
//! What a function looked like before can only be read before: names and texts are taken when a run begins, and
//! again when a nested run has ended. Costs time and memory for that one function; nothing if nobody asks.

use std::collections::HashMap;

use metaloc_record::{BlockId, InstId, LocId, LocationTable, Snapshot};
use metaloc_report::kept_run::{Graph, GraphBlock, GraphInst, KeptRun, Mark, Spot};

use crate::ffi;
use crate::identity::Identities;
use crate::mirror::Mirror;
use crate::slots::Slots;

/// The runs of one pass on one function.
pub struct KeptRuns {
    pass: String,
    function: String,
    before: Words,
    runs: Vec<KeptRun>,
}

/// What things are called at one moment.
#[derive(Default)]
struct Words {
    blocks: HashMap<BlockId, String>,
    insts: HashMap<InstId, (String, Option<String>)>,
}

/// Where things of a snapshot are in its graph.
struct Places {
    order: Vec<BlockId>,
    blocks: HashMap<BlockId, usize>,
    insts: HashMap<InstId, Spot>,
}

/// An error that a run shows, in the judgement's terms.
pub struct Shown {
    /// Id of the error.
    pub error: String,
    /// In the function after the run.
    pub destination: InstId,
    /// In the function before it.
    pub sources: Vec<InstId>,
    /// As in the witness.
    pub extra: Vec<String>,
    /// Blocks after the run.
    pub path: Vec<BlockId>,
}

impl KeptRuns {
    /// What `METALOC_RUNS` asks for.
    pub fn of_environment() -> Option<KeptRuns> {
        let asked = std::env::var("METALOC_RUNS").ok()?;
        let (pass, function) = asked.split_once(':')?;
        let (before, runs) = (Words::default(), Vec::new());
        Some(KeptRuns { pass: pass.to_owned(), function: function.to_owned(), before, runs })
    }

    /// Is this the pass?
    pub fn wants(&self, pass: &str) -> bool {
        self.pass == pass
    }

    /// Takes the names in a function that the pass is about to change, if it is the one.
    pub fn remember(&mut self, mirror: &Mirror, identities: &Identities) {
        if self.is_of(mirror) {
            self.before = Words::read(mirror, &mirror.snapshot, identities);
        }
    }

    /// Keeps a run that has ended, if it is one of those.
    pub fn keep(
        &mut self,
        (before, mirror): (&Snapshot, &Mirror),
        locations: &LocationTable,
        identities: &Identities,
        shown: Vec<Shown>,
    ) {
        if !self.is_of(mirror) {
            return;
        }
        let (old, new) = (Places::new(before), Places::new(&mirror.snapshot));
        let after = Words::read(mirror, &mirror.snapshot, identities);
        let mark = |shown: Shown| {
            Some(Mark {
                error: shown.error,
                destination: *new.insts.get(&shown.destination)?,
                sources: shown.sources.iter().filter_map(|inst| old.insts.get(inst).copied()).collect(),
                extra: shown.extra,
                path: shown.path.iter().filter_map(|block| new.blocks.get(block).copied()).collect(),
            })
        };
        self.runs.push(KeptRun {
            pass: self.pass.clone(),
            function: self.function.clone(),
            marks: shown.into_iter().filter_map(mark).collect(),
            before: graph(before, &old, &self.before, locations),
            after: graph(&mirror.snapshot, &new, &after, locations),
        });
    }

    /// The runs so far.
    pub fn runs(&self) -> Vec<KeptRun> {
        self.runs.clone()
    }

    fn is_of(&self, mirror: &Mirror) -> bool {
        // SAFETY: a function with a mirror is alive.
        unsafe { ffi::metaloc_function_name(mirror.function).text() == self.function }
    }
}

impl Words {
    /// Reads what the blocks and instructions of a snapshot are called, all of which are alive.
    fn read(mirror: &Mirror, snapshot: &Snapshot, identities: &Identities) -> Words {
        let mut words = Words::default();
        let slots = Slots::of(mirror, identities);
        for block in snapshot.blocks() {
            let address = mirror.block_address(block.id);
            if !address.is_null() {
                // SAFETY: a block of the function's current layout.
                let name = unsafe { slots.block(address) };
                words.blocks.insert(block.id, name.trim_start_matches('%').to_owned());
            }
            for inst in &block.insts {
                let address = identities.known(inst.id).address;
                if address.is_null() {
                    continue;
                }
                // SAFETY: not erased, so alive.
                let (text, name) = unsafe {
                    let text = ffi::read_text(|out, size| ffi::metaloc_inst_print(address, out, size));
                    (text, slots.inst(address))
                };
                let text = text.split(", !dbg ").next().unwrap_or_default();
                // A switch is printed over several lines.
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                words.insts.insert(inst.id, (text, name));
            }
        }
        words
    }
}

impl Places {
    fn new(snapshot: &Snapshot) -> Places {
        let mut places = Places { order: Vec::new(), blocks: HashMap::new(), insts: HashMap::new() };
        // Depth first: successors are put on the stack last first.
        let mut open: Vec<BlockId> = snapshot.entry().into_iter().collect();
        while let Some(id) = open.pop() {
            if places.add(snapshot, id) {
                let successors =
                    snapshot.get(id).map(|block| block.successors.as_slice()).unwrap_or_default();
                open.extend(successors.iter().rev());
            }
        }
        for block in snapshot.blocks() {
            places.add(snapshot, block.id);
        }
        places
    }

    fn add(&mut self, snapshot: &Snapshot, id: BlockId) -> bool {
        let Some(block) = snapshot.get(id) else { return false };
        if self.blocks.contains_key(&id) {
            return false;
        }
        let place = self.order.len();
        self.order.push(id);
        self.blocks.insert(id, place);
        let spots = block.insts.iter().enumerate();
        self.insts.extend(spots.map(|(instruction, inst)| (inst.id, Spot { block: place, instruction })));
        true
    }
}

fn graph(snapshot: &Snapshot, places: &Places, words: &Words, locations: &LocationTable) -> Graph {
    let location = |loc: LocId| loc.is_some().then(|| locations.text(loc));
    let block = |id: &BlockId| {
        let block = snapshot.get(*id)?;
        let inst = |inst: &metaloc_record::Inst| {
            let opcode = inst.opcode.name().to_owned();
            let (text, name) = words.insts.get(&inst.id).cloned().unwrap_or_else(|| (opcode.clone(), None));
            GraphInst { text, opcode, name, location: location(inst.loc) }
        };
        Some(GraphBlock {
            name: words.blocks.get(id).cloned().unwrap_or_else(|| "?".to_owned()),
            successors: block.successors.iter().filter_map(|to| places.blocks.get(to).copied()).collect(),
            instructions: block.insts.iter().map(inst).collect(),
        })
    };
    Graph { blocks: places.order.iter().filter_map(block).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_record::{Block, Inst, InstFlags, Opcode};

    fn block(id: u32, insts: &[u32], successors: &[u32]) -> Block {
        let inst = |&id: &u32| Inst {
            id: InstId(id),
            loc: LocId::NONE,
            opcode: Opcode(1),
            flags: InstFlags::default(),
        };
        let successors = successors.iter().map(|&id| BlockId(id)).collect();
        Block { id: BlockId(id), insts: insts.iter().map(inst).collect(), successors }
    }

    #[test]
    fn blocks_are_in_the_order_of_a_walk_whatever_their_ids_are() {
        let blocks =
            [block(4, &[1], &[0, 2]), block(0, &[2, 3], &[2]), block(1, &[9], &[]), block(2, &[5], &[4])];
        let snapshot: Snapshot = blocks.into_iter().collect();
        let places = Places::new(&snapshot);
        assert_eq!(places.order, [4, 0, 2, 1].map(BlockId));
        assert_eq!(places.insts[&InstId(3)], Spot { block: 1, instruction: 1 });
        let graph = graph(&snapshot, &places, &Words::default(), &LocationTable::default());
        let successors: Vec<_> = graph.blocks.iter().map(|block| block.successors.clone()).collect();
        assert_eq!(successors, [vec![1, 2], vec![2], vec![0], vec![]]);
    }
}
