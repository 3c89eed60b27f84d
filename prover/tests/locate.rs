//! Questions about variables at pcs that the machine may pass by, about what is said of them and wrong on some run, and
//! about which iteration an instruction reads for.

mod judging;

use metaloc_proof::form::At;
use metaloc_proof::{Exact, Extend, Place, Sum, SumTerm, Term, Word};
use metaloc_prover::ir::{Module, compile};
use metaloc_prover::object_file::ObjectFile;
use metaloc_prover::product::locate::Locator;
use metaloc_prover::prove::{ProveOptions, Verdict, prove};
use metaloc_prover::smt::{Kind, Limits, Program};

const SOURCE: &str = "extern int X[240], Y[240];
int f(void) {
  int seven = 7, left, open = left + 1;
  for (int i = 0; i < 20; i++)
    if (Y[i] > 0)
      X[i] = seven;
  return seven;
}
";

/// Five elements in each turn, each with a store that may be passed by: so many paths that the product has one edge for
/// all of them.
fn assembly() -> String {
    let element = |number: usize| {
        let offset = 4 * number;
        format!("\tcmpl $0, Y+{offset}(,%rax,4)\n\tjle 2f\n\tmovl $7, X+{offset}(,%rax,4)\n\tnop\n2:\n")
    };
    let elements: String = (0..5).map(element).collect();
    format!(
        "\txorl %eax, %eax\n1:\n{elements}\taddq $5, %rax\n\tcmpq $20, %rax\n\tjne 1b\n\tmovl $7, %eax\n\tret"
    )
}

fn locator() -> Locator {
    proved(SOURCE, &assembly())
}

fn proved(text: &str, assembly: &str) -> Locator {
    let folder = tempfile::tempdir().unwrap();
    let (source, file) = (folder.path().join("f.c"), folder.path().join("g.s"));
    std::fs::write(&source, text).unwrap();
    let frame = format!("\t.text\n\t.globl f\n\t.type f, @function\nf:\n{assembly}\n\t.size f, .-f\n");
    std::fs::write(&file, frame).unwrap();
    let text = compile::text(judging::llvm(), &source, &["-fwrapv".to_owned()]).unwrap();
    let module = Module::parse("f.c", &text).unwrap();
    let object = judging::object("gcc-12".as_ref(), &file, &[], folder.path());
    let object = ObjectFile::parse("f.o", &std::fs::read(object).unwrap()).unwrap();
    let code = object.function("f").unwrap().clone();
    let program = Program::find(Kind::Z3).unwrap();
    let verdict = prove(&module, &code, &program, ProveOptions::default()).unwrap().0;
    let Verdict::Proved(proved) = verdict else { panic!("{verdict:?}") };
    Locator::new(&module, &code, &proved.function, &program, Limits::default()).unwrap()
}

/// `rax + plus`, in 32 bits.
fn rax(plus: u128) -> Exact {
    let place = Place::Register { name: "rax".into(), low_bit: 0, width_bits: 32 };
    let term = SumTerm { coefficient: Word(1), term: Term::Machine { place }, extend: Extend::None };
    Exact {
        sum: Sum { width_bits: 32, terms: vec![term], constant: Word(plus) },
        divisor: Word(1),
        signed: true,
    }
}

fn constant(value: u128) -> Exact {
    Exact {
        sum: Sum { width_bits: 32, terms: Vec::new(), constant: Word(value) },
        divisor: Word(1),
        signed: true,
    }
}

/// The edge round the loop: its positions of the machine include what is aside.
fn round(locator: &Locator) -> usize {
    let pcs = |edge: &usize| locator.machine(*edge).iter().filter(|one| one.aside).count();
    (0..locator.edges()).max_by_key(pcs).unwrap()
}

fn variable(locator: &Locator, name: &str) -> usize {
    locator.variables().iter().position(|variable| variable.name == name).unwrap()
}

#[test]
fn a_pc_that_may_be_passed_by_is_asked_about() {
    let mut locator = locator();
    let edge = round(&locator);
    let aside: Vec<usize> = locator
        .machine(edge)
        .iter()
        .enumerate()
        .filter(|(_, one)| one.aside)
        .map(|(number, _)| number)
        .collect();
    assert_eq!(aside.len(), 10, "five stores, and a nop after each: {:?}", locator.machine(edge));
    let meets = locator.machine(edge)[aside[1] + 1].clone();
    assert!(
        !meets.aside && meets.stores == 1,
        "what was written aside counts where the ways meet: {meets:?}"
    );
    let i = variable(&locator, "i");
    let first = |source: usize| At { edge, machine: aside[0], source };
    assert!(locator.show(first(0), i, &rax(0)).unwrap(), "i is rax at the first store");
    assert!(!locator.show(first(0), i, &rax(1)).unwrap(), "and nothing else");
    // The second store belongs to the second iteration, which the source comes to in any case.
    let second = locator.source(edge).iter().position(|step| step.round == 1).unwrap();
    let at = At { edge, machine: aside[2], source: second };
    assert!(locator.reached(at).unwrap());
    assert!(locator.show(at, i, &rax(1)).unwrap());
    assert!(!locator.show(at, i, &rax(0)).unwrap());
    let function = locator.finish(|_, _| true).expect("what was shown has words");
    assert_eq!(function.locations.len(), 2);
    // Where the ways meet after the first store, the memories are the same as after the first iteration.
    let stored = locator.source(edge).iter().position(|step| step.stored).unwrap();
    let meets = At { edge, machine: aside[1] + 1, source: stored };
    assert!(locator.surely_same_memory(meets).unwrap());
    assert!(!locator.surely_same_memory(At { source: 0, ..meets }).unwrap());
}

#[test]
fn a_constant_that_is_wrong_on_some_run_is_contradicted() {
    let mut locator = locator();
    let edge = round(&locator);
    let (i, seven) = (variable(&locator, "i"), variable(&locator, "seven"));
    let at = At { edge, machine: 0, source: 0 };
    assert!(!locator.refute(at, i, &constant(0)).unwrap(), "it is right when the loop is come to");
    assert!(locator.contradict(at, i, &constant(0)).unwrap(), "and wrong when it is gone round");
    assert!(locator.contradict(at, i, &constant(5)).unwrap());
    assert!(!locator.contradict(at, seven, &constant(7)).unwrap(), "always right");
    assert!(!locator.contradict(at, i, &rax(0)).unwrap(), "only constants are asked about");
    let open = variable(&locator, "open");
    assert!(locator.is_bound(edge, 0, open));
    assert!(!locator.contradict(at, open, &constant(5)).unwrap(), "what was never set may be anything");
}

const SEARCH: &str = "extern int Y[240];
int f(void) {
  int j = -1;
  for (int i = 0; i < 20; i++)
    if (Y[i] < 0)
      j = i;
  return j;
}
";

/// What `reads` says of the edge round a loop with this body, which does two iterations: numbers of instructions, and
/// numbers of iterations.
fn reads(body: &[&str]) -> Vec<(usize, usize)> {
    let body = body.join("\n\t");
    let mut locator = proved(
        SEARCH,
        &format!(
            "\tmovl $-1, %ecx\n\txorl %eax, %eax\n1:\t{body}\n\taddq $2, %rax\n\tcmpq $20, %rax\n\tjne 1b\n\tmovl \
             %ecx, %eax\n\tret"
        ),
    );
    let edge = (0..locator.edges()).max_by_key(|edge| locator.source(*edge).len().min(13)).unwrap();
    let found = locator.reads(edge).unwrap();
    let round = |(machine, source): (usize, usize)| (machine, locator.source(edge)[source].round);
    let mut found: Vec<(usize, usize)> = found.into_iter().map(round).collect();
    found.dedup();
    found
}

#[test]
fn an_instruction_reads_for_its_iteration() {
    let one = "cmpl $0, Y(,%rax,4)";
    let two = "cmpl $0, Y+4(,%rax,4)";
    let (first, second) = ("cmovsl %eax, %ecx", "cmovsl %edx, %ecx");
    let next = "leal 1(%rax), %edx";
    assert_eq!(reads(&[one, first, next, two, second]), [(0, 0), (3, 1)]);
    // Read twice, once with the other.
    let both = ["movq Y(,%rax,4), %rsi", "testl %esi, %esi", first, next, two, second];
    assert_eq!(reads(&both), [], "one instruction reads for two iterations");
    let vector = ["pxor %xmm0, %xmm0", one, first, next, two, second];
    assert_eq!(reads(&vector), [], "what is done with vectors is done for several");
}
