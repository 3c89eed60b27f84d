//! The survey sees what compilers are known to do to counters (gdb by hand, `regress/kernels`, s000): gcc-12 has nothing
//! in the vector loop, clang-19 the constant 0, and unoptimised code is right everywhere.

mod common;

use std::collections::BTreeMap;

use common::{Built, DEBUGGERS};
use metaloc_tracer::program::Program;
use metaloc_tracer::source_loops::for_loops;
use metaloc_tracer::survey::{Matches, Pair, Shown, survey};
use metaloc_tracer::{Debugger, Gdb, Limits};

const STORES: &str = "extern int X[3200], Y[3200], val;
int kernel(void) {
  for (int i = 0; i < 320; i++) {
    X[i] = Y[i] + val;
  }
  return 0;
}
";

const SUMS: &str = "extern int X[3200], Y[3200], val;
int kernel(void) {
  int sum = 0;
  for (int i = 0; i < 3200; i++) {
    sum += X[i];
  }
  val = sum;
  return 0;
}
";

const MAIN: &str = "int X[3200], Y[3200], val = 3;
int kernel(void);
int main(void) {
  for (int k = 0; k < 3200; k++) X[k] = 5 * k % 17, Y[k] = k;
  kernel();
  return 0;
}
";

/// Builds a kernel in two ways and surveys it.
fn surveyed(debugger: &dyn Debugger, source: &str, compiler: &[&str]) -> Vec<Pair> {
    let built = build(source, compiler);
    survey_of(debugger, &built, ("kernel", "plain"), source, &mut Matches::default()).unwrap()
}

fn build(source: &str, compiler: &[&str]) -> Built {
    let built = Built::new();
    built.write("kernel.c", source);
    built.write("main.c", MAIN);
    built.run(&["gcc-12", "-O1", "-c", "main.c", "-o", "main.o"]);
    built.run(&[compiler, &["-g", "-c", "kernel.c", "-o", "kernel.o"]].concat());
    built.run(&["clang-19", "-O0", "-g", "-c", "kernel.c", "-o", "plain.o"]);
    for program in ["kernel", "plain"] {
        built.run(&["gcc-12", &format!("{program}.o"), "main.o", "-o", program]);
    }
    built
}

fn survey_of(
    debugger: &dyn Debugger,
    built: &Built,
    (optimised, unoptimised): (&str, &str),
    source: &str,
    matches: &mut Matches,
) -> metaloc_tracer::Result<Vec<Pair>> {
    let read = |name: &str| Program::read(&built.path(name)).unwrap();
    let globals = ["X", "Y", "val"].map(str::to_owned);
    let programs = (&read(optimised), &read(unoptimised));
    survey(debugger, programs, "kernel", &for_loops(source), &globals, Limits::default(), matches)
}

fn counts(pairs: &[Pair]) -> BTreeMap<Shown, usize> {
    pairs.iter().fold(BTreeMap::new(), |mut counts, pair| {
        *counts.entry(pair.shown).or_default() += 1;
        counts
    })
}

#[test]
fn clang_has_a_wrong_constant_where_it_vectorises() {
    for debugger in DEBUGGERS {
        let pairs = surveyed(debugger, STORES, &["clang-19", "-O3", "-msse4.2"]);
        assert!(pairs.len() > 5, "{pairs:#?}");
        assert_eq!(counts(&pairs), [(Shown::Wrong, pairs.len())].into(), "{}: {pairs:#?}", debugger.name());
        let (printed, possible) = pairs[0].example.clone().unwrap();
        // 16 iterations at a time: at the second arrival it is still 0.
        assert_eq!((printed.integer(), possible.len()), (Some(0), 17), "{pairs:#?}");
    }
}

#[test]
fn gcc_has_nothing_where_it_vectorises() {
    for debugger in DEBUGGERS {
        let pairs = surveyed(debugger, STORES, &["gcc-12", "-O3", "-msse4.2"]);
        assert_eq!(counts(&pairs), [(Shown::Nothing, pairs.len())].into(), "{}: {pairs:#?}", debugger.name());
    }
}

#[test]
fn unoptimised_code_is_right_everywhere() {
    let pairs = surveyed(&Gdb, STORES, &["gcc-12", "-O0"]);
    assert!(pairs.len() > 5);
    assert_eq!(counts(&pairs), [(Shown::True, pairs.len())].into(), "{pairs:#?}");
}

#[test]
fn sums_are_matched_by_counting() {
    let pairs = surveyed(&Gdb, SUMS, &["clang-19", "-O3", "-msse4.2"]);
    assert_eq!(counts(&pairs), [(Shown::Wrong, pairs.len())].into(), "{pairs:#?}");
}

/// An inner loop that is left at once at first, and code that later iterations come to, or none.
const NEST: &str = "extern int X[3200], Y[3200], val;
int kernel(void) {
  for (int i = 0; i < 40; i++) {
    for (int j = 0; j < i; j++) {
      X[40 * i + j] += 7;
      if (j > LATE) Y[j] += i;
    }
  }
  return 0;
}
";

#[test]
fn what_comes_late_is_waited_for() {
    for (late, unreached) in [("2", false), ("50", true)] {
        let pairs = surveyed(&Gdb, &NEST.replace("LATE", late), &["gcc-12", "-O0"]);
        let counts = counts(&pairs);
        assert!(counts[&Shown::True] > 20, "{pairs:#?}");
        assert_eq!(counts.contains_key(&Shown::Unreached), unreached, "{pairs:#?}");
        assert_eq!(counts.len(), if unreached { 2 } else { 1 }, "{pairs:#?}");
    }
}

#[test]
fn the_same_code_is_not_matched_again() {
    let built = build(SUMS, &["gcc-12", "-O3", "-msse4.2"]);
    built.write("nothing.c", "int main(void) { return 0; }");
    built.run(&["gcc-12", "-g", "nothing.c", "-o", "nothing"]);
    let mut matches = Matches::default();
    let first = survey_of(&Gdb, &built, ("kernel", "plain"), SUMS, &mut matches).unwrap();
    // There is nothing to match with.
    assert!(survey_of(&Gdb, &built, ("kernel", "nothing"), SUMS, &mut Matches::default()).is_err());
    assert_eq!(survey_of(&Gdb, &built, ("kernel", "nothing"), SUMS, &mut matches).unwrap(), first);
    // Other code.
    assert!(survey_of(&Gdb, &built, ("plain", "nothing"), SUMS, &mut matches).is_err());
}
