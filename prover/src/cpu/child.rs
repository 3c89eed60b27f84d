//! Runs single instructions in a child process. The child maps its own code and data pages at fixed
//! addresses, loads the whole register state, jumps to the instruction, and catches what comes next: the
//! `int3` bytes that fill the code page, or a fault. The signal handler takes the state from its context, so
//! one mechanism serves completed instructions, jumps and faults.
//!
//! The child is forked, not started: it must not allocate or lock, as another thread of the parent may have
//! held a lock when it was forked. It touches only memory that it mapped or that the parent shares with it.

use crate::x86::Mode;
use std::mem::size_of;
use std::ptr;

/// Where the instruction is placed.
pub(super) const TEST_PC: u64 = CODE + 0x800;
/// Targets of jumps lie from here to the end of the code page: all `int3`.
pub(super) const LANDING: std::ops::Range<u64> = CODE + 0xa00..CODE + 0xf00;
/// The one readable and writable page; nothing is mapped before or after it.
pub(super) const DATA: u64 = 0x1200_0000;
/// Size of a page.
pub(super) const PAGE: u64 = 4096;
/// The bytes of the data page that samples fill: its last ones. The others are 0.
pub(super) const WINDOW: usize = 256;

// Odd distances from the data page: registers hold sums of corner values, and none of these may lead from
// one page to another, as the concrete domain knows of the data page only.
const CONTEXT: u64 = 0x1c6a_b000;
const CODE: u64 = 0x1a35_7000;
const EXIT: u64 = CODE + 0x400;
/// Ends a child that hangs.
const TIME_LIMIT_SECONDS: u32 = 60;

/// An instruction and the state that it starts in.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Input {
    pub(super) general: [u64; 16],
    pub(super) vector: [u128; 16],
    pub(super) flags: u64,
    pub(super) code: [u8; 16],
    pub(super) window: [u8; WINDOW],
}

/// The state afterwards.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Output {
    pub(super) general: [u64; 16],
    pub(super) vector: [u128; 16],
    pub(super) flags: u64,
    /// Where control is: behind the `int3` that was hit, or at the instruction that faulted.
    pub(super) pc: u64,
    /// Number of the exception.
    pub(super) trap: u64,
    pub(super) window: [u8; WINDOW],
    /// Whether a byte of the data page outside of the window changed.
    pub(super) stray: u64,
}

/// What the entry code reads and the handler uses; at the address [`CONTEXT`].
#[repr(C)]
struct Shared {
    vector: [u128; 16],
    general: [u64; 16],
    flags: u64,
    host_rsp: u64,
    output: *mut Output,
    /// Offset and selector of the test place, for a jump to 32-bit code.
    far: [u8; 6],
}

/// Linux's segments: 64-bit code, 32-bit code in a 64-bit process, and data.
const CODE_SEGMENT: i64 = 0x33;
const NARROW_CODE_SEGMENT: u8 = 0x23;
const DATA_SEGMENT: u8 = 0x2b;
const FAR: [u8; 6] = {
    let [a, b, c, d] = (TEST_PC as u32).to_le_bytes();
    [a, b, c, d, NARROW_CODE_SEGMENT, 0]
};

/// Why the processor could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// A system call failed.
    #[error("{call}: {error}")]
    System {
        /// Which.
        call: &'static str,
        /// What it said.
        error: std::io::Error,
    },
    /// The child ended otherwise than it should.
    #[error("the child process ended with wait status {status:#x}")]
    Died {
        /// As from waitpid.
        status: i32,
    },
}

fn system(call: &'static str) -> ChildError {
    ChildError::System { call, error: std::io::Error::last_os_error() }
}

/// Whether the kernel lets a process run code of a mode: one without IA32 may refuse the code segment.
pub fn runs_in(mode: Mode) -> bool {
    let mut nop =
        Input { general: [0; 16], vector: [0; 16], flags: 0x202, code: [0xcc; 16], window: [0; WINDOW] };
    nop.code[0] = 0x90;
    run(mode, &[nop]).is_ok_and(|outputs| outputs[0].pc == TEST_PC + 2 && outputs[0].trap == 3)
}

/// Runs all inputs, each from its own state.
pub(super) fn run(mode: Mode, inputs: &[Input]) -> Result<Vec<Output>, ChildError> {
    let code = entry_code(mode);
    let bytes = inputs.len() * size_of::<Output>();
    if bytes == 0 {
        return Ok(Vec::new());
    }
    // SAFETY: a fresh anonymous mapping at an address that the kernel chooses, unmapped below.
    let shared = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if shared == libc::MAP_FAILED {
        return Err(system("mmap"));
    }
    let outputs = shared.cast::<Output>();
    // SAFETY: the child only runs `child_main`, which neither allocates nor locks and does not return.
    let pid = unsafe { libc::fork() };
    let result = match pid {
        -1 => Err(system("fork")),
        // SAFETY: this is the child, alone with its copy of `inputs` and `code` and the shared `outputs`.
        0 => unsafe { child_main(inputs, &code, outputs) },
        _ => wait(pid),
    };
    // SAFETY: the mapping has room for this many outputs, is zeroed by the kernel, and any bytes are valid
    // for `Output`; it is not used after being unmapped.
    let found = unsafe {
        let found = std::slice::from_raw_parts(outputs, inputs.len()).to_vec();
        libc::munmap(shared, bytes);
        found
    };
    result.map(|()| found)
}

fn wait(pid: libc::pid_t) -> Result<(), ChildError> {
    let mut status = 0;
    loop {
        // SAFETY: `status` is a valid place for the result.
        let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
        if waited == pid {
            return if status == 0 { Ok(()) } else { Err(ChildError::Died { status }) };
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(ChildError::System { call: "waitpid", error });
        }
    }
}

/// Code that loads the state from [`CONTEXT`] and jumps to [`TEST_PC`], in 32-bit mode through the code segment
/// that Linux has for it. All addresses are below 2^31, so
/// absolute 32-bit displacements reach them with every register in use.
fn entry_code(mode: Mode) -> Vec<u8> {
    const SAVED: [u8; 6] = [3, 5, 12, 13, 14, 15];
    let at = |offset: usize| ((CONTEXT as usize + offset) as u32).to_le_bytes();
    let mut code = Vec::new();
    for register in SAVED {
        code.extend(if register < 8 { vec![0x50 + register] } else { vec![0x41, 0x50 + register - 8] });
    }
    if mode == Mode::Bits32 {
        // mov eax, DATA_SEGMENT; mov ds, eax; mov es, eax: 64-bit code has none, and 32-bit code needs it.
        code.extend([0xb8, DATA_SEGMENT, 0, 0, 0, 0x8e, 0xd8, 0x8e, 0xc0]);
    }
    // mov [host_rsp], rsp; push [flags]; popfq
    code.extend([0x48, 0x89, 0x24, 0x25]);
    code.extend(at(std::mem::offset_of!(Shared, host_rsp)));
    code.extend([0xff, 0x34, 0x25]);
    code.extend(at(std::mem::offset_of!(Shared, flags)));
    code.push(0x9d);
    for register in 0..16u8 {
        // movups xmm, [vector + 16 * register]
        code.extend([0x40 | (register >> 3 << 2), 0x0f, 0x10, (register & 7) << 3 | 4, 0x25]);
        code.extend(at(std::mem::offset_of!(Shared, vector) + 16 * usize::from(register)));
    }
    for register in (0..16u8).filter(|register| *register != 4).chain([4]) {
        // mov register, [general + 8 * register]; rsp last
        code.extend([0x48 | (register >> 3 << 2), 0x8b, (register & 7) << 3 | 4, 0x25]);
        code.extend(at(std::mem::offset_of!(Shared, general) + 8 * usize::from(register)));
    }
    match mode {
        Mode::Bits64 => {
            code.push(0xe9);
            let next = CODE + code.len() as u64 + 4;
            code.extend((TEST_PC.wrapping_sub(next) as u32).to_le_bytes());
        }
        Mode::Bits32 => {
            // jmp far [far]
            code.extend([0xff, 0x2c, 0x25]);
            code.extend(at(std::mem::offset_of!(Shared, far)));
        }
    }
    code
}

/// Pops what the entry code pushed and returns to its caller.
const EXIT_CODE: [u8; 12] = [0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xfc, 0xc3];

/// Runs everything and ends the process.
///
/// # Safety
/// To be called in a freshly forked child only; `outputs` has room for as many outputs as there are inputs.
unsafe fn child_main(inputs: &[Input], code: &[u8], outputs: *mut Output) -> ! {
    // SAFETY: the mappings are made before they are written; `outputs` is what the caller promises.
    unsafe {
        libc::alarm(TIME_LIMIT_SECONDS);
        prepare(code);
        let shared = CONTEXT as *mut Shared;
        let enter: extern "C" fn() = std::mem::transmute(CODE as usize);
        for (number, input) in inputs.iter().enumerate() {
            let output = outputs.add(number);
            (*shared).vector = input.vector;
            (*shared).general = input.general;
            (*shared).flags = input.flags;
            (*shared).output = output;
            (*shared).far = FAR;
            ptr::copy_nonoverlapping(input.code.as_ptr(), TEST_PC as *mut u8, input.code.len());
            let window = (DATA + PAGE - WINDOW as u64) as *mut u8;
            ptr::copy_nonoverlapping(input.window.as_ptr(), window, WINDOW);
            enter();
            ptr::copy_nonoverlapping(window, (*output).window.as_mut_ptr(), WINDOW);
            (*output).stray = clear_strays();
        }
        libc::_exit(0);
    }
}

/// Whether a byte before the window is not 0; makes them 0 again.
///
/// # Safety
/// The data page must be mapped.
unsafe fn clear_strays() -> u64 {
    let words = (PAGE as usize - WINDOW) / 8;
    // SAFETY: these words lie in the data page and are aligned.
    let page = unsafe { std::slice::from_raw_parts_mut(DATA as *mut u64, words) };
    let stray = page.iter().any(|word| *word != 0);
    if stray {
        page.fill(0);
    }
    u64::from(stray)
}

/// Maps the pages and installs the handler; ends the child if that fails.
///
/// # Safety
/// To be called in the child only.
unsafe fn prepare(code: &[u8]) {
    const STACK: usize = 64 * 1024;
    // SAFETY: the mappings do not replace others; the handler and its stack live as long as the process.
    unsafe {
        let readable = libc::PROT_READ | libc::PROT_WRITE;
        map(CONTEXT, PAGE as usize, readable);
        map(CODE, PAGE as usize, readable | libc::PROT_EXEC);
        map(DATA, PAGE as usize, readable);
        ptr::write_bytes(CODE as *mut u8, 0xcc, PAGE as usize);
        ptr::copy_nonoverlapping(code.as_ptr(), CODE as *mut u8, code.len());
        ptr::copy_nonoverlapping(EXIT_CODE.as_ptr(), EXIT as *mut u8, EXIT_CODE.len());
        map(CONTEXT + 0x10_0000, STACK, readable);
        let stack =
            libc::stack_t { ss_sp: (CONTEXT + 0x10_0000) as *mut libc::c_void, ss_flags: 0, ss_size: STACK };
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        let mut failed = libc::sigaltstack(&stack, ptr::null_mut()) != 0;
        for signal in [libc::SIGTRAP, libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
            failed |= libc::sigaction(signal, &action, ptr::null_mut()) != 0;
        }
        if failed {
            libc::_exit(4);
        }
    }
}

/// # Safety
/// To be called in the child only.
unsafe fn map(address: u64, bytes: usize, protection: i32) {
    // SAFETY: MAP_FIXED_NOREPLACE fails rather than replace a mapping.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let mapped = libc::mmap(address as *mut libc::c_void, bytes, protection, flags, -1, 0);
        if mapped as u64 != address {
            libc::_exit(5);
        }
    }
}

/// Takes the state of the interrupted code and makes it go on at [`EXIT`].
extern "C" fn on_signal(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    const ORDER: [i32; 16] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    // SAFETY: the kernel gives a valid context; the shared page was mapped before the handler was installed,
    // and its `output` was set before the code under test was entered.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        let shared = CONTEXT as *mut Shared;
        let output = (*shared).output;
        if output.is_null() {
            libc::_exit(6);
        }
        let registers = &mut context.uc_mcontext.gregs;
        for (number, name) in ORDER.iter().enumerate() {
            (*output).general[number] = registers[*name as usize] as u64;
        }
        let floats = &*context.uc_mcontext.fpregs;
        for number in 0..16 {
            let words = floats._xmm[number].element;
            (*output).vector[number] = words.iter().rev().fold(0, |all, word| all << 32 | u128::from(*word));
        }
        (*output).flags = registers[libc::REG_EFL as usize] as u64;
        (*output).pc = registers[libc::REG_RIP as usize] as u64;
        (*output).trap = registers[libc::REG_TRAPNO as usize] as u64;
        let segments = &mut registers[libc::REG_CSGSFS as usize];
        *segments = *segments & !0xffff | CODE_SEGMENT;
        registers[libc::REG_RIP as usize] = EXIT as i64;
        registers[libc::REG_RSP as usize] = (*shared).host_rsp as i64;
        registers[libc::REG_EFL as usize] = 0x202;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(code: &[u8]) -> Input {
        let mut input = Input {
            general: std::array::from_fn(|number| 0x1111 * number as u64),
            vector: std::array::from_fn(|number| number as u128),
            flags: 0x202,
            code: [0xcc; 16],
            window: [7; WINDOW],
        };
        input.code[..code.len()].copy_from_slice(code);
        input
    }

    #[test]
    fn a_state_goes_through_unchanged() {
        let nop = input(&[0x90]);
        let output = run(Mode::Bits64, &[nop]).unwrap()[0];
        assert_eq!(output.general, nop.general);
        assert_eq!(output.vector, nop.vector);
        assert_eq!((output.pc, output.trap, output.stray), (TEST_PC + 2, 3, 0));
        assert_eq!(output.window, nop.window);
    }

    #[test]
    fn the_same_byte_is_another_instruction_in_32_bit_mode() {
        if !runs_in(Mode::Bits32) {
            eprintln!("skipped: this kernel runs no 32-bit code");
            return;
        }
        // inc eax; a prefix in 64-bit mode.
        let output = run(Mode::Bits32, &[input(&[0x40])]).unwrap()[0];
        assert_eq!((output.general[0], output.pc), (1, TEST_PC + 2));
        assert_eq!(run(Mode::Bits64, &[input(&[0x40])]).unwrap()[0].general[0], 0);
    }

    #[test]
    fn faults_are_results_and_the_next_input_runs() {
        // mov rax, [rax]; ud2; inc rax
        let outputs = run(
            Mode::Bits64,
            &[input(&[0x48, 0x8b, 0x00]), input(&[0x0f, 0x0b]), input(&[0x48, 0xff, 0xc0])],
        )
        .unwrap();
        assert_eq!([outputs[0].trap, outputs[1].trap, outputs[2].trap], [14, 6, 3]);
        assert_eq!(outputs[0].pc, TEST_PC);
        assert_eq!(outputs[2].general[0], 1);
    }
}
