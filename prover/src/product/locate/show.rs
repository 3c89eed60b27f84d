//! The questions: whether memories agree, whether the source gets somewhere, and whether a variable has a value.

use super::super::assumed::equal;
use super::super::certify::Certified;
use super::super::triple::{anywhere, substituted};
use super::super::walk::{Values, and, implies};
use super::examples::Goal;
use super::{At, LocateError, Locator};
use crate::bits::Bits;
use crate::expr::decompose::memory_equality;
use crate::expr::{Arena, ExprId, smtlib};
use crate::smt::Limits;
use crate::source::{self};
use metaloc_proof as proof;
use metaloc_proof::Exact;
use std::time::Duration;

/// Questions about memories without success on one edge, at most: they are for guessing, and hard.
const MOST_UNLIKE: usize = 3;
/// Time for one of them.
const MEMORY_TIME: Duration = Duration::from_secs(2);

impl Locator {
    /// Whether the two memories are seen to agree: by rewriting alone, so `false` says nothing.
    pub fn same_memory(&mut self, at: At) -> Result<bool, LocateError> {
        let mut assumed = self.guessing(at.edge)?;
        let machine = self.walk_machine(at.edge, at.machine);
        let source = self.walk_source(at.edge, at.source);
        let value = |values: &Values, variable: ExprId| values.get(&variable).copied().unwrap_or(variable);
        let mut same = true;
        for region in self.setting.regions.clone() {
            let (left, right) = self.setting.memories(&mut self.arena, &region);
            let left = value(&source.values, left);
            let right = value(&machine.values, right);
            let left = assumed.rewrite(&mut self.arena, &mut self.normaliser, left);
            let right = assumed.rewrite(&mut self.arena, &mut self.normaliser, right);
            let pairs = memory_equality(&mut self.arena, &mut self.normaliser, left, right);
            let Some(pairs) = pairs else {
                same = false;
                break;
            };
            for (left, right) in pairs {
                let bit = equal(&mut self.arena, left, right);
                let bit = assumed.rewrite(&mut self.arena, &mut self.normaliser, bit);
                same &= self.arena.as_constant(bit).is_some_and(|bits| bits.is_set());
            }
        }
        self.edges[at.edge].guessing = Some(assumed);
        Ok(same)
    }

    /// Whether the two memories are shown to agree where the source gets to its position. Not asked again on an edge where
    /// that was too much a few times.
    pub fn surely_same_memory(&mut self, at: At) -> Result<bool, LocateError> {
        if self.unlike.get(&at.edge).is_some_and(|times| *times >= MOST_UNLIKE) {
            return Ok(false);
        }
        if self.memories_differ(at)? {
            return Ok(false);
        }
        let limits = self.solver.limits();
        self.solver.set_limits(Limits { time: limits.time.min(MEMORY_TIME), ..limits });
        let same = self.memories_agree(at);
        self.solver.set_limits(limits);
        let same = same?;
        if !same {
            *self.unlike.entry(at.edge).or_default() += 1;
        }
        Ok(same)
    }

    /// Whether some state is known in which they are different there.
    fn memories_differ(&mut self, at: At) -> Result<bool, LocateError> {
        let mut triple = self.triple(at)?;
        let value = |values: &Values, variable: ExprId| values.get(&variable).copied().unwrap_or(variable);
        for region in self.setting.regions.clone() {
            let (left, right) = self.setting.memories(&mut self.arena, &region);
            let (left, right) = (value(&triple.source.values, left), value(&triple.machine.values, right));
            let goal = Goal::Same(triple.source.condition, left, right);
            if self.is_refuted(at.edge, &mut triple, goal)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn memories_agree(&mut self, at: At) -> Result<bool, LocateError> {
        let mut triple = self.triple(at)?;
        let value = |values: &Values, variable: ExprId| values.get(&variable).copied().unwrap_or(variable);
        for region in self.setting.regions.clone() {
            let (left, right) = self.setting.memories(&mut self.arena, &region);
            let left = value(&triple.source.values, left);
            let right = value(&triple.machine.values, right);
            let bytes = anywhere(&mut self.arena, left, right);
            let reached = triple.source.condition;
            let same = implies(&mut self.arena, reached, bytes);
            let name = format!("locate memory {at:?}");
            if self.implied((at.edge, &name), &mut triple, same)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the source certainly gets to its position if the machine is at its own.
    pub fn reached(&mut self, at: At) -> Result<bool, LocateError> {
        let mut triple = self.triple(at)?;
        let goal = triple.source.condition;
        let name = format!("locate reached {at:?}");
        Ok(self.implied((at.edge, &name), &mut triple, goal)?.is_some())
    }

    pub(super) fn bound_value(&mut self, at: At, variable: usize) -> Option<ExprId> {
        match self.bound(at.edge, at.source, variable)? {
            source::Bound::Value(value) => {
                let walk = self.walk_source(at.edge, at.source);
                Some(walk.values.get(&value).copied().unwrap_or(value))
            }
            source::Bound::Constant(bits) => Some(self.arena.constant(bits)),
            source::Bound::Undefined => None,
        }
    }

    /// Shows that a variable has a value at a place, and that the source is there; keeps the obligation if so.
    pub fn show(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        let location = self.location(at, variable, value)?;
        if self.shown.iter().any(|(known, _)| proof::Location { id: 0, ..known.clone() } == location) {
            return Ok(true);
        }
        let Some(bound) = self.bound_value(at, variable) else { return Ok(false) };
        let mut triple = self.triple(at)?;
        let sum = self.sum(&value.sum)?;
        let sum = substituted(&mut self.arena, &[&triple.machine.values], sum);
        let Some(same) = exactly(&mut self.arena, bound, sum, value) else { return Ok(false) };
        let goal = and(&mut self.arena, &[triple.source.condition, same]);
        let name = format!("locate {at:?} variable {variable}");
        let Some((shown, defined)) = self.implied((at.edge, &name), &mut triple, goal)? else {
            return Ok(false);
        };
        let mut raw = triple.given.clone();
        for (machine, source) in triple.assumed.memories.clone() {
            raw.push(equal(&mut self.arena, machine, source));
        }
        let mut assumptions = Vec::new();
        if defined {
            raw.extend(&triple.defined);
            assumptions = triple.source.assumptions.iter().map(|guarded| guarded.what.clone()).collect();
        }
        let (mut context, _, _) = self.context();
        let asserted = context.about(raw, goal);
        let script = smtlib::script(context.arena, &asserted);
        let (normaliser, table) = (context.normaliser, context.table);
        (self.normaliser, self.table) = (normaliser, table);
        let claim = proof::Claim::Location { location: 0 };
        self.shown.push((location, Certified { claim, part: (0, 1), script, shown, assumptions }));
        Ok(true)
    }

    /// Shows that a variable never has a value at a place, and that the source is there.
    pub fn refute(&mut self, at: At, variable: usize, value: &Exact) -> Result<bool, LocateError> {
        // A quotient that is not exact is cut by a debugger, and may be right.
        if value.divisor.0 != 1 {
            return Ok(false);
        }
        let Some(bound) = self.bound_value(at, variable) else { return Ok(false) };
        let mut triple = self.triple(at)?;
        let sum = self.sum(&value.sum)?;
        let sum = substituted(&mut self.arena, &[&triple.machine.values], sum);
        let Some(same) = exactly(&mut self.arena, bound, sum, value) else { return Ok(false) };
        let other = self.arena.not(same);
        let goal = and(&mut self.arena, &[triple.source.condition, other]);
        Ok(self
            .implied((at.edge, &format!("locate {at:?} not variable {variable}")), &mut triple, goal)?
            .is_some())
    }
}

/// The bit that is set if `bound` is `sum` divided exactly.
fn exactly(arena: &mut Arena, bound: ExprId, sum: ExprId, value: &Exact) -> Option<ExprId> {
    let (narrow, wide) = (arena.width_bits(bound), arena.width_bits(sum));
    if value.divisor.0 == 1 {
        if wide < narrow {
            return None;
        }
        let low = if wide == narrow { sum } else { arena.extract(sum, 0, narrow) };
        return Some(equal(arena, bound, low));
    }
    // Wide enough that the product does not wrap around: then the division is exact and gives the value.
    let divisor_bits = 128 - value.divisor.0.leading_zeros();
    let width_bits = if narrow + divisor_bits < wide { wide } else { 2 * wide };
    if width_bits > 128 || narrow + divisor_bits >= width_bits {
        return None;
    }
    let mut extended = |of: ExprId| match value.signed {
        true => arena.sign_extend(of, width_bits),
        false => arena.zero_extend(of, width_bits),
    };
    let (bound, sum) = (extended(bound), extended(sum));
    let product = arena.sum(Bits::new(width_bits, 0), &[(value.divisor.0, bound)]);
    Some(equal(arena, product, sum))
}
