//! Which object each pointer of the source points into. The source does nothing undefined, so a pointer made
//! from an object's address stays in it; pointers of other origin may point anywhere.
//!
//! Pointers that are kept in a global (`xx = &b[n]`) are followed as well: a store to one object does not
//! change another. Unlike on the machine's side nothing proves these regions later, so this analysis must be
//! right: whatever it does not know is [`Origin::Any`].

use crate::ir::{Block, Cast, Function, Instruction, Operation, Type, Typed, Value};
use crate::region::Region;
use std::collections::{BTreeMap, HashMap};

/// Where a value points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// Into one region.
    In(Region),
    /// Anywhere but into the frame.
    Any,
}

/// Origins of pointers kept in globals; what is not listed is [`Origin::Any`].
type Kept = BTreeMap<String, Origin>;

/// Origins of all values of a function.
#[derive(Debug, Default)]
pub(super) struct Origins {
    values: HashMap<String, Origin>,
    at_start: HashMap<String, Kept>,
}

impl Origins {
    pub(super) fn infer(function: &Function) -> Origins {
        let mut origins = Origins::default();
        for parameter in &function.parameters {
            origins.values.insert(parameter.name.clone(), Origin::Any);
        }
        if let Some(entry) = function.blocks.first() {
            origins.at_start.insert(entry.label.clone(), Kept::new());
        }
        // Origins only grow, towards Any: this ends.
        while function.blocks.iter().map(|block| origins.pass(block)).filter(|changed| *changed).count() > 0 {
        }
        origins
    }

    /// Where a value points. A value that no run computes points nowhere; anywhere is right for it too.
    pub(super) fn of(&self, value: &Value) -> Origin {
        self.known(value).unwrap_or(Origin::Any)
    }

    /// The same, or nothing while it is not computed yet.
    fn known(&self, value: &Value) -> Option<Origin> {
        match value {
            Value::Local(name) => self.values.get(name).cloned(),
            Value::Global(global) | Value::Offset { global, .. } => {
                Some(Origin::In(Region::Global(global.clone())))
            }
            // Nobody knows what it is, and using it is undefined; null likewise.
            Value::Unknown => None,
            Value::Constant(address) if !address.is_set() => None,
            Value::Constant(_) | Value::Other(_) => Some(Origin::Any),
        }
    }

    /// One pass over a block; true if something changed.
    fn pass(&mut self, block: &Block) -> bool {
        let Some(mut kept) = self.at_start.get(&block.label).cloned() else { return false };
        let mut changed = false;
        for instruction in &block.instructions {
            changed |= self.step(instruction, &mut kept);
        }
        let Some(last) = block.instructions.last() else { return changed };
        for target in last.operation.targets() {
            let joined = match self.at_start.get(target) {
                None => kept.clone(),
                Some(before) => join_kept(before, &kept),
            };
            if self.at_start.get(target) != Some(&joined) {
                self.at_start.insert(target.to_owned(), joined);
                changed = true;
            }
        }
        changed
    }

    fn step(&mut self, instruction: &Instruction, kept: &mut Kept) -> bool {
        let origin = match &instruction.operation {
            Operation::Address { base, .. } => self.known(base).or(Some(Origin::Any)),
            Operation::Alloca { .. } => Some(Origin::In(Region::Stack)),
            Operation::Phi { of: Type::Pointer, incoming } => {
                join_all(incoming.iter().filter_map(|(value, _)| self.known(value)))
            }
            Operation::Select { then, otherwise, .. } if then.of == Type::Pointer => {
                join_all([&then.value, otherwise].into_iter().filter_map(|value| self.known(value)))
            }
            Operation::Load { of: Type::Pointer, pointer: Value::Global(global) } => {
                Some(kept.get(global).cloned().unwrap_or(Origin::Any))
            }
            Operation::Cast { cast: Cast::Bitcast, operand, .. } => self.known(&operand.value),
            Operation::Store { stored, pointer } => {
                self.store(kept, stored, pointer);
                None
            }
            Operation::Call { arguments, callee, .. } => {
                match block_operation(callee, arguments) {
                    Some(destination) => self.forget(kept, destination),
                    None => kept.clear(),
                }
                Some(Origin::Any)
            }
            _ => Some(Origin::Any),
        };
        let (Some(result), Some(origin)) = (&instruction.result, origin) else { return false };
        let joined = match self.values.get(result) {
            Some(before) => join(before, &origin),
            None => origin,
        };
        let changed = self.values.get(result) != Some(&joined);
        self.values.insert(result.clone(), joined);
        changed
    }

    fn store(&self, kept: &mut Kept, stored: &Typed, pointer: &Value) {
        self.forget(kept, pointer);
        if let (Type::Pointer, Value::Global(global)) = (&stored.of, pointer)
            && let Origin::In(region) = self.of(&stored.value)
        {
            kept.insert(global.clone(), Origin::In(region));
        }
    }

    /// Something is written through a pointer.
    fn forget(&self, kept: &mut Kept, pointer: &Value) {
        match self.of(pointer) {
            Origin::In(Region::Global(global)) => {
                kept.remove(&global);
            }
            Origin::In(Region::Stack) => {}
            Origin::In(Region::Rest) | Origin::Any => kept.clear(),
        }
    }

    /// The first instruction that lets the address of a local get where it is not followed.
    pub(super) fn escape<'a>(&self, function: &'a Function) -> Option<&'a Instruction> {
        let local = |value: &Value| self.of(value) == Origin::In(Region::Stack);
        let result_local = |instruction: &Instruction| {
            instruction.result.as_ref().is_some_and(|name| local(&Value::Local(name.clone())))
        };
        let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
        let escapes = |instruction: &&Instruction| match &instruction.operation {
            Operation::Load { .. } | Operation::Compare { .. } | Operation::Alloca { .. } => false,
            Operation::Store { stored, .. } => local(&stored.value),
            Operation::Address { indices, .. } => indices.iter().any(|index| local(&index.value)),
            Operation::Call { callee, arguments, .. } if block_operation(callee, arguments).is_some() => {
                false
            }
            Operation::Phi { .. } | Operation::Select { .. } | Operation::Cast { .. }
                if result_local(instruction) =>
            {
                false
            }
            operation => operation.values().into_iter().any(local),
        };
        instructions.into_iter().find(escapes)
    }
}

/// The destination of a memset or memcpy.
pub(super) fn block_operation<'a>(callee: &str, arguments: &'a [Typed]) -> Option<&'a Value> {
    let known = callee.starts_with("llvm.memset.p0.") || callee.starts_with("llvm.memcpy.p0.p0.");
    arguments.first().filter(|_| known).map(|first| &first.value)
}

fn join(left: &Origin, right: &Origin) -> Origin {
    if left == right { left.clone() } else { Origin::Any }
}

fn join_all(mut origins: impl Iterator<Item = Origin>) -> Option<Origin> {
    let first = origins.next()?;
    Some(origins.fold(first, |left, right| join(&left, &right)))
}

fn join_kept(left: &Kept, right: &Kept) -> Kept {
    let both = left.iter().filter_map(|(global, origin)| {
        let joined = join(origin, right.get(global)?);
        (joined != Origin::Any).then(|| (global.clone(), joined))
    });
    both.collect()
}
