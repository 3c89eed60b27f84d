//! Rows of the line table by pc: what the compiler says which line and column an instruction belongs to.

use super::unit::Bytes;
use crate::error::Result;
use std::collections::BTreeMap;
use std::ops::Range;

/// Line and column; 0 if the compiler gave none.
pub type LineColumn = (u64, u64);

/// Rows that begin at each pc of a function, in the order of the table: several at one pc are several steps there.
pub fn rows(
    unit: &gimli::Unit<Bytes>,
    base: u64,
    pcs: &Range<u64>,
) -> Result<BTreeMap<u64, Vec<LineColumn>>> {
    let mut found = BTreeMap::<u64, Vec<LineColumn>>::new();
    let Some(program) = unit.line_program.clone() else { return Ok(found) };
    let mut rows = program.rows();
    while let Some((_, row)) = rows.next_row()? {
        let pc = row.address().wrapping_sub(base);
        if row.end_sequence() || !pcs.contains(&pc) {
            continue;
        }
        let column = match row.column() {
            gimli::ColumnType::LeftEdge => 0,
            gimli::ColumnType::Column(column) => column.get(),
        };
        found.entry(pc).or_default().push((row.line().map_or(0, |line| line.get()), column));
    }
    Ok(found)
}
