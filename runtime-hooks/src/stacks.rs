//! Call stacks, interned, and the one frame of each that a report calls the site.

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::BuildHasherDefault;

use metaloc_record::StackId;

use crate::pointer_map::AddressHasher;
use crate::symbols::Symbols;
use crate::unwind::{Frame, Unwinder};

/// All call stacks that events came from.
pub struct Stacks {
    unwinder: Unwinder,
    ids: HashMap<Box<[usize]>, StackId, BuildHasherDefault<AddressHasher>>,
    stacks: Vec<Box<[usize]>>,
    scratch: Vec<usize>,
    /// The frames of the stack that was captured last; empty unless somebody asked for them.
    frames: Option<Vec<Frame>>,
}

impl Stacks {
    /// For events of which nothing asks where they came from: no walk is made.
    pub const UNKNOWN: StackId = StackId(0);

    /// No stack yet but the unknown one.
    pub fn new() -> Self {
        let stacks = vec![Box::default()];
        let (ids, scratch) = (HashMap::default(), Vec::new());
        Stacks { unwinder: Unwinder::new(), ids, stacks, scratch, frames: None }
    }

    /// From now on, [`Stacks::frames`] has the frames of each stack.
    pub fn keep_frames(&mut self) {
        self.frames = Some(Vec::new());
    }

    /// The frames of the stack that was captured last.
    pub fn frames(&self) -> &[Frame] {
        self.frames.as_deref().unwrap_or_default()
    }

    /// The return addresses of a stack, innermost first.
    pub fn addresses(&self, stack: StackId) -> &[usize] {
        &self.stacks[stack.index()]
    }

    /// The stack of the caller of a detour entry, up to the pass manager's frame at `limit`.
    ///
    /// # Safety
    /// `frame` is the frame address of a detour entry that is running on this thread.
    pub unsafe fn capture(&mut self, frame: *const c_void, limit: usize) -> StackId {
        let Stacks { unwinder, scratch, frames, .. } = self;
        scratch.clear();
        if let Some(frames) = frames {
            frames.clear();
        }
        let show = |frame: Frame| {
            scratch.push(frame.pc);
            if let Some(frames) = frames {
                frames.push(frame);
            }
        };
        // SAFETY: the caller vouches for the frame.
        unsafe { unwinder.walk(Frame::of_caller(frame), limit, show) };
        if let Some(&id) = self.ids.get(self.scratch.as_slice()) {
            return id;
        }
        let id = StackId(self.stacks.len() as u32);
        let stack: Box<[usize]> = self.scratch.as_slice().into();
        self.stacks.push(stack.clone());
        self.ids.insert(stack, id);
        id
    }

    /// The return address nearest to the event that is neither ours nor in LLVM's IR library: the code that
    /// decided to create, clone or move something.
    pub fn site(&self, stack: StackId, symbols: &mut Symbols) -> usize {
        let frames = &self.stacks[stack.index()];
        let outside = frames.iter().copied().find(|&pc| !symbols.is_ours(pc) && !symbols.is_ir_library(pc));
        outside.or(frames.last().copied()).unwrap_or(0)
    }
}
