//! The two domains agree: what a row says symbolically, evaluated at a state, is what it says concretely
//! there, before and after rewriting. With [`super::judge`] this carries the processor's verdict over to the
//! expressions that proofs are made of.

use super::child::{DATA, Input, PAGE, WINDOW};
use super::judge::{Prediction, predict};
use super::random::Random;
use super::sample::sample;
use crate::bits::Bits;
use crate::domain::{Fault, OneRegion, Requirement, Symbolic, Window};
use crate::expr::normal::Normaliser;
use crate::expr::{Arena, Assignment, ExprId, Outcome, Sort, evaluate};
use crate::region::Region;
use crate::x86::state::{Flag, FlagWord, State};
use crate::x86::{Mode, Next, step};
use iced_x86::{Code, Instruction};

/// Compares the domains in `states` states of one row; the first disagreement, if there is one.
pub fn domains_agree(mode: Mode, code: Code, states: usize, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed ^ (code as u64) << 32);
    for index in 0..states {
        let sample = sample(mode, code, index, &mut random);
        compare(&sample.instruction, &sample.input)
            .map_err(|what| format!("{}: {what}", sample.instruction))?;
    }
    Ok(())
}

/// A symbolic run with the values of its variables.
struct Run {
    arena: Arena,
    normaliser: Normaliser,
    assignment: Assignment,
}

impl Run {
    /// The value of an expression, the same before and after rewriting.
    fn value(&mut self, id: ExprId) -> Result<Outcome, String> {
        let value = evaluate(&self.arena, id, &self.assignment);
        let normal = self.normaliser.normal(&mut self.arena, id);
        if evaluate(&self.arena, normal, &self.assignment) != value {
            return Err(format!("rewriting changes the value of {:?}", self.arena.node(id)));
        }
        Ok(value)
    }

    fn expect(&mut self, what: &str, id: ExprId, expected: Bits) -> Result<(), String> {
        let value = self.value(id)?.bits();
        if value == expected { Ok(()) } else { Err(format!("{what} is {value:?}, concretely {expected:?}")) }
    }
}

fn compare(instruction: &Instruction, input: &Input) -> Result<(), String> {
    let Some(prediction) = predict(input, instruction)? else { return Ok(()) };
    let domain = Symbolic::new(Arena::new(), "", &OneRegion(64));
    let mut state = State::new(
        &domain,
        |number| domain.variable(&format!("general.{number}"), 64),
        |number| domain.variable(&format!("vector.{number}"), 128),
        |flag| domain.variable(&format!("flag.{flag:?}"), 1),
    );
    let next = step(&domain, &mut state, instruction);
    let (mut arena, collected) = domain.into_parts();
    let memory = collected.memories.get(&Region::Rest).copied();
    let memory = memory.unwrap_or_else(|| Region::Rest.variable(&mut arena));
    let mut run = Run { arena, normaliser: Normaliser::new(), assignment: Assignment::default() };
    assign(&mut run, input);
    match prediction {
        Prediction::Faults(fault) => compare_fault(&mut run, fault, &collected.requirements),
        Prediction::Completes { state: concrete, window, pc } => {
            for requirement in collected.requirements {
                run.expect("a requirement", requirement.condition, Bits::bit(true))?;
            }
            compare_states(&mut run, &state, &concrete)?;
            compare_memory(&mut run, memory, &window)?;
            let next = next.map_err(|stop| stop.to_string())?;
            compare_next(&mut run, next, instruction, pc)
        }
    }
}

fn assign(run: &mut Run, input: &Input) {
    let mut set = |name: String, bits: Bits| {
        let symbol = run.arena.symbol(&name, Sort::Bits(bits.width_bits()));
        run.assignment.bits.insert(symbol, bits);
    };
    for number in 0..16 {
        set(format!("general.{number}"), Bits::new(64, u128::from(input.general[number])));
        set(format!("vector.{number}"), Bits::new(128, input.vector[number]));
    }
    for flag in Flag::ALL {
        set(format!("flag.{flag:?}"), Bits::new(1, u128::from(input.flags >> flag.bit())));
    }
    let symbol = run.arena.symbol(&Region::Rest.variable_name(), Sort::Memory(64));
    let page = (0..PAGE as usize - WINDOW).map(|_| 0).chain(input.window);
    run.assignment.memories.insert(symbol, (u128::from(DATA)..).zip(page).collect());
}

/// Faults that depend on values are requirements; what is mapped where is not part of this domain.
fn compare_fault(run: &mut Run, fault: Fault, requirements: &[Requirement]) -> Result<(), String> {
    if !matches!(fault, Fault::Divide | Fault::UndefinedResult) {
        return Ok(());
    }
    for requirement in requirements.iter().filter(|requirement| requirement.otherwise == fault) {
        if !run.value(requirement.condition)?.bits().is_set() {
            return Ok(());
        }
    }
    Err(format!("no requirement stands for the {fault:?} fault"))
}

fn compare_states(run: &mut Run, symbolic: &State<ExprId>, concrete: &State<Bits>) -> Result<(), String> {
    for number in 0..16 {
        run.expect("a general register", symbolic.general[number], concrete.general[number])?;
        run.expect("a vector register", symbolic.vector[number], concrete.vector[number])?;
    }
    for flag in Flag::ALL {
        let (word, FlagWord { value, defined }) = (symbolic.flag(flag), concrete.flag(flag));
        run.expect("whether a flag is defined", word.defined, defined)?;
        if defined.is_set() {
            run.expect("a flag", word.value, value)?;
        }
    }
    Ok(())
}

fn compare_memory(run: &mut Run, memory: ExprId, window: &Window) -> Result<(), String> {
    let Outcome::Memory(value) = run.value(memory)? else { return Err("memory is no memory".into()) };
    let mut bytes = (window.start..).zip(&window.bytes);
    let same = bytes.all(|(address, byte)| value.byte(u128::from(address)) == *byte);
    if same { Ok(()) } else { Err("memory differs".into()) }
}

fn compare_next(run: &mut Run, next: Next<ExprId>, instruction: &Instruction, pc: u64) -> Result<(), String> {
    let expected = |bits| Bits::new(bits, u128::from(pc));
    let known = match next {
        Next::Fall => instruction.next_ip(),
        Next::Jump(target) => target,
        Next::Branch { condition, target } => {
            if run.value(condition)?.bits().is_set() {
                target
            } else {
                instruction.next_ip()
            }
        }
        Next::Indirect(target) | Next::Call(target) | Next::Return(target) => {
            let expected = expected(run.arena.width_bits(target));
            return run.expect("the target", target, expected);
        }
    };
    if known == pc { Ok(()) } else { Err(format!("control goes to {known:#x}, concretely to {pc:#x}")) }
}
