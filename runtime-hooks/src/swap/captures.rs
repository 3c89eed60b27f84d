//! What the variables of a swapped pass hold when an event happens: that is how an instruction gets the name
//! that the pass has for it.
//!
//! The code map says where each variable is kept. Its value is read at the event and compared with the
//! addresses of instructions. One that still holds the address of an instruction that is gone counts as well, as
//! long as no other one has come to live there. The very instruction that is being made cannot be held by a
//! variable yet: its address in one is that of the instruction that was there before.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::c_void;
use std::path::Path;

use metaloc_record::{InstId, StackId};
use metaloc_report::{Reached, Trace, pass_names};

use super::Module;
use crate::ffi::Ptr;
use crate::identity::Identities;
use crate::pointer_map::PointerMap;
use crate::unwind::Frame;

/// The swapped files, and what was seen in the pass run that is under way.
pub struct Captures {
    modules: Vec<Module>,
    /// In which order modules are looked at, by pass.
    orders: HashMap<String, Vec<usize>>,
    seen: Vec<Capture>,
    /// By module, where something was made, put somewhere or replaced, in all runs.
    reached: Vec<BTreeSet<u64>>,
    /// Where instructions were that are gone.
    gone: PointerMap<usize>,
    /// Where in an instruction its list node lies.
    node_offset: usize,
}

/// A function of a swapped file that is being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Activation {
    module: usize,
    function: usize,
    frame: usize,
}

/// What an event is about.
#[derive(Debug, Clone, Copy)]
pub struct About {
    inst: InstId,
    /// What takes over its uses.
    other: Option<InstId>,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    /// It is being made.
    Made,
    /// It is put somewhere.
    Placed,
    /// Another one takes over its uses.
    Replaced,
    /// Its location is set.
    Located,
}

impl About {
    pub fn made(inst: InstId) -> About {
        About { inst, other: None, what: What::Made }
    }

    pub fn placed(inst: InstId) -> About {
        About { inst, other: None, what: What::Placed }
    }

    pub fn replaced(inst: InstId, other: Option<InstId>) -> About {
        About { inst, other, what: What::Replaced }
    }

    pub fn located(inst: InstId) -> About {
        About { inst, other: None, what: What::Located }
    }
}

/// What a report asks about an error.
pub struct Question<'a> {
    /// The stack of its site.
    pub stack: StackId,
    /// The instruction that has the wrong location.
    pub destination: InstId,
    /// For each source the instructions that stand for it, best first.
    pub sources: &'a [Vec<InstId>],
    /// The location was given to the destination by a call, which is what is wrong.
    pub is_update: bool,
    /// Nothing but the making of an instruction lies between the site and the event.
    pub direct: bool,
    /// It has the location of a source and should not: what makes a copy makes it right, and what is wrong is known where
    /// the copy takes over from others.
    pub is_kept: bool,
}

/// One event.
struct Capture {
    stack: StackId,
    about: About,
    activation: Activation,
    /// Return address, relative to the library.
    pc: u64,
    values: Vec<Value>,
    /// What called it, innermost first, as far as it is of the same library, with return addresses.
    callers: Vec<(u64, Activation)>,
}

/// What a variable held.
#[derive(Clone, Copy)]
struct Value {
    variable: u32,
    address: usize,
    inst: Option<InstId>,
}

impl Captures {
    pub(super) fn new(modules: Vec<Module>) -> Self {
        // SAFETY: a constant of the headers that the shim was compiled with.
        let node_offset = unsafe { crate::ffi::metaloc_node_offset() };
        let reached = vec![BTreeSet::new(); modules.len()];
        let orders = HashMap::new();
        Captures { modules, orders, seen: Vec::new(), reached, gone: PointerMap::default(), node_offset }
    }

    /// An event in a run of a pass, with this stack.
    pub fn note(
        &mut self,
        pass: &str,
        (stack, frames): (StackId, &[Frame]),
        about: About,
        identities: &Identities,
    ) {
        if !self.orders.contains_key(pass) {
            self.orders.insert(pass.to_owned(), order(&self.modules, pass));
        }
        let mut callers = self.site_frames(pass, frames);
        let Some((pc, activation)) = callers.pop_front() else { return };
        if about.what != What::Located {
            self.reached[activation.module].insert(pc);
        }
        let values = self.values(activation, pc, identities);
        self.seen.push(Capture { stack, about, activation, pc, values, callers: callers.into() });
    }

    /// Where in the swapped files something was done to instructions so far.
    pub fn reached(&self) -> Vec<Reached> {
        let reached = |(module, pcs): (&Module, &BTreeSet<u64>)| Reached {
            module: module.path.clone(),
            pcs: pcs.clone(),
        };
        self.modules.iter().zip(&self.reached).map(reached).collect()
    }

    /// An instruction is about to go.
    pub fn note_erased(&mut self, inst: InstId, address: Ptr) {
        self.gone.insert(inst.index(), address as usize);
    }

    /// The run is judged.
    pub fn clear(&mut self) {
        self.seen.clear();
        self.gone.clear();
    }

    /// The return address in the pass's own code that is nearest to the event, with its place in the stack. A
    /// helper's statement is the site only if no other is known.
    pub fn site(&self, pass: &str, stack: &[usize]) -> Option<(usize, usize)> {
        self.order(pass).iter().find_map(|&module| {
            let module = &self.modules[module];
            let place = stack.iter().position(|&pc| module.function_at(pc).is_some())?;
            Some((place, stack[place]))
        })
    }

    /// Is this address in a swapped library, in a function of a header?
    pub fn is_in_header(&self, pc: usize) -> bool {
        // Libraries are a few megabytes; nothing else is mapped between the parts of one.
        self.modules.iter().any(|module| {
            let end = module.map.functions.last().map_or(0, |f| f.high) as usize;
            pc.checked_sub(module.base).is_some_and(|at| at < end.max(1 << 20))
                && module.function_at(pc).is_none()
        })
    }

    /// What a report needs to find lines and variables, with the address of the site.
    pub fn trace(&self, asked: &Question<'_>, identities: &Identities) -> Option<(usize, Trace)> {
        let &Question { stack, destination, .. } = asked;
        let is_update = |c: &Capture| c.about.what == What::Located && c.about.inst == destination;
        let is_site = |c: &Capture, exact: bool| c.stack == stack && (!exact || c.about.inst == destination);
        let at_site = |exact| self.seen.iter().rposition(|c| is_site(c, exact));
        let at_update = || self.seen.iter().rposition(is_update).filter(|_| asked.is_update);
        let place = at_update().or_else(|| at_site(true)).or_else(|| at_site(false))?;
        let made = &self.seen[place];
        let caller = self.user(place, destination).filter(|_| asked.is_kept);
        let (pc, activation) = caller.unwrap_or((made.pc, made.activation));
        let here = |capture: &&Capture| capture.activation == activation;
        let later = || self.seen[place + 1..].iter().filter(here);
        let site = if here(&made) { made } else { later().next()? };
        let earlier = || self.seen[..place].iter().rev().filter(here);
        let is_about = |c: &&Capture| c.about.inst == destination || c.about.other == Some(destination);
        let update = later().rfind(is_about).unwrap_or(site);
        // A name is of use where the update belongs, so what holds there counts most.
        let named = |inst: InstId| {
            let holders = |c: &Capture| self.holders(c, inst, identities);
            let at_update = holders(update);
            if !at_update.is_empty() {
                return at_update;
            }
            let captures = std::iter::once(site).chain(later()).chain(earlier());
            let first = captures.map(|c| (c, holders(c))).find(|(_, held)| !held.is_empty());
            let Some((capture, mut held)) = first else { return Vec::new() };
            // One that was set to another instruction since is no name any more.
            held.retain(|&variable| match (update.address_in(variable), capture.address_in(variable)) {
                (Some(now), Some(then)) => now == then,
                _ => true,
            });
            held
        };
        let any = |stand_ins: &Vec<InstId>| {
            stand_ins.iter().map(|&inst| named(inst)).find(|held| !held.is_empty()).unwrap_or_default()
        };
        let at_first = |stand_ins: &Vec<InstId>| {
            stand_ins.iter().flat_map(|&inst| self.holders(site, inst, identities)).collect()
        };
        let module = &self.modules[activation.module];
        let trace = Trace {
            module: module.path.clone(),
            pc,
            update_pc: update.pc,
            direct: asked.direct && caller.is_none(),
            destination: names_of(destination, site, later()),
            sources: asked.sources.iter().map(any).collect(),
            sources_at_site: asked.sources.iter().map(at_first).collect(),
        };
        Some((module.base + pc as usize, trace))
    }

    /// The outermost of the functions that called for an instruction to be made and let it take over from others
    /// themselves, and where it called.
    fn user(&self, made: usize, inst: InstId) -> Option<(u64, Activation)> {
        let uses = |activation: Activation| {
            let mut later = self.seen[made + 1..].iter().filter(|c| c.activation == activation);
            later.any(|c| c.about.what == What::Replaced && c.about.other == Some(inst))
        };
        let callers = self.seen[made].callers.iter().rev().copied();
        let mut users = callers.filter(|(_, activation)| uses(*activation));
        users.next()
    }

    /// The variables that held an instruction at an event.
    fn holders(&self, capture: &Capture, inst: InstId, identities: &Identities) -> Vec<u32> {
        let gone = self.gone.get(&inst.index()).copied();
        let address = gone.unwrap_or_else(|| identities.known(inst).address as usize);
        let holds = |value: &&Value| {
            let being_made = capture.about.what == What::Made && value.inst == Some(capture.about.inst);
            match value.inst {
                Some(_) if being_made => gone.is_some() && value.address == address,
                Some(held) => held == inst,
                None => gone.is_some() && value.address == address,
            }
        };
        capture.values.iter().filter(holds).map(|value| value.variable).collect()
    }

    fn order(&self, pass: &str) -> Cow<'_, [usize]> {
        match self.orders.get(pass) {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(order(&self.modules, pass)),
        }
    }

    /// The return addresses in the first library that has any, relative to it, innermost first.
    fn site_frames(&self, pass: &str, frames: &[Frame]) -> VecDeque<(u64, Activation)> {
        let of = |&module: &usize| {
            let described = &self.modules[module];
            let frames = frames.iter().filter_map(|frame| {
                let function = described.function_at(frame.pc)?;
                let activation = Activation { module, function, frame: frame.bp };
                Some(((frame.pc - described.base) as u64, activation))
            });
            frames.collect::<VecDeque<_>>()
        };
        self.order(pass).iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn values(&self, activation: Activation, pc: u64, identities: &Identities) -> Vec<Value> {
        let function = &self.modules[activation.module].map.functions[activation.function];
        let line = function.row_at(pc - 1).map_or(u32::MAX, |row| row.line);
        let mut values = Vec::new();
        for (number, variable) in (0..).zip(&function.variables) {
            // What is declared further down has no value yet, or one that an earlier time left.
            if !variable.is_in_scope(pc - 1) || variable.line > line {
                continue;
            }
            let Some(word) = follow(activation.frame, &variable.steps) else { continue };
            let address = if variable.is_node { word.wrapping_sub(self.node_offset) } else { word };
            if word != 0 {
                let inst = identities.get(address as *const c_void);
                values.push(Value { variable: number, address, inst });
            }
        }
        values
    }
}

/// The files of the pass first, those that do its work before the others.
fn order(modules: &[Module], pass: &str) -> Vec<usize> {
    let files = pass_names::files(pass);
    let rank = |&module: &usize| {
        let stems = modules[module].map.files.iter().filter_map(|file| Path::new(file).file_stem());
        let places = stems.filter_map(|stem| files.iter().position(|file| stem == *file));
        places.min().unwrap_or(files.len())
    };
    let mut order: Vec<usize> = (0..modules.len()).collect();
    order.sort_by_key(rank);
    order
}

impl Capture {
    fn address_in(&self, variable: u32) -> Option<usize> {
        self.values.iter().find(|value| value.variable == variable).map(|value| value.address)
    }
}

impl Module {
    fn function_at(&self, pc: usize) -> Option<usize> {
        // The call itself: one that does not return may be the last instruction of its function.
        let address = pc.checked_sub(self.base)?.checked_sub(1)?;
        Some(self.map.function_at(address as u64)?.0)
    }
}

/// The variables that hold a destination from its site on.
fn names_of<'a>(
    destination: InstId,
    site: &'a Capture,
    later: impl Iterator<Item = &'a Capture>,
) -> Vec<u32> {
    let held = |c: &'a Capture| c.values.iter().filter(|v| v.inst == Some(destination)).map(|v| v.variable);
    // An instruction that is being made has no name; what has its address has it from the one before.
    let stale: Vec<u32> = if site.about.what == What::Made { held(site).collect() } else { Vec::new() };
    let mut names: Vec<u32> = Vec::new();
    for variable in std::iter::once(site).chain(later).flat_map(held) {
        if !stale.contains(&variable) && !names.contains(&variable) {
            names.push(variable);
        }
    }
    names
}

fn follow(frame: usize, steps: &[i64]) -> Option<usize> {
    let mut word = frame;
    for &step in steps {
        word = read_word(word.wrapping_add_signed(step as isize))?;
    }
    Some(word)
}

/// A word of this process, or nothing where there is none: a variable that was not set yet may hold anything.
fn read_word(address: usize) -> Option<usize> {
    let mut word = 0usize;
    let size = size_of::<usize>();
    let local = libc::iovec { iov_base: std::ptr::from_mut(&mut word).cast(), iov_len: size };
    let remote = libc::iovec { iov_base: address as *mut c_void, iov_len: size };
    // SAFETY: the kernel checks the address, and writes to `word` only.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    (read == size as isize).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use metaloc_record::code_map::CodeMap;

    #[test]
    fn words_are_followed_and_bad_addresses_give_nothing() {
        let last = 7usize;
        let object = [0usize, std::ptr::from_ref(&last) as usize];
        let frame = [std::ptr::from_ref(&object) as usize, 8];
        let base = std::ptr::from_ref(&frame) as usize + 16;
        assert_eq!(follow(base, &[-8]), Some(8));
        assert_eq!(follow(base, &[-16, 8, 0]), Some(7));
        assert_eq!(follow(base, &[-8, 0]), None);
    }

    const OLD: InstId = InstId(0);
    const NEW: InstId = InstId(1);
    const OTHER: InstId = InstId(2);
    const CALLED: Activation = Activation { module: 0, function: 0, frame: 0x10 };
    const CALLER: Activation = Activation { module: 0, function: 1, frame: 0x90 };

    /// Two instructions of P, and one that is made at the address of the first if that is `gone`.
    fn captures(gone: bool, seen: Vec<Capture>) -> (Captures, Identities) {
        let mut identities = Identities::new();
        let at = |address: usize| address as *const c_void;
        identities.create(at(0x100), 1, None);
        identities.create(at(if gone { 0x100 } else { 0x200 }), 1, None);
        identities.create(at(0x300), 1, None);
        let module = Module { path: "x.so".to_owned(), base: 0x7000, map: Default::default() };
        let mut captures = Captures::new(vec![module]);
        captures.seen = seen;
        if gone {
            captures.note_erased(OLD, at(0x100));
        }
        (captures, identities)
    }

    fn capture(stack: u32, about: About, pc: u64, values: &[(u32, usize, Option<InstId>)]) -> Capture {
        let value = |&(variable, address, inst): &_| Value { variable, address, inst };
        let values = values.iter().map(value).collect();
        Capture { stack: StackId(stack), about, activation: CALLED, pc, values, callers: Vec::new() }
    }

    fn trace(gone: bool, seen: Vec<Capture>) -> Trace {
        trace_of(gone, seen, false)
    }

    fn trace_of(gone: bool, seen: Vec<Capture>, is_kept: bool) -> Trace {
        let (captures, identities) = captures(gone, seen);
        let sources = [vec![OLD]];
        let stack = StackId(1);
        let question =
            Question { stack, destination: NEW, sources: &sources, is_update: false, direct: true, is_kept };
        let (pc, trace) = captures.trace(&question, &identities).unwrap();
        assert_eq!(pc, 0x7000 + trace.pc as usize);
        trace
    }

    #[test]
    fn what_does_the_work_of_a_pass_comes_before_its_file_and_helpers_last() {
        let module = |stem: &str| {
            let map = CodeMap { files: vec![format!("/llvm/{stem}.cpp")], ..CodeMap::default() };
            Module { path: format!("{stem}.so"), base: 0x7000, map }
        };
        let modules = ["Local", "SimplifyCFGPass", "LICM", "SimplifyCFG"].map(module);
        assert_eq!(order(&modules, "simplifycfg"), [3, 1, 0, 2]);
        assert_eq!(order(&modules, "licm"), [2, 0, 1, 3]);
        assert_eq!(order(&modules, "no-such-pass"), [0, 1, 2, 3]);
    }

    #[test]
    fn a_variable_is_named_by_what_it_holds() {
        let trace = trace(
            false,
            vec![
                capture(1, About::made(NEW), 0x10, &[(0, 0x100, Some(OLD)), (1, 0x300, Some(OTHER))]),
                capture(2, About::placed(NEW), 0x20, &[(0, 0x100, Some(OLD)), (2, 0x200, Some(NEW))]),
                capture(3, About::placed(OTHER), 0x30, &[]),
            ],
        );
        assert_eq!((trace.pc, trace.update_pc), (0x10, 0x20));
        assert_eq!((trace.destination, trace.sources), (vec![2], vec![vec![0]]));
    }

    #[test]
    fn a_variable_that_was_set_to_something_else_since_is_no_name_any_more() {
        let trace = trace(
            false,
            vec![
                capture(1, About::made(NEW), 0x10, &[(0, 0x100, Some(OLD))]),
                capture(
                    2,
                    About::replaced(OLD, Some(NEW)),
                    0x20,
                    &[(0, 0x200, Some(NEW)), (1, 0x100, Some(OLD))],
                ),
            ],
        );
        assert_eq!((trace.destination, trace.sources), (vec![0], vec![vec![1]]));
        assert_eq!(trace.sources_at_site, [vec![0]]);
        let lost = self::trace(
            false,
            vec![
                capture(1, About::made(NEW), 0x10, &[(0, 0x100, Some(OLD))]),
                capture(2, About::placed(NEW), 0x20, &[(0, 0x300, Some(OTHER))]),
            ],
        );
        assert_eq!(lost.sources, [Vec::<u32>::new()]);
    }

    #[test]
    fn an_address_that_is_used_again_means_the_one_that_is_gone() {
        let trace = trace(
            true,
            vec![
                capture(1, About::made(NEW), 0x10, &[(0, 0x100, Some(NEW))]),
                capture(2, About::placed(NEW), 0x10, &[(0, 0x100, Some(NEW))]),
            ],
        );
        assert_eq!((trace.destination, trace.sources), (vec![], vec![vec![0]]));
    }

    /// LICM sinks: a helper makes the copy, and its caller lets it take over from a PHI.
    fn copied(by: Activation, inst: InstId) -> Vec<Capture> {
        let made = Capture {
            callers: vec![(0x80, CALLER), (0x90, Activation { function: 2, ..CALLER })],
            ..capture(1, About::made(NEW), 0x10, &[(4, 0x100, Some(OLD))])
        };
        let values = [(0, 0x100, Some(OLD)), (1, 0x200, Some(NEW))];
        let used = capture(3, About::replaced(OTHER, Some(inst)), 0x88, &values);
        vec![made, capture(2, About::placed(NEW), 0x20, &[]), Capture { activation: by, ..used }]
    }

    #[test]
    fn a_copy_that_a_helper_made_is_blamed_on_the_function_that_uses_it() {
        let trace = trace_of(false, copied(CALLER, NEW), true);
        assert_eq!((trace.pc, trace.update_pc, trace.direct), (0x80, 0x88, false));
        // The variables are those of the caller.
        assert_eq!((trace.destination, trace.sources), (vec![1], vec![vec![0]]));
        assert_eq!(trace.sources_at_site, [vec![0]]);
    }

    #[test]
    fn a_location_that_is_lost_is_lost_where_the_instruction_is_made() {
        let lost = trace_of(false, copied(CALLER, NEW), false);
        assert_eq!((lost.pc, lost.update_pc), (0x10, 0x20));
    }

    #[test]
    fn a_copy_that_takes_over_from_nothing_in_a_caller_stays_where_it_was_made() {
        for (by, inst) in [(CALLER, OTHER), (Activation { frame: 0xa0, ..CALLER }, NEW), (CALLED, NEW)] {
            assert_eq!(trace_of(false, copied(by, inst), true).pc, 0x10);
        }
    }
}
