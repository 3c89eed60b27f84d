//! A child process: what it is given, how it ended, what it printed and what it cost.
//!
//! The only place in the workspace that calls `Command::new` (see `clippy.toml`). Both pipes are drained
//! while the child runs, so it never blocks on a full one. A child whose standard input is not ours gets a
//! process group of its own: a timeout or ctrl-C ends whatever it started as well.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::interrupt::{self, Registration};
use crate::{Error, Result};

/// What to run. Arguments are passed as they are; no shell is involved.
#[derive(Debug, Clone)]
pub struct Task {
    program: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, Option<OsString>)>,
    stdin: Stdin,
    stdout: Sink,
    stderr: Sink,
    cwd: Option<PathBuf>,
    timeout: Option<Duration>,
    cpu_timeout: Option<Duration>,
    on_interrupt: i32,
}

/// Where a child reads from.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// Nothing.
    #[default]
    Null,
    /// A file.
    File(PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
    /// What this process reads from. The child then shares our process group, or a terminal would stop it.
    Inherit,
}

/// Where a child writes to.
#[derive(Debug, Clone, Default)]
pub enum Sink {
    /// Into [`Outcome`].
    #[default]
    Capture,
    /// Nowhere.
    Null,
    /// A file, which is created or cut to nothing.
    File(PathBuf),
    /// Where this process writes to.
    Inherit,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// It ended by itself with this status.
    Code(i32),
    /// A signal killed it: a crash, usually.
    Signal(i32),
    /// It took longer than it was allowed to, and was killed.
    Timeout(Duration),
}

/// What a child cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Time in the program and its libraries.
    pub user: Duration,
    /// Time in the kernel.
    pub system: Duration,
    /// Time on the clock.
    pub wall: Duration,
    /// Largest resident set. Linux starts counting at this process's own size at the time of the start, so
    /// figures below that are not seen: benchmark from a small process.
    pub max_rss_kib: u64,
}

impl Usage {
    /// User and system time together.
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// A child that has ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// What it printed, if it was captured.
    pub stdout: Vec<u8>,
    /// What it complained about, if it was captured.
    pub stderr: Vec<u8>,
    /// What it cost.
    pub usage: Usage,
}

impl Exit {
    /// True for status 0.
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "exit status {code}"),
            Exit::Signal(signal) => match signal_name(signal) {
                Some(name) => write!(f, "killed by {name}"),
                None => write!(f, "killed by signal {signal}"),
            },
            Exit::Timeout(limit) => write!(f, "stopped after {} s", limit.as_secs_f64()),
        }
    }
}

impl Outcome {
    /// Standard output as text; bytes that are not UTF-8 are replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

impl Task {
    /// A program by path, or by name to be looked up in PATH.
    pub fn new(program: impl Into<PathBuf>) -> Task {
        Task {
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            stdin: Stdin::default(),
            stdout: Sink::default(),
            stderr: Sink::default(),
            cwd: None,
            timeout: None,
            cpu_timeout: None,
            on_interrupt: libc::SIGKILL,
        }
    }

    /// One more argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Task {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    pub fn args<I, S>(mut self, args: I) -> Task
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable in the child's environment, which is ours otherwise.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Task {
        self.env.push((name.as_ref().into(), Some(value.as_ref().into())));
        self
    }

    /// Takes a variable out of the child's environment.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Task {
        self.env.push((name.as_ref().into(), None));
        self
    }

    /// Where the child reads from; nothing unless said.
    pub fn stdin(mut self, stdin: Stdin) -> Task {
        self.stdin = stdin;
        self
    }

    /// Where the child prints to; captured unless said.
    pub fn stdout(mut self, stdout: Sink) -> Task {
        self.stdout = stdout;
        self
    }

    /// Where the child complains to; captured unless said.
    pub fn stderr(mut self, stderr: Sink) -> Task {
        self.stderr = stderr;
        self
    }

    /// The folder that the child runs in.
    pub fn cwd(mut self, folder: impl Into<PathBuf>) -> Task {
        self.cwd = Some(folder.into());
        self
    }

    /// After this much time on the clock the child is killed, with all that it started.
    pub fn timeout(mut self, limit: Duration) -> Task {
        self.timeout = Some(limit);
        self
    }

    /// After this much processor time of its own the child is killed: how busy the machine is does not matter.
    pub fn cpu_timeout(mut self, limit: Duration) -> Task {
        self.cpu_timeout = Some(limit);
        self
    }

    /// On ctrl-C the child is asked to end and waited for; by default it is killed. For those that would leave
    /// a mess behind, such as apt in the middle of an installation.
    pub fn ends_by_itself(mut self) -> Task {
        self.on_interrupt = libc::SIGINT;
        self
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The command line as one would type it, for messages.
    pub fn command_line(&self) -> String {
        let words =
            std::iter::once(self.program.as_os_str()).chain(self.args.iter().map(OsString::as_os_str));
        words.map(|word| quote(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
    }

    /// Runs the child to its end. A failing child is not an error here: look at [`Outcome::exit`].
    pub fn run(&self) -> Result<Outcome> {
        interrupt::check()?;
        let own_group = !matches!(self.stdin, Stdin::Inherit);
        let mut command = self.command(own_group)?;
        let begun = Instant::now();
        let child =
            command.spawn().map_err(|reason| Error::Start { program: self.program.clone(), reason })?;
        // The parent's copies of files handed to the child are closed with it.
        drop(command);
        let outcome = self.attend(child, own_group, begun);
        interrupt::check()?;
        outcome.map_err(|reason| Error::Wait { program: self.program.clone(), reason })
    }

    /// Starts the child and returns at once: for one that is talked to while it runs, over a socket of its own.
    /// What it prints must go to files or nowhere, for nobody drains its pipes.
    pub fn start(&self) -> Result<Running> {
        interrupt::check()?;
        debug_assert!(!matches!(self.stdout, Sink::Capture) && !matches!(self.stderr, Sink::Capture));
        debug_assert!(matches!(self.stdin, Stdin::Null | Stdin::File(_)));
        let child = self
            .command(true)?
            .spawn()
            .map_err(|reason| Error::Start { program: self.program.clone(), reason })?;
        let group = -(child.id() as i32);
        let registration = Some(Registration::new(group, self.on_interrupt));
        Ok(Running { registration, child, ended: None, charge: None })
    }

    #[expect(clippy::disallowed_methods, reason = "the one place where processes are started")]
    fn command(&self, own_group: bool) -> Result<Command> {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        if own_group {
            command.process_group(0);
        }
        command.stdin(match &self.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Bytes(_) => Stdio::piped(),
            Stdin::Inherit => Stdio::inherit(),
            Stdin::File(path) => {
                File::open(path).map_err(|reason| Error::Read { path: path.clone(), reason })?.into()
            }
        });
        command.stdout(self.stdout.stdio()?);
        command.stderr(self.stderr.stdio()?);
        Ok(command)
    }

    /// Feeds, drains and reaps the child, in the order that keeps its process id ours until the end.
    fn attend(&self, mut child: Child, own_group: bool, begun: Instant) -> io::Result<Outcome> {
        let pid = child.id() as i32;
        let target = if own_group { -pid } else { pid };
        let registration = Registration::new(target, self.on_interrupt);
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let (stdout, stderr, timed_out) = thread::scope(|scope| {
            if let (Some(mut pipe), Stdin::Bytes(bytes)) = (stdin, &self.stdin) {
                // A child that does not read its input is no error of ours.
                scope.spawn(move || drop(pipe.write_all(bytes)));
            }
            let stdout = stdout.map(|pipe| scope.spawn(|| drain(pipe)));
            let stderr = stderr.map(|pipe| scope.spawn(|| drain(pipe)));
            let (over, rx) = mpsc::channel::<()>();
            let watched = self.timeout.is_some() || self.cpu_timeout.is_some();
            let watchdog = watched.then(|| {
                scope.spawn(move || {
                    let exceeded = self.watch(pid, begun, &rx);
                    if exceeded.is_some() {
                        interrupt::send(target, libc::SIGKILL);
                    }
                    exceeded
                })
            });
            let ended = wait_without_reaping(pid);
            let stdout = stdout.map(join).unwrap_or(Ok(Vec::new()));
            let stderr = stderr.map(join).unwrap_or(Ok(Vec::new()));
            // Only now: a grandchild that outlives the child may hold a pipe open.
            drop(over);
            let timed_out = watchdog.and_then(join);
            ended.and(Ok((stdout?, stderr?, timed_out)))
        })?;
        drop(registration);
        let (mut exit, mut usage) = reap(pid)?;
        usage.wall = begun.elapsed();
        if let Some(limit) = timed_out {
            exit = Exit::Timeout(limit);
        }
        Ok(Outcome { exit, stdout, stderr, usage })
    }

    /// Waits until the child is over or beyond a limit; says which one.
    fn watch(&self, pid: i32, begun: Instant, over: &mpsc::Receiver<()>) -> Option<Duration> {
        loop {
            let clock = self.timeout.map(|limit| (limit, limit.saturating_sub(begun.elapsed())));
            // A child with one thread cannot use up what is left of its limit in less time than that.
            let cpu = self.cpu_timeout.map(|limit| (limit, limit.saturating_sub(cpu_time(pid))));
            let (limit, left) = clock.into_iter().chain(cpu).min_by_key(|(_, left)| *left)?;
            if left.is_zero() {
                return Some(limit);
            }
            match over.recv_timeout(left.max(Duration::from_millis(10))) {
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                _ => return None,
            }
        }
    }
}

/// A child that runs beside us, in a process group of its own. It is killed, with all of its group, when this is
/// dropped.
pub struct Running {
    /// Given up before the child is reaped: see [`interrupt`].
    registration: Option<Registration>,
    child: Child,
    ended: Option<Exit>,
    charge: Option<i32>,
}

impl Running {
    /// A process outside of the group that the child started and waits for, and that is to be killed with it;
    /// none any more. The caller says so before the child may have waited for its end: the id is free then.
    pub fn charge(&mut self, process: Option<i32>) {
        self.charge = process.filter(|process| *process > 1);
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<Exit> {
        if self.ended.is_none() && has_ended(self.child.id() as i32) {
            self.reap();
        }
        self.ended
    }

    /// Ends it and all of its group.
    pub fn kill(&mut self) -> Exit {
        if let Some(process) = self.charge.take() {
            interrupt::send(process, libc::SIGKILL);
        }
        if let Some(exit) = self.ended {
            return exit;
        }
        interrupt::send(-(self.child.id() as i32), libc::SIGKILL);
        self.reap()
    }

    fn reap(&mut self) -> Exit {
        self.registration = None;
        // Only a child that is not ours cannot be waited for.
        let exit = reap(self.child.id() as i32).map_or(Exit::Signal(libc::SIGKILL), |(exit, _)| exit);
        *self.ended.insert(exit)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("pid", &self.child.id()).field("ended", &self.ended).finish()
    }
}

/// True if the child is a zombie; it stays one.
fn has_ended(pid: i32) -> bool {
    // SAFETY: `info` is a valid siginfo_t that lives across the call, and zero if nothing has ended.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
        libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, options) == 0 && info.si_pid() == pid
    }
}

impl Sink {
    fn stdio(&self) -> Result<Stdio> {
        Ok(match self {
            Sink::Capture => Stdio::piped(),
            Sink::Null => Stdio::null(),
            Sink::Inherit => Stdio::inherit(),
            Sink::File(path) => {
                File::create(path).map_err(|reason| Error::Write { path: path.clone(), reason })?.into()
            }
        })
    }
}

fn drain(mut pipe: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns once the child has ended, and leaves it a zombie: its id stays taken.
fn wait_without_reaping(pid: i32) -> io::Result<()> {
    loop {
        // SAFETY: `info` is a valid siginfo_t that lives across the call.
        let status = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid as libc::id_t, &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if status == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Processor time of a process so far, threads included, in steps of 10 ms; none if it is not there.
fn cpu_time(pid: i32) -> Duration {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return Duration::ZERO };
    // The name in parentheses may hold anything; user and system time are fields 14 and 15.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// Takes the child's status and cost; its id is free afterwards.
fn reap(pid: i32) -> io::Result<(Exit, Usage)> {
    let mut status = 0;
    // SAFETY: `status` and `usage` are valid for writes; a zeroed rusage is a valid one.
    let (reaped, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &mut status, 0, &mut usage), usage)
    };
    if reaped < 0 {
        return Err(io::Error::last_os_error());
    }
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    };
    let time = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    let max_rss_kib = usage.ru_maxrss as u64;
    Ok((
        exit,
        Usage { user: time(usage.ru_utime), system: time(usage.ru_stime), max_rss_kib, ..Usage::default() },
    ))
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGHUP => "SIGHUP",
        libc::SIGILL => "SIGILL",
        libc::SIGINT => "SIGINT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        libc::SIGTRAP => "SIGTRAP",
        _ => return None,
    })
}

fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Task {
        Task::new("sh").args(["-c", script])
    }

    #[test]
    fn processor_time_is_limited_and_waiting_costs_none() {
        let limit = Duration::from_millis(200);
        let idle = shell("sleep 0.5; echo done").cpu_timeout(limit).run().unwrap();
        assert_eq!((idle.exit, idle.stdout_text().trim()), (Exit::Code(0), "done"));
        let busy = shell("while :; do :; done").cpu_timeout(limit).run().unwrap();
        assert_eq!(busy.exit, Exit::Timeout(limit));
        assert!(busy.usage.cpu() >= limit && busy.usage.cpu() < 10 * limit, "{:?}", busy.usage);
    }

    #[test]
    fn keeps_status_and_both_pipes() {
        let outcome = shell("echo out; echo err >&2; exit 7").run().unwrap();
        assert_eq!(outcome.exit, Exit::Code(7));
        assert!(!outcome.exit.success());
        assert_eq!(outcome.stdout_text(), "out\n");
        assert_eq!(outcome.stderr_text(), "err\n");
    }

    #[test]
    fn a_crash_is_not_an_exit_status() {
        let outcome = shell("kill -ABRT $$").run().unwrap();
        assert_eq!(outcome.exit, Exit::Signal(libc::SIGABRT));
        assert_eq!(outcome.exit.to_string(), "killed by SIGABRT");
    }

    #[test]
    fn full_pipes_do_not_block() {
        let script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; cat > /dev/null";
        let outcome = shell(script).stdin(Stdin::Bytes(vec![b'x'; 3_000_000])).run().unwrap();
        assert!(outcome.exit.success());
        assert_eq!((outcome.stdout.len(), outcome.stderr.len()), (3_000_000, 3_000_000));
    }

    #[test]
    fn a_child_that_ignores_its_input_is_no_error() {
        let outcome = shell("exit 0").stdin(Stdin::Bytes(vec![b'x'; 3_000_000])).run().unwrap();
        assert!(outcome.exit.success());
    }

    #[test]
    fn a_timeout_ends_grandchildren_too() {
        let limit = Duration::from_millis(200);
        let begun = Instant::now();
        // The grandchild holds the pipe open: without the group's end this would take 60 s.
        let outcome = shell("sleep 60 & exit 0").timeout(limit).run().unwrap();
        assert_eq!(outcome.exit, Exit::Timeout(limit));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_quick_child_is_not_timed_out() {
        let outcome = shell("exit 3").timeout(Duration::from_secs(60)).run().unwrap();
        assert_eq!(outcome.exit, Exit::Code(3));
    }

    #[test]
    fn input_files_environment_and_folder_arrive() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("in"), "text").unwrap();
        let outcome = shell("cat; printf %s \"$A$B\"; pwd -P")
            .stdin(Stdin::File(folder.path().join("in")))
            .env("A", "a")
            .env("B", "b")
            .env_remove("B")
            .cwd(folder.path())
            .stdout(Sink::File(folder.path().join("out")))
            .run()
            .unwrap();
        assert!(outcome.exit.success());
        let printed = std::fs::read_to_string(folder.path().join("out")).unwrap();
        assert_eq!(printed, format!("texta{}\n", folder.path().canonicalize().unwrap().display()));
    }

    #[test]
    fn a_child_beside_us_ends_by_itself_or_with_its_owner() {
        let quiet = |script: &str| shell(script).stdout(Sink::Null).stderr(Sink::Null);
        let mut short = quiet("exit 3").start().unwrap();
        let begun = Instant::now();
        while short.ended().is_none() && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(short.ended(), Some(Exit::Code(3)));
        assert_eq!(short.kill(), Exit::Code(3), "what has ended is not killed again");

        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let mut long = quiet(&format!("sleep 60 & echo $! > {}; wait", pid.display())).start().unwrap();
        let grandchild = || std::fs::read_to_string(&pid).ok()?.trim().parse::<i32>().ok();
        while grandchild().is_none() && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(long.ended(), None);
        drop(long);
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", grandchild().unwrap()));
        while state().is_ok_and(|state| !state.contains(") Z ")) && begun.elapsed() < Duration::from_secs(20)
        {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(state().map_or(true, |state| state.contains(") Z ")), "the grandchild is still there");
    }

    #[test]
    fn cost_is_measured() {
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
        let usage = shell(script).run().unwrap().usage;
        assert!(usage.cpu() > Duration::ZERO && usage.max_rss_kib > 0);
        assert!(usage.wall >= Duration::from_micros(100));
    }

    #[test]
    fn a_missing_program_or_input_is_named() {
        let error = Task::new("/no/such/program").run().unwrap_err();
        assert!(error.to_string().starts_with("cannot start /no/such/program: "), "{error}");
        let error = shell("cat").stdin(Stdin::File("/no/such/input".into())).run().unwrap_err();
        assert!(error.to_string().starts_with("cannot read /no/such/input: "), "{error}");
    }

    #[test]
    fn command_lines_can_be_pasted() {
        let task = Task::new("opt").args(["-passes=licm", "-passes=a<b>", "it's", ""]);
        assert_eq!(task.command_line(), r"opt -passes=licm '-passes=a<b>' 'it'\''s' ''");
    }
}
