//! A heap of our own for what is small.
//!
//! The plugin keeps and throws away a few small things for every block that a pass changes: all at once, at the end
//! of the run. On LLVM's heap they would leave holes in which LLVM's next tree lies scattered (walks of dominator
//! trees of 10,000 blocks took a sixth longer), and both would pay for joining and splitting them. So small things
//! come from slabs, cut into classes of sizes; what is freed waits in the list of its class for the next of that
//! size and is never joined. LLVM's heap stays as it is without us, but for the slabs and what is large.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, NonNull};
use std::sync::{Mutex, PoisonError};

/// The allocator of this library. The compiler's own allocations do not come here.
pub struct Heap {
    small: Mutex<Slabs>,
}

/// Sizes are rounded up to a multiple of this, which is also the alignment of all that is small.
const STEP: usize = 16;
/// What is larger is left to the system.
const LARGEST: usize = 1024;
/// Memory is taken from the system in pieces of this size.
const SLAB: usize = 256 << 10;

struct Slabs {
    /// Per class, what was freed; each begins with a pointer to the next.
    free: [Option<NonNull<Free>>; LARGEST / STEP],
    /// What is left of the last slab: where it begins and how long it is.
    rest: *mut u8,
    left: usize,
}

struct Free {
    next: Option<NonNull<Free>>,
}

// SAFETY: the memory behind the pointers is free: nobody else uses it.
unsafe impl Send for Slabs {}

impl Heap {
    pub const fn new() -> Heap {
        let slabs = Slabs { free: [None; LARGEST / STEP], rest: ptr::null_mut(), left: 0 };
        Heap { small: Mutex::new(slabs) }
    }

    fn slabs<T>(&self, work: impl FnOnce(&mut Slabs) -> T) -> T {
        work(&mut self.small.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The class of a size, if it is small.
fn class(layout: Layout) -> Option<usize> {
    let small = (1..=LARGEST).contains(&layout.size()) && layout.align() <= STEP;
    small.then(|| (layout.size() - 1) / STEP)
}

impl Slabs {
    fn take(&mut self, class: usize) -> *mut u8 {
        if let Some(first) = self.free[class] {
            // SAFETY: what is in a list was freed and is long enough for a pointer.
            self.free[class] = unsafe { first.as_ref().next };
            return first.as_ptr().cast();
        }
        let size = (class + 1) * STEP;
        if self.left < size {
            // What is left of the old slab is too small for this and is given up.
            // SAFETY: the size is not zero.
            self.rest = unsafe { System.alloc(Layout::new::<[u128; SLAB / STEP]>()) };
            if self.rest.is_null() {
                self.left = 0;
                return ptr::null_mut();
            }
            self.left = SLAB;
        }
        let new = self.rest;
        // SAFETY: within the slab, or just behind it.
        self.rest = unsafe { new.add(size) };
        self.left -= size;
        new
    }

    /// # Safety
    /// The memory was taken as this class, and nobody uses it any more.
    unsafe fn give_back(&mut self, memory: *mut u8, class: usize) {
        let memory = memory.cast::<Free>();
        // SAFETY: ours from now on, long enough and aligned for a pointer.
        unsafe { memory.write(Free { next: self.free[class] }) };
        self.free[class] = NonNull::new(memory);
    }
}

// SAFETY: a class is at least as long as the sizes in it, slabs are aligned to `STEP` and cut into multiples of it,
// and what was taken is not handed out again before it is given back. Nothing in here panics.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class(layout) {
            Some(class) => self.slabs(|slabs| slabs.take(class)),
            // SAFETY: as the caller vouches.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if class(layout).is_none() {
            // SAFETY: as the caller vouches. The system knows which of its pages are zero already.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as the caller vouches; what was allocated is as long as that.
        unsafe {
            let memory = self.alloc(layout);
            if !memory.is_null() {
                memory.write_bytes(0, layout.size());
            }
            memory
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match class(layout) {
            // SAFETY: taken as the class of the same layout, as the caller vouches.
            Some(class) => self.slabs(|slabs| unsafe { slabs.give_back(memory, class) }),
            // SAFETY: as the caller vouches.
            None => unsafe { System.dealloc(memory, layout) },
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller vouches.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (class(layout), class(wanted)) {
            // SAFETY: as the caller vouches.
            (None, None) => unsafe { System.realloc(memory, layout, size) },
            (old, new) if old == new => memory,
            // SAFETY: both are as long as what is copied, and the old one is not used any more.
            _ => unsafe {
                let new = self.alloc(wanted);
                if !new.is_null() {
                    ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
                    self.dealloc(memory, layout);
                }
                new
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A piece of memory that is full of one byte.
    struct Piece {
        memory: *mut u8,
        layout: Layout,
        byte: u8,
    }

    impl Piece {
        fn new(heap: &Heap, layout: Layout, byte: u8) -> Piece {
            // SAFETY: no layout here is empty.
            let memory = unsafe { heap.alloc(layout) };
            assert_eq!(memory as usize % layout.align(), 0);
            let piece = Piece { memory, layout, byte };
            // SAFETY: ours, and as long as that.
            unsafe { memory.write_bytes(byte, layout.size()) };
            piece
        }

        fn check(&self) {
            // SAFETY: as above.
            let bytes = unsafe { std::slice::from_raw_parts(self.memory, self.layout.size()) };
            assert!(bytes.iter().all(|byte| *byte == self.byte), "somebody else wrote to {:?}", self.layout);
        }

        fn resize(&mut self, heap: &Heap, size: usize) {
            let kept = self.layout.size().min(size);
            // SAFETY: allocated with this layout.
            self.memory = unsafe { heap.realloc(self.memory, self.layout, size) };
            self.layout = Layout::from_size_align(kept, self.layout.align()).unwrap();
            self.check();
            self.layout = Layout::from_size_align(size, self.layout.align()).unwrap();
            // SAFETY: ours, and as long as that.
            unsafe { self.memory.write_bytes(self.byte, size) };
        }

        fn free(self, heap: &Heap) {
            self.check();
            // SAFETY: allocated with this layout.
            unsafe { heap.dealloc(self.memory, self.layout) };
        }
    }

    /// Takes, resizes and gives back pieces of all sizes in a made-up order.
    fn churn(heap: &Heap, mut seed: u64) {
        let mut random = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bound
        };
        let mut pieces: Vec<Piece> = Vec::new();
        for turn in 0..20_000 {
            let bound = [32, 200, LARGEST + 2, 5 * LARGEST][random(4)];
            let size = 1 + random(bound);
            match random(3) {
                0 if !pieces.is_empty() => pieces.swap_remove(random(pieces.len())).free(heap),
                1 if !pieces.is_empty() => {
                    let at = random(pieces.len());
                    pieces[at].resize(heap, size);
                }
                _ => {
                    let layout = Layout::from_size_align(size, 1 << random(7)).unwrap();
                    pieces.push(Piece::new(heap, layout, turn as u8));
                }
            }
        }
        pieces.into_iter().for_each(|piece| piece.free(heap));
    }

    #[test]
    fn pieces_do_not_overlap_and_keep_what_is_in_them() {
        let heap = Heap::new();
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let heap = &heap;
                scope.spawn(move || churn(heap, seed));
            }
        });
    }

    #[test]
    fn what_is_freed_is_used_again() {
        let heap = Heap::new();
        let layout = Layout::from_size_align(100, 8).unwrap();
        let first = Piece::new(&heap, layout, 1);
        let address = first.memory;
        first.free(&heap);
        let smaller = Piece::new(&heap, Layout::from_size_align(80, 8).unwrap(), 2);
        assert_ne!(smaller.memory, address, "another class");
        // SAFETY: not empty.
        let again = unsafe { heap.alloc_zeroed(layout) };
        assert_eq!(again, address);
        Piece { memory: again, layout, byte: 0 }.free(&heap);
        smaller.free(&heap);
    }
}
