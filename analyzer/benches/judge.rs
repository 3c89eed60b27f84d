//! What judging a pass run costs, per block, on generated functions of 100, 1,000 and 10,000 blocks.
//!
//! Four kinds of run on a chain of loops with a diamond inside:
//! - `replace`: peepholes in a tenth of the blocks, no edge changed;
//! - `hoist`: instructions moved from one side of a diamond to its head, no edge changed, each an error;
//! - `merge`: side blocks folded into their predecessors, edges changed, nothing wrong;
//! - `copy`: one instruction copied from each side to the other, edges changed, each an error: every
//!   destination needs its location sets.
//!
//! The cost per block has to stay flat. A fifth kind, `loop`, is what loop passes do: each run changes the edges
//! of one loop and copies an instruction there, run after run through the function. There the cost per *run*
//! has to stay flat.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use metaloc_analyzer::{Memory, judge};
use metaloc_record::{
    Block, BlockId, Event, EventKind, Inst, InstFlags, InstId, LocId, Location, LocationTable, Lookup,
    Opcode, PassRun, Scope, Snapshot, StackId,
};

/// Blocks of one unit: head, two sides, latch.
const UNIT: usize = 4;

#[derive(Debug)]
struct Run {
    before: Snapshot,
    after: Snapshot,
    events: Vec<Event>,
    locations: LocationTable,
    next: u32,
}

impl Run {
    /// `blocks / 4` loops in a row: head -> {then, else} -> latch -> head, next head.
    fn new(blocks: usize) -> Run {
        let mut locations = LocationTable::default();
        let scope = locations.add_scope(Scope { file: "t.c".into(), subprogram: "f".into(), parent: None });
        let units = (blocks / UNIT) as u32;
        let mut next = 0;
        let mut snapshot = Snapshot::default();
        for unit in 0..units {
            let base = unit * UNIT as u32;
            let after = if unit + 1 < units { vec![base, base + 4] } else { vec![base] };
            for (side, successors) in
                [vec![base + 1, base + 2], vec![base + 3], vec![base + 3], after].into_iter().enumerate()
            {
                let insts = (0..6).map(|n| {
                    next += 1;
                    let line = base + side as u32 + 1;
                    let location = Location { line, column: n + 1, scope, inlined_at: LocId::NONE };
                    let end = n == 5;
                    Inst {
                        id: InstId(next),
                        loc: locations.intern(location),
                        opcode: Opcode::from_name(if end { "br" } else { "add" }),
                        flags: if end { InstFlags::TERMINATOR } else { InstFlags::default() },
                    }
                });
                snapshot.put(Arc::new(Block {
                    id: BlockId(base + side as u32),
                    insts: insts.collect(),
                    successors: successors.into_iter().map(BlockId).collect(),
                }));
            }
        }
        snapshot.set_entry(Some(BlockId(0)));
        Run { after: snapshot.clone(), before: snapshot, events: vec![], locations, next }
    }

    fn event(&mut self, kind: EventKind) {
        self.events.push(Event { kind, stack: StackId(1) });
    }

    /// A block of P.
    fn old(&self, index: usize) -> &Block {
        self.before.get(BlockId(index as u32)).expect("the block is there")
    }

    /// Changes a block of P'.
    fn edit(&mut self, index: usize, edit: impl FnOnce(&mut Block)) {
        let block = self.after.get(BlockId(index as u32)).expect("the block is there");
        let mut block = Block::clone(block);
        edit(&mut block);
        self.after.put(Arc::new(block));
    }

    fn fresh(&mut self, like: Inst) -> Inst {
        self.next += 1;
        Inst { id: InstId(self.next), ..like }
    }

    fn replace(mut self) -> Run {
        for index in (0..self.before.len()).step_by(10) {
            let block = BlockId(index as u32);
            for position in 1..4 {
                let old = self.old(index).insts[position];
                let new = self.fresh(old);
                self.edit(index, |block| block.insts[position] = new);
                self.event(EventKind::Create { inst: new.id });
                self.event(EventKind::Insert { inst: new.id, block, before: Some(old.id) });
                self.event(EventKind::SetLocation { inst: new.id, loc: old.loc });
                self.event(EventKind::Replace { old: old.id, new: Some(new.id), all: true });
                self.event(EventKind::Remove { inst: old.id, block });
                self.event(EventKind::Erase { inst: old.id });
            }
        }
        self
    }

    fn hoist(mut self) -> Run {
        for index in (0..self.before.len()).step_by(10 * UNIT) {
            let inst = self.old(index + 1).insts[0];
            self.edit(index + 1, |block| {
                block.insts.remove(0);
            });
            self.edit(index, |block| block.insts.insert(0, inst));
            let (from, to) = (BlockId(index as u32 + 1), BlockId(index as u32));
            self.event(EventKind::Move { inst: inst.id, from, to });
        }
        self
    }

    fn merge(mut self) -> Run {
        for index in (0..self.before.len()).step_by(UNIT) {
            let (head, side) = (BlockId(index as u32), BlockId(index as u32 + 1));
            let branch = *self.old(index).insts.last().expect("a block ends with a branch");
            self.event(EventKind::Remove { inst: branch.id, block: head });
            self.event(EventKind::Erase { inst: branch.id });
            let moved = self.old(index + 1).insts.clone();
            for inst in &moved {
                self.event(EventKind::Move { inst: inst.id, from: side, to: head });
            }
            self.edit(index, |block| {
                block.insts.pop();
                block.insts.extend(moved);
                block.successors = vec![BlockId(index as u32 + 3)];
            });
            self.after.remove(side);
            self.after.remove(BlockId(index as u32 + 2));
        }
        self
    }

    fn copy(mut self) -> Run {
        for index in (0..self.before.len()).step_by(UNIT) {
            self.copy_in(index);
            // No iteration joins the two sides any more; an edge has to change for sets to be needed.
            self.edit(index + 3, |block| block.successors.retain(|to| to.0 != index as u32));
            let straight = self.after.get(BlockId(index as u32 + 3)).map(|b| b.successors.clone());
            self.before.set_successors(BlockId(index as u32 + 3), straight.unwrap_or_default());
        }
        self.edit(0, |block| block.successors.push(BlockId(2)));
        self
    }

    /// Copies an instruction of one side of a loop to the other.
    fn copy_in(&mut self, index: usize) {
        let inst = self.old(index + 1).insts[0];
        let copy = self.fresh(inst);
        let (block, before) = (BlockId(index as u32 + 2), self.old(index + 2).insts[3].id);
        self.edit(index + 2, |block| block.insts.insert(3, copy));
        self.event(EventKind::Create { inst: copy.id });
        self.event(EventKind::Clone { new: copy.id, old: inst.id });
        self.event(EventKind::Insert { inst: copy.id, block, before: Some(before) });
    }

    /// One run on the loop at an index: it is not repeated any more.
    fn straighten(&mut self, index: usize) {
        self.before = self.after.clone();
        self.events.clear();
        self.copy_in(index);
        self.edit(index + 3, |block| block.successors.retain(|to| to.0 != index as u32));
    }

    fn run(&self) -> PassRun<'_> {
        PassRun {
            pass: "bench",
            before: &self.before,
            after: &self.after,
            events: &self.events,
            locations: &self.locations,
            lookup: self,
        }
    }
}

impl Lookup for Run {
    /// Ids are given in order, six to a block.
    fn home(&self, inst: InstId) -> Option<BlockId> {
        Some(BlockId((inst.0 - 1) / 6)).filter(|block| self.after.has(*block))
    }

    fn operands(&self, _: InstId) -> Vec<metaloc_record::Operand> {
        Vec::new()
    }

    fn is_marker(&self, _: InstId) -> bool {
        false
    }
}

fn cost(run: &Run, blocks: usize) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        black_box(judge(&run.run(), &mut Memory::default()));
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64 / blocks as f64
}

fn bench(criterion: &mut Criterion) {
    type Make = fn(Run) -> Run;
    let kinds: [(&str, Make); 4] =
        [("replace", Run::replace), ("hoist", Run::hoist), ("merge", Run::merge), ("copy", Run::copy)];
    for (name, make) in kinds {
        let mut group = criterion.benchmark_group(name);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_secs(1));
        for blocks in [100, 1_000, 10_000] {
            let run = make(Run::new(blocks));
            let found = judge(&run.run(), &mut Memory::default()).findings.len();
            println!("{name}: {blocks} blocks, {found} findings, {:.0} ns per block", cost(&run, blocks));
            group.throughput(Throughput::Elements(blocks as u64));
            group.bench_with_input(BenchmarkId::from_parameter(blocks), &run, |bencher, run| {
                bencher.iter(|| judge(&run.run(), &mut Memory::default()));
            });
        }
    }
}

/// A hundred runs on as many loops, spread over the function. The first also pays for the outline.
fn loops() {
    for blocks in [400, 4_000, 40_000] {
        let mut run = Run::new(blocks);
        let mut memory = Memory::default();
        let (mut found, mut first, mut others) = (0, Duration::ZERO, Duration::ZERO);
        for n in 0..100 {
            run.straighten(n * (blocks / 400) * UNIT);
            let start = Instant::now();
            found += black_box(judge(&run.run(), &mut memory)).findings.len();
            *if n == 0 { &mut first } else { &mut others } += start.elapsed();
        }
        let first = first.as_nanos() as f64 / blocks as f64;
        let each = others.as_nanos() as f64 / 99_000.0;
        println!(
            "loop: {blocks} blocks, {found} findings, first run {first:.0} ns per block, others {each:.1} us each"
        );
    }
}

fn main() {
    loops();
    let mut criterion = Criterion::default().configure_from_args();
    bench(&mut criterion);
    criterion.final_summary();
}
