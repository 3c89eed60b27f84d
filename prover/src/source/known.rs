//! Which values a compiler may know: those that no parameter, no callee and nothing in memory has a part in. It matters
//! for `llvm.fmuladd` only. Machine code has no fused instructions here and so rounds the product; but LLVM folds the
//! operation fused where all operands are constants, and both are right. A run in which the source rounds such a product
//! would refute what may be right, so it refutes nothing.
//!
//! What is not known for certain to be unknown is taken for known: a mistake in that direction costs a refutation.

use crate::ir::{FloatOperation, Function, Module, Operation, Value};
use std::collections::HashSet;

/// The values of a function that a compiler cannot know.
pub(super) struct Known {
    unknown: HashSet<String>,
}

impl Known {
    pub(super) fn infer(module: &Module, function: &Function) -> Known {
        let parameters = function.parameters.iter().map(|parameter| parameter.name.clone());
        let mut known = Known { unknown: parameters.collect() };
        // First as if loads were unknown; if then something is stored that is known, a load may find it again.
        known.spread(function, &|pointer| !may_be_constant(module, pointer));
        let stores = function.blocks.iter().flat_map(|block| &block.instructions).any(|one| {
            matches!(&one.operation, Operation::Store { stored, .. } if !known.is_unknown(&stored.value))
                || matches!(&one.operation, Operation::Call { callee, .. } if callee.starts_with("llvm."))
        });
        if stores {
            known.unknown = function.parameters.iter().map(|parameter| parameter.name.clone()).collect();
            known.spread(function, &|_| false);
        }
        known
    }

    /// Whether an instruction is a `llvm.fmuladd` of values that may all be known.
    pub(super) fn may_be_fused(&self, operation: &Operation) -> bool {
        matches!(operation, Operation::Float { operation: FloatOperation::MultiplyAdd, .. })
            && !operation.values().into_iter().any(|value| self.is_unknown(value))
    }

    fn is_unknown(&self, value: &Value) -> bool {
        matches!(value, Value::Local(name) if self.unknown.contains(name))
    }

    /// What is made of the unknown is unknown; of a choice, if all are. Unknown values only become more: this ends.
    fn spread(&mut self, function: &Function, load: &impl Fn(&Value) -> bool) {
        loop {
            let before = self.unknown.len();
            for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
                let Some(result) = &instruction.result else { continue };
                let unknown = |value: &Value| self.is_unknown(value);
                let is_unknown = match &instruction.operation {
                    Operation::Phi { incoming, .. } => incoming.iter().all(|(value, _)| unknown(value)),
                    Operation::Select { then, otherwise, .. } => unknown(&then.value) && unknown(otherwise),
                    Operation::Load { pointer, .. } => load(pointer),
                    Operation::Call { .. } => true,
                    operation => operation.values().into_iter().any(unknown),
                };
                if is_unknown {
                    self.unknown.insert(result.clone());
                }
            }
            if self.unknown.len() == before {
                return;
            }
        }
    }
}

/// Whether a pointer may lead to what never changes. Of a computed one nobody knows, if there are constants at all.
fn may_be_constant(module: &Module, pointer: &Value) -> bool {
    match pointer {
        Value::Global(symbol) | Value::Offset { global: symbol, .. } => {
            module.global(symbol).is_none_or(|global| global.read_only || global.constant.is_some())
        }
        _ => module.globals.iter().any(|global| global.read_only || global.constant.is_some()),
    }
}
