//! Which path of the source goes with a path of the machine: read off concrete runs and ranked.
//!
//! How many iterations of the source a path of the machine stands for is not enumerated: the source is run
//! along, and a number of hops is a candidate only if the memories agree after it in every state. Where a loop
//! writes nothing that would tell (a sum), the numbers of turns that the two loops still have to make do.

use super::events::Calls;
use super::flow::Path;
use super::replay::Followed;
use super::required::Class;
use super::search::{Order, Product, Search};
use super::triple::Step;
use crate::graph::PointId;
use crate::run::state::State;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// States that are looked at for hops that fit, and for turns of loops.
const FITTED_STATES: usize = 16;
const TURNED_STATES: usize = 4;
/// Hops to one point that are tried where many fit.
const MOST_ARRIVALS: usize = 2;
/// Turns of a loop that are counted.
const MOST_TURNS: usize = 200_000;

/// How promising a correlation is; less is better. Places that nothing relates; whether one side goes round a
/// loop and the other one does not; hops.
type Rank = ((usize, usize), bool, usize);

/// A state before a path of the machine, and the same after it, the source still where it was.
type Taken = (State, State);

/// What a run of the source along a path of the machine says.
struct Seen {
    /// Hops after which the memories agree.
    fitting: BTreeSet<Vec<PointId>>,
    /// Hops after which it does something undefined.
    undefined_after: Option<Vec<PointId>>,
}

impl Seen {
    fn allows(&self, hops: &[PointId]) -> bool {
        let beyond = |end: &Vec<PointId>| hops.len() > end.len() && hops.starts_with(end);
        self.fitting.contains(hops) || self.undefined_after.as_ref().is_some_and(beyond)
    }
}

impl Search<'_> {
    /// The most promising correlation for a path.
    pub(super) fn candidate(&mut self, product: &Product, node: usize, path: &Path) -> Option<Step> {
        let source = self.ranked(product, node, path).into_iter().next()?;
        Some(Step { machine: path.clone(), source })
    }

    /// What the source may do along a path, the most promising first.
    pub(super) fn ranked(&mut self, product: &Product, node: usize, path: &Path) -> Vec<Vec<PointId>> {
        let setting = self.context.setting;
        let at = (product.nodes[node].source, product.nodes[node].machine);
        let taking = self.taking_path(product, node, path);
        let mut fitting = self.fitting(&taking, at.0, path);
        if fitting.is_empty() {
            fitting = self.beyond_undefined(product, node, path);
        }
        fitting.retain(|hops| {
            let step = Step { machine: path.clone(), source: hops.clone() };
            !self.is_idle(product, node, path, hops)
                && self.is_paired(at, &step)
                && !self.wrong.contains(&(at.0, at.1, step))
        });
        self.effort.candidates += fitting.len();
        if fitting.len() > 4 && path.to == at.1 {
            let likely = self.likely_hops(&taking, at, &fitting);
            fitting.sort_by_key(|hops| hops.len().abs_diff(likely));
            fitting.truncate(3);
        } else if fitting.len() > MOST_ARRIVALS * 4 {
            // Nothing that is written tells them apart: where the source arrives first is where it should be.
            let mut arrivals = BTreeMap::<PointId, usize>::new();
            fitting.sort_by_key(Vec::len);
            fitting.retain(|hops| {
                let seen = arrivals.entry(hops.last().copied().unwrap_or(at.0)).or_default();
                *seen += 1;
                *seen <= MOST_ARRIVALS
            });
        }
        let machine_turns = self.machine_turns(&taking, path.to, 1);
        let mut ranked: Vec<(Rank, Vec<PointId>)> = Vec::new();
        for hops in fitting {
            let step = Step { machine: path.clone(), source: hops.clone() };
            let to = hops.last().copied().unwrap_or(at.0);
            let known =
                product.nodes.iter().find(|node| (node.source, node.machine) == (to, path.to)).cloned();
            let mut node = known.unwrap_or_else(|| self.fresh_node(to, path.to));
            for (state, _) in &taking {
                let mut state = state.clone();
                // Around the loop a few times, where it is one.
                for _ in 0..6 {
                    match self.replay.follow(setting, at, &step, &state) {
                        Followed::Together(after) => {
                            node.add(&after);
                            state = after;
                        }
                        _ => break,
                    }
                    if (to, path.to) != at {
                        break;
                    }
                }
            }
            if node.memory_agrees(setting) {
                let turns = match machine_turns {
                    0 => usize::from(setting.source_anchors.is_loop_head(to)),
                    _ => self.source_turns(&taking, at.0, &hops, 1),
                };
                let odd = (machine_turns > 0) != (turns > 0);
                // A value that is lanes taken together is related to them.
                let folds = self.folds(&node);
                let lanes = folds.iter().map(|fold| fold.of.len()).sum();
                let (machine, source) = node.unrelated();
                let unrelated = (machine.saturating_sub(lanes), source.saturating_sub(folds.len()));
                ranked.push(((unrelated, odd, hops.len()), hops));
            }
        }
        ranked.sort();
        ranked.into_iter().map(|(_, source)| source).collect()
    }

    /// All sequences of anchors that the source passes in some state that takes a path, whatever becomes of memory.
    pub(super) fn enumerated(&self, product: &Product, node: usize, path: &Path) -> Vec<Vec<PointId>> {
        let from = product.nodes[node].source;
        let taking = self.taking_path(product, node, path);
        let seen = taking.iter().take(FITTED_STATES).map(|(_, after)| self.seen(after, from, path));
        let mut found: BTreeSet<Vec<PointId>> = seen.flat_map(|seen| seen.fitting).collect();
        if found.is_empty() {
            found.extend(self.beyond_undefined(product, node, path));
        }
        let at = (from, product.nodes[node].machine);
        found.retain(|hops| {
            let step = Step { machine: path.clone(), source: hops.clone() };
            !self.is_idle(product, node, path, hops) && self.is_paired(at, &step)
        });
        found.into_iter().collect()
    }

    /// Whether the calls of both programs are pairs on a step, and can be after it.
    fn is_paired(&self, at: (PointId, PointId), step: &Step) -> bool {
        let setting = self.context.setting;
        let to = step.source.last().copied().unwrap_or(at.0);
        setting.calls(at, step) != Calls::Mixed && setting.may_meet(to, step.machine.to)
    }

    /// Whether the source would stay where it is on a whole cycle of the product.
    fn is_idle(&self, product: &Product, node: usize, path: &Path, hops: &[PointId]) -> bool {
        let at = (product.nodes[node].source, product.nodes[node].machine);
        let forbidden = self.options.required.has(Class::Progress);
        hops.is_empty() && forbidden && idle_cycle(product, node, at, path)
    }

    /// States of a node that take a path.
    fn taking_path(&self, product: &Product, node: usize, path: &Path) -> Vec<Taken> {
        let (setting, node) = (self.context.setting, &product.nodes[node]);
        let taken = node.states.iter().filter_map(|state| {
            let mut after = state.clone();
            let taken = self.replay.machine_path(&setting.machine_anchors, node.machine, &mut after).ok()?;
            (taken == *path).then(|| (state.clone(), after))
        });
        taken.collect()
    }

    /// Hops to the last thing that the source does before it does something undefined, if it does so in all states
    /// that take the path.
    pub(super) fn only_undefined(&self, product: &Product, node: usize, path: &Path) -> Option<Vec<PointId>> {
        let from = product.nodes[node].source;
        let taking = self.taking_path(product, node, path);
        let ends = taking.iter().map(|(_, after)| self.seen(after, from, path).undefined_after);
        let ends: Vec<Vec<PointId>> = ends.collect::<Option<_>>()?;
        ends.into_iter().max_by_key(Vec::len)
    }

    /// Where all states that take a path are undefined for the source, whatever follows may go with it: the edge
    /// leads to a node that others lead to, and that no defined run takes it has to be shown.
    fn beyond_undefined(&self, product: &Product, node: usize, path: &Path) -> Vec<Vec<PointId>> {
        let Some(hops) = self.only_undefined(product, node, path) else { return Vec::new() };
        let last = hops.last().copied().unwrap_or(product.nodes[node].source);
        let ends = product.nodes.iter().filter(|node| node.machine == path.to && !node.states.is_empty());
        let further = ends.filter_map(|end| self.anchors_to(last, end.source));
        further.map(|further| [hops.clone(), further].concat()).collect()
    }

    /// The shortest way of the source from one anchor to another, at least one hop.
    fn anchors_to(&self, from: PointId, to: PointId) -> Option<Vec<PointId>> {
        let setting = self.context.setting;
        let (mut open, mut seen) = (VecDeque::from([(from, Vec::new())]), BTreeSet::new());
        while let Some((at, way)) = open.pop_front() {
            for next in setting.source_anchors.ways(&setting.problem.source, at) {
                let way = [way.as_slice(), &[next.to]].concat();
                if next.to == to {
                    return Some(way);
                }
                if setting.source_anchors.contains(next.to) && seen.insert(next.to) {
                    open.push_back((next.to, way));
                }
            }
        }
        None
    }

    /// Sequences of anchors that the source passes in all states, after which the memories agree. A state from
    /// which the source does something undefined says nothing about what would follow.
    fn fitting(&self, taking: &[Taken], from: PointId, path: &Path) -> Vec<Vec<PointId>> {
        let mut seen: Vec<Seen> =
            taking.iter().take(FITTED_STATES).map(|(_, after)| self.seen(after, from, path)).collect();
        if seen.iter().all(|seen| seen.undefined_after.is_some()) {
            let rest = taking.iter().skip(FITTED_STATES).map(|(_, after)| self.seen(after, from, path));
            seen.extend(rest);
        }
        seen.sort_by_key(|seen| seen.undefined_after.is_some());
        let mut seen = seen.into_iter();
        let mut agreed = seen.next().map(|seen| seen.fitting).unwrap_or_default();
        for seen in seen {
            agreed.retain(|hops| seen.allows(hops));
        }
        agreed.into_iter().collect()
    }

    /// What one state says about the hops that fit.
    fn seen(&self, after: &State, from: PointId, path: &Path) -> Seen {
        let setting = self.context.setting;
        let ends = setting.machine_anchors.is_exit(path.to);
        let mut state = after.clone();
        let (mut at, mut hops) = (from, Vec::new());
        let mut fitting = BTreeSet::new();
        loop {
            let blind = self.options.order == Order::Static;
            if setting.source_anchors.is_exit(at) == ends && (blind || self.same_memory(&state)) {
                fitting.insert(hops.clone());
            }
            if hops.len() >= self.options.most_hops || setting.source_anchors.is_exit(at) {
                return Seen { fitting, undefined_after: None };
            }
            match self.replay.source_hop(&setting.source_anchors, at, &mut state) {
                Ok(to) => {
                    at = to;
                    hops.push(to);
                }
                Err(_) => return Seen { fitting, undefined_after: Some(hops) },
            }
        }
    }

    /// Whether the memories agree everywhere but in the frame.
    pub(super) fn same_memory(&self, state: &State) -> bool {
        let memories = &self.replay.memories;
        state.same_calls()
            && memories
                .iter()
                .all(|(left, right)| state.memories[*left].seems_same_as(&state.memories[*right]))
    }

    /// Of hops that go with one turn of the machine's loop, the number that goes by the turns which the loops
    /// still have to make. The source may have to get to its loop first.
    fn likely_hops(&self, taking: &[Taken], at: (PointId, PointId), fitting: &[Vec<PointId>]) -> usize {
        let machine = self.machine_turns(taking, at.1, MOST_TURNS) + 1;
        let here = self.source_turns(taking, at.0, &[], MOST_TURNS);
        if here > 0 {
            return ((here + machine / 2) / machine).max(1);
        }
        let Some(longest) = fitting.iter().max_by_key(|hops| hops.len()) else { return 1 };
        for first in 1..=longest.len() {
            if self.source_turns(taking, at.0, &longest[..first], 1) > 0 {
                let turns = self.source_turns(taking, at.0, &longest[..first], MOST_TURNS);
                return first + ((turns + machine / 2) / machine).max(1);
            }
        }
        1
    }

    /// How often the machine comes back to a point that it reaches by the path, at once: the largest number
    /// in some states, up to `most`.
    fn machine_turns(&self, taking: &[Taken], at: PointId, most: usize) -> usize {
        let anchors = &self.context.setting.machine_anchors;
        let turns = |(_, after): &Taken| {
            let mut state = after.clone();
            let mut comes_back =
                || self.replay.machine_path(anchors, at, &mut state).is_ok_and(|path| path.to == at);
            (0..most).take_while(|_| comes_back()).count()
        };
        taking.iter().take(TURNED_STATES).map(turns).max().unwrap_or(0)
    }

    /// How often the source comes back to where it is after some hops, likewise.
    fn source_turns(&self, taking: &[Taken], from: PointId, hops: &[PointId], most: usize) -> usize {
        let anchors = &self.context.setting.source_anchors;
        let turns = |(_, after): &Taken| {
            let (mut state, mut at) = (after.clone(), from);
            for hop in hops {
                match self.replay.source_hop(anchors, at, &mut state) {
                    Ok(to) if to == *hop => at = to,
                    _ => return 0,
                }
            }
            let mut comes_back = || self.replay.source_hop(anchors, at, &mut state).is_ok_and(|to| to == at);
            (0..most).take_while(|_| comes_back()).count()
        };
        taking.iter().take(TURNED_STATES).map(turns).max().unwrap_or(0)
    }
}

/// Whether an edge on which the source stays where it is would close a cycle of such edges.
fn idle_cycle(product: &Product, from: usize, at: (PointId, PointId), path: &Path) -> bool {
    if path.to == at.1 {
        return true;
    }
    let target = product.nodes.iter().position(|node| (node.source, node.machine) == (at.0, path.to));
    let Some(target) = target else { return false };
    let mut open = vec![target];
    let mut seen = BTreeSet::new();
    while let Some(node) = open.pop() {
        if node == from {
            return true;
        }
        if seen.insert(node) {
            let idle = product.edges.iter().filter(|edge| edge.from == node && edge.step.source.is_empty());
            open.extend(idle.map(|edge| edge.to));
        }
    }
    false
}
