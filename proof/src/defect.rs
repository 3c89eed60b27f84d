//! What can be wrong with a document that has the right shape. Every variant names the place and the value.

use crate::obligation::Claim;
use crate::paths::PathError;

/// One contradiction in a document. `at` is a path into the JSON: `functions[0].edges[2]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The messages say what the fields are.
pub enum Defect {
    #[error("schema is `{found}`")]
    Schema { found: String },
    #[error("{at}: id {found} at position {position}")]
    Id { at: String, position: usize, found: u32 },
    #[error("{at}: `{found}` is no SHA-256 in lower-case hexadecimal")]
    Hash { at: String, found: String },
    #[error("{at}: there is no {what} {index}")]
    Dangling { at: String, what: &'static str, index: u32 },
    #[error("{at}: {what} is there twice")]
    Twice { at: String, what: String },
    #[error("{at}: global `{symbol}` is not listed")]
    UnknownGlobal { at: String, symbol: String },
    #[error("{at}: alignment {align_bytes} is no power of two")]
    Alignment { at: String, align_bytes: u64 },
    #[error("{at}: bytes {offset_bytes}..+{length_bytes} are outside of `{symbol}`")]
    OutOfGlobal { at: String, symbol: String, offset_bytes: u64, length_bytes: u64 },
    #[error("{at}: the range {low_pc:#x}..{high_pc:#x} is empty")]
    EmptyRange { at: String, low_pc: u64, high_pc: u64 },
    #[error("{at}: pc {pc:#x} is outside of the function")]
    OutOfFunction { at: String, pc: u64 },
    #[error("{at}: bits {low_bit}..+{width_bits} of `{name}` do not exist")]
    Register { at: String, name: String, low_bit: u32, width_bits: u32 },
    #[error("{at}: width {width_bits} is not possible here")]
    Width { at: String, width_bits: u32 },
    #[error("{at}: {word} does not fit in {width_bits} bits, or is 0 where that says nothing")]
    Constant { at: String, word: String, width_bits: u32 },
    #[error("{at}: a term of {term_bits} bits in a sum of {sum_bits} bits needs another `extend`")]
    Extension { at: String, term_bits: u32, sum_bits: u32 },
    #[error("{at}: what is taken together is two or more parts of the machine's state or values")]
    Fold { at: String },
    #[error("{at}: the source has no stack to compare")]
    StackCompared { at: String },
    #[error("{at}: the first node must be the one entry, and exits be where both programs have returned")]
    Role { at: String },
    #[error("{at}: {error}")]
    Paths { at: String, error: PathError },
    #[error("{at}: the paths do not go from point {from} to point {to}")]
    Ends { at: String, from: u32, to: u32 },
    #[error("{at}: the last point is not met exactly {delta} times on every path")]
    Delta { at: String, delta: u32 },
    #[error("{at}: point {point} is met more than {mu} times on some path")]
    Mu { at: String, point: u32, mu: u32 },
    #[error("{at}: the machine stays where it is")]
    MachineIdle { at: String },
    #[error("{at}: an edge that is a call is one step of either program")]
    CallPaths { at: String },
    #[error("{at}: no edge leaves this node")]
    DeadEnd { at: String },
    #[error("{at}: an edge leaves an exit")]
    LeavesExit { at: String },
    #[error("{at}: no path of the product reaches this node")]
    Unreachable { at: String },
    #[error("{at}: the machine can go round here for ever while the source stands still")]
    IdleCycle { at: String },
    #[error("{at}: {claim:?} is not among the obligations")]
    Missing { at: String, claim: Claim },
    #[error("{at}: {claim:?} is not a claim about this product")]
    Misplaced { at: String, claim: Claim },
    #[error("{at}: the parts of {claim:?} are not 0 to n-1, once each")]
    Parts { at: String, claim: Claim },
    #[error("{at}: the script of query `{name}` has another hash")]
    QueryHash { at: String, name: String },
    #[error("{at}: the script of query `{name}` is more than one question: {what}")]
    Script { at: String, name: String, what: String },
    #[error("{at}: a value for the debugger is made of machine state and addresses only")]
    SourceInLocation { at: String },
    #[error("{at}: the variable has no value at the source point")]
    Unbound { at: String },
}

impl Defect {
    /// The first few, for a message.
    pub(crate) fn list(defects: &[Defect]) -> String {
        const SHOWN: usize = 5;
        let mut text: Vec<String> = defects.iter().take(SHOWN).map(Defect::to_string).collect();
        if defects.len() > SHOWN {
            text.push(format!("and {} more", defects.len() - SHOWN));
        }
        text.join("; ")
    }

    /// Name of the variant: what the broken fixtures expect.
    pub fn name(&self) -> String {
        let debug = format!("{self:?}");
        debug.chars().take_while(char::is_ascii_alphanumeric).collect()
    }
}
