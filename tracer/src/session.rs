//! One program under one debugger.
//!
//! The debugger runs beside us with a script inside that answers our requests (see [`crate::protocol`]). Its own
//! output goes to a file, which is read only to say what it said last when it died.
//!
//! Invariant: after an error other than [`Error::Refused`] the debugger is dead, and its program with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use metaloc_toolchain::interrupt;
use metaloc_toolchain::process::{Exit, Running, Sink};

use crate::debugger::Debugger;
use crate::program::Program;
use crate::protocol::{self, Answer, By, Frame, Request, Stop, Want};
use crate::{Error, Result};

/// The largest answer: 1 MiB of memory in hexadecimal, several times over.
const LONGEST_ANSWER: u64 = 64 << 20;
/// How often a waiting session looks whether the user wants an end.
const GLANCE: Duration = Duration::from_millis(200);

/// How long a session waits.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For the debugger to come up.
    pub start: Duration,
    /// For one answer.
    pub answer: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { start: Duration::from_secs(60), answer: Duration::from_secs(60) }
    }
}

/// How a motion ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// The program stopped.
    Stopped(Stop),
    /// It ended with this status.
    Exited(i64),
    /// A signal ended it.
    Killed(i64),
}

impl Moved {
    /// The stop, if it is one.
    pub fn stop(self) -> Option<Stop> {
        match self {
            Moved::Stopped(stop) => Some(stop),
            Moved::Exited(_) | Moved::Killed(_) => None,
        }
    }
}

/// A program under a debugger.
#[derive(Debug)]
pub struct Session {
    debugger: &'static str,
    program: PathBuf,
    limits: Limits,
    bias: u64,
    version: String,
    stream: BufReader<UnixStream>,
    running: Running,
    folder: tempfile::TempDir,
}

impl Session {
    /// Starts a program, which stands at its very first instruction then.
    pub fn start(
        debugger: &dyn Debugger,
        program: &Program,
        args: &[String],
        limits: Limits,
    ) -> Result<Session> {
        debugger.find()?;
        let folder = tempfile::Builder::new()
            .prefix("metaloc-")
            .tempdir()
            .map_err(Error::io("a folder for the debugger"))?;
        let script = folder.path().join(format!("{}_side.py", debugger.name()));
        std::fs::write(&script, debugger.script()).map_err(Error::io("the debugger's script"))?;
        std::fs::write(folder.path().join("session.py"), include_str!("scripts/session.py"))
            .map_err(Error::io("the debugger's script"))?;
        let listener =
            UnixListener::bind(folder.path().join("socket")).map_err(Error::io("the debugger's socket"))?;
        let log = folder.path().join("log");
        let task = debugger
            .task(&script)
            .env("METALOC_SESSION", folder.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("DEBUGINFOD_URLS", "")
            .env("LC_ALL", "C.UTF-8")
            // gdb starts its program through it.
            .env("SHELL", "/bin/sh")
            .stdout(Sink::File(log.clone()))
            .stderr(Sink::File(folder.path().join("complaints")));
        let mut running = task.start()?;
        let stream = accept(&listener, &mut running, limits.start)?;
        let lost = |running: &mut Running| {
            let exit = settle(running);
            let said = last_words(folder.path());
            Error::Died { debugger: debugger.name(), program: program.path().to_owned(), exit, said }
        };
        let Some(stream) = stream else { return Err(lost(&mut running)) };
        let mut session = Session {
            debugger: debugger.name(),
            program: program.path().to_owned(),
            limits,
            bias: 0,
            version: String::new(),
            stream: BufReader::new(stream),
            running,
            folder,
        };
        session.begin(program, args)?;
        Ok(session)
    }

    fn begin(&mut self, program: &Program, args: &[String]) -> Result<()> {
        match self.receive("hello", self.limits.start)? {
            Answer::Hello { debugger, version } if debugger == self.debugger => self.version = version,
            other => return Err(self.unexpected("hello", &other)),
        }
        let path = program.path().canonicalize().map_err(Error::io("the program's path"))?;
        let here = std::env::current_dir().map_err(Error::io("the current folder"))?;
        let request = Request::Start {
            program: &path.to_string_lossy(),
            args,
            folder: &here.to_string_lossy(),
            entry: program.entry(),
            word_bytes: program.word_bytes(),
            cpu: next_cpu(),
        };
        match self.ask(&request)? {
            Answer::Started { bias, process } => {
                self.bias = bias;
                // lldb leaves a program behind when it is killed.
                self.running.charge(Some(process));
            }
            other => return Err(self.unexpected("start", &other)),
        }
        Ok(())
    }

    /// What the debugger says of its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Address in memory less address in the file.
    pub fn bias(&self) -> u64 {
        self.bias
    }

    /// Stops at these addresses from now on.
    pub fn break_at(&mut self, addresses: &[u64]) -> Result<()> {
        self.done(&Request::Break { addresses })
    }

    /// Stops where the debugger thinks that a line begins; where that is.
    pub fn break_line(&mut self, file: &str, line: u32) -> Result<Vec<u64>> {
        match self.ask(&Request::BreakLine { file, line })? {
            Answer::Broken(addresses) => Ok(addresses),
            other => Err(self.unexpected("break by line", &other)),
        }
    }

    /// No longer stops at these addresses.
    pub fn remove(&mut self, addresses: &[u64]) -> Result<()> {
        self.done(&Request::Remove { addresses })
    }

    /// Goes on so many times at these addresses, which have breakpoints.
    pub fn ignore(&mut self, addresses: &[u64], times: u32) -> Result<()> {
        self.done(&Request::Ignore { addresses, times })
    }

    /// How often the program came to these addresses since they are ignored, a stop there included; it stops at them again.
    pub fn passed(&mut self, addresses: &[u64]) -> Result<Vec<u64>> {
        match self.ask(&Request::Passed { addresses })? {
            Answer::Counted(hits) if hits.len() == addresses.len() => Ok(hits),
            other => Err(self.unexpected("passed", &other)),
        }
    }

    /// The memory that a digest is wanted of.
    pub fn watch(&mut self, ranges: &[(u64, u64)]) -> Result<()> {
        self.done(&Request::Watch { ranges })
    }

    /// Runs to the next breakpoint, or to the end.
    pub fn resume(&mut self, want: Want) -> Result<Moved> {
        self.motion(&Request::Resume { want })
    }

    /// One step.
    pub fn step(&mut self, by: By, want: Want) -> Result<Moved> {
        self.motion(&Request::Step { by, want })
    }

    /// Where the program is.
    pub fn look(&mut self, want: Want) -> Result<Stop> {
        match self.ask(&Request::Look { want })? {
            Answer::Stopped(stop) => Ok(stop),
            other => Err(self.unexpected("look", &other)),
        }
    }

    /// Memory of the program.
    pub fn memory(&mut self, address: u64, length: u64) -> Result<Vec<u8>> {
        match self.ask(&Request::Memory { address, length })? {
            Answer::Memory(bytes) if bytes.len() as u64 == length => Ok(bytes),
            other => Err(self.unexpected("memory", &other)),
        }
    }

    /// The active functions of the user, innermost first.
    pub fn backtrace(&mut self) -> Result<Vec<Frame>> {
        match self.ask(&Request::Backtrace)? {
            Answer::Frames(frames) => Ok(frames),
            other => Err(self.unexpected("backtrace", &other)),
        }
    }

    /// Runs to the end of the program; how often it came to each of these addresses, which have no breakpoints.
    pub fn count(&mut self, addresses: &[u64]) -> Result<Vec<u64>> {
        match self.ask(&Request::Count { addresses })? {
            Answer::Counted(hits) if hits.len() == addresses.len() => {
                self.running.charge(None);
                Ok(hits)
            }
            other => Err(self.unexpected("count", &other)),
        }
    }

    fn done(&mut self, request: &Request<'_>) -> Result<()> {
        match self.ask(request)? {
            Answer::Done => Ok(()),
            other => Err(self.unexpected(request.name(), &other)),
        }
    }

    fn motion(&mut self, request: &Request<'_>) -> Result<Moved> {
        let answer = self.ask(request)?;
        if matches!(answer, Answer::Exited(_) | Answer::Killed(_)) {
            self.running.charge(None);
        }
        match answer {
            Answer::Stopped(stop) => Ok(Moved::Stopped(stop)),
            Answer::Exited(code) => Ok(Moved::Exited(code)),
            Answer::Killed(signal) => Ok(Moved::Killed(signal)),
            other => Err(self.unexpected(request.name(), &other)),
        }
    }

    fn ask(&mut self, request: &Request<'_>) -> Result<Answer> {
        let mut line = serde_json::to_vec(request).map_err(|reason| self.broken(request.name(), reason))?;
        line.push(b'\n');
        if self.stream.get_mut().write_all(&line).is_err() {
            return Err(self.died());
        }
        match self.receive(request.name(), self.limits.answer)? {
            Answer::Failed(reason) => Err(Error::Refused {
                debugger: self.debugger,
                program: self.program.clone(),
                request: request.name(),
                reason,
            }),
            answer => Ok(answer),
        }
    }

    fn receive(&mut self, request: &'static str, limit: Duration) -> Result<Answer> {
        let begun = Instant::now();
        let mut line = Vec::new();
        loop {
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                self.running.kill();
                return Err(Error::Timeout {
                    debugger: self.debugger,
                    program: self.program.clone(),
                    request,
                    seconds: limit.as_secs(),
                });
            }
            interrupt::check()?;
            let patience = left.min(GLANCE);
            self.stream
                .get_ref()
                .set_read_timeout(Some(patience))
                .map_err(Error::io("the debugger's socket"))?;
            match self.stream.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut line) {
                Ok(0) => return Err(self.died()),
                Ok(_) if line.ends_with(b"\n") => break,
                // The debugger was cut off in the middle of a word.
                Ok(_) => return Err(self.died()),
                Err(error) if is_late(&error) => {}
                Err(_) => return Err(self.died()),
            }
        }
        protocol::parse(&line).map_err(|reason| self.broken(request, reason))
    }

    /// The socket is closed: what became of the debugger.
    fn died(&mut self) -> Error {
        let exit = settle(&mut self.running);
        let said = last_words(self.folder.path());
        Error::Died { debugger: self.debugger, program: self.program.clone(), exit, said }
    }

    fn unexpected(&mut self, request: &'static str, answer: &Answer) -> Error {
        let answer: String = format!("{answer:?}").chars().take(80).collect();
        self.broken(request, format!("not an answer to that: {answer}"))
    }

    fn broken(&mut self, request: &'static str, reason: impl ToString) -> Error {
        self.running.kill();
        let reason = reason.to_string();
        Error::Protocol { debugger: self.debugger, program: self.program.clone(), request, reason }
    }
}

/// The script's connection; none if the debugger ended or did not connect in time.
fn accept(listener: &UnixListener, running: &mut Running, limit: Duration) -> Result<Option<UnixStream>> {
    listener.set_nonblocking(true).map_err(Error::io("the debugger's socket"))?;
    let begun = Instant::now();
    while begun.elapsed() < limit {
        interrupt::check()?;
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(Error::io("the debugger's socket"))?;
                return Ok(Some(stream));
            }
            Err(_) if running.ended().is_some() => return Ok(None),
            Err(error) if is_late(&error) => std::thread::sleep(Duration::from_millis(2)),
            Err(error) => return Err(Error::Io { what: "the debugger's socket", reason: error }),
        }
    }
    Ok(None)
}

fn is_late(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// How a debugger ended that has closed its socket, or is ended now.
fn settle(running: &mut Running) -> Exit {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        if let Some(exit) = running.ended() {
            return exit;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill()
}

fn last_words(folder: &Path) -> String {
    let text = std::fs::read(folder.join("complaints")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join("; ")
}

/// Sessions take turns on the cores.
fn next_cpu() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
