//! Registers that hold elements of arrays: what an earlier iteration loaded or stored (`xmm0` is `b[i-4]` to
//! `b[i-1]`). Which word it is, is read off the states; that it stays so is shown like any other relation.

use super::columns::{Column, ELEMENT_BYTES, Element, Place, Row};
use super::search::{Product, Search};
use super::triple::Context;
use crate::expr::{ExprId, Node as Expr, Sort};
use crate::graph::PointId;
use crate::region::{ADDRESS_PREFIX, Region};
use crate::run::code::Code;
use std::collections::BTreeSet;

/// Elements on either side of the index that are tried, and rows on either side of its row.
const REACH: i64 = 8;
const ROW_REACH: i64 = 1;
/// A coincidence in fewer states than this is none.
const FEW_STATES: usize = 6;

impl Search<'_> {
    /// Looks for elements that words of registers equal in all states, where no relation says what they are.
    /// Says whether nodes have got more to speak of; each gets it once.
    pub(super) fn find_elements(&mut self, product: &Product) -> bool {
        let (arrays, strides) = (self.arrays(), self.strides());
        let mut found = false;
        for node in product.nodes.iter().skip(1) {
            let key = (node.source, node.machine);
            if self.common.elements.contains_key(&key) || node.states.len() < FEW_STATES {
                continue;
            }
            let words: Vec<Column> = node.unrelated_words().cloned().collect();
            let mut elements = Vec::new();
            if !words.is_empty() {
                let candidates = self.candidates(&arrays, &strides, node.source);
                let Context { arena, table, setting, .. } = &mut self.context;
                let values: Vec<ExprId> = words.iter().map(|column| column.value).collect();
                let loads: Vec<ExprId> =
                    candidates.iter().map(|element| element.word(arena, setting)).collect();
                let (values, loads) = (Code::new(arena, table, &values), Code::new(arena, table, &loads));
                let mut possible: Vec<Vec<usize>> = vec![(0..candidates.len()).collect(); words.len()];
                for state in &node.states {
                    let (values, loads) = (values.bits(state), loads.bits(state));
                    for (value, possible) in values.iter().zip(&mut possible) {
                        possible.retain(|number| loads[*number] == *value);
                    }
                }
                let chosen: BTreeSet<usize> =
                    possible.iter().filter_map(|possible| possible.first().copied()).collect();
                elements.extend(chosen.into_iter().map(|number| candidates[number].clone()));
            }
            found |= !elements.is_empty();
            self.common.elements.insert(key, elements);
        }
        found
    }

    /// Globals whose words the source uses at an index.
    fn arrays(&self) -> BTreeSet<String> {
        let setting = self.context.setting;
        let edges = setting.problem.source.edges.iter();
        let accesses = edges.flat_map(|edge| &edge.accesses).filter(|access| access.bytes == ELEMENT_BYTES);
        let mut arrays: BTreeSet<String> = accesses
            .filter_map(|access| match &access.region {
                Region::Global(symbol) => Some(symbol.clone()),
                _ => None,
            })
            .collect();
        if setting.is_merged() {
            arrays.extend(setting.problem.globals.iter().map(|global| global.symbol.clone()));
        }
        arrays
    }

    /// Distances between rows of arrays: what the source multiplies indices by.
    fn strides(&mut self) -> BTreeSet<u64> {
        let setting = self.context.setting;
        let edges = setting.problem.source.edges.iter();
        let accesses = edges.flat_map(|edge| &edge.accesses);
        let addresses: Vec<ExprId> = accesses.map(|access| access.address).collect();
        let Context { arena, normaliser, .. } = &mut self.context;
        let mut found = BTreeSet::new();
        for address in addresses {
            let normal = normaliser.normal(arena, address);
            if let Expr::Sum { terms, .. } = arena.node(normal) {
                found.extend(terms.iter().filter_map(|(factor, _)| u64::try_from(*factor).ok()));
            }
        }
        let element = u64::from(ELEMENT_BYTES);
        found.retain(|stride| (element + 1..1 << 24).contains(stride) && stride.is_multiple_of(element));
        found
    }

    /// Elements near the index, nearest first; those in rows last.
    fn candidates(
        &self,
        arrays: &BTreeSet<String>,
        strides: &BTreeSet<u64>,
        source: PointId,
    ) -> Vec<Element> {
        let (arena, setting) = (&*self.context.arena, self.context.setting);
        let mut indices: Vec<ExprId> = setting.source_live[source.0 as usize]
            .iter()
            .copied()
            .filter(|id| match arena.node(*id) {
                Expr::Variable(symbol) => {
                    let name = arena.name(*symbol);
                    arena.sort(*id) == Sort::Bits(32)
                        && !name.starts_with(ADDRESS_PREFIX)
                        && !name.starts_with("unknown.")
                }
                _ => false,
            })
            .collect();
        indices.sort_unstable();
        let mut steps: Vec<i64> = (-REACH..=REACH).collect();
        steps.sort_by_key(|step| step.abs());
        let mut candidates = Vec::new();
        let mut rows = vec![(None, 0)];
        for stride_bytes in strides {
            for value in &indices {
                let row = Row { value: *value, stride_bytes: *stride_bytes };
                let offsets = (-ROW_REACH..=ROW_REACH).map(|step| step * *stride_bytes as i64);
                rows.extend(offsets.map(|offset| (Some(row.clone()), offset)));
            }
        }
        for (row, begin) in rows {
            for step in &steps {
                let offset = begin + step * i64::from(ELEMENT_BYTES);
                for value in
                    indices.iter().filter(|value| row.as_ref().is_none_or(|row| row.value != **value))
                {
                    for symbol in arrays {
                        let (symbol, row) = (symbol.clone(), row.clone());
                        candidates.push(Element { symbol, value: *value, row, offset });
                    }
                }
            }
        }
        candidates
    }
}

impl super::node::Node {
    /// Words of registers that no relation defines, those of which all states agree left out.
    fn unrelated_words(&self) -> impl Iterator<Item = &Column> {
        let defined = self.defined_narrow();
        let columns = self.columns.narrow.iter().enumerate();
        columns
            .filter(move |(number, column)| {
                // In 32-bit code a word is a whole register.
                matches!(column.place, Place::Word { .. } | Place::Register(_)) && !defined.contains(number)
            })
            .map(|(_, column)| column)
    }
}
