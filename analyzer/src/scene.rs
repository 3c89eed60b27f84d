//! Test support: P, P' and events as text.
//!
//! ```text
//! undescribed                             the function has no debug information; may be left out
//! described                               it has, so that what stands for nothing is noted; may be left out
//! before
//! b0 -> b1 b2: %1 add @1, %2 br @2        block -> successors: instructions; the last one ends the block
//! b1 -> b2: %3 call! @3, %4 br @4         `!` makes a call one to a real function, `!!` one that must have a location
//! b2: %5 phi, %6 ret @0                   no @ is no location, @0 is line 0; @5:2 is line 5, column 2
//! b2: %5 add @7'g, %6 ret @7'g@1          line 7 of another function, and the same inlined at line 1
//! b3: %7 add, %8 sub(%7+%1) @1, %9 ret    uses, where they matter
//! b4: %10 icmp? @1, %11 ret               `?` makes it a marker, which no code comes from
//! b5: %12 store^2(-+%1) @1, %13 ret       writes to what argument 2 points to; `-` is no instruction
//! after
//! ...
//! events
//! create %7 / create %7 store(%5)         what it is, and uses, if it is in no block of P or P'; each event is called from a stack of its own, 1, 2, ...
//! clone %8 %1                             new, old
//! insert %7 b1 %3                         `insert %7 b1` is at the end
//! behind %7 %3                            that was by `insertAfter`
//! remove %3 b1 / erase %3 / move %3 b1 b0
//! replace %3 %7 / replace-some %3 %7 / replace %3 -
//! set %7 @3 / merge %7 @3 @4 / drop %7 / hoist %7
//! ```

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use metaloc_record::{
    Block, BlockId, Event, EventKind, Inst, InstFlags, InstId, LocId, Location, LocationTable, Lookup,
    Object, Opcode, Operand, PassRun, Scope, ScopeId, Snapshot, StackId,
};

use crate::finding::Finding;
use crate::memory::Memory;

/// A pass run to judge, with the locations it mentions.
#[derive(Debug)]
pub(crate) struct Scene {
    before: Snapshot,
    after: Snapshot,
    events: Vec<Event>,
    locations: LocationTable,
    scope: ScopeId,
    /// Other functions by name.
    scopes: HashMap<String, ScopeId>,
    /// In P' for what is there, in P for what is gone.
    operands: HashMap<InstId, Vec<Operand>>,
    /// In P for what was there.
    old_operands: HashMap<InstId, Vec<Operand>>,
    written: HashMap<InstId, Object>,
    markers: HashSet<InstId>,
    refused_bare: HashSet<InstId>,
    undescribed: bool,
    described: bool,
    /// Of temporaries.
    opcodes: HashMap<InstId, Opcode>,
}

impl Scene {
    /// Reads the text form above; a test with a mistake in it panics.
    pub(crate) fn read(text: &str) -> Scene {
        let mut locations = LocationTable::default();
        let scope = locations.add_scope(Scope { file: "t.c".into(), subprogram: "f".into(), parent: None });
        let mut scene = Scene {
            before: Snapshot::default(),
            after: Snapshot::default(),
            events: vec![],
            locations,
            scope,
            scopes: HashMap::new(),
            operands: HashMap::new(),
            old_operands: HashMap::new(),
            written: HashMap::new(),
            markers: HashSet::new(),
            refused_bare: HashSet::new(),
            undescribed: false,
            described: false,
            opcodes: HashMap::new(),
        };
        let mut part = "";
        for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
            match (part, line) {
                ("", "undescribed") => scene.undescribed = true,
                ("", "described") => scene.described = true,
                (_, "before" | "after" | "events") => part = line,
                ("before", _) => {
                    let block = scene.block(line);
                    scene.old_operands = scene.operands.clone();
                    scene.before.set_entry(scene.before.entry().or(Some(block.id)));
                    scene.before.put(block);
                }
                ("after", _) => {
                    let block = scene.block(line);
                    // Untouched blocks are shared, as the recorder does it.
                    let same = scene.before.get(block.id).filter(|b| **b == block).cloned();
                    scene.after.set_entry(scene.after.entry().or(Some(block.id)));
                    scene.after.put(same.unwrap_or(block));
                }
                ("events", _) => {
                    let kind = scene.event(line);
                    let stack = StackId(scene.events.len() as u32 + 1);
                    scene.events.push(Event { kind, stack });
                }
                _ => panic!("`{line}` before a part begins"),
            }
        }
        scene
    }

    pub(crate) fn run(&self) -> PassRun<'_> {
        PassRun {
            pass: "test",
            before: &self.before,
            after: &self.after,
            events: &self.events,
            locations: &self.locations,
            lookup: self,
        }
    }

    /// The findings of a scene, one line each: `rule confidence operation %destination <- %sources`.
    pub(crate) fn judge(text: &str) -> Vec<String> {
        let scene = Scene::read(text);
        crate::judge(&scene.run(), &mut Memory::default()).findings.iter().map(line_of).collect()
    }

    fn loc(&mut self, text: &str) -> LocId {
        let (text, inlined_at) = text.split_once('@').unwrap_or((text, ""));
        let inlined_at = if inlined_at.is_empty() { LocId::NONE } else { self.loc(inlined_at) };
        let (text, scope) = match text.split_once('\'') {
            Some((text, function)) => (text, self.function(function)),
            None => (text, self.scope),
        };
        let (line, column) = text.split_once(':').unwrap_or((text, "1"));
        let (line, column) = (number(line), number(column));
        self.locations.intern(Location { line, column, scope, inlined_at })
    }

    fn function(&mut self, name: &str) -> ScopeId {
        let scope = || Scope { file: "t.c".into(), subprogram: name.into(), parent: None };
        *self.scopes.entry(name.to_owned()).or_insert_with(|| self.locations.add_scope(scope()))
    }

    fn block(&mut self, text: &str) -> Arc<Block> {
        let (head, body) = text.split_once(':').unwrap_or_else(|| panic!("no `:` in `{text}`"));
        let (id, successors) = head.split_once("->").unwrap_or((head, ""));
        let mut insts: Vec<Inst> = body.split(',').map(|inst| self.inst(inst.trim())).collect();
        let last = insts.last_mut().unwrap_or_else(|| panic!("`{text}` is empty"));
        last.flags = last.flags.with(InstFlags::TERMINATOR);
        Arc::new(Block {
            id: block_id(id),
            insts,
            successors: successors.split_whitespace().map(block_id).collect(),
        })
    }

    fn inst(&mut self, text: &str) -> Inst {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [id, opcode, rest @ ..] = words.as_slice() else { panic!("`{text}` is no instruction") };
        // In a scene that changes an operand, those of P' are read last.
        let (opcode, uses) = with_uses(opcode);
        self.operands.insert(inst_id(id), uses);
        let opcode = match opcode.strip_suffix('?') {
            Some(opcode) => {
                self.markers.insert(inst_id(id));
                opcode
            }
            None => opcode,
        };
        let opcode = match opcode.split_once('^') {
            Some((opcode, object)) => {
                self.written.insert(inst_id(id), Object::Argument(number(object)));
                opcode
            }
            None => opcode,
        };
        let loc = rest.first().map_or(LocId::NONE, |at| self.loc(at.trim_start_matches('@')));
        let opcode = match opcode.strip_suffix("!!") {
            Some(_) => {
                self.refused_bare.insert(inst_id(id));
                &opcode[..opcode.len() - 1]
            }
            None => opcode,
        };
        let (name, real_call) = opcode.strip_suffix('!').map_or((opcode, false), |name| (name, true));
        let flags = match name {
            "phi" => InstFlags::PHI,
            "call" if real_call => InstFlags::CALL,
            "call" => InstFlags::INTRINSIC,
            "load" | "store" => InstFlags::MEMORY,
            _ => InstFlags::default(),
        };
        let opcode = Opcode::from_name(name);
        assert_ne!(opcode.name(), "<unknown>", "opcode in `{text}`");
        Inst { id: inst_id(id), loc, opcode, flags }
    }

    fn event(&mut self, text: &str) -> EventKind {
        let words: Vec<&str> = text.split_whitespace().collect();
        let inst = inst_id(words[1]);
        match (words[0], &words[2..]) {
            ("create", []) => EventKind::Create { inst },
            ("create", [opcode]) => {
                let (opcode, uses) = with_uses(opcode);
                self.opcodes.insert(inst, Opcode::from_name(opcode));
                self.old_operands.insert(inst, uses);
                EventKind::Create { inst }
            }
            ("clone", [old]) => EventKind::Clone { new: inst, old: inst_id(old) },
            ("insert", [block]) => EventKind::Insert { inst, block: block_id(block), before: None },
            ("insert", [block, before]) => {
                EventKind::Insert { inst, block: block_id(block), before: Some(inst_id(before)) }
            }
            ("behind", [after]) => EventKind::InsertAfter { inst, after: inst_id(after) },
            ("remove", [block]) => EventKind::Remove { inst, block: block_id(block) },
            ("move", [from, to]) => EventKind::Move { inst, from: block_id(from), to: block_id(to) },
            ("replace", ["-"]) => EventKind::Replace { old: inst, new: None, all: true },
            ("replace", [new]) => EventKind::Replace { old: inst, new: Some(inst_id(new)), all: true },
            ("replace-some", [new]) => EventKind::Replace { old: inst, new: Some(inst_id(new)), all: false },
            ("erase", []) => EventKind::Erase { inst },
            ("set", []) => EventKind::SetLocation { inst, loc: LocId::NONE },
            ("set", [at]) => EventKind::SetLocation { inst, loc: self.loc(at.trim_start_matches('@')) },
            ("merge", [a, b]) => EventKind::MergeLocation {
                inst,
                a: self.loc(a.trim_start_matches('@')),
                b: self.loc(b.trim_start_matches('@')),
            },
            ("drop", []) => EventKind::DropLocation { inst },
            ("hoist", []) => EventKind::UpdateAfterHoist { inst },
            _ => panic!("`{text}` is no event"),
        }
    }
}

impl Scene {
    /// A scene may say `erase` alone where LLVM takes an instruction out of its block first.
    fn takes_out(&self, of: InstId) -> bool {
        let mut kinds = self.events.iter().map(|event| event.kind);
        kinds.any(
            |kind| matches!(kind, EventKind::Remove { inst, .. } | EventKind::Erase { inst } if inst == of),
        )
    }
}

impl Lookup for Scene {
    fn home(&self, inst: InstId) -> Option<BlockId> {
        self.after.blocks().find(|block| block.insts.iter().any(|i| i.id == inst)).map(|block| block.id)
    }

    fn operands(&self, inst: InstId) -> Vec<Operand> {
        self.operands.get(&inst).cloned().unwrap_or_default()
    }

    fn noted_operands(&self, inst: InstId) -> &[Operand] {
        self.old_operands.get(&inst).filter(|_| self.takes_out(inst)).map_or(&[], Vec::as_slice)
    }

    fn users(&self, inst: InstId) -> Option<Vec<InstId>> {
        let insts = self.after.blocks().flat_map(|block| &block.insts);
        let uses = |user: &&Inst| self.operands.get(&user.id).is_some_and(|used| used.contains(&Some(inst)));
        Some(insts.filter(uses).map(|user| user.id).collect())
    }

    fn written(&self, inst: InstId) -> Option<Object> {
        self.written.get(&inst).copied()
    }

    fn noted_writes(&self, object: Object) -> Vec<InstId> {
        let taken = self.events.iter().filter_map(|event| match event.kind {
            EventKind::Remove { inst, .. } | EventKind::Erase { inst } => Some(inst),
            _ => None,
        });
        let mut writes = Vec::new();
        for inst in taken.filter(|inst| self.written.get(inst) == Some(&object)) {
            if !writes.contains(&inst) {
                writes.push(inst);
            }
        }
        writes
    }

    fn opcode(&self, inst: InstId) -> Opcode {
        self.opcodes.get(&inst).copied().unwrap_or(Opcode(0))
    }

    fn must_have_location(&self, inst: InstId) -> bool {
        self.refused_bare.contains(&inst)
    }

    fn has_foreign_scope(&self, _: InstId) -> bool {
        !self.undescribed
    }

    fn is_described(&self, _: InstId) -> bool {
        self.described
    }

    fn is_marker(&self, inst: InstId) -> bool {
        self.markers.contains(&inst)
    }
}

fn line_of(finding: &Finding) -> String {
    let sources: Vec<String> = finding.sources.iter().map(|s| format!("%{}", s.inst.0)).collect();
    let name = |text: String| text.to_lowercase();
    format!(
        "{} {} {} {} %{} <- {}",
        finding.rule,
        name(format!("{:?}", finding.confidence)),
        name(format!("{:?}", finding.kind)),
        name(format!("{:?}", finding.operation)),
        finding.destination.0,
        sources.join(" "),
    )
}

fn number(text: &str) -> u32 {
    text.trim().parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

fn inst_id(text: &str) -> InstId {
    InstId(number(text.trim().strip_prefix('%').unwrap_or_else(|| panic!("`{text}` has no %"))))
}

/// `store(%5+-)`: an opcode and what it uses.
fn with_uses(text: &str) -> (&str, Vec<Operand>) {
    match text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        Some((opcode, uses)) => (opcode, uses.split_terminator('+').map(operand).collect()),
        None => (text, Vec::new()),
    }
}

fn operand(text: &str) -> Operand {
    (text != "-").then(|| inst_id(text))
}

fn block_id(text: &str) -> BlockId {
    BlockId(number(text.trim().strip_prefix('b').unwrap_or_else(|| panic!("`{text}` is no block"))))
}

#[test]
fn text_is_read() {
    let scene = Scene::read(
        "before
         b0 -> b1: %1 add @1, %2 br @2:7
         b1: %3 ret
         after
         b0 -> b1: %1 add @1, %2 br @2:7
         b1: %3 ret @0
         events
         set %3 @0",
    );
    let run = scene.run();
    assert_eq!(run.before.differences(run.after).collect::<Vec<_>>(), [BlockId(1)]);
    let texts: HashMap<u32, String> =
        run.after.blocks().flat_map(|b| &b.insts).map(|i| (i.id.0, run.locations.text(i.loc))).collect();
    assert_eq!(texts[&2], "t.c:2:7");
    assert_eq!(texts[&3], "t.c:0:1");
    let ret = run.after.get(BlockId(1)).expect("the block is there");
    assert!(ret.insts[0].flags.has(InstFlags::TERMINATOR));
}
