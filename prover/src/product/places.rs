//! Where both programs are, in words: reasons are read by people who know lines and pcs, not points of graphs.

use super::flow::Path;
use super::problem::Setting;
use crate::graph::{Point, PointId};
use crate::region::Region;
use std::fmt;

impl Setting {
    /// A pair of points: `line 7:3 and 0x40`.
    pub fn place(&self, source: PointId, machine: PointId) -> String {
        format!("{} and {}", self.source_place(source), self.machine_place(machine))
    }

    /// A path of the machine: the pcs that it comes to after its first point.
    pub fn machine_path(&self, path: &Path) -> String {
        let after = path.edges.iter().map(|edge| self.problem.machine.edges[*edge].to);
        let pcs: Vec<String> = after.map(|point| self.machine_place(point)).collect();
        pcs.join(", ")
    }

    fn source_place(&self, point: PointId) -> String {
        match (&self.problem.source.points[point.0 as usize], self.problem.lines.get(point.0 as usize)) {
            (Point::Ir { .. }, Some(Some((line, column)))) => format!("line {line}:{column}"),
            (other, _) => other.to_string(),
        }
    }

    fn machine_place(&self, point: PointId) -> String {
        self.problem.machine.points[point.0 as usize].to_string()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Point::Pc(pc) => write!(f, "{pc:#x}"),
            Point::Ir { block, instruction } => write!(f, "instruction {instruction} of block %{block}"),
            Point::Exit => f.write_str("the end"),
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Region::Global(symbol) => write!(f, "`{symbol}`"),
            Region::Stack => f.write_str("the frame"),
            Region::Rest => f.write_str("memory of unknown owner"),
        }
    }
}
