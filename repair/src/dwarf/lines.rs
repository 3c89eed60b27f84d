//! Rows of the line table by pc: what the compiler says which line and column an instruction belongs to.

use super::unit::Bytes;
use crate::error::Result;
use std::collections::BTreeMap;
use std::ops::Range;

/// Line and column; 0 if the compiler gave none.
pub type LineColumn = (u64, u64);

/// The rows of a unit's line table by address; several at one address are several steps there, in the order of the
/// table.
#[derive(Debug, Default)]
pub struct Lines(Vec<(u64, LineColumn)>);

impl Lines {
    /// Of a unit: read once for all its functions.
    pub fn of(unit: &gimli::Unit<Bytes>) -> Result<Lines> {
        let mut found = Vec::new();
        let Some(program) = unit.line_program.clone() else { return Ok(Lines(found)) };
        let mut rows = program.rows();
        while let Some((_, row)) = rows.next_row()? {
            if row.end_sequence() {
                continue;
            }
            let column = match row.column() {
                gimli::ColumnType::LeftEdge => 0,
                gimli::ColumnType::Column(column) => column.get(),
            };
            found.push((row.address(), (row.line().map_or(0, |line| line.get()), column)));
        }
        // Stable: rows at one address keep their order.
        found.sort_by_key(|(address, _)| *address);
        Ok(Lines(found))
    }

    /// Rows that begin at each pc of a function.
    pub fn rows(&self, base: u64, pcs: &Range<u64>) -> BTreeMap<u64, Vec<LineColumn>> {
        let address = |pc: u64| base.wrapping_add(pc);
        let first = self.0.partition_point(|(known, _)| *known < address(pcs.start));
        let inside = self.0[first..].iter().take_while(|(known, _)| *known < address(pcs.end));
        let mut found = BTreeMap::<u64, Vec<LineColumn>>::new();
        for (known, row) in inside {
            found.entry(known.wrapping_sub(base)).or_default().push(*row);
        }
        found
    }
}
