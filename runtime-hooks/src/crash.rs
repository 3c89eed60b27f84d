//! What is still said when the compiler dies of a signal.
//!
//! In a signal handler nothing may allocate or lock. So every error is rendered when it is found and put on
//! a list that only grows; the handler writes the pieces one after the other with `write(2)`.

use std::ffi::{CString, c_void};
use std::fmt::Write as _;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use metaloc_report::{Confidence, Error, Stats, text};

use crate::ffi;
use crate::output::{self, Output, Target};

/// Errors that a crash report can hold; more sites than this have never been seen in one process.
const CAPACITY: usize = 8192;

static PIECES: [AtomicPtr<Box<[u8]>>; CAPACITY] = [const { AtomicPtr::new(std::ptr::null_mut()) }; CAPACITY];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static PASS_RUNS: AtomicU64 = AtomicU64::new(0);
static CHANGED_RUNS: AtomicU64 = AtomicU64::new(0);
static EVENTS: AtomicU64 = AtomicU64::new(0);
static JUDGED: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicBool = AtomicBool::new(false);
static PREPARED: OnceLock<Prepared> = OnceLock::new();

/// All that the handler needs, made while allocating is allowed.
struct Prepared {
    json: bool,
    head: Vec<u8>,
    files: Option<(CString, CString)>,
}

/// Asks LLVM to call us when the process dies.
pub fn install() {
    // SAFETY: the handler below allocates and locks nothing.
    unsafe { ffi::metaloc_on_crash(on_crash) };
}

/// The name of the input is known: now the output's name is, too.
pub fn note_input(input: &str) {
    PREPARED.get_or_init(|| {
        // SAFETY: a string literal of the shim.
        let llvm = unsafe { ffi::metaloc_llvm_version().text() };
        match Output::of_environment().target(input) {
            Target::Stderr => Prepared {
                json: false,
                head: b"metaloc: the compiler crashed; found until then:\n".to_vec(),
                files: None,
            },
            Target::File(path) => {
                let name = |p: &std::path::Path| CString::new(p.as_os_str().as_encoded_bytes()).ok();
                let head = format!(
                    "{{\"schema\":\"{}\",\"llvm\":\"{llvm}\",\"complete\":false,\"errors\":[",
                    metaloc_report::SCHEMA
                );
                let files = name(&output::temporary(&path)).zip(name(&path));
                Prepared { json: true, head: head.into_bytes(), files }
            }
        }
    });
}

/// An error was found for the first time.
pub fn note_error(error: &Error) {
    let Some(prepared) = PREPARED.get() else {
        return;
    };
    let piece = if prepared.json {
        serde_json::to_vec(error).unwrap_or_default()
    } else if error.confidence == Confidence::Note {
        return;
    } else {
        text::render_error(error).into_bytes()
    };
    let index = COUNT.load(Ordering::Relaxed);
    if index < CAPACITY {
        // Leaked on purpose: the handler may read it at any later time.
        let piece = Box::into_raw(Box::new(piece.into_boxed_slice()));
        PIECES[index].store(piece, Ordering::Release);
        COUNT.store(index + 1, Ordering::Release);
    }
}

/// The counts as of now.
pub fn note_stats(stats: &Stats) {
    PASS_RUNS.store(stats.pass_runs, Ordering::Relaxed);
    CHANGED_RUNS.store(stats.changed_runs, Ordering::Relaxed);
    EVENTS.store(stats.events, Ordering::Relaxed);
    JUDGED.store(stats.judged, Ordering::Relaxed);
}

/// The document was written the ordinary way: a crash from now on has nothing to add.
pub fn finished() {
    DONE.store(true, Ordering::Release);
}

extern "C" fn on_crash(_: *mut c_void) {
    let Some(prepared) = PREPARED.get() else {
        return;
    };
    if DONE.swap(true, Ordering::AcqRel) {
        return;
    }
    let Some((temporary, path)) = &prepared.files else {
        write_document(libc::STDERR_FILENO, prepared);
        return;
    };
    // SAFETY: open, close and rename are async-signal-safe; the strings live as long as the process.
    unsafe {
        let file = libc::open(temporary.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o644);
        if file >= 0 {
            write_document(file, prepared);
            libc::close(file);
            libc::rename(temporary.as_ptr(), path.as_ptr());
        }
    }
}

fn write_document(file: i32, prepared: &Prepared) {
    write_all(file, &prepared.head);
    for (index, piece) in PIECES.iter().take(COUNT.load(Ordering::Acquire)).enumerate() {
        if prepared.json && index > 0 {
            write_all(file, b",");
        }
        // SAFETY: stored before the count was raised, and never freed.
        if let Some(piece) = unsafe { piece.load(Ordering::Acquire).as_ref() } {
            write_all(file, piece);
        }
    }
    if prepared.json {
        let mut tail = Tail::default();
        let _ = writeln!(
            tail,
            "],\"passes\":[],\"not_run\":[],\"stats\":{{\"inputs\":1,\"pass_runs\":{},\"changed_runs\":{},\"events\":{},\"judged\":{},\"seconds\":0.0}}}}",
            PASS_RUNS.load(Ordering::Relaxed),
            CHANGED_RUNS.load(Ordering::Relaxed),
            EVENTS.load(Ordering::Relaxed),
            JUDGED.load(Ordering::Relaxed),
        );
        write_all(file, &tail.bytes[..tail.len]);
    }
}

fn write_all(file: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: write is async-signal-safe and gets a valid range.
        let written = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(count) => bytes = &bytes[count..],
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Formatting without allocation.
struct Tail {
    bytes: [u8; 512],
    len: usize,
}

impl Default for Tail {
    fn default() -> Self {
        Tail { bytes: [0; 512], len: 0 }
    }
}

impl std::fmt::Write for Tail {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.get_mut(self.len..self.len + text.len()).ok_or(std::fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.len += text.len();
        Ok(())
    }
}
