//! The hand-written proofs of s000 say what the code does: their invariants and their values for the debugger
//! hold in every state of a run, with `i` counted as the source counts it. This is no proof; it catches a
//! wrong register, offset or factor in a fixture that others build on.

mod stepping;

use metaloc_proof::{MachinePlace, Place, Predicate, Proof, Relation, Sum, Term};
use metaloc_prover::bits::Bits;
use metaloc_prover::graph::Point;
use metaloc_prover::x86::state::RSP;
use stepping::{Machine, OBJECTS, PLACES, STACK, read, s000};

/// One state of the machine with the source's `i`.
struct Seen<'a> {
    machine: &'a Machine,
    entry: &'a Machine,
    i: u128,
}

const GENERAL: [&str; 16] = [
    "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15",
];

fn place(machine: &Machine, place: &Place) -> Bits {
    match place {
        Place::Register { name, low_bit, width_bits } => {
            let whole = match name.strip_prefix("xmm") {
                Some(number) => machine.state.vector[number.parse::<usize>().unwrap()],
                None => machine.state.general[GENERAL.iter().position(|known| known == name).unwrap()],
            };
            whole.extract(*low_bit, *width_bits)
        }
        Place::StackSlot { offset_bytes, width_bits } => {
            memory(machine, STACK.wrapping_add_signed(*offset_bytes), *width_bits)
        }
    }
}

fn memory(machine: &Machine, address: u64, width_bits: u32) -> Bits {
    let bytes = machine.memory(address, width_bits as usize / 8);
    Bits::new(width_bits, bytes.iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte)))
}

impl Seen<'_> {
    fn term(&self, term: &Term) -> Bits {
        let address = |symbol: &str| PLACES.iter().find(|(name, _)| *name == symbol).unwrap().1;
        match term {
            Term::Machine { place: of } => place(self.machine, of),
            Term::Entry { place: of } => place(self.entry, of),
            Term::Address { symbol } => Bits::new(64, u128::from(address(symbol))),
            Term::Global { symbol, offset_bytes, width_bits, .. } => {
                memory(self.machine, address(symbol) + offset_bytes, *width_bits)
            }
            Term::Element { .. } | Term::Fold { .. } => panic!("these proofs have neither"),
            Term::Value { .. } => Bits::new(32, self.i),
        }
    }

    fn sum(&self, sum: &Sum) -> Bits {
        let start = Bits::new(sum.width_bits, sum.constant.0);
        sum.terms.iter().fold(start, |total, part| {
            // All extended terms of these proofs are below the sign.
            let value = Bits::new(sum.width_bits, self.term(&part.term).value());
            total.add(Bits::new(sum.width_bits, part.coefficient.0).mul(value))
        })
    }

    fn holds(&self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Zero { sum } => !self.sum(sum).is_set(),
            Predicate::Compare { relation: Relation::Ult, left, right } => {
                self.sum(left).ult(self.sum(right)).is_set()
            }
            Predicate::Compare { .. } => panic!("these proofs have no other relation"),
            // The source is not run here.
            Predicate::MemoryEqual { .. } => true,
        }
    }
}

fn proof(object: &str) -> Proof {
    Proof::from_json(&read(&format!("proofs/equal/{}.json", object.trim_end_matches(".o")))).unwrap()
}

/// Calls `visit` with the states of the first turns at the head of the loop and at the pc of the second value
/// for the debugger.
fn each_turn(object: &str, mut visit: impl FnMut(&Seen, u64)) {
    let proof = proof(object);
    let function = &proof.functions[0];
    let pc = |point: usize| match function.machine_points[point].place {
        MachinePlace::Instruction { pc } => pc,
        MachinePlace::Exit => panic!("no pc"),
    };
    let (head, body, turn) = (pc(1), pc(4), u128::from(function.edges[1].source.delta));
    let entry = Machine::new(&s000(object));
    let mut machine = Machine::new(&s000(object));
    machine.run_to(&Point::Pc(head));
    for number in 0..20 {
        for (at, next) in [(head, body), (body, head)] {
            visit(&Seen { machine: &machine, entry: &entry, i: number * turn }, at);
            machine.run_to(&Point::Pc(next));
        }
    }
}

#[test]
fn invariants_of_the_loop_hold_in_every_turn() {
    for object in OBJECTS {
        let proof = proof(object);
        let node = &proof.functions[0].nodes[1];
        let MachinePlace::Instruction { pc: head } = proof.functions[0].machine_points[1].place else {
            panic!()
        };
        let mut turns = 0;
        each_turn(object, |seen, pc| {
            if pc == head {
                turns += 1;
                for (number, predicate) in node.invariants.iter().enumerate() {
                    assert!(seen.holds(predicate), "{object}: invariant {number} in turn {turns}");
                }
            }
        });
        assert_eq!(turns, 20);
    }
}

#[test]
fn values_for_the_debugger_are_those_of_the_source() {
    for object in OBJECTS {
        let proof = proof(object);
        let locations = &proof.functions[0].locations;
        let mut order = 0;
        each_turn(object, |seen, _| {
            let value = &locations[order % 2].value;
            let sum = seen.sum(&value.sum).value();
            assert_eq!((sum / value.divisor.0, sum % value.divisor.0), (seen.i, 0), "{object}");
            order += 1;
        });
    }
}

#[test]
fn a_wrong_factor_is_noticed() {
    let proof = proof(OBJECTS[0]);
    let mut wrong = proof.functions[0].nodes[1].invariants[0].clone();
    let Predicate::Zero { sum } = &mut wrong else { panic!("the first relates rax and i") };
    sum.terms[1].coefficient.0 += 1;
    let mut failed = 0;
    each_turn(OBJECTS[0], |seen, _| failed += usize::from(!seen.holds(&wrong)));
    assert!(failed > 30, "{failed}");
}

#[test]
fn the_entry_state_satisfies_the_entry_node() {
    for object in OBJECTS {
        let proof = proof(object);
        let entry = Machine::new(&s000(object));
        assert_eq!(entry.state.general[RSP].value(), u128::from(STACK));
        let seen = Seen { machine: &entry, entry: &entry, i: 0 };
        assert!(
            proof.functions[0].nodes[0].invariants.iter().all(|predicate| seen.holds(predicate)),
            "{object}"
        );
    }
}
