//! What the values of a function are called in its text: a name, or the number that the printer gives to one
//! without a name. LLVM counts the whole function for each value that it is asked about; here it is counted
//! once, in the printer's order.

use std::cell::OnceCell;

use crate::ffi::{self, Ptr};
use crate::mirror::Mirror;
use crate::pointer_map::{PointerMap, key};

/// The names of one function, which must not change meanwhile.
pub struct Slots {
    function: Ptr,
    /// Room for all of its values, so that a large function is walked through only once.
    values: usize,
    numbers: OnceCell<PointerMap<u32>>,
}

impl Slots {
    /// Those of a live function as it was last read. Nothing is counted before it is needed.
    pub fn of(mirror: &Mirror) -> Slots {
        /// More arguments than this without a name make a second walk.
        const ARGUMENTS: usize = 64;
        let values = mirror.snapshot.len() + mirror.snapshot.instructions() + ARGUMENTS;
        Slots { function: mirror.function, values, numbers: OnceCell::new() }
    }

    /// `%name` or `%7`; `None` if the instruction has no value, or is not in the function.
    ///
    /// # Safety
    /// The instruction is alive.
    pub unsafe fn inst(&self, inst: Ptr) -> Option<String> {
        // SAFETY: alive, as the caller vouches.
        let text = unsafe { ffi::read_text(|out, size| ffi::metaloc_named_inst(inst, out, size)) };
        if text.is_empty() { self.number(inst) } else { Some(text) }
    }

    /// `name` or `%7`; `?` if the block is not in the function.
    ///
    /// # Safety
    /// The block is alive.
    pub unsafe fn block(&self, block: Ptr) -> String {
        // SAFETY: alive, as the caller vouches.
        let name = unsafe { ffi::metaloc_value_name(block) };
        if name.is_empty() {
            return self.number(block).unwrap_or_else(|| "?".to_owned());
        }
        // SAFETY: as above.
        unsafe { name.text() }
    }

    fn number(&self, value: Ptr) -> Option<String> {
        let numbers = self.numbers.get_or_init(|| {
            let mut unnamed: Vec<Ptr> = Vec::with_capacity(self.values);
            // SAFETY: the function is alive; the shim writes at most `capacity` pointers.
            unsafe {
                ffi::read_all(&mut unnamed, |out, capacity| {
                    ffi::metaloc_function_unnamed(self.function, out, capacity)
                });
            }
            unnamed.into_iter().map(key).zip(0..).collect()
        });
        numbers.get(&key(value)).map(|number| format!("%{number}"))
    }
}
