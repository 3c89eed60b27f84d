//! What `--stats` counts: the columns of the paper's tables II and III (T, U, V, O, M, I) and ours.

use std::collections::BTreeSet;
use std::ops::AddAssign;

/// Counts of one function, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// T: instructions.
    pub pcs: usize,
    /// U: pcs at which some variable was updated.
    pub updated_pcs: usize,
    /// V: variables that were improved somewhere.
    pub improved_variables: usize,
    /// O: pairs of pc and variable of which something was said before.
    pub available: usize,
    /// M: pairs of which nothing was said before and something is now.
    pub missing: usize,
    /// I: pairs that were a constant and are an expression over the machine's state now.
    pub incorrectly_constant: usize,
    /// Pairs of which something else was said before, that no proof confirms: I included.
    pub corrected: usize,
    /// Pairs whose instruction serves several source iterations at once.
    pub grouped: usize,
    /// Pairs of which the old value is proved right.
    pub confirmed: usize,
    /// Pairs of which the old value is refuted, always or on some run, and no other is known.
    pub removed: usize,
    /// Pairs of which the old value is neither proved nor refuted.
    pub kept: usize,
    /// Pairs of which the value is known but has no DWARF expression that both debuggers evaluate rightly.
    pub unprintable: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.pcs += other.pcs;
        self.updated_pcs += other.updated_pcs;
        self.improved_variables += other.improved_variables;
        self.available += other.available;
        self.missing += other.missing;
        self.incorrectly_constant += other.incorrectly_constant;
        self.corrected += other.corrected;
        self.grouped += other.grouped;
        self.confirmed += other.confirmed;
        self.removed += other.removed;
        self.kept += other.kept;
        self.unprintable += other.unprintable;
    }
}

/// What is counted of one variable.
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    pub(crate) updated: BTreeSet<u64>,
    pub(crate) available: usize,
    pub(crate) missing: usize,
    pub(crate) incorrectly_constant: usize,
    pub(crate) corrected: usize,
    pub(crate) grouped: usize,
    pub(crate) confirmed: usize,
    pub(crate) removed: usize,
    pub(crate) kept: usize,
    pub(crate) unprintable: usize,
}

/// The counts of a function with so many instructions.
pub fn count(pcs: usize, variables: &[Pairs]) -> Counts {
    let updated: BTreeSet<u64> = variables.iter().flat_map(|pairs| pairs.updated.iter().copied()).collect();
    let mut counts = Counts { pcs, updated_pcs: updated.len(), ..Counts::default() };
    for pairs in variables {
        counts.improved_variables += usize::from(pairs.missing + pairs.corrected > 0);
        counts += Counts {
            available: pairs.available,
            missing: pairs.missing,
            incorrectly_constant: pairs.incorrectly_constant,
            corrected: pairs.corrected,
            grouped: pairs.grouped,
            confirmed: pairs.confirmed,
            removed: pairs.removed,
            kept: pairs.kept,
            unprintable: pairs.unprintable,
            ..Counts::default()
        };
    }
    counts
}
