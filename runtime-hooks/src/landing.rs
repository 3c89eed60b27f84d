//! Where foreign code lands in Rust: no panic leaves, and no hook runs within a hook.
//!
//! Asking LLVM for a name may itself call hooked functions; such calls are not the pass's and are let
//! through unseen. A panic would be a bug of ours: it ends the observation, is said once, and leaves the
//! compiler alone.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::runs::RunStack;
use crate::session::Session;

static SESSION: Mutex<Option<Session>> = Mutex::new(None);
static BROKEN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static RUNS: RefCell<RunStack> = RefCell::new(RunStack::default());
}

/// Starts the session of this process.
pub fn start(session: Session) {
    if let Ok(mut slot) = SESSION.lock() {
        *slot = Some(session);
    }
}

/// Runs a hook with the session and the runs of this thread, unless one is running already.
pub fn land(hook: impl FnOnce(&mut Session, &mut RunStack)) {
    // During thread exit the locals are gone, and there is nothing left to observe.
    let Ok(false) = INSIDE.try_with(|inside| inside.replace(true)) else {
        return;
    };
    if !BROKEN.load(Ordering::Relaxed) {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let Ok(mut session) = SESSION.lock() else {
                return;
            };
            let Some(session) = session.as_mut() else {
                return;
            };
            let _ = RUNS.try_with(|runs| {
                let runs = &mut runs.borrow_mut();
                session.finish_insertion(runs);
                hook(session, runs);
            });
        }));
        if outcome.is_err() && !BROKEN.swap(true, Ordering::Relaxed) {
            eprintln!("metaloc: internal error, observation ends here; what was found before is reported");
        }
    }
    let _ = INSIDE.try_with(|inside| inside.set(false));
}

/// The last word, when the process ends and the thread's own state may be gone already.
pub fn finish(report: impl FnOnce(&mut Session)) {
    let _ = INSIDE.try_with(|inside| inside.set(true));
    let _ = catch_unwind(AssertUnwindSafe(|| {
        if let Ok(mut session) = SESSION.lock()
            && let Some(mut session) = session.take()
        {
            report(&mut session);
        }
    }));
}

/// True after a panic: the report is not complete.
pub fn broken() -> bool {
    BROKEN.load(Ordering::Relaxed)
}
