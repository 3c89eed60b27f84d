//! Pass runs kept whole: the function before and after, as it was judged. The plugin writes them when it is asked
//! to (`METALOC_RUNS=PASS:FUNCTION`); explaining an error and comparing two LLVMs start from here.

use serde::{Deserialize, Serialize};

/// One run of a pass that changed a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRun {
    /// Name of the pass as in `-passes=`.
    pub pass: String,
    /// The function.
    pub function: String,
    /// When the run began.
    pub before: Graph,
    /// When it ended.
    pub after: Graph,
    /// What was found in it.
    pub marks: Vec<Mark>,
}

/// The control-flow graph of a function, depth first from the entry: the order depends on nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Graph {
    /// The entry first; what cannot be reached last.
    pub blocks: Vec<GraphBlock>,
}

/// A basic block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphBlock {
    /// As in the IR, without `%`.
    pub name: String,
    /// Places in [`Graph::blocks`], in the order of the terminator.
    pub successors: Vec<usize>,
    /// Terminator last; debug intrinsics are left out.
    pub instructions: Vec<GraphInst>,
}

/// An instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphInst {
    /// As in the IR, without its location.
    pub text: String,
    /// As in the IR.
    pub opcode: String,
    /// `%name`; `None` if it has no result.
    pub name: Option<String>,
    /// `None` for none.
    pub location: Option<String>,
}

/// Where in a graph an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Spot {
    /// Place in [`Graph::blocks`].
    pub block: usize,
    /// Place in [`GraphBlock::instructions`].
    pub instruction: usize,
}

/// An error that the run shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Its id in the same document.
    pub error: String,
    /// The destination, in `after`.
    pub destination: Spot,
    /// The sources, in `before`.
    pub sources: Vec<Spot>,
    /// Locations on paths through the destination that are on no path through a source.
    pub extra: Vec<String>,
    /// Blocks of `after` on a path that shows the first of them; empty if the error is not about a path.
    pub path: Vec<usize>,
}

impl Graph {
    /// The instruction at a place.
    pub fn at(&self, spot: Spot) -> Option<&GraphInst> {
        self.blocks.get(spot.block)?.instructions.get(spot.instruction)
    }

    /// All instructions with their places.
    pub fn spots(&self) -> impl Iterator<Item = (Spot, &GraphInst)> {
        self.blocks.iter().enumerate().flat_map(|(block, in_block)| {
            let insts = in_block.instructions.iter().enumerate();
            insts.map(move |(instruction, inst)| (Spot { block, instruction }, inst))
        })
    }
}
