//! What the values of a function are called in its text: a name, or the number that the printer gives to one
//! without a name. LLVM counts the whole function for each value that it is asked about; here it is counted
//! once, in the printer's order.
//!
//! In a large function none of which is in the cache, following its lists would wait for memory once per
//! instruction. The mirror knows where the instructions are, so that they are looked at side by side instead.

use std::cell::OnceCell;

use crate::ffi::{self, Ptr};
use crate::identity::Identities;
use crate::mirror::Mirror;
use crate::pointer_map::{PointerMap, key};

/// The names of one function, which must not change meanwhile.
pub struct Slots<'a> {
    mirror: &'a Mirror,
    identities: &'a Identities,
    numbers: OnceCell<Numbers>,
}

/// The values that the printer numbers.
struct Numbers {
    /// In its order: a value has the number of its place.
    unnamed: Vec<Ptr>,
    /// Those of blocks. A path has many of them, a finding a few instructions, which are looked for.
    blocks: PointerMap<u32>,
}

impl<'a> Slots<'a> {
    /// Those of a live function whose mirror is up to date. Nothing is counted before it is needed.
    pub fn of(mirror: &'a Mirror, identities: &'a Identities) -> Slots<'a> {
        Slots { mirror, identities, numbers: OnceCell::new() }
    }

    /// `%name` or `%7`; `None` if the instruction has no value, or is not in the function.
    ///
    /// # Safety
    /// The instruction is alive.
    pub unsafe fn inst(&self, inst: Ptr) -> Option<String> {
        // SAFETY: alive, as the caller vouches.
        let text = unsafe { ffi::read_text(|out, size| ffi::metaloc_named_inst(inst, out, size)) };
        if !text.is_empty() {
            return Some(text);
        }
        let number = self.numbers().unnamed.iter().position(|unnamed| *unnamed == inst)?;
        Some(format!("%{number}"))
    }

    /// `name` or `%7`; `?` if the block is not in the function.
    ///
    /// # Safety
    /// The block is alive.
    pub unsafe fn block(&self, block: Ptr) -> String {
        // SAFETY: alive, as the caller vouches.
        let name = unsafe { ffi::metaloc_value_name(block) };
        if name.is_empty() {
            let number = self.numbers().blocks.get(&key(block));
            return number.map_or_else(|| "?".to_owned(), |number| format!("%{number}"));
        }
        // SAFETY: as above.
        unsafe { name.text() }
    }

    fn numbers(&self) -> &Numbers {
        self.numbers.get_or_init(|| {
            let (mut arguments, mut layout) = (Vec::new(), Vec::new());
            let function = self.mirror.function;
            // SAFETY: the function is alive; the shim writes at most `capacity` pointers.
            unsafe {
                ffi::read_all(&mut arguments, |out, capacity| {
                    ffi::metaloc_function_arguments(function, out, capacity)
                });
                ffi::read_all(&mut layout, |out, capacity| {
                    ffi::metaloc_function_blocks(function, out, capacity)
                });
            }
            let snapshot = &self.mirror.snapshot;
            let address = |id| self.mirror.block_address(id);
            let by_address: PointerMap<_> =
                snapshot.blocks().map(|block| (key(address(block.id)), block)).collect();
            let mut unnamed = arguments;
            unnamed.reserve(layout.len() + snapshot.instructions());
            for block in &layout {
                unnamed.push(*block);
                let insts = by_address.get(&key(*block)).into_iter().flat_map(|block| &block.insts);
                let addresses = insts.map(|inst| self.identities.known(inst.id).address);
                unnamed.extend(addresses.filter(|address| !address.is_null()));
            }
            // SAFETY: values of a live function that has not changed since its mirror was read; the shim writes
            // no more than it reads.
            unsafe {
                let count = ffi::metaloc_keep_unnamed(unnamed.as_mut_ptr(), unnamed.len());
                unnamed.truncate(count);
            }
            let blocks = unnamed.iter().zip(0..).filter(|(value, _)| by_address.contains_key(&key(**value)));
            let blocks = blocks.map(|(value, number)| (key(*value), number)).collect();
            Numbers { unnamed, blocks }
        })
    }
}
