//! Linear equations over exact rationals by reduced row echelon form (section IV-A of the paper).
//!
//! The paper eliminates source variables from the invariants of one pair of points. Here the unknowns are the
//! coefficients of the machine's places in the expression that is wanted: one equation for each part of the state, so
//! that the equations of several pairs of points stand below each other and a solution holds in all of them.

use num_rational::Ratio;
use num_traits::{CheckedDiv, CheckedMul, CheckedSub, One, Zero};

/// An exact number.
pub type Rational = Ratio<i128>;

/// A solution of `matrix * x = right`, unknowns that nothing fixes being 0; `None` if there is none, or if numbers grow
/// out of hand.
pub fn solve(matrix: &[Vec<Rational>], right: &[Rational]) -> Option<Vec<Rational>> {
    let unknowns = matrix.first().map_or(0, Vec::len);
    let mut rows: Vec<Vec<Rational>> =
        matrix.iter().zip(right).map(|(row, right)| row.iter().copied().chain([*right]).collect()).collect();
    let mut pivots = Vec::new();
    for column in 0..unknowns {
        let done = pivots.len();
        let Some(found) = (done..rows.len()).find(|row| !rows[*row][column].is_zero()) else { continue };
        rows.swap(done, found);
        let lead = rows[done][column];
        for entry in &mut rows[done] {
            *entry = entry.checked_div(&lead)?;
        }
        let pivot = rows[done].clone();
        for (number, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if number == done || factor.is_zero() {
                continue;
            }
            for (entry, above) in row.iter_mut().zip(&pivot) {
                *entry = entry.checked_sub(&above.checked_mul(&factor)?)?;
            }
        }
        pivots.push(column);
    }
    // What is left says 0 = 0, or there is no solution.
    if rows[pivots.len()..].iter().any(|row| !row[unknowns].is_zero()) {
        return None;
    }
    let mut solution = vec![Rational::zero(); unknowns];
    for (row, column) in rows.iter().zip(pivots) {
        debug_assert!(row[column].is_one());
        solution[column] = row[unknowns];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(numbers: &[&[i128]]) -> Vec<Vec<Rational>> {
        numbers.iter().map(|row| row.iter().map(|number| Rational::from_integer(*number)).collect()).collect()
    }

    /// Figure 5 of the paper: r1 = aa + 4096 i + 4 j, r2 = b + 4 i, from which i = (r2 - b) / 4 and
    /// j = (r1 - 1024 (r2 - b) - aa) / 4. Parts of the state: i, j, aa, b; unknowns: r1, r2, aa, b.
    #[test]
    fn the_example_of_the_paper() {
        let places = rows(&[&[4096, 4, 0, 0], &[4, 0, 0, 0], &[1, 0, 1, 0], &[0, 1, 0, 1]]);
        let quarter = Rational::new(1, 4);
        let whole = Rational::from_integer;
        let wanted = |numbers: [i128; 4]| numbers.map(whole).to_vec();
        let i = solve(&places, &wanted([1, 0, 0, 0])).unwrap();
        assert_eq!(i, [whole(0), quarter, whole(0), -quarter]);
        let j = solve(&places, &wanted([0, 1, 0, 0])).unwrap();
        assert_eq!(j, [quarter, whole(-256), -quarter, whole(256)]);
    }

    #[test]
    fn no_solution_is_none() {
        assert_eq!(solve(&rows(&[&[2], &[3]]), &rows(&[&[2, 4]])[0]), None);
        assert_eq!(solve(&rows(&[&[0]]), &rows(&[&[1]])[0]), None);
        assert_eq!(solve(&[], &[]), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn solutions_solve(numbers in proptest::collection::vec(-5i128..6, 9), x in proptest::collection::vec(-5i128..6, 3)) {
            let matrix = rows(&[&numbers[..3], &numbers[3..6], &numbers[6..]]);
            let times = |x: &[Rational]| -> Vec<Rational> {
                matrix.iter().map(|row| row.iter().zip(x).map(|(left, right)| left * right).sum()).collect()
            };
            let x: Vec<Rational> = x.into_iter().map(Rational::from_integer).collect();
            let right = times(&x);
            let found = solve(&matrix, &right).expect("there is a solution");
            prop_assert_eq!(times(&found), right);
        }
    }
}
