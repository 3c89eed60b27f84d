//! What is claimed of the variables of a function, and how that and the old debug information become one list per
//! variable. Never worse: a proved value replaces what was there, what is refuted goes, everything else stays.

use crate::dwarf::read::{FunctionCode, Old, VariableInfo};
use crate::dwarf::write::List;
use crate::elf::Machine;
use crate::expression::{At, Encoded, FieldSymbol, encode, is_constant, reads_no_state};
use crate::stats::Pairs;
use crate::widen::Widened;
use metaloc_proof::Exact;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Claims about one function.
#[derive(Debug, Clone)]
pub struct FunctionClaims {
    /// The function.
    pub code: FunctionCode,
    /// Its instructions, by pc; padding that is never reached is not listed.
    pub instructions: Vec<Range<u64>>,
    /// Its variables.
    pub variables: Vec<VariableClaims>,
}

/// Claims about one variable.
#[derive(Debug, Clone)]
pub struct VariableClaims {
    /// Its name.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// Column of its declaration; 0 if unknown.
    pub column: u64,
    /// By pc; where nothing is claimed, what was there stays.
    pub claims: BTreeMap<u64, Claim>,
}

/// What is claimed before one instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What.
    pub is: Verdict,
    /// Whether the instruction serves several iterations of the source at once; the value is that of the first.
    pub grouped: bool,
}

/// What is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The variable has this value.
    Value(Exact),
    /// What the debug information says is right.
    Confirmed,
    /// What the debug information says is wrong, always or on some run.
    Refuted,
}

impl FunctionClaims {
    /// Whether a value at a pc has a form that both debuggers evaluate rightly.
    pub fn is_printable(&self, machine: Machine, pc: u64, value: &Exact) -> bool {
        encode(value, self.place(machine, pc)).is_some()
    }

    fn place(&self, machine: Machine, pc: u64) -> At<'_> {
        At { machine, function: &self.code.symbol, distance: pc - self.code.pcs.start }
    }
}

impl VariableClaims {
    /// No claims about a variable.
    pub(crate) fn nothing(info: &VariableInfo) -> VariableClaims {
        let (name, column) = (info.name.clone(), info.column.unwrap_or(0));
        VariableClaims { name, line: info.line, column, claims: BTreeMap::new() }
    }

    /// Whether an entry of the debug information is this variable.
    pub fn is(&self, info: &VariableInfo) -> bool {
        let column = info.column.is_none_or(|column| self.column == 0 || column == self.column);
        info.name == self.name && info.line == self.line && column
    }
}

/// The new list of a variable, `None` if it says what the old one does, and what is counted of it.
pub fn merge(
    function: &FunctionClaims,
    variable: &VariableClaims,
    info: &VariableInfo,
    (base, widened): (u64, &Widened),
    symbols: &Symbols,
) -> (Option<List>, Pairs) {
    let machine = symbols.machine;
    let mut pairs = Pairs::default();
    let old = old_list(function, info, base);
    let mut new: Vec<(Range<u64>, Option<Encoded>)> = Vec::new();
    for instruction in &function.instructions {
        let pc = instruction.start;
        let address = base.wrapping_add(pc)..base.wrapping_add(instruction.end);
        let said = info.old.at(address.start).filter(|_| info.in_scope(pc));
        let gained = widened.has(info.block, pc);
        let visible = info.in_scope(pc) || gained;
        pairs.available += usize::from(said.is_some());
        if gained {
            // Nobody has asked for what was said where the variable was not looked at.
            new.push((address.clone(), None));
        }
        let Some(claim) = variable.claims.get(&pc) else {
            pairs.kept += usize::from(said.is_some());
            continue;
        };
        let constant = said.is_some_and(|said| reads_no_state(&said.bytes, machine));
        match &claim.is {
            Verdict::Confirmed => {
                pairs.confirmed += usize::from(said.is_some());
                if gained && let Some(unseen) = info.old.at(address.start) {
                    pairs.updated.insert(pc);
                    pairs.missing += 1;
                    set(&mut new, address, Some(unseen.clone()));
                }
            }
            Verdict::Refuted => {
                pairs.removed += usize::from(said.is_some());
                pairs.updated.extend(said.map(|_| pc));
                set(&mut new, address, None);
            }
            Verdict::Value(value) => {
                let Some(mut encoded) = encode(value, function.place(machine, pc)) else {
                    pairs.unprintable += 1;
                    pairs.kept += usize::from(said.is_some());
                    continue;
                };
                symbols.resolve(&mut encoded);
                if visible && said != Some(&encoded) {
                    pairs.updated.insert(pc);
                    pairs.missing += usize::from(said.is_none());
                    pairs.corrected += usize::from(said.is_some());
                    pairs.incorrectly_constant += usize::from(constant && !is_constant(value));
                } else if said.is_some() {
                    pairs.confirmed += 1;
                }
                pairs.grouped += usize::from(claim.grouped && visible);
                set(&mut new, address, Some(encoded));
            }
        }
    }
    let merged = overlay(&old, &new);
    // What is said everywhere is said wherever the block is now.
    let unchanged = match &info.old {
        Old::Everywhere(said) => {
            let gained = function.instructions.iter().filter(|one| widened.has(info.block, one.start));
            let gained = gained.map(|one| base.wrapping_add(one.start)..base.wrapping_add(one.end));
            overlay(&old, &gained.map(|range| (range, Some(said.clone()))).collect::<Vec<_>>())
        }
        _ => overlay(&old, &[]),
    };
    if merged == unchanged || matches!(info.old, Old::Other(_)) {
        (None, pairs)
    } else {
        (Some(merged), pairs)
    }
}

/// Says something of the last range, or of one after it.
fn set(new: &mut Vec<(Range<u64>, Option<Encoded>)>, range: Range<u64>, said: Option<Encoded>) {
    match new.last_mut() {
        Some(last) if last.0 == range => last.1 = said,
        _ => new.push((range, said)),
    }
}

/// Symbols of a file, so that expressions of ours are written as the input's are.
#[derive(Debug)]
pub struct Symbols<'a> {
    /// For which processor.
    pub machine: Machine,
    /// Numbers by name.
    pub names: BTreeMap<&'a str, u32>,
    /// In a linked file, what they are.
    pub addresses: Option<Vec<u64>>,
}

impl Symbols<'_> {
    /// Numbers for names; in a linked file, addresses. A symbol that the file does not have is refused when it is
    /// written.
    fn resolve(&self, encoded: &mut Encoded) {
        let bytes = usize::from(self.machine.address_bytes());
        let mut open = Vec::new();
        for mut field in std::mem::take(&mut encoded.fields) {
            let FieldSymbol::Name(name) = &field.symbol else {
                open.push(field);
                continue;
            };
            let number = self.names.get(name.as_str()).copied();
            let address = number.and_then(|number| self.addresses.as_ref()?.get(number as usize).copied());
            match (number, address) {
                (Some(_), Some(address)) => {
                    let value = address.wrapping_add(field.addend as u64);
                    encoded.bytes[field.offset..field.offset + bytes]
                        .copy_from_slice(&value.to_le_bytes()[..bytes]);
                }
                (Some(number), None) => {
                    field.symbol = FieldSymbol::Number(number);
                    open.push(field);
                }
                (None, _) => open.push(field),
            }
        }
        encoded.fields = open;
    }
}

/// What was said, as a list.
fn old_list(function: &FunctionClaims, info: &VariableInfo, base: u64) -> List {
    match &info.old {
        Old::Nothing | Old::Other(_) => Vec::new(),
        Old::List(list) => list.clone(),
        Old::Everywhere(encoded) => {
            let whole = [function.code.pcs.clone()];
            let scope = info.scope.as_deref().unwrap_or(&whole);
            let moved = |range: &Range<u64>| base.wrapping_add(range.start)..base.wrapping_add(range.end);
            scope.iter().map(|range| (moved(range), encoded.clone())).collect()
        }
    }
}

/// What the new ranges say, which are sorted and apart, and the old ones elsewhere: by address, no two overlap, neighbours that say the same are
/// one.
fn overlay(old: &[(Range<u64>, Encoded)], new: &[(Range<u64>, Option<Encoded>)]) -> List {
    let mut cuts = BTreeSet::new();
    for range in old.iter().map(|(range, _)| range).chain(new.iter().map(|(range, _)| range)) {
        if range.start < range.end {
            cuts.extend([range.start, range.end]);
        }
    }
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let mut list: List = Vec::new();
    for pair in cuts.windows(2) {
        let at = pair[0];
        let next = new.partition_point(|(range, _)| range.end <= at);
        let proved = new.get(next).filter(|(range, _)| range.contains(&at)).map(|(_, said)| said.as_ref());
        let said =
            proved.unwrap_or_else(|| old.iter().find(|(range, _)| range.contains(&at)).map(|(_, said)| said));
        let Some(said) = said else { continue };
        match list.last_mut() {
            Some((range, last)) if range.end == at && last == said => range.end = pair[1],
            _ => list.push((at..pair[1], said.clone())),
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(byte: u8) -> Encoded {
        Encoded { bytes: vec![byte], fields: Vec::new() }
    }

    #[test]
    fn new_ranges_win_and_neighbours_become_one() {
        let old = [(0..8, said(1)), (4..20, said(2))];
        let new = [(6..8, Some(said(2))), (10..12, None), (30..32, Some(said(3))), (32..34, Some(said(3)))];
        let expected = [(0..6, said(1)), (6..10, said(2)), (12..20, said(2)), (30..34, said(3))];
        assert_eq!(overlay(&old, &new), expected);
    }
}
