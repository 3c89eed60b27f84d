//! Runs a row on the processor and in the concrete domain and compares everything.

use super::child::{self, ChildError, DATA, Input, Output, PAGE, TEST_PC, WINDOW};
use super::random::Random;
use super::sample::{Sample, sample};
use crate::bits::Bits;
use crate::domain::{Concrete, Domain, Fault, Window};
use crate::x86::state::{Flag, State};
use crate::x86::{Mode, Next, Stop, step};
use iced_x86::{Code, Instruction};

/// What came of one row.
#[derive(Debug)]
pub struct RowReport {
    /// The row.
    pub code: Code,
    /// How many states were compared.
    pub states: usize,
    /// How many of them ended in a fault, on both sides.
    pub faults: usize,
    /// How many were left out because the manual leaves the result open.
    pub open: usize,
    /// The first few disagreements.
    pub mismatches: Vec<Mismatch>,
}

/// A state in which processor and table disagree.
#[derive(Debug)]
pub struct Mismatch {
    /// The instruction.
    pub instruction: String,
    /// What differs.
    pub difference: String,
    /// The state before.
    pub before: String,
}

/// States per child process: bounds the memory of a run.
const BATCH: usize = 1000;
/// More disagreements than this of one row say nothing new.
const SHOWN: usize = 3;

/// Judges one row in `states` states.
pub fn judge_row(mode: Mode, code: Code, states: usize, seed: u64) -> Result<RowReport, ChildError> {
    let mut report = RowReport { code, states: 0, faults: 0, open: 0, mismatches: Vec::new() };
    run_row(mode, code, states, seed, |sample, output| judge_state(sample, output, &mut report))?;
    Ok(report)
}

/// Runs a row on the processor in `states` states.
pub(super) fn run_row(
    mode: Mode,
    code: Code,
    states: usize,
    seed: u64,
    mut seen: impl FnMut(&Sample, &Output),
) -> Result<(), ChildError> {
    let mut random = Random::new(seed ^ (code as u64) << 32);
    let mut number = 0;
    while number < states {
        let count = BATCH.min(states - number);
        let samples: Vec<Sample> =
            (number..number + count).map(|index| sample(mode, code, index, &mut random)).collect();
        let inputs: Vec<Input> = samples.iter().map(|sample| sample.input).collect();
        for (sample, output) in samples.iter().zip(child::run(mode, &inputs)?) {
            seen(sample, &output);
        }
        number += count;
    }
    Ok(())
}

fn judge_state(sample: &Sample, output: &Output, report: &mut RowReport) {
    let difference = match predict(&sample.input, &sample.instruction) {
        Ok(None) => {
            report.open += 1;
            return;
        }
        Ok(Some(prediction)) => {
            report.faults += usize::from(matches!(prediction, Prediction::Faults(_)));
            difference(&prediction, &sample.input, output)
        }
        Err(reason) => Some(reason),
    };
    report.states += 1;
    if let Some(difference) = difference
        && report.mismatches.len() < SHOWN
    {
        report.mismatches.push(Mismatch {
            instruction: format!(
                "{} ({:02x?})",
                sample.instruction,
                &sample.input.code[..sample.instruction.len()]
            ),
            difference,
            before: format!("{:x?}", (sample.input.general, sample.input.vector, sample.input.flags)),
        });
    }
}

pub(super) enum Prediction {
    Completes { state: Box<State<Bits>>, window: Window, pc: u64 },
    Faults(Fault),
}

/// What the processor did that was not predicted.
pub(super) fn difference(prediction: &Prediction, input: &Input, output: &Output) -> Option<String> {
    match prediction {
        Prediction::Faults(fault) => compare_fault(*fault, input, output),
        Prediction::Completes { state, window, pc } => compare_state(state, window, *pc, output),
    }
}

/// What the table says; nothing where the manual leaves the result open.
pub(super) fn predict(input: &Input, instruction: &Instruction) -> Result<Option<Prediction>, String> {
    predict_in(memory_of(input), Concrete::into_window, input, instruction)
}

/// The memory before.
pub(super) fn memory_of(input: &Input) -> Concrete {
    let mut bytes = vec![0; PAGE as usize - WINDOW];
    bytes.extend(input.window);
    Concrete::new(Window { start: DATA, bytes })
}

/// What the table says in a domain of the memory before, from which the memory after can be had.
pub(super) fn predict_in<D: Domain<Word = Bits>>(
    domain: D,
    into_window: impl FnOnce(D) -> Window,
    input: &Input,
    instruction: &Instruction,
) -> Result<Option<Prediction>, String> {
    let mut state = state_of(input);
    match step(&domain, &mut state, instruction) {
        Ok(next) => {
            let pc = match next {
                Next::Fall => instruction.next_ip(),
                Next::Jump(pc) => pc,
                Next::Branch { condition, target } => {
                    if condition.is_set() {
                        target
                    } else {
                        instruction.next_ip()
                    }
                }
                Next::Indirect(pc) | Next::Call(pc) | Next::Return(pc) => pc.value() as u64,
            };
            // Processors differ in where they report a branch to an address that is not canonical.
            if pc >> 47 != 0 {
                return Ok(None);
            }
            Ok(Some(Prediction::Completes { state: Box::new(state), window: into_window(domain), pc }))
        }
        Err(Stop::Fault(Fault::UndefinedResult)) => Ok(None),
        Err(Stop::Fault(fault)) => Ok(Some(Prediction::Faults(fault))),
        Err(stop @ Stop::Unsupported { .. }) => Err(stop.to_string()),
    }
}

/// The state before, with control behind the instruction.
pub(super) fn nothing_done(input: &Input, instruction: &Instruction) -> Prediction {
    Prediction::Completes {
        state: Box::new(state_of(input)),
        window: memory_of(input).into_window(),
        pc: instruction.next_ip(),
    }
}

fn state_of(input: &Input) -> State<Bits> {
    State::new(
        &Concrete::new(Window { start: 0, bytes: Vec::new() }),
        |number| Bits::new(64, u128::from(input.general[number])),
        |number| Bits::new(128, input.vector[number]),
        |flag| Bits::new(1, u128::from(input.flags >> flag.bit())),
    )
}

fn compare_fault(fault: Fault, input: &Input, output: &Output) -> Option<String> {
    let expected = match fault {
        Fault::Divide => 0,
        Fault::InvalidOpcode => 6,
        Fault::StackSegment => 12,
        Fault::GeneralProtection => 13,
        Fault::Page | Fault::UndefinedResult | Fault::BelowStack | Fault::Guess => 14,
    };
    if output.trap != expected || output.pc != TEST_PC {
        return Some(format!("{fault:?} fault expected, exception {} at {:#x} seen", output.trap, output.pc));
    }
    let kept =
        output.general == input.general && output.vector == input.vector && output.window == input.window;
    (!kept || output.stray != 0).then(|| "the state changed in spite of a fault".to_owned())
}

fn compare_state(state: &State<Bits>, window: &Window, pc: u64, output: &Output) -> Option<String> {
    // An int3 was hit, or control went to a place where nothing is mapped.
    let seen = match output.trap {
        3 => output.pc - 1,
        14 if output.pc != TEST_PC => output.pc,
        trap => return Some(format!("exception {trap} at {:#x}", output.pc)),
    };
    if seen != pc {
        return Some(format!("control at {seen:#x}, expected {pc:#x}"));
    }
    for number in 0..16 {
        let (seen, expected) = (u128::from(output.general[number]), state.general[number].value());
        if seen != expected {
            return Some(format!("general register {number} is {seen:#x}, expected {expected:#x}"));
        }
        let (seen, expected) = (output.vector[number], state.vector[number].value());
        if seen != expected {
            return Some(format!("xmm{number} is {seen:#x}, expected {expected:#x}"));
        }
    }
    for flag in Flag::ALL {
        let (word, seen) = (state.flag(flag), output.flags >> flag.bit() & 1);
        if word.defined.is_set() && word.value.value() != u128::from(seen) {
            return Some(format!("{flag:?} flag is {seen}"));
        }
    }
    let (rest, last) = window.bytes.split_at(PAGE as usize - WINDOW);
    let stray = rest.iter().any(|byte| *byte != 0);
    (last != output.window || stray != (output.stray != 0)).then(|| "memory differs".to_owned())
}
