//! The strongest affine cover of a set of points over Z/2^w (Müller-Olm and Seidl 2005, as used by Counter,
//! section 3.4): all `c0 + c1*x1 + ... + cn*xn = 0 (mod 2^w)` that hold at every point.
//!
//! Each point is a row `(1, x1, ..., xn)`. The rows span a module over Z/2^w, and the relations are the vectors
//! that it annihilates. Z/2^w has zero divisors, but any two elements are comparable by divisibility, so
//! elimination works if the pivot is always an entry that the fewest factors of 2 divide, over the whole of
//! what is left: then it divides everything in its row and column.
//!
//! What remains are rows `2^v * (e_p + sum of a_j * e_j)`, pivots `p` distinct, `v` not decreasing, `j` over
//! later pivots and columns without one. `c` is a relation if `c_p = -sum(a_j * c_j)` modulo `2^(w-v)` for
//! every row. So the relations are spanned by one for each column without a pivot, which expresses that column
//! by pivot columns, and one for each row with `v > 0`, which says what is divisible.

use crate::bits::{Bits, mask};

/// The points seen so far, as the module that they span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    width_bits: u32,
    /// Pivots are taken from columns early in this order where there is a choice: those columns stay
    /// independent and the others are expressed by them. Column 0 is the constant.
    preference: Vec<usize>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    pivot: usize,
    /// How often 2 divides the pivot, and so the whole row.
    twos: u32,
    entries: Vec<u128>,
}

/// `constant + sum of coefficients * columns = 0`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Relation {
    /// The constant.
    pub constant: u128,
    /// One per column of the points.
    pub coefficients: Vec<u128>,
    /// The column that this relation expresses by others, with coefficient 1 there; nothing for what only
    /// says what is divisible.
    pub defines: Option<usize>,
}

impl Relation {
    /// Whether it has several coefficients that no program computes with: what too few points have in common
    /// looks like this, and solvers find it hard. No harm is done by not using it.
    pub fn is_wild(&self, width_bits: u32) -> bool {
        let wild = |factor: &&u128| {
            let bits = Bits::new(width_bits, **factor);
            let large = bits.signed().unsigned_abs() > 1 << 20;
            large && bits.value().trailing_zeros() + 20 < width_bits
        };
        self.coefficients.iter().filter(wild).count() >= 3
    }

    /// Whether it holds at a point.
    pub fn holds(&self, width_bits: u32, point: &[u128]) -> bool {
        let products = self.coefficients.iter().zip(point).map(|(c, x)| c.wrapping_mul(*x));
        products.fold(self.constant, u128::wrapping_add) & mask(width_bits) == 0
    }
}

impl Cover {
    /// The cover of no point, which is false. `order` lists the columns of points, those that should stay
    /// independent first.
    pub fn new(width_bits: u32, order: &[usize]) -> Cover {
        let preference = std::iter::once(0).chain(order.iter().map(|column| column + 1)).collect();
        Cover { width_bits, preference, rows: Vec::new() }
    }

    /// Width of the points.
    pub fn width_bits(&self) -> u32 {
        self.width_bits
    }

    /// Whether no point has been seen.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Takes in a point. Says whether the cover became weaker.
    pub fn add(&mut self, point: &[u128]) -> bool {
        let row: Vec<u128> =
            std::iter::once(1).chain(point.iter().map(|value| value & mask(self.width_bits))).collect();
        assert_eq!(row.len(), self.preference.len(), "a point has a value for each column");
        if self.contains(row.clone()) {
            return false;
        }
        let old = std::mem::take(&mut self.rows);
        let rows = old.into_iter().map(|row| row.entries).chain([row]).collect();
        self.rows = self.eliminate(rows);
        true
    }

    /// Whether a row is a combination of those that are there.
    fn contains(&self, mut row: Vec<u128>) -> bool {
        for known in &self.rows {
            let entry = row[known.pivot];
            if entry == 0 {
                continue;
            }
            if entry.trailing_zeros() < known.twos {
                return false;
            }
            subtract(&mut row, entry >> known.twos, &known.entries, self.width_bits);
        }
        row.iter().all(|entry| *entry == 0)
    }

    fn eliminate(&self, mut rows: Vec<Vec<u128>>) -> Vec<Row> {
        let mut done: Vec<Row> = Vec::new();
        while let Some((number, pivot)) = self.best(&rows) {
            let mut entries = rows.swap_remove(number);
            let twos = entries[pivot].trailing_zeros();
            // The odd part has an inverse: make the pivot a power of two.
            let inverse = odd_inverse(entries[pivot] >> twos);
            for entry in &mut entries {
                *entry = entry.wrapping_mul(inverse) & mask(self.width_bits);
            }
            for row in &mut rows {
                let factor = row[pivot] >> twos;
                subtract(row, factor, &entries, self.width_bits);
            }
            rows.retain(|row| row.iter().any(|entry| *entry != 0));
            done.push(Row { pivot, twos, entries });
        }
        done
    }

    /// Row and column of an entry that the fewest factors of 2 divide; columns by preference among equals.
    fn best(&self, rows: &[Vec<u128>]) -> Option<(usize, usize)> {
        let mut best: Option<(u32, usize, usize)> = None;
        for (rank, column) in self.preference.iter().enumerate() {
            for (number, row) in rows.iter().enumerate() {
                if row[*column] != 0 {
                    let candidate = (row[*column].trailing_zeros(), rank, number);
                    best = Some(best.map_or(candidate, |best| best.min(candidate)));
                }
            }
        }
        best.map(|(_, rank, number)| (number, self.preference[rank]))
    }

    /// Generators of all relations that hold at every point. Nothing spans them if no point was seen: ask
    /// [`Cover::is_empty`] first.
    pub fn relations(&self) -> Vec<Relation> {
        let columns = self.preference.len();
        let pivots: Vec<usize> = self.rows.iter().map(|row| row.pivot).collect();
        let free = self.preference.iter().copied().filter(|column| !pivots.contains(column));
        let mut found: Vec<Relation> = free
            .map(|column| {
                let mut vector = vec![0; columns];
                vector[column] = 1;
                self.solve(&mut vector, self.rows.len());
                relation(vector, Some(column))
            })
            .collect();
        for (number, row) in self.rows.iter().enumerate().filter(|(_, row)| row.twos > 0) {
            let mut vector = vec![0; columns];
            vector[row.pivot] = 1 << (self.width_bits - row.twos);
            self.solve(&mut vector, number);
            found.push(relation(vector, None));
        }
        found
    }

    /// Becomes weaker by one relation that may hold but is not wanted, as if a point had been seen where it
    /// does not; the others that this leaves alone stay.
    pub fn give_up(&mut self, relation: &Relation) {
        let direction = match relation.defines {
            // The column takes any value.
            Some(column) => {
                let mut direction = vec![0; self.preference.len()];
                direction[column + 1] = 1;
                direction
            }
            // Whatever was divisible is no longer: the undivided row joins the module.
            None => {
                let divisible = |row: &&Row| {
                    let half = row.entries.iter().map(|entry| entry >> 1);
                    row.twos > 0 && !annihilates(relation, half, self.width_bits)
                };
                match self.rows.iter().find(divisible) {
                    Some(row) => row.entries.iter().map(|entry| entry >> row.twos).collect(),
                    None => return,
                }
            }
        };
        let old = std::mem::take(&mut self.rows);
        let rows = old.into_iter().map(|row| row.entries).chain([direction]).collect();
        self.rows = self.eliminate(rows);
    }

    /// Fills in the pivot columns of the rows before `end`, last first, so that each row is annihilated. Only the
    /// remainder modulo `2^(w-v)` matters; the smallest is taken, or addresses that are multiples of 4 turn up with
    /// factors of `2^62` in relations that have nothing to do with them.
    fn solve(&self, vector: &mut [u128], end: usize) {
        for row in self.rows[..end].iter().rev() {
            let others = (0..vector.len()).filter(|column| *column != row.pivot);
            let sum = others.map(|column| (row.entries[column] >> row.twos).wrapping_mul(vector[column]));
            let sum = sum.fold(0, u128::wrapping_add);
            let remainder = Bits::new(self.width_bits - row.twos, sum.wrapping_neg());
            vector[row.pivot] = remainder.signed() as u128 & mask(self.width_bits);
        }
    }
}

fn annihilates(relation: &Relation, row: impl Iterator<Item = u128>, width_bits: u32) -> bool {
    let factors = std::iter::once(relation.constant).chain(relation.coefficients.iter().copied());
    let products = factors.zip(row).map(|(factor, entry)| factor.wrapping_mul(entry));
    products.fold(0, u128::wrapping_add) & mask(width_bits) == 0
}

fn relation(vector: Vec<u128>, column: Option<usize>) -> Relation {
    Relation {
        constant: vector[0],
        coefficients: vector[1..].to_vec(),
        defines: column.and_then(|column| column.checked_sub(1)),
    }
}

fn subtract(row: &mut [u128], factor: u128, other: &[u128], width_bits: u32) {
    if factor != 0 {
        for (entry, subtrahend) in row.iter_mut().zip(other) {
            *entry = entry.wrapping_sub(factor.wrapping_mul(*subtrahend)) & mask(width_bits);
        }
    }
}

/// Inverse of an odd number modulo 2^128: each step of Newton's method doubles the correct bits.
pub fn odd_inverse(odd: u128) -> u128 {
    (0..7).fold(odd, |inverse, _| inverse.wrapping_mul(2u128.wrapping_sub(odd.wrapping_mul(inverse))))
}

#[cfg(test)]
mod tests;
