//! The judge judged: rows are broken on purpose, one operation at a time, and the processor has to notice.
//!
//! A row is a program over [`Domain`]; a variant of it is the row with one of its operations giving something
//! else, or with something else done as a whole (a row that only jumps has no operations). What no state shows is
//! either the same function (nothing but the lowest bit of a masked word changed, say), or a mistake that could be
//! in the table now without anybody's notice.

use super::child::{ChildError, Input, Output};
use super::judge::{Prediction, difference, memory_of, nothing_done, predict, predict_in, run_row};
use super::sample::Sample;
use crate::bits::Bits;
use crate::domain::{Concrete, Domain, Fault};
use crate::float::Function;
use crate::x86::Mode;
use iced_x86::{Code, Instruction};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What came of the variants of one row.
#[derive(Debug)]
pub struct BrokenRow {
    /// The row.
    pub code: Code,
    /// How many variants there are.
    pub variants: usize,
    /// Those that no state showed.
    pub unnoticed: Vec<Variant>,
}

/// A row broken in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variant(Change);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Change {
    /// The row as a whole does something else.
    Whole(Whole),
    /// One of its operations is broken.
    One(Broken),
}

/// An operation with a wrong result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Broken {
    operation: Operation,
    /// Which of the row's operations of that kind, in the order in which they are done.
    number: usize,
    wrong: Wrong,
}

impl fmt::Display for Variant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Change::Whole(whole) => write!(out, "{whole:?}"),
            Change::One(Broken { operation, number, wrong }) => {
                write!(out, "{operation:?} {number}: {wrong:?}")
            }
        }
    }
}

/// What a row does instead of what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Whole {
    /// Nothing, and control goes on behind it.
    Nothing,
    /// It changes one more general register.
    OneMoreRegister,
    /// It changes one more vector register.
    OneMoreVector,
    /// Control goes on one byte further.
    Elsewhere,
}

impl Whole {
    const ALL: [Whole; 4] = [Whole::Nothing, Whole::OneMoreRegister, Whole::OneMoreVector, Whole::Elsewhere];

    fn prediction(self, right: Prediction, sample: &Sample) -> Prediction {
        let lowest = Bits::new(128, 1);
        match (self, right) {
            (Whole::Nothing, _) => nothing_done(&sample.input, &sample.instruction),
            (_, Prediction::Faults(fault)) => Prediction::Faults(fault),
            (whole, Prediction::Completes { mut state, window, mut pc }) => {
                match whole {
                    Whole::OneMoreRegister => {
                        state.general[3] = state.general[3].xor(lowest.extract(0, 64));
                    }
                    Whole::OneMoreVector => state.vector[5] = state.vector[5].xor(lowest),
                    _ => pc += 1,
                }
                Prediction::Completes { state, window, pc }
            }
        }
    }
}

/// The operations of [`Domain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Operation {
    Constant,
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    Udiv,
    Urem,
    Sdiv,
    Srem,
    Shl,
    Lshr,
    Ashr,
    Extract,
    Concat,
    ZeroExtend,
    SignExtend,
    Equals,
    Ult,
    Slt,
    Choose,
    Float,
    Load,
    Store,
    Require,
}

/// What is wrong with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Wrong {
    /// The lowest bit is inverted.
    LowestBit,
    /// The highest bit is inverted.
    HighestBit,
    /// It is that of a neighbour: the difference for the sum, the signed for the unsigned, the other choice.
    Neighbour,
}

impl Wrong {
    const ALL: [Wrong; 3] = [Wrong::LowestBit, Wrong::HighestBit, Wrong::Neighbour];
}

/// The concrete domain with one operation broken.
struct Faulty {
    sound: Concrete,
    broken: Option<Broken>,
    done: RefCell<BTreeMap<Operation, usize>>,
    /// Whether a result was changed.
    changed: Cell<bool>,
}

impl Faulty {
    fn new(input: &Input, broken: Option<Broken>) -> Faulty {
        Faulty { sound: memory_of(input), broken, done: RefCell::default(), changed: Cell::new(false) }
    }

    /// The result of an operation: the right one, or what the variant makes of it.
    fn result(&self, operation: Operation, right: Bits, neighbour: Bits) -> Bits {
        let number = *self.done.borrow_mut().entry(operation).and_modify(|done| *done += 1).or_insert(0);
        let wrong = match self.broken {
            Some(broken) if (broken.operation, broken.number) == (operation, number) => broken.wrong,
            _ => return right,
        };
        let flipped = |bit: u32| right.xor(Bits::new(right.width_bits(), 1 << bit));
        let result = match wrong {
            Wrong::LowestBit => flipped(0),
            // Of one bit it is the lowest.
            Wrong::HighestBit if right.width_bits() == 1 => right,
            Wrong::HighestBit => flipped(right.width_bits() - 1),
            Wrong::Neighbour => neighbour,
        };
        self.changed.set(self.changed.get() || result != right);
        result
    }

    /// The same where there is no neighbour.
    fn alone(&self, operation: Operation, right: Bits) -> Bits {
        self.result(operation, right, right)
    }
}

/// Operations on two words, each with its neighbour.
macro_rules! binary {
    ($($name:ident $operation:ident $neighbour:ident;)*) => {
        $(fn $name(&self, left: Bits, right: Bits) -> Bits {
            self.result(Operation::$operation, left.$name(right), left.$neighbour(right))
        })*
    };
}

impl Domain for Faulty {
    type Word = Bits;

    binary! {
        add Add sub;
        sub Sub add;
        mul Mul add;
        and And or;
        or Or xor;
        xor Xor or;
        udiv Udiv sdiv;
        urem Urem srem;
        sdiv Sdiv udiv;
        srem Srem urem;
        shl Shl lshr;
        lshr Lshr ashr;
        ashr Ashr lshr;
        ult Ult slt;
        slt Slt ult;
    }

    fn constant(&self, width_bits: u32, value: u128) -> Bits {
        self.alone(Operation::Constant, self.sound.constant(width_bits, value))
    }
    fn width_bits(&self, word: Bits) -> u32 {
        word.width_bits()
    }
    fn extract(&self, word: Bits, low_bit: u32, width_bits: u32) -> Bits {
        let right = word.extract(low_bit, width_bits);
        let next = low_bit + width_bits < word.width_bits();
        let neighbour = if next { word.extract(low_bit + 1, width_bits) } else { right };
        self.result(Operation::Extract, right, neighbour)
    }
    fn concat(&self, high: Bits, low: Bits) -> Bits {
        self.result(Operation::Concat, high.concat(low), low.concat(high))
    }
    fn zero_extend(&self, word: Bits, width_bits: u32) -> Bits {
        self.result(Operation::ZeroExtend, word.zero_extend(width_bits), word.sign_extend(width_bits))
    }
    fn sign_extend(&self, word: Bits, width_bits: u32) -> Bits {
        self.result(Operation::SignExtend, word.sign_extend(width_bits), word.zero_extend(width_bits))
    }
    fn equals(&self, left: Bits, right: Bits) -> Bits {
        self.alone(Operation::Equals, left.equals(right))
    }
    fn choose(&self, condition: Bits, then: Bits, otherwise: Bits) -> Bits {
        let (right, other) = if condition.is_set() { (then, otherwise) } else { (otherwise, then) };
        self.result(Operation::Choose, right, other)
    }
    /// The neighbour is that of the operands in the other order; of one operand, the operand.
    fn float(&self, function: Function, operands: &[Bits]) -> Bits {
        let right = self.sound.float(function, operands);
        let neighbour = match operands {
            [left, other] => self.sound.float(function, &[*other, *left]),
            _ => right,
        };
        self.result(Operation::Float, right, neighbour)
    }
    fn unknown(&self, width_bits: u32) -> Bits {
        self.sound.unknown(width_bits)
    }
    fn load(&self, address: Bits, bytes: u32) -> Result<Bits, Fault> {
        self.sound.load(address, bytes).map(|word| self.alone(Operation::Load, word))
    }
    fn store(&self, address: Bits, value: Bits) -> Result<(), Fault> {
        self.sound.store(address, self.alone(Operation::Store, value))
    }
    fn require(&self, condition: Bits, otherwise: Fault) -> Result<(), Fault> {
        self.sound.require(self.alone(Operation::Require, condition), otherwise)
    }
}

/// Breaks one row in every way, and has the processor judge each in `states` states.
pub fn break_row(mode: Mode, code: Code, states: usize, seed: u64) -> Result<BrokenRow, ChildError> {
    let mut seen = Vec::new();
    run_row(mode, code, states, seed, |sample, output| seen.push((sample.clone(), *output)))?;
    let mut variants = BTreeSet::from(Whole::ALL.map(|whole| Variant(Change::Whole(whole))));
    for (sample, _) in &seen {
        for (operation, last) in operations(&sample.input, &sample.instruction) {
            let numbered = (0..=last).flat_map(|number| Wrong::ALL.map(|wrong| (number, wrong)));
            let broken = numbered.map(|(number, wrong)| Broken { operation, number, wrong });
            variants.extend(broken.map(|broken| Variant(Change::One(broken))));
        }
    }
    let mut row = BrokenRow { code, variants: 0, unnoticed: Vec::new() };
    for variant in variants {
        let mut changed = false;
        let noticed = seen.iter().any(|(sample, output)| {
            let (differs, changes) = shows(variant, sample, output);
            changed |= changes;
            differs
        });
        row.variants += usize::from(noticed || changed);
        if changed && !noticed {
            row.unnoticed.push(variant);
        }
    }
    Ok(row)
}

/// The operations that a row does in a state, each with the number of the last.
fn operations(input: &Input, instruction: &Instruction) -> BTreeMap<Operation, usize> {
    let mut done = BTreeMap::new();
    let kept = |domain: Faulty| {
        done = domain.done.into_inner();
        domain.sound.into_window()
    };
    // Only what completes is counted: what faults does part of the same.
    let _ = predict_in(Faulty::new(input, None), kept, input, instruction);
    done
}

/// Whether the processor differs from a variant in that state, and whether the variant differs from the row on
/// the way.
fn shows(variant: Variant, sample: &Sample, output: &Output) -> (bool, bool) {
    let (prediction, changed) = match variant.0 {
        Change::Whole(whole) => {
            let right = predict(&sample.input, &sample.instruction);
            // What a fence or a prefetch does is nothing: without it the row is the same. So is a fault with more
            // beside it.
            let changed = whole != Whole::Nothing && matches!(right, Ok(Some(Prediction::Completes { .. })));
            (right.map(|right| right.map(|right| whole.prediction(right, sample))), changed)
        }
        Change::One(broken) => {
            let mut changed = false;
            let kept = |domain: Faulty| {
                changed = domain.changed.get();
                domain.sound.into_window()
            };
            let domain = Faulty::new(&sample.input, Some(broken));
            (predict_in(domain, kept, &sample.input, &sample.instruction), changed)
        }
    };
    match prediction {
        // The manual leaves it open, or the variant says that it does: nothing is claimed.
        Ok(None) => (false, changed),
        Ok(Some(prediction)) => (difference(&prediction, &sample.input, output).is_some(), changed),
        Err(_) => (true, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unnoticed(code: Code) -> (usize, Vec<String>) {
        let row = break_row(Mode::Bits64, code, 300, 1).unwrap();
        (row.variants, row.unnoticed.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_broken_sum_is_noticed() {
        let (variants, unnoticed) = unnoticed(Code::Add_EAX_imm32);
        assert!(variants > unnoticed.len());
        assert!(!unnoticed.iter().any(|variant| variant.starts_with("Add ")), "{unnoticed:?}");
    }

    /// The adjust flag is one bit of three words: what is wrong with the others changes nothing.
    #[test]
    fn what_does_not_matter_is_not_noticed() {
        let (_, unnoticed) = unnoticed(Code::Add_EAX_imm32);
        assert!(unnoticed.contains(&"Xor 0: LowestBit".to_owned()), "{unnoticed:?}");
    }

    /// Without operations a row can still do something else as a whole.
    #[test]
    fn a_jump_and_a_fence_are_broken_as_a_whole() {
        assert_eq!(unnoticed(Code::Jmp_rel8_64), (4, Vec::new()));
        assert_eq!(unnoticed(Code::Mfence), (3, Vec::new()), "without it nothing is missing");
    }
}
