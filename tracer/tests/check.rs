//! The check finds what is wrong: one function of hand-written assembly, four iterations of the source at a time, with
//! hand-written debug information that is right, and wrong in every way that counts.

mod common;

use common::{Built, DEBUGGERS};
use metaloc_tracer::check::{Entry, Extent, FindingKind, Leg, Meeting, Plan, Report, check};
use metaloc_tracer::program::{Point, Program};
use metaloc_tracer::{Debugger, Error, Gdb};

const SOURCE: &str = "extern int x[64];
void f(void) {
  int *p = x;
  for (int i = 0; i < 64; i++) {
    *p = *p + i + 1;
    p++;
  }
}
";

const MAIN: &str = "int x[64];
void f(void);
int main(void) {
  for (int k = 0; k < 64; k++) x[k] = 7 * k;
  f();
  f();
  return 0;
}
";

/// The comparison in `i < 64`, where the loop begins: reading `i` has no row of its own.
const HEADER: Point = Point { line: 4, column: 21 };

/// Four iterations of the source at a time; `i` has the location given as bytes for the assembler, and p is &x[i].
fn assembly(location: &str) -> String {
    format!(
        r#"
        .text
        .globl f
        .type f, @function
        .file 1 "f.c"
f:
        .loc 1 2 0
        xorl %eax, %eax
        .type head, @function
head:
        .loc 1 4 21
        .rept 4
        leal 1(%rax), %ecx
        addl %ecx, x(,%rax,4)
        incl %eax
        .endr
        .size head, 1
        .type last, @function
last:
        cmpl $64, %eax
        .size last, 1
        jne head
        .type done, @function
done:
        ret
        .size done, 1
.Lend:
        .size f, .-f
        .section .debug_abbrev,"",@progbits
.Labbrev:
        .uleb128 1, 0x11            # compile unit: name, low_pc, high_pc, stmt_list, language
        .byte 1
        .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x10, 0x17, 0x13, 0x0b, 0, 0
        .uleb128 2, 0x2e            # subprogram: name, low_pc, high_pc, frame_base
        .byte 1
        .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x40, 0x18, 0, 0
        .uleb128 3, 0x34            # variable: name, decl_line, type, location
        .byte 0
        .uleb128 0x03, 0x08, 0x3b, 0x0b, 0x49, 0x13, 0x02, 0x18, 0, 0
        .uleb128 4, 0x24            # base type: name, encoding, byte_size
        .byte 0
        .uleb128 0x03, 0x08, 0x3e, 0x0b, 0x0b, 0x0b, 0, 0
        .uleb128 5, 0x0f            # pointer type: byte_size, type
        .byte 0
        .uleb128 0x0b, 0x0b, 0x49, 0x13, 0, 0
        .byte 0
        .section .debug_info,"",@progbits
.Linfo:
        .long .Linfo_end - .Linfo_start
.Linfo_start:
        .short 4
        .long .Labbrev
        .byte 8
        .uleb128 1
        .asciz "f.c"
        .quad f
        .quad .Lend - f
        .long .debug_line
        .byte 0x0c
        .uleb128 2
        .asciz "f"
        .quad f
        .quad .Lend - f
        .uleb128 1
        .byte 0x9c
        .uleb128 3
        .asciz "i"
        .byte 4
        .long .Lint - .Linfo
        .uleb128 .Li_end - .Li
.Li:
        .byte {location}
.Li_end:
        .uleb128 3
        .asciz "p"
        .byte 3
        .long .Lpointer - .Linfo
        .uleb128 .Lp_end - .Lp
.Lp:
        .byte 0x03                  # address of x, rax, shifted by two, added: a value
        .quad x
        .byte 0x70, 0, 0x32, 0x24, 0x22, 0x9f
.Lp_end:
        .byte 0
.Lint:
        .uleb128 4
        .asciz "int"
        .byte 5, 4
.Lpointer:
        .uleb128 5
        .byte 8
        .long .Lint - .Linfo
        .byte 0
.Linfo_end:
        .section .note.GNU-stack,"",@progbits
"#
    )
}

/// rax as a value.
const RIGHT: &str = "0x70, 0, 0x9f";
/// rax + 100.
const WRONG: &str = "0x70, 0xe4, 0, 0x9f";
/// 0 for ever, as clang says of most counters.
const CONSTANT: &str = "0x30, 0x9f";
/// rax shifted by one.
const DOUBLE: &str = "0x70, 0, 0x31, 0x24, 0x9f";

struct Pair {
    optimised: Program,
    plain: Program,
    head: u64,
    last: u64,
    done: u64,
}

fn pair(built: &Built, location: &str) -> Pair {
    pair_with(built, location, MAIN)
}

fn pair_with(built: &Built, location: &str, main: &str) -> Pair {
    built.write("f.c", SOURCE);
    built.write("main.c", main);
    built.write("f.s", &assembly(location));
    built.run(&["gcc-12", "-O0", "-c", "main.c", "-o", "main.o"]);
    built.run(&["gcc-12", "-no-pie", "f.s", "main.o", "-o", "optimised"]);
    built.run(&["clang-19", "-O0", "-g", "-c", "f.c", "-o", "f0.o"]);
    built.run(&["gcc-12", "-no-pie", "main.o", "f0.o", "-o", "plain"]);
    let optimised = Program::read(&built.path("optimised")).unwrap();
    let place = |name: &str| optimised.function(name).unwrap().range.start;
    let (head, last, done) = (place("head"), place("last"), place("done"));
    Pair { plain: Program::read(&built.path("plain")).unwrap(), optimised, head, last, done }
}

fn entry(pc: u64, variable: &str, visit: u32) -> Entry {
    let variable = variable.into();
    Entry { pc, variable, declared: 0, from: Some(0), point: HEADER, visit, promised: true }
}

impl Pair {
    fn plan(&self, iterations: u32, entries: Vec<Entry>) -> Plan {
        Plan {
            function: "f".into(),
            meetings: vec![Meeting { pc: self.head, point: HEADER }],
            legs: vec![
                Leg { from: None, to: 0, visits: 1 },
                Leg { from: Some(0), to: 0, visits: iterations },
            ],
            entries,
        }
    }

    fn check(&self, debugger: &dyn Debugger, plan: &Plan) -> Report {
        let globals = ["x".to_owned()];
        check(debugger, &self.optimised, &self.plain, &[], plan, &globals, Extent::default()).unwrap()
    }
}

fn kinds(report: &Report) -> Vec<FindingKind> {
    report.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn right_locations_are_found_right() {
    let built = Built::new();
    let pair = pair(&built, RIGHT);
    // At the last address all four are done: what the next visit of the header will see.
    let plan =
        pair.plan(4, vec![entry(pair.head, "i", 0), entry(pair.head, "p", 0), entry(pair.last, "i", 4)]);
    for debugger in DEBUGGERS {
        let report = pair.check(debugger, &plan);
        assert!(report.is_clean(), "{}: {report:#?}", debugger.name());
        // 16 stops at each of two addresses; the first call alone has as many.
        assert_eq!((report.compared, report.missing, report.uncompared), (48, 0, 0), "{}", debugger.name());
        assert!(report.memory_compared >= 40, "{}: {report:#?}", debugger.name());
        assert!(!report.cut && report.unreached == 0);
    }
}

#[test]
fn a_wrong_location_is_found() {
    let built = Built::new();
    for (location, first) in [(WRONG, 0), (CONSTANT, 1)] {
        let pair = pair(&built, location);
        let plan = pair.plan(4, vec![entry(pair.head, "i", 0)]);
        for debugger in DEBUGGERS {
            let report = pair.check(debugger, &plan);
            assert!(!report.is_clean());
            assert_eq!((report.compared, report.wrong, report.stale), (16, 16 - first, 0), "{report:#?}");
            assert!(report.memory_wrong > 0, "{report:#?}");
            let finding = &report.findings[0];
            assert_eq!((finding.kind, finding.stop), (FindingKind::Wrong, first as u32));
            assert_eq!(finding.truth.integer(), Some(4 * i128::from(first)));
            let text = finding.to_string();
            assert!(text.contains("i is ") && text.contains("wrong: ") && text.contains("at 4:21"), "{text}");
        }
    }
}

#[test]
fn a_value_of_the_next_iteration_is_stale() {
    let built = Built::new();
    let pair = pair(&built, RIGHT);
    // rax has been counted up at the last address; the plan says that it still is the value of the header.
    let plan = pair.plan(4, vec![entry(pair.last, "i", 0)]);
    let report = pair.check(&Gdb, &plan);
    assert_eq!((report.compared, report.wrong, report.stale), (16, 0, 16), "{report:#?}");
    assert_eq!(kinds(&report), [FindingKind::Stale]);
}

#[test]
fn memory_sees_through_a_plan_that_agrees_with_a_wrong_location() {
    let built = Built::new();
    let pair = pair(&built, DOUBLE);
    // Twice the counter, and a plan with twice the iterations: each confirms the other.
    let plan = pair.plan(8, vec![entry(pair.head, "i", 0)]);
    let report = pair.check(&Gdb, &plan);
    assert_eq!(report.wrong + report.stale, 0, "{report:#?}");
    assert!(report.memory_wrong > 0 && kinds(&report).contains(&FindingKind::Memory), "{report:#?}");
    // The source has no more iterations left half way through.
    assert!(report.lost > 0, "{report:#?}");
}

#[test]
fn a_promise_that_is_not_kept_is_counted() {
    let built = Built::new();
    let pair = pair(&built, RIGHT);
    let report = pair.check(&Gdb, &pair.plan(4, vec![entry(pair.head, "i", 0), entry(pair.head, "q", 0)]));
    // The unoptimised program has no q either: nothing to compare with.
    assert_eq!((report.compared, report.uncompared), (16, 16), "{report:#?}");
    // A point without code of its own.
    let mut plan = pair.plan(4, vec![entry(pair.head, "i", 0), entry(pair.head, "p", 0)]);
    plan.entries[1].point.column = 19;
    let report_of_one = pair.check(&Gdb, &plan);
    assert_eq!((report_of_one.compared, report_of_one.unplaced), (16, 1), "{report_of_one:#?}");
    // A location that is none: a piece of nothing.
    let pair = self::pair(&built, "0x93, 4");
    let report = pair.check(&Gdb, &pair.plan(4, vec![entry(pair.head, "i", 0)]));
    assert!(report.compared == 0 && !report.is_clean(), "{report:#?}");
    assert_eq!(report.missing + report.unreadable, 16, "{report:#?}");
}

#[test]
fn a_walk_goes_on_after_a_signal_and_says_why_it_ends_early() {
    // After one call, whose 16 arrivals are not enough.
    let between = |what: &str| {
        let first = MAIN.replacen("f();\n  f();", &format!("f();\n  {what}\n  f();"), 1);
        format!(
            "#include <signal.h>\n{}",
            first.replace("for (int k", "signal(SIGUSR1, SIG_IGN);\n  for (int k")
        )
    };
    let extent = Extent { stops_per_pc: 24, ..Extent::default() };
    let run = |debugger: &dyn Debugger, main: &str, extent: Extent| {
        let built = Built::new();
        let pair = pair_with(&built, RIGHT, main);
        let plan = pair.plan(4, vec![entry(pair.head, "i", 0)]);
        let report = check(debugger, &pair.optimised, &pair.plain, &[], &plan, &[], extent).unwrap();
        assert_eq!(report.untrue(), 0, "{report:#?}");
        report
    };
    for debugger in DEBUGGERS {
        for harmless in ["raise(SIGUSR1);", "raise(SIGSTOP);"] {
            let report = run(debugger, &between(harmless), extent);
            let name = debugger.name();
            assert_eq!(
                (report.compared, report.cut, &report.early),
                (24, false, &None),
                "{name}, {harmless}"
            );
        }
    }
    for (deadly, why) in
        [("raise(SIGABRT);", "signal 6 ended"), ("while (1) raise(SIGUSR1);", "nobody asked")]
    {
        let report = run(&Gdb, &between(deadly), extent);
        assert_eq!((report.compared, report.cut), (16, true), "{deadly}: {report:#?}");
        assert!(report.early.as_ref().is_some_and(|early| early.contains(why)), "{deadly}: {report:#?}");
    }
    let none = Extent { time: std::time::Duration::ZERO, ..extent };
    let report = run(&Gdb, MAIN, none);
    assert_eq!((report.compared, report.early), (0, Some("time was up".to_owned())));
    let few = Extent { stops: 10, ..extent };
    let report = run(&Gdb, MAIN, few);
    assert!(report.cut && report.early.is_none() && report.compared > 0, "{report:#?}");
}

#[test]
fn a_plan_that_cannot_be_is_an_error() {
    let built = Built::new();
    let pair = pair(&built, RIGHT);
    let run = |plan: &Plan| {
        check(&Gdb, &pair.optimised, &pair.plain, &[], plan, &[], Extent::default()).unwrap_err()
    };
    let mut plan = pair.plan(4, vec![entry(pair.head, "i", 0)]);
    plan.legs.push(Leg { from: Some(7), to: 0, visits: 1 });
    assert!(matches!(run(&plan), Error::Unsupported(_)));
    let plan = pair.plan(4, vec![entry(1, "i", 0)]);
    assert!(run(&plan).to_string().contains("0x1 is not in f"));
    let mut plan = pair.plan(4, vec![entry(pair.head, "i", 0)]);
    plan.meetings[0].point = Point { line: 99, column: 1 };
    assert!(run(&plan).to_string().contains("no code for 99:1 in f"));
    let nowhere = ["nothing".to_owned()];
    let plan = pair.plan(4, vec![entry(pair.head, "i", 0)]);
    let error =
        check(&Gdb, &pair.optimised, &pair.plain, &[], &plan, &nowhere, Extent::default()).unwrap_err();
    assert!(error.to_string().contains("no global variable 'nothing'"), "{error}");
}

#[test]
fn a_long_loop_is_passed_over_and_what_comes_after_it_is_compared() {
    let built = Built::new();
    let long = MAIN.replace("f();\n  f();", "f();");
    let extent = Extent { stops_per_pc: 2, patience: 8, ..Extent::default() };
    let globals = ["x".to_owned()];
    let pair = pair_with(&built, RIGHT, &long);
    for debugger in DEBUGGERS {
        let run = |visit| {
            let plan = pair.plan(4, vec![entry(pair.last, "i", 4), entry(pair.done, "i", visit)]);
            check(debugger, &pair.optimised, &pair.plain, &[], &plan, &globals, extent).unwrap()
        };
        let report = run(4);
        let seen = (report.compared, report.untrue(), report.unreached, report.cut);
        assert_eq!(seen, (3, 0, 0, false), "{}: {report:?}", debugger.name());
        // The end of the loop is met at the right iteration, or not at all.
        assert_eq!(kinds(&run(3)), [FindingKind::Stale], "{}", debugger.name());
        let astray =
            Plan { legs: pair.plan(5, Vec::new()).legs, ..pair.plan(4, vec![entry(pair.done, "i", 4)]) };
        let report = check(debugger, &pair.optimised, &pair.plain, &[], &astray, &globals, extent).unwrap();
        assert_eq!((report.compared, report.lost), (0, 1), "{}: {report:?}", debugger.name());
    }
}
