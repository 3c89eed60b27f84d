//! Walking the stack from a detour into the pass, fast enough to do it for every event.
//!
//! LLVM is built without frame pointers, so each step needs the row of `.eh_frame` for its pc. Rows are
//! read once per pc and kept in the only form that compiled code uses in practice: the canonical frame
//! address is rsp or rbp plus a constant, and rbp is either untouched or saved at a constant offset. A pc
//! with any other row ends the walk.

use std::ffi::{c_int, c_void};

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr, RegisterRule,
    UnwindContext, UnwindSection, X86_64,
};

use crate::pointer_map::PointerMap;

type Bytes = EndianSlice<'static, LittleEndian>;

/// A place on the stack, in the middle of a call.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Return address: the instruction after the call.
    pub pc: usize,
    /// Stack pointer once the call has returned.
    pub sp: usize,
    /// Frame pointer register.
    pub bp: usize,
}

impl Frame {
    /// The frame of the function that called a detour entry, from the entry's frame address.
    ///
    /// # Safety
    /// `frame` is `__builtin_frame_address(0)` of a function on this thread's stack that has not returned.
    pub unsafe fn of_caller(frame: *const c_void) -> Frame {
        let words = frame.cast::<usize>();
        // SAFETY: with a frame pointer, the saved rbp and the return address are the two words there.
        let (bp, pc) = unsafe { (*words, *words.add(1)) };
        Frame { pc, sp: frame as usize + 16, bp }
    }
}

/// Reads and caches unwind rows.
pub struct Unwinder {
    modules: Vec<Module>,
    rows: PointerMap<Row>,
    context: Box<UnwindContext<usize>>,
}

#[derive(Debug, Clone, Copy)]
enum Row {
    Step { from_bp: bool, offset: i32, saved_bp: Option<i32> },
    End,
}

struct Module {
    start: usize,
    end: usize,
    eh_frame: EhFrame<Bytes>,
    header: ParsedEhFrameHdr<Bytes>,
    bases: BaseAddresses,
}

impl Unwinder {
    /// Knows the modules that are loaded now; others are looked for when a pc is in none of them.
    pub fn new() -> Self {
        let context = Box::new(UnwindContext::new());
        Unwinder { modules: loaded_modules(), rows: PointerMap::default(), context }
    }

    /// Shows the frames from `first` outwards, as long as the stack pointer stays below `limit`.
    ///
    /// # Safety
    /// `first` describes a frame of this thread that is still active.
    pub unsafe fn walk(&mut self, first: Frame, limit: usize, mut show: impl FnMut(Frame)) {
        const DEPTH: usize = 48;
        let mut frame = first;
        for _ in 0..DEPTH {
            show(frame);
            let Row::Step { from_bp, offset, saved_bp } = self.row(frame.pc) else {
                return;
            };
            let base = if from_bp { frame.bp } else { frame.sp };
            let cfa = base.wrapping_add_signed(offset as isize);
            // The stack grows down: a frame that does not lie above its callee is a mistake.
            if cfa <= frame.sp || cfa > limit {
                return;
            }
            // SAFETY: the rows describe the code that is running on this stack, and cfa lies between a frame
            // that is active and the frame of the pass manager.
            let pc = unsafe { *((cfa - 8) as *const usize) };
            let bp = match saved_bp {
                // SAFETY: as above.
                Some(at) => unsafe { *(cfa.wrapping_add_signed(at as isize) as *const usize) },
                None => frame.bp,
            };
            frame = Frame { pc, sp: cfa, bp };
        }
    }

    fn row(&mut self, pc: usize) -> Row {
        if let Some(&row) = self.rows.get(&pc) {
            return row;
        }
        // The row of the call itself: a call that does not return may be the last instruction of a function.
        let row = self.read_row(pc.wrapping_sub(1)).unwrap_or(Row::End);
        self.rows.insert(pc, row);
        row
    }

    fn read_row(&mut self, pc: usize) -> Option<Row> {
        if !self.modules.iter().any(|m| m.start <= pc && pc < m.end) {
            self.modules = loaded_modules();
        }
        let module = self.modules.iter().find(|m| m.start <= pc && pc < m.end)?;
        let table = module.header.table()?;
        let fde = table
            .fde_for_address(&module.eh_frame, &module.bases, pc as u64, EhFrame::cie_from_offset)
            .ok()?;
        let row = fde
            .unwind_info_for_address(&module.eh_frame, &module.bases, &mut self.context, pc as u64)
            .ok()?;
        let (register, offset) = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => (*register, i32::try_from(*offset).ok()?),
            CfaRule::Expression(_) => return None,
        };
        let from_bp = match register {
            X86_64::RSP => false,
            X86_64::RBP => true,
            _ => return None,
        };
        let saved_bp = match row.register(X86_64::RBP) {
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => None,
            Some(RegisterRule::Offset(at)) => Some(i32::try_from(at).ok()?),
            Some(_) => return None,
        };
        match row.register(X86_64::RA) {
            Some(RegisterRule::Offset(-8)) => Some(Row::Step { from_bp, offset, saved_bp }),
            _ => None,
        }
    }
}

fn loaded_modules() -> Vec<Module> {
    let mut modules: Vec<Module> = Vec::new();
    // SAFETY: the callback gets the vector that is passed along and keeps nothing else.
    unsafe { libc::dl_iterate_phdr(Some(add_module), std::ptr::from_mut(&mut modules).cast()) };
    modules
}

extern "C" fn add_module(info: *mut libc::dl_phdr_info, _size: usize, out: *mut c_void) -> c_int {
    // SAFETY: called by dl_iterate_phdr with its own structure and our vector.
    let (info, modules) = unsafe { (&*info, &mut *out.cast::<Vec<Module>>()) };
    // SAFETY: the loader vouches for the array.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    modules.extend(describe(info.dlpi_addr as usize, headers));
    0
}

fn describe(bias: usize, headers: &[libc::Elf64_Phdr]) -> Option<Module> {
    let range = |h: &libc::Elf64_Phdr| {
        let start = bias + h.p_vaddr as usize;
        start..start + h.p_memsz as usize
    };
    let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let text = loads().find(|h| h.p_flags & libc::PF_X != 0).map(range)?;
    let header = headers.iter().find(|h| h.p_type == libc::PT_GNU_EH_FRAME).map(range)?;
    let data = loads().map(range).find(|r| r.contains(&header.start))?;
    // SAFETY: both lie in a loaded, readable segment of a module that is never unloaded: LLVM keeps its
    // plugins, and its own libraries are dependencies of the program.
    let bytes = |start: usize, end: usize| unsafe {
        EndianSlice::new(std::slice::from_raw_parts(start as *const u8, end - start), LittleEndian)
    };
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.start as u64);
    let parsed = EhFrameHdr::from(bytes(header.start, header.end)).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(frames) = parsed.eh_frame_ptr() else {
        return None;
    };
    let frames = usize::try_from(frames).ok().filter(|at| data.contains(at))?;
    let bases = bases.set_eh_frame(frames as u64);
    let eh_frame = EhFrame::from(bytes(frames, data.end));
    Some(Module { start: text.start, end: text.end, eh_frame, header: parsed, bases })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn stack_here() -> Vec<usize> {
        let mut unwinder = Unwinder::new();
        let mut frames = Vec::new();
        let frame: usize;
        // SAFETY: reads rbp; tests are compiled with frame pointers only if asked, so take rsp at a call instead.
        unsafe { std::arch::asm!("lea {}, [rip]", out(reg) frame) };
        let sp: usize;
        // SAFETY: reads rsp.
        unsafe { std::arch::asm!("mov {}, rsp", out(reg) sp) };
        let bp: usize;
        // SAFETY: reads rbp.
        unsafe { std::arch::asm!("mov {}, rbp", out(reg) bp) };
        // SAFETY: the frame of this very function, which is active.
        unsafe { unwinder.walk(Frame { pc: frame, sp, bp }, usize::MAX, |frame| frames.push(frame.pc)) };
        frames
    }

    #[inline(never)]
    fn one_more_call() -> Vec<usize> {
        let frames = stack_here();
        std::hint::black_box(frames)
    }

    #[test]
    fn a_deeper_call_has_one_more_frame_and_the_same_callers() {
        let (direct, nested) = (stack_here(), one_more_call());
        assert!(direct.len() > 3, "{direct:x?}");
        assert_eq!(nested.len(), direct.len() + 1);
        // All but the innermost frames (and the line of this test that made the call) agree.
        assert_eq!(nested[3..], direct[2..]);
    }
}
