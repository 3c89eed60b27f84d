//! An object to be repaired: read once, asked what it says of functions, written with claims about them.

use crate::claims::{FunctionClaims, Symbols, VariableClaims, merge};
use crate::dwarf::lines::{LineColumn, Lines};
use crate::dwarf::read::{Bases, Debug, FunctionCode, Old, Sections, UnitInfo};
use crate::dwarf::write::{Change, rewrite};
use crate::elf::{Elf, Machine};
use crate::error::{Error, Result};
use crate::expression::decode;
use crate::relocation::{by_name, symbols};
use crate::stats::{Counts, count};
use crate::widen::widen;
use metaloc_proof::Exact;
use std::collections::BTreeMap;
use std::ops::Range;

/// An object and its debug information.
pub struct Object<'a> {
    elf: Elf<'a>,
    sections: Sections<'a>,
}

/// What the debug information says of a function.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Rows of the line table that begin at a pc.
    pub rows: BTreeMap<u64, Vec<LineColumn>>,
    /// Variables.
    pub variables: Vec<SaidVariable>,
}

/// What the debug information says of a variable.
#[derive(Debug, Clone)]
pub struct SaidVariable {
    /// Its name.
    pub name: String,
    /// Line of its declaration.
    pub line: u64,
    /// Column of its declaration, if the compiler said it.
    pub column: Option<u64>,
    base: u64,
    machine: Machine,
    scope: Option<Vec<Range<u64>>>,
    old: Old,
}

impl SaidVariable {
    /// For which processor it is said.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Whether a debugger looks at the variable at a pc.
    pub fn is_visible(&self, pc: u64) -> bool {
        self.scope.as_ref().is_none_or(|ranges| ranges.iter().any(|range| range.contains(&pc)))
    }

    /// Whether anything is said at a pc.
    pub fn is_there(&self, pc: u64) -> bool {
        self.old.at(self.base.wrapping_add(pc)).is_some()
    }

    /// The value that is said at a pc, if it is said plainly.
    pub fn value(&self, pc: u64, width_bits: u32) -> Option<Exact> {
        let encoded = self.old.at(self.base.wrapping_add(pc))?;
        if !encoded.fields.is_empty() {
            return None;
        }
        decode(&encoded.bytes, self.machine, width_bits)
    }
}

/// The repaired object.
#[derive(Debug)]
pub struct Repaired {
    /// The file; the input's bytes if nothing changed.
    pub bytes: Vec<u8>,
    /// Counts by function, in the order of the claims; nothing for one without debug information.
    pub counts: Vec<Option<Counts>>,
    /// Bytes of debug sections before and after.
    pub debug_bytes: (u64, u64),
}

impl<'a> Object<'a> {
    /// Reads an object.
    pub fn parse(file: &'a [u8]) -> Result<Object<'a>> {
        let elf = Elf::parse(file)?;
        let sections = Sections::read(&elf)?;
        Ok(Object { elf, sections })
    }

    /// For which processor.
    pub fn machine(&self) -> Machine {
        self.elf.machine
    }

    /// Functions by the symbol table, sorted by pc; of several names for one place the first.
    pub fn functions(&self) -> Result<Vec<FunctionCode>> {
        let known = symbols(&self.elf)?.into_iter();
        let own = known.filter(|symbol| symbol.is_function() && symbol.section != 0 && symbol.size > 0);
        let mut found: Vec<(u16, FunctionCode)> = own
            .map(|symbol| {
                let pcs = symbol.value..symbol.value.saturating_add(symbol.size);
                (symbol.section, FunctionCode { symbol: symbol.name, pcs })
            })
            .collect();
        found.sort_by(|left, right| {
            (left.0, left.1.pcs.start, &left.1.symbol).cmp(&(right.0, right.1.pcs.start, &right.1.symbol))
        });
        found.dedup_by_key(|(section, code)| (*section, code.pcs.start));
        Ok(found.into_iter().map(|(_, code)| code).collect())
    }

    /// What is said of functions; nothing for one that the debug information does not have.
    pub fn said(&self, functions: &[FunctionCode]) -> Result<Vec<Option<Said>>> {
        let debug = self.sections.debug()?;
        let mut found: Vec<Option<Said>> = functions.iter().map(|_| None).collect();
        self.each_unit(&debug, functions, |unit| {
            let lines = Lines::of(&unit.unit)?;
            for info in &unit.functions {
                let variables = info
                    .variables
                    .iter()
                    .map(|variable| SaidVariable {
                        name: variable.name.clone(),
                        line: variable.line,
                        column: variable.column,
                        base: info.base,
                        machine: self.elf.machine,
                        scope: variable.scope.clone(),
                        old: variable.old.clone(),
                    })
                    .collect();
                let rows = lines.rows(info.base, &functions[info.number].pcs);
                found[info.number] = Some(Said { rows, variables });
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn each_unit<'d>(
        &self,
        debug: &Debug<'d>,
        functions: &[FunctionCode],
        mut with: impl FnMut(UnitInfo<'d>) -> Result<()>,
    ) -> Result<()> {
        let known = symbols(&self.elf)?;
        let bases = Bases::new(&self.elf, &known);
        let mut numbers = Vec::new();
        let mut wanted = Vec::new();
        for (number, function) in functions.iter().enumerate() {
            if let Some(base) = bases.of(function) {
                numbers.push(number);
                wanted.push((function, base));
            }
        }
        debug.each_unit(&wanted, |mut unit| {
            unit.functions.iter_mut().for_each(|info| info.number = numbers[info.number]);
            with(unit)
        })
    }

    /// The same, and the output is read again: repaired with the same claims, it must not change.
    pub fn repair_and_check(&self, claims: &[FunctionClaims]) -> Result<Repaired> {
        let repaired = self.repair(claims)?;
        let again = Object::parse(&repaired.bytes).and_then(|object| object.repair(claims));
        match again {
            Ok(again) if again.bytes == repaired.bytes => Ok(repaired),
            Ok(_) => Err(Error::Unstable("repairing it again changes it".into())),
            Err(error) => Err(Error::Unstable(error.to_string())),
        }
    }

    /// The object with claims written into its debug information.
    pub fn repair(&self, claims: &[FunctionClaims]) -> Result<Repaired> {
        let debug = self.sections.debug()?;
        let functions: Vec<FunctionCode> = claims.iter().map(|claims| claims.code.clone()).collect();
        let known = symbols(&self.elf)?;
        let names = Symbols {
            machine: self.elf.machine,
            names: by_name(&known),
            addresses: (!self.elf.relocatable).then(|| known.iter().map(|symbol| symbol.value).collect()),
        };
        let mut counts: Vec<Option<Counts>> = claims.iter().map(|_| None).collect();
        let mut changed: Vec<(UnitInfo, Vec<Change>)> = Vec::new();
        self.each_unit(&debug, &functions, |mut unit| {
            let mut changes = Vec::new();
            for info in &unit.functions {
                let function = &claims[info.number];
                let mut claimed = Vec::new();
                for variable in &function.variables {
                    let mut matching = info.variables.iter().filter(|info| variable.is(info));
                    // Two entries for one declaration: it is not clear which one is meant.
                    if let (Some(found), None) = (matching.next(), matching.next()) {
                        claimed.push((variable, found));
                    }
                }
                let widened = widen(self.elf.machine, function, info, &claimed);
                let mut pairs = Vec::new();
                for (variable, found) in &claimed {
                    let (list, counted) = merge(function, variable, found, (info.base, &widened), &names);
                    pairs.push(counted);
                    changes.extend(list.map(|list| Change::locations(found, list)));
                }
                for found in info.variables.iter().filter(|found| widened.changes(found.block)) {
                    if claimed.iter().any(|(_, claimed)| claimed.entry == found.entry) {
                        continue;
                    }
                    let nothing = VariableClaims::nothing(found);
                    let (list, _) = merge(function, &nothing, found, (info.base, &widened), &names);
                    changes.extend(list.map(|list| Change::locations(found, list)));
                }
                changes.extend(
                    widened
                        .ranges(&info.scopes)
                        .map(|(scope, ranges)| Change::ranges(scope, ranges, info.base)),
                );
                counts[info.number] = Some(count(function.instructions.len(), &pairs));
            }
            if !changes.is_empty() {
                unit.forget_all_but(&changes.iter().map(|change| change.entry).collect());
                changed.push((unit, changes));
            }
            Ok(())
        })?;
        let before = debug_bytes(&self.elf);
        if changed.is_empty() {
            return Ok(Repaired { bytes: self.elf.write()?, counts, debug_bytes: (before, before) });
        }
        let elf = rewrite(&self.elf, &self.sections, &debug, &changed)?;
        // Not needed beside the output.
        drop((changed, debug));
        Ok(Repaired { bytes: elf.write()?, counts, debug_bytes: (before, debug_bytes(&elf)) })
    }
}

fn debug_bytes(elf: &Elf) -> u64 {
    let debug = elf.sections.iter().filter(|section| section.name.starts_with(".debug"));
    debug.map(|section| section.data.len() as u64).sum()
}
