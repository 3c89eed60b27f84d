//! Ctrl-C: every child that is running is killed, and everybody who asks is told.
//!
//! The handler may only do what is safe inside a signal handler: it sets a flag and sends signals to the
//! children in a fixed table. All the rest (deleting temporary files, the message, status 2) happens by
//! returning [`crate::Error::Interrupted`] through the callers, so that destructors run.
//!
//! Invariant: a child is in the table only while its process id cannot have been given to another process,
//! that is, from its start until just before it is reaped.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

const SLOTS: usize = 256;
const FREE: i32 = 0;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static CHILDREN: [AtomicI32; SLOTS] = [const { AtomicI32::new(FREE) }; SLOTS];

/// From now on SIGINT, SIGTERM and SIGHUP end the children and make [`interrupted`] true. A second signal
/// ends this process at once, with status 2. Signals that we were started to ignore (`nohup`) stay ignored.
pub fn install() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: `on_signal` only touches atomics and calls `kill` and `_exit`, which are
        // async-signal-safe; the zeroed sigaction is a valid one with an empty mask.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// True once the user has asked for an end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// `Err(Interrupted)` once the user has asked for an end: for loops that run no child.
pub fn check() -> crate::Result<()> {
    if interrupted() { Err(crate::Error::Interrupted) } else { Ok(()) }
}

extern "C" fn on_signal(_: libc::c_int) {
    if INTERRUPTED.swap(true, Ordering::SeqCst) {
        // SAFETY: `_exit` is async-signal-safe.
        unsafe { libc::_exit(2) }
    }
    for slot in &CHILDREN {
        let target = slot.load(Ordering::SeqCst);
        if target != FREE {
            kill(target);
        }
    }
}

/// Ends a process (`target > 0`) or a process group (`target < 0`). Safe in a signal handler.
pub(crate) fn kill(target: i32) {
    // SAFETY: `kill` takes two numbers; the callers' invariant is that the id is that of a child that has
    // not been reaped, so no stranger can be hit.
    unsafe {
        libc::kill(target, libc::SIGKILL);
    }
}

/// A running child's place in the table. Give it up before the child is reaped.
pub(crate) struct Registration(Option<usize>);

impl Registration {
    /// Enters a child; `target` as for [`kill`]. One that starts after the signal is killed here.
    pub(crate) fn new(target: i32) -> Registration {
        let slot = CHILDREN
            .iter()
            .position(|slot| slot.compare_exchange(FREE, target, Ordering::SeqCst, Ordering::SeqCst).is_ok());
        if interrupted() {
            kill(target);
        }
        Registration(slot)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(slot) = self.0 {
            CHILDREN[slot].store(FREE, Ordering::SeqCst);
        }
    }
}
