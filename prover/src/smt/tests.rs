//! The solver is asked real questions; `./test` installs z3.

use super::*;
use crate::bits::Bits;
use crate::expr::{CommutativeOp, CompareOp, Sort, evaluate};

fn solver(milliseconds: u64) -> Solver {
    let limits = Limits { time: Duration::from_millis(milliseconds), memory_mib: 512 };
    Solver::new(Program::find(Kind::Z3).unwrap(), limits)
}

/// `load(store(m, p, v), q) = 7 and p + 1 = q and p < 100`.
fn about_memory(arena: &mut Arena) -> Vec<ExprId> {
    let memory = arena.variable("m", Sort::Memory(64));
    let (p, q) = (arena.variable("p", Sort::Bits(64)), arena.variable("q", Sort::Bits(64)));
    let value = arena.variable("v", Sort::Bits(16));
    let (one, hundred, seven) = (
        arena.constant(Bits::new(64, 1)),
        arena.constant(Bits::new(64, 100)),
        arena.constant(Bits::new(16, 0x0107)),
    );
    let next = arena.add(p, one);
    let stored = arena.store(memory, p, value);
    let loaded = arena.load(stored, q, 2);
    vec![
        arena.compare(CompareOp::Eq, next, q),
        arena.compare(CompareOp::Ult, p, hundred),
        arena.compare(CompareOp::Eq, loaded, seven),
    ]
}

#[test]
fn a_model_makes_the_query_true() {
    let mut arena = Arena::new();
    let asserted = about_memory(&mut arena);
    let Answer::Sat(model) = solver(5000).ask(&mut arena, "memory", &asserted).unwrap() else {
        panic!("there is a model")
    };
    for id in asserted {
        assert!(evaluate(&arena, id, &model).bits().is_set());
    }
}

#[test]
fn a_contradiction_has_none_and_is_asked_once() {
    let mut arena = Arena::new();
    let mut asserted = about_memory(&mut arena);
    let (p, q) = (arena.variable("p", Sort::Bits(64)), arena.variable("q", Sort::Bits(64)));
    asserted.push(arena.compare(CompareOp::Ult, q, p));
    let mut solver = solver(5000);
    for _ in 0..2 {
        assert!(solver.ask(&mut arena, "contradiction", &asserted).unwrap().is_unsat());
    }
    assert_eq!((solver.statistics.unsat, solver.statistics.cached), (1, 1));
}

/// Factors of a 64-bit semiprime: no solver finds them in a moment.
#[test]
fn time_is_kept_and_a_timeout_is_no_answer() {
    let mut arena = Arena::new();
    let (a, b) = (arena.variable("a", Sort::Bits(64)), arena.variable("b", Sort::Bits(64)));
    let product = arena.commutative(CommutativeOp::Product, &[a, b]);
    let target = arena.constant(Bits::new(64, 0xffff_fffb * 0xffff_ffef));
    let limit = arena.constant(Bits::new(64, 1 << 32));
    let one = arena.constant(Bits::new(64, 1));
    let asserted = [
        arena.compare(CompareOp::Eq, product, target),
        arena.compare(CompareOp::Ult, a, limit),
        arena.compare(CompareOp::Ult, b, limit),
        arena.compare(CompareOp::Ult, one, a),
    ];
    let mut solver = solver(300);
    let answer = solver.ask(&mut arena, "factors", &asserted).unwrap();
    assert!(matches!(answer, Answer::Unknown(Reason::Timeout(_))), "{answer:?}");
    assert!(solver.statistics.spent < Duration::from_secs(3));
    assert_eq!(solver.statistics.unknown, 1);
}

#[test]
fn a_script_that_is_none_is_no_proof() {
    let answer = solver(5000).check_script("(assert (= x #b1))(check-sat)").unwrap();
    assert!(matches!(answer, Err(Reason::GaveUp(_))), "{answer:?}");
}

#[test]
fn a_solver_that_is_not_there_is_one_clear_error() {
    // No test machine has all three; a missing one must say its name.
    for kind in [Kind::Z3, Kind::Cvc5, Kind::Bitwuzla] {
        if let Err(error) = Program::find(kind) {
            assert!(error.to_string().contains(kind.name()), "{error}");
        }
    }
}
