//! Depth first: when something turns out wrong the last choice is taken back, and what was said of later ones with it.
//!
//! - After the search that blames single edges: what it blames may be right and only seem wrong for what was chosen
//!   before, and is never tried again. Candidates are the same and in the same order.
//! - The search without runs to guide it, to compare with (Counter, section 4.3, "static strategy"): every sequence of
//!   anchors that the source passes in some run is a candidate, the least unrolled one first. Nothing is pruned by what
//!   a run does to memory and nothing is ranked; what an edge has to satisfy, and everything that comes after it, is as
//!   in the other search.

use super::flow::Path;
use super::replay::Followed;
use super::search::{Edge, Failure, Order, Product, Search};
use super::triple::Step;
use crate::graph::PointId;
use std::cmp::Reverse;

/// Choices that are taken back where they are ranked; without ranking, as many as there is time for.
const MOST_TAKEN_BACK: usize = 120;

/// A product, or why the last choice has to be taken back.
type Tried = Result<Product, String>;

impl Search<'_> {
    /// A product with invariants that are inductive, depth first.
    pub(super) fn find_depth_first(&mut self) -> Result<Product, Failure> {
        let product = self.start();
        self.taken_back = 0;
        self.descend(product)?.map_err(|reason| Failure::Exhausted(self.effort.retries, reason))
    }

    /// Completes a product; every choice that was made before stays.
    fn descend(&mut self, mut product: Product) -> Result<Tried, Failure> {
        loop {
            // As in the other search: where paths lead on which the source does something undefined is for others
            // to show.
            let mut waiting = Vec::new();
            while let Some((node, path)) = self.missing(&product, &waiting) {
                self.check_limits()?;
                let candidates = match self.options.order {
                    Order::Static => self.in_static_order(&product, node, &path),
                    Order::Ranked => self.ranked(&product, node, &path),
                };
                if candidates.is_empty() && self.only_undefined(&product, node, &path).is_some() {
                    waiting.push((node, path));
                } else {
                    return self.expand(&product, node, &path, candidates);
                }
            }
            if let Some((node, path)) = waiting.first() {
                return Ok(Err(self.blame(&product, *node, path).reason));
            }
            if self.find_elements(&product) | self.find_folds(&product) {
                product = self.replayed(&product);
                continue;
            }
            if let Err(wrong) = self.infer(&mut product)? {
                return Ok(Err(wrong.reason));
            }
            if !self.find_uncovered(&mut product)? {
                return Ok(Ok(product));
            }
        }
    }

    /// Tries one candidate after the other, each with all that follows from it.
    fn expand(
        &mut self,
        product: &Product,
        node: usize,
        path: &Path,
        candidates: Vec<Vec<PointId>>,
    ) -> Result<Tried, Failure> {
        let mut last = self.blame(product, node, path).reason;
        for source in candidates {
            self.check_limits()?;
            let mut longer = product.clone();
            self.add_edge(&mut longer, node, Step { machine: path.clone(), source });
            match self.contradicted(&longer) {
                Some(reason) => last = reason,
                None => match self.descend(longer)? {
                    Ok(product) => return Ok(Ok(product)),
                    Err(reason) => last = reason,
                },
            }
            self.effort.retries += 1;
            self.taken_back += 1;
            if self.options.order == Order::Ranked && self.taken_back > MOST_TAKEN_BACK {
                return Err(Failure::Exhausted(self.effort.retries, last));
            }
        }
        Ok(Err(last))
    }

    /// What the runs that were taken along the last edge say against it.
    fn contradicted(&self, product: &Product) -> Option<String> {
        let setting = self.context.setting;
        let edge: &Edge = product.edges.last()?;
        let node = &product.nodes[edge.from];
        let elsewhere = node.states.iter().any(|state| {
            let followed = self.replay.follow(setting, (node.source, node.machine), &edge.step, state);
            matches!(followed, Followed::SourceElsewhere)
        });
        if elsewhere {
            return Some("the source takes another path".to_owned());
        }
        let apart = product.nodes.iter().position(|node| !node.memory_agrees(setting));
        apart.map(|number| format!("memories differ at node {number}"))
    }

    /// The same edges again, now that nodes have more to speak of.
    fn replayed(&mut self, product: &Product) -> Product {
        let mut again = self.start();
        for edge in &product.edges {
            self.add_edge(&mut again, edge.from, edge.step.clone());
        }
        again
    }

    /// What there is to choose from: by the number of times that the last anchor is passed, longer ones first.
    fn in_static_order(&mut self, product: &Product, node: usize, path: &Path) -> Vec<Vec<PointId>> {
        let mut found = self.enumerated(product, node, path);
        found.sort_by_cached_key(|hops| {
            let unrolled = hops.iter().filter(|hop| Some(*hop) == hops.last()).count();
            (unrolled, Reverse(hops.len()))
        });
        self.effort.candidates += found.len();
        found
    }
}
