//! What a function must look like, and what is known of it before it runs: types, and places of locals in memory.

use super::LowerError;
use crate::ir::{Function, Instruction, Module, Operation, Type};
use std::collections::HashMap;

/// Types of parameters and results.
pub(super) fn types(function: &Function) -> HashMap<&str, &Type> {
    let instructions = function.blocks.iter().flat_map(|block| &block.instructions);
    let results = instructions.filter_map(|instruction| {
        Some((instruction.result.as_deref()?, instruction.operation.result_type()?))
    });
    let parameters = function.parameters.iter().map(|parameter| (parameter.name.as_str(), &parameter.of));
    parameters.chain(results).collect()
}

/// Every block ends with a way out and has none before.
pub(super) fn check_shape(module: &Module, function: &Function) -> Result<(), LowerError> {
    for block in &function.blocks {
        let mut instructions = block.instructions.iter();
        let last = instructions.next_back();
        let broken = |instruction: Option<&Instruction>| {
            let what = match instruction.map(|instruction| &instruction.operation) {
                Some(Operation::Unsupported(what)) => what.clone(),
                _ => format!("shape of block {}", block.label),
            };
            LowerError::new(module, function, instruction, what)
        };
        if !last.is_some_and(|last| last.operation.ends_block()) {
            return Err(broken(last));
        }
        if let Some(early) = instructions.find(|instruction| instruction.operation.ends_block()) {
            return Err(broken(Some(early)));
        }
        let missing = |label: &&str| !function.blocks.iter().any(|block| block.label == **label);
        if last.is_some_and(|last| last.operation.targets().iter().any(missing)) {
            return Err(broken(last));
        }
    }
    if function.blocks.is_empty() {
        return Err(LowerError::new(module, function, None, "function without blocks".into()));
    }
    Ok(())
}

/// Locals in memory, one after the other: the source does nothing that depends on where they are.
pub(super) fn frame<'a>(
    module: &Module,
    function: &'a Function,
) -> Result<HashMap<&'a str, u64>, LowerError> {
    let (mut found, mut end) = (HashMap::new(), 0u64);
    for (number, block) in function.blocks.iter().enumerate() {
        for instruction in &block.instructions {
            let Operation::Alloca { of, align_bytes } = &instruction.operation else { continue };
            let refuse = |what: &str| LowerError::new(module, function, Some(instruction), what.to_owned());
            if number > 0 {
                return Err(refuse("local made on the way"));
            }
            let size = module.layout.size_bytes(of).ok_or_else(|| refuse("local of unknown size"))?;
            let start = end.checked_next_multiple_of((*align_bytes).max(1));
            let name = instruction.result.as_deref().ok_or_else(|| refuse("local without a name"))?;
            let start = start.filter(|start| *start < 1 << 40).ok_or_else(|| refuse("local of that size"))?;
            end = start.checked_add(size).ok_or_else(|| refuse("local of that size"))?;
            found.insert(name, start);
        }
    }
    Ok(found)
}
