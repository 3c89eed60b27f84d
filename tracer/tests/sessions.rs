//! Sessions with real debuggers: the same program gives the same answers in both.

mod common;

use std::time::{Duration, Instant};

use common::{Built, DEBUGGERS};
use metaloc_tracer::program::Program;
use metaloc_tracer::protocol::{By, Stop, Want, Why};
use metaloc_tracer::session::Moved;
use metaloc_tracer::value::lookup;
use metaloc_tracer::{Debugger, Error, Gdb, Known, Limits, Lldb, Session, Value};

const ALL: Want = Want { variables: true, memory: false };

fn start(debugger: &dyn Debugger, program: &Program) -> Session {
    Session::start(debugger, program, &[], Limits::default()).unwrap()
}

fn at(session: &mut Session, address: u64) -> Stop {
    session.break_at(&[address]).unwrap();
    let stop = session.resume(ALL).unwrap().stop().expect("it stops");
    assert_eq!((stop.pc, stop.why.clone()), (address, Why::Breakpoint));
    stop
}

/// Where a line's code begins in a function.
fn line(program: &Program, function: &str, line: u32) -> u64 {
    let function = program.function(function).unwrap();
    program.rows_of(function).iter().find(|row| row.point.line == line).unwrap().pc
}

const KINDS: &str = "#include <stdbool.h>
enum colour { red = -3, green = 70000 };
struct pair { int a, b; };
int global[4] = {1, 2, 3, 4};
__attribute__((noinline)) int show(signed char sc, unsigned char uc) {
  short s = -30000; unsigned short us = 60000;
  int i = -2000000000; unsigned u = 4000000000u;
  long long l = -9000000000000000000ll; unsigned long long ul = 18000000000000000000ull;
  bool b = true; enum colour c = green;
  int *p = &global[2]; float f = 1.5f; double d = -2.25;
  struct pair pair = {7, 8};
  return sc + uc + s + us + i + (int)u + (int)l + (int)ul + b + c + *p + (int)f + (int)d + pair.a; // line 12
}
int main(void) { return show(-5, 250) & 0; }
";

#[test]
fn values_of_all_kinds_come_through_in_both_debuggers() {
    let built = Built::new();
    for (name, compiler) in [
        ("fixed", &["gcc-12", "-O0", "-no-pie"][..]),
        ("pie", &["clang-19", "-O0", "-pie", "-fPIE"]),
        ("i386", &["gcc-12", "-m32", "-O0"]),
    ] {
        let program = built.c(name, KINDS, compiler);
        for debugger in DEBUGGERS {
            let mut session = start(debugger, &program);
            assert_eq!(session.bias() == 0, name == "fixed", "{name}");
            let stop = at(&mut session, line(&program, "show", 12));
            assert_eq!((stop.line, stop.function.as_deref()), (Some(12), Some("show")));
            let integer = |name: &str| lookup(&stop.variables, name, 0).integer();
            let who = (name, debugger.name());
            for (variable, value) in [
                ("sc", -5),
                ("uc", 250),
                ("s", -30000),
                ("us", 60000),
                ("i", -2_000_000_000),
                ("u", 4_000_000_000),
                ("l", -9_000_000_000_000_000_000),
                ("ul", 18_000_000_000_000_000_000),
                ("b", 1),
                ("c", 70000),
            ] {
                assert_eq!(integer(variable), Some(value), "{variable} {who:?}");
            }
            let Value::Known(Known::Pointer(pointer)) = lookup(&stop.variables, "p", 0) else {
                panic!("{who:?}")
            };
            assert_eq!(program.pointed_at(pointer.wrapping_sub(session.bias())), [("global", 8)], "{who:?}");
            let bytes = |name: &str| match lookup(&stop.variables, name, 0) {
                Value::Known(Known::Bytes(bytes)) => bytes.clone(),
                other => panic!("{name} {who:?}: {other:?}"),
            };
            assert_eq!(bytes("f"), 1.5f32.to_le_bytes(), "{who:?}");
            assert_eq!(bytes("d"), (-2.25f64).to_le_bytes(), "{who:?}");
            assert_eq!(bytes("pair"), [7, 0, 0, 0, 8, 0, 0, 0], "{who:?}");
            assert_eq!(*lookup(&stop.variables, "nothing", 0), Value::NotInScope);

            let global = &program.globals()["global"];
            let memory = session.memory(global.address, global.size).unwrap();
            assert_eq!(memory, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0], "{who:?}");
            let frames = session.backtrace().unwrap();
            let names: Vec<&str> = frames.iter().map(|frame| frame.function.as_str()).collect();
            assert_eq!(names, ["show", "main"], "{who:?}: users' functions only");
            assert_eq!(frames[1].line, 14, "{who:?}");
            assert_eq!(session.resume(ALL).unwrap(), Moved::Exited(0), "{who:?}");
        }
    }
}

const LOOP: &str = "int total, seen[8];
__attribute__((noinline)) int twice(int n) {
  int r = n * 2;
  return r;
}
int main(void) {
  for (int i = 0; i < 3; i++) {
    int t = twice(i);
    seen[i] = t;
    total += t;
  }
  return total;
}
";

#[test]
fn stepping_stopping_and_the_end() {
    let built = Built::new();
    let program = built.c("loop", LOOP, &["gcc-12", "-O0"]);
    for debugger in DEBUGGERS {
        let mut session = start(debugger, &program);
        let places = session.break_line("loop.c", 9).unwrap();
        assert_eq!(places, [line(&program, "main", 9)], "{}", debugger.name());
        let seen = &program.globals()["seen"];
        session.watch(&[(seen.address, seen.size)]).unwrap();
        let mut digests = Vec::new();
        for i in 0..3 {
            let stop = session.resume(Want { variables: true, memory: true }).unwrap().stop().unwrap();
            assert_eq!(stop.line, Some(9));
            assert_eq!(lookup(&stop.variables, "i", 0).integer(), Some(i));
            assert_eq!(lookup(&stop.variables, "t", 0).integer(), Some(2 * i));
            digests.push(stop.memory[0]);
        }
        // seen[0] = 0 changes nothing; seen[1] = 2 does.
        assert_eq!(digests[0], digests[1], "{}", debugger.name());
        assert_ne!(digests[1], digests[2], "{}", debugger.name());
        let before = session.look(Want::default()).unwrap().pc;
        let stop = session.step(By::Instruction, Want::default()).unwrap().stop().unwrap();
        assert!(stop.pc > before && stop.pc < before + 16, "{}", debugger.name());
        let stop = session.step(By::Line, ALL).unwrap().stop().unwrap();
        assert_eq!(stop.line, Some(10), "{}", debugger.name());
        session.remove(&places).unwrap();
        assert_eq!(session.resume(ALL).unwrap(), Moved::Exited(6), "{}", debugger.name());
        let error = session.look(ALL).unwrap_err();
        assert!(matches!(error, Error::Refused { .. }), "{error}");
    }
}

#[test]
fn lines_lead_into_functions_and_back() {
    let built = Built::new();
    let program = built.c("lines", LOOP, &["gcc-12", "-O0"]);
    for debugger in DEBUGGERS {
        let mut session = start(debugger, &program);
        at(&mut session, line(&program, "main", 8));
        let lines: Vec<u32> = (0..6)
            .map(|_| session.step(By::Line, Want::default()).unwrap().stop().unwrap().line.unwrap())
            .filter(|line| *line != 2 && *line != 5)
            .collect();
        // Whether the heads of functions are stops of their own differs between debuggers.
        assert!(
            lines.starts_with(&[3, 4, 9]) || lines.starts_with(&[3, 4, 8, 9]),
            "{}: {lines:?}",
            debugger.name()
        );
    }
}

#[test]
fn arrivals_are_counted_to_the_end() {
    let built = Built::new();
    let program = built.c("count", LOOP, &["gcc-12", "-O0"]);
    for debugger in DEBUGGERS {
        let mut session = start(debugger, &program);
        let addresses = [line(&program, "twice", 3), line(&program, "main", 12)];
        assert_eq!(session.count(&addresses).unwrap(), [3, 1], "{}", debugger.name());
    }
}

const OPTIMISED: &str = "int g;
__attribute__((noinline)) void use(int v) { g = v; }
int main(int argc, char **argv) {
  int gone = g * 3;
  use(1);
  { int inner = argc + 5; use(inner); }
  use(2); // line 7
  return 0;
}
";

#[test]
fn what_is_gone_and_what_is_out_of_sight_are_different_answers() {
    let built = Built::new();
    let program = built.c("gone", OPTIMISED, &["gcc-12", "-O2"]);
    let main = program.function("main").unwrap();
    let last = program.rows_of(main).iter().rev().find(|row| row.point.line == 7).unwrap().pc;
    for debugger in DEBUGGERS {
        let mut session = start(debugger, &program);
        let stop = at(&mut session, last);
        assert_eq!(*lookup(&stop.variables, "inner", 0), Value::NotInScope, "{}", debugger.name());
        assert_eq!(*lookup(&stop.variables, "gone", 0), Value::OptimisedOut, "{}", debugger.name());
    }
}

#[test]
fn a_crash_of_the_program_is_a_stop_and_then_its_end() {
    let built = Built::new();
    let text = "int main(void) { volatile int *p = 0; return *p; }\n";
    let program = built.c("crash", text, &["gcc-12", "-O0"]);
    for debugger in DEBUGGERS {
        let mut session = start(debugger, &program);
        let stop = session.resume(ALL).unwrap().stop().unwrap();
        assert!(matches!(&stop.why, Why::Signal(name) if name.contains("SIGSEGV")), "{:?}", stop.why);
        assert_eq!(session.resume(ALL).unwrap(), Moved::Killed(11), "{}", debugger.name());
    }
}

#[test]
fn an_endless_program_is_a_timeout_and_is_ended() {
    let built = Built::new();
    let text = "#include <unistd.h>\n#include <stdio.h>\nint main(int c, char **v) {\n\
                FILE *f = fopen(v[1], \"w\"); fprintf(f, \"%d\", getpid()); fclose(f); for (;;); }\n";
    let program = built.c("endless", text, &["gcc-12", "-O0"]);
    for debugger in DEBUGGERS {
        let pid = built.path(&format!("pid-{}", debugger.name()));
        let limits = Limits { answer: Duration::from_secs(3), ..Limits::default() };
        let args = [common::path(&pid).to_owned()];
        let mut session = Session::start(debugger, &program, &args, limits).unwrap();
        let error = session.resume(ALL).unwrap_err();
        assert!(matches!(error, Error::Timeout { seconds: 3, .. }), "{error}");
        assert!(error.to_string().contains("no answer to 'resume' within 3 s"), "{error}");
        drop(session);
        let process = std::fs::read_to_string(&pid).unwrap();
        let begun = Instant::now();
        let alive = || {
            std::fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
        };
        while alive() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(!alive(), "{}: process {process} is still there", debugger.name());
    }
}

#[test]
fn a_debugger_that_dies_is_an_error_of_its_own() {
    let built = Built::new();
    // gdb is the parent of its program, which goes on without it: it has to end by itself.
    let text = "#include <signal.h>\n#include <unistd.h>\nint main(void) { kill(getppid(), SIGKILL); sleep(5); return 0; }\n";
    let program = built.c("patricide", text, &["gcc-12", "-O0"]);
    let mut session = start(&Gdb, &program);
    let error = session.resume(ALL).unwrap_err();
    assert!(matches!(error, Error::Died { .. }), "{error}");
    assert!(error.to_string().starts_with("gdb died on "), "{error}");
    assert!(session.resume(ALL).is_err(), "it stays dead");
    // lldb's program is a child of lldb-server; lldb itself lives on and says that the program is lost.
    let mut session = start(&Lldb, &program);
    let moved = session.resume(ALL);
    assert!(!matches!(moved, Ok(Moved::Stopped(_))), "{moved:?}");
}

#[test]
fn what_is_no_program_is_refused() {
    let built = Built::new();
    let text = built.write("text", "not a program");
    let error = Program::read(&text).unwrap_err().to_string();
    assert!(error.contains("text: "), "{error}");
    built.write("part.c", "int f(void) { return 1; }");
    built.run(&["gcc-12", "-c", "part.c", "-o", "part.o"]);
    let error = Program::read(&built.path("part.o")).unwrap_err().to_string();
    assert!(error.contains("not a linked program"), "{error}");
    let program = built.c("fine", "int main(void) { return 0; }", &["gcc-12"]);
    assert!(program.function("nobody").unwrap_err().to_string().contains("no function 'nobody'"));
}
