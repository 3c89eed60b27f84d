//! What the variables of a swapped pass hold when an event happens: that is how an instruction gets the name
//! that the pass has for it.
//!
//! The code map says where each variable is kept. Its value is read at the event and compared with the
//! addresses of instructions. One that still holds the address of an instruction that is gone counts as well, as
//! long as no other one has come to live there. The very instruction that is being made cannot be held by a
//! variable yet: its address in one is that of the instruction that was there before.

use std::ffi::c_void;

use metaloc_record::{InstId, StackId};
use metaloc_report::Trace;

use super::Module;
use crate::ffi::Ptr;
use crate::identity::Identities;
use crate::pointer_map::PointerMap;
use crate::unwind::Frame;

/// The swapped files, and what was seen in the pass run that is under way.
pub struct Captures {
    modules: Vec<Module>,
    seen: Vec<Capture>,
    /// Where instructions were that are gone.
    gone: PointerMap<usize>,
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
    /// The instruction.
    pub inst: InstId,
    /// What takes over its uses.
    pub other: Option<InstId>,
    /// It is being made.
    pub made: bool,
}

/// One event.
struct Capture {
    stack: StackId,
    about: About,
    activation: Activation,
    /// Return address, relative to the library.
    pc: u64,
    values: Vec<Value>,
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
        Captures { modules, seen: Vec::new(), gone: PointerMap::default() }
    }

    /// An event with this stack.
    pub fn note(&mut self, stack: StackId, frames: &[Frame], about: About, identities: &Identities) {
        let Some((frame, activation)) = self.site_frame(frames) else { return };
        let pc = (frame.pc - self.modules[activation.module].base) as u64;
        let values = self.values(activation, pc, identities);
        self.seen.push(Capture { stack, about, activation, pc, values });
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

    /// The return address in the pass's own code that is nearest to the event, with its place in the stack. The
    /// file that comes first is the pass's: a helper's statement is the site only if no other is known.
    pub fn site(&self, stack: &[usize]) -> Option<(usize, usize)> {
        self.modules.iter().find_map(|module| {
            let place = stack.iter().position(|&pc| module.function_at(pc).is_some())?;
            Some((place, stack[place]))
        })
    }

    /// Is this address in a swapped library, in a function of a header?
    pub fn is_in_header(&self, pc: usize) -> bool {
        // Libraries are a few megabytes; nothing else is mapped between the parts of one.
        self.modules.iter().any(|module| {
            let end = module.map.functions.last().map_or(0, |f| f.high) as usize;
            pc.checked_sub(module.base).is_some_and(|at| at < end.max(1 << 20)) && module.function_at(pc).is_none()
        })
    }

    /// What a report needs to find lines and variables. `direct` says that nothing but the making of an
    /// instruction lies between the site and the event.
    pub fn trace(
        &self,
        stack: StackId,
        destination: InstId,
        sources: &[InstId],
        direct: bool,
        identities: &Identities,
    ) -> Option<Trace> {
        let is_site = |c: &Capture, exact: bool| c.stack == stack && (!exact || c.about.inst == destination);
        let at_site = |exact| self.seen.iter().rposition(|c| is_site(c, exact));
        let place = at_site(true).or_else(|| at_site(false))?;
        let site = &self.seen[place];
        let here = |capture: &&Capture| capture.activation == site.activation;
        let later = || self.seen[place + 1..].iter().filter(here);
        let earlier = || self.seen[..place].iter().rev().filter(here);
        let is_about = |c: &&Capture| c.about.inst == destination || c.about.other == Some(destination);
        let named = |inst: &InstId| {
            let holders = |c: &Capture| self.holders(c, *inst, identities);
            let captures = std::iter::once(site).chain(later()).chain(earlier());
            captures.map(holders).find(|held| !held.is_empty()).unwrap_or_default()
        };
        Some(Trace {
            module: self.modules[site.activation.module].path.clone(),
            pc: site.pc,
            update_pc: later().filter(is_about).map(|c| c.pc).next_back().unwrap_or(site.pc),
            direct,
            destination: names_of(destination, site, later()),
            sources: sources.iter().map(named).collect(),
        })
    }

    /// The variables that held an instruction at an event.
    fn holders(&self, capture: &Capture, inst: InstId, identities: &Identities) -> Vec<u32> {
        let gone = self.gone.get(&inst.index()).copied();
        let address = gone.unwrap_or_else(|| identities.known(inst).address as usize);
        let holds = |value: &&Value| {
            let being_made = capture.about.made && value.inst == Some(capture.about.inst);
            match value.inst {
                Some(_) if being_made => gone.is_some() && value.address == address,
                Some(held) => held == inst,
                None => gone.is_some() && value.address == address,
            }
        };
        capture.values.iter().filter(holds).map(|value| value.variable).collect()
    }

    fn site_frame(&self, frames: &[Frame]) -> Option<(Frame, Activation)> {
        self.modules.iter().enumerate().find_map(|(module, described)| {
            frames.iter().find_map(|frame| {
                let function = described.function_at(frame.pc)?;
                Some((*frame, Activation { module, function, frame: frame.bp }))
            })
        })
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
            let address = word.wrapping_add_signed(variable.adjust as isize);
            if word != 0 {
                let inst = identities.get(address as *const c_void);
                values.push(Value { variable: number, address, inst });
            }
        }
        values
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
    let stale: Vec<u32> = if site.about.made { held(site).collect() } else { Vec::new() };
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
}
