//! Relations between numbers, as bits of what [`Function::Compare`] says: that it says one of four things only is
//! then known to every solver.

use super::{Format, Function};
use crate::domain::Domain;

/// A relation; `Ordered` says that neither is a NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Relation {
    Equal,
    Less,
    LessOrEqual,
    Unordered,
    EqualOrUnordered,
}

/// The bit that is set if two numbers are so related.
pub fn relation<D: Domain>(
    d: &D,
    relation: Relation,
    format: Format,
    left: D::Word,
    right: D::Word,
) -> D::Word {
    // `a < b` is `b > a`, which `ucomis` says with both flags clear.
    let (left, right) = match relation {
        Relation::Less | Relation::LessOrEqual => (right, left),
        Relation::Equal | Relation::Unordered | Relation::EqualOrUnordered => (left, right),
    };
    let order = d.float(Function::Compare(format), &[left, right]);
    let (low, high) = (d.extract(order, 0, 1), d.extract(order, 1, 1));
    match relation {
        Relation::Equal => d.and(high, d.not(low)),
        Relation::Less => d.not(d.or(high, low)),
        Relation::LessOrEqual => d.not(low),
        Relation::Unordered => d.and(high, low),
        Relation::EqualOrUnordered => high,
    }
}
