//! Which expressions of a function are instructions: variables by their type, and one level of members.
//!
//! An expression is kept if it could be written where the variable is in scope. Whether it is the instruction
//! that a report is about is decided by its value while the pass runs, never by its name.

use gimli::{
    AttributeValue, DW_AT_accessibility, DW_AT_data_member_location, DW_AT_location, Operation, UnitOffset,
};
use metaloc_record::code_map::Variable;

use super::entries::Entries;
use super::{Error, is_class};

/// How deep types are unwrapped: names, qualifiers, pointers and bases.
const DEPTH: usize = 12;

/// Adds the expressions that a variable makes possible.
pub(crate) fn add(
    entries: &Entries<'_>,
    variable: UnitOffset,
    (low, high): (u64, u64),
    found: &mut Vec<Variable>,
) -> Result<(), Error> {
    let Some(name) = entries.name(variable)? else { return Ok(()) };
    let Some(offset) = frame_offset(entries, variable)? else { return Ok(()) };
    // `__begin1` and its like are the compiler's; nobody can write them.
    if name.starts_with("__") || (entries.is_artificial(variable)? && name != "this") {
        return Ok(());
    }
    let Some(kind) = entries.type_of(variable)? else { return Ok(()) };
    let line = entries.line(variable)?;
    let mut push = |steps: Vec<i64>, is_node: bool, expression: String| {
        found.push(Variable { low, high, line, steps, is_node, expression });
    };
    match shape(entries, kind)? {
        Shape::Instruction => push(vec![offset], false, name),
        Shape::ReferenceToInstructionPointer => push(vec![offset, 0], false, name),
        Shape::Iterator => push(vec![offset], true, format!("*{name}")),
        Shape::Class(class) => {
            for member in members(entries, class, Access::Public)? {
                let expression =
                    if member.is_whole { name.clone() } else { format!("{name}.{}", member.name) };
                push(vec![offset + member.offset], false, expression);
            }
        }
        Shape::PointerToClass { class, reference } => {
            let access = if name == "this" { Access::All } else { Access::Public };
            for member in members(entries, class, access)? {
                let expression = match (name.as_str(), reference) {
                    // What a lambda captured is written as outside of it.
                    ("this", _) => member.name.clone(),
                    (_, true) if member.is_whole => name.clone(),
                    (_, true) => format!("{name}.{}", member.name),
                    (_, false) => format!("{name}->{}", member.name),
                };
                let mut steps = vec![offset, member.offset];
                steps.extend(member.is_indirect.then_some(0));
                push(steps, false, expression);
            }
        }
        Shape::Other => {}
    }
    Ok(())
}

/// What the value of a type can tell.
enum Shape {
    /// A pointer or reference to an instruction.
    Instruction,
    /// `Instruction *&`.
    ReferenceToInstructionPointer,
    /// An iterator over the instructions of a block.
    Iterator,
    /// An object that may have members which are instructions.
    Class(UnitOffset),
    /// A pointer or reference to one.
    PointerToClass {
        class: UnitOffset,
        reference: bool,
    },
    Other,
}

fn shape(entries: &Entries<'_>, kind: UnitOffset) -> Result<Shape, Error> {
    let kind = bare(entries, kind)?;
    let tag = entries.tag(kind);
    if is_class(tag) {
        let name = entries.name(kind)?.unwrap_or_default();
        if name.starts_with("ilist_iterator") && name.contains("llvm::Instruction,") {
            return Ok(Shape::Iterator);
        }
        return Ok(Shape::Class(kind));
    }
    let reference = matches!(tag, gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type);
    if !reference && tag != gimli::DW_TAG_pointer_type {
        return Ok(Shape::Other);
    }
    let Some(target) = entries.type_of(kind)? else { return Ok(Shape::Other) };
    let target = bare(entries, target)?;
    if is_class(entries.tag(target)) {
        let name = entries.name(target)?.unwrap_or_default();
        return Ok(match is_instruction_class(&name) {
            true => Shape::Instruction,
            false => Shape::PointerToClass { class: target, reference },
        });
    }
    if reference && matches!(shape(entries, target)?, Shape::Instruction) {
        return Ok(Shape::ReferenceToInstructionPointer);
    }
    Ok(Shape::Other)
}

/// The type without its other names and without `const`.
fn bare(entries: &Entries<'_>, mut kind: UnitOffset) -> Result<UnitOffset, Error> {
    for _ in 0..DEPTH {
        match entries.tag(kind) {
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                match entries.type_of(kind)? {
                    Some(next) => kind = next,
                    None => break,
                }
            }
            _ => break,
        }
    }
    Ok(kind)
}

/// Classes whose objects may be instructions. By name, since a class that a file only points to is described by
/// nothing else.
fn is_instruction_class(name: &str) -> bool {
    const OTHERS: [&str; 6] = ["Value", "User", "Instruction", "PHINode", "CallBase", "UnaryInstruction"];
    let operator = name.ends_with("Operator") && !name.contains('<');
    OTHERS.contains(&name) || name.ends_with("Inst") || name.ends_with("Intrinsic") || operator
}

/// A member that is an instruction.
struct Member {
    offset: i64,
    name: String,
    /// The object is used as if it were the instruction: it has an `operator->`.
    is_whole: bool,
    /// A reference to a pointer.
    is_indirect: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Only what anybody may name.
    Public,
    /// What the class itself may name.
    All,
}

fn members(entries: &Entries<'_>, class: UnitOffset, access: Access) -> Result<Vec<Member>, Error> {
    let mut found = Vec::new();
    add_members(entries, class, 0, access, 0, &mut found)?;
    Ok(found)
}

fn add_members(
    entries: &Entries<'_>,
    class: UnitOffset,
    base: i64,
    access: Access,
    depth: usize,
    found: &mut Vec<Member>,
) -> Result<(), Error> {
    if depth > 3 || entries.is_declaration(class)? {
        return Ok(());
    }
    let is_whole = access == Access::Public && acts_as_instruction(entries, class)?;
    for &child in entries.children(class) {
        let offset = |name| -> Result<Option<i64>, Error> {
            Ok(entries.number(child, name)?.and_then(|at| i64::try_from(at).ok()).map(|at| base + at))
        };
        match entries.tag(child) {
            gimli::DW_TAG_inheritance => {
                if let (Some(of), Some(at)) = (entries.type_of(child)?, offset(DW_AT_data_member_location)?) {
                    add_members(entries, bare(entries, of)?, at, access, depth + 1, found)?;
                }
            }
            gimli::DW_TAG_member => {
                let Some(at) = offset(DW_AT_data_member_location)? else { continue };
                let (Some(of), Some(name)) = (entries.type_of(child)?, entries.name(child)?) else {
                    continue;
                };
                if !is_whole && access == Access::Public && !is_public(entries, class, child)? {
                    continue;
                }
                match shape(entries, of)? {
                    Shape::Instruction => {
                        found.push(Member { offset: at, name, is_whole, is_indirect: false })
                    }
                    Shape::ReferenceToInstructionPointer if access == Access::All => {
                        found.push(Member { offset: at, name, is_whole, is_indirect: true });
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A class that stands for an instruction: it has an `operator->` that gives one.
fn acts_as_instruction(entries: &Entries<'_>, class: UnitOffset) -> Result<bool, Error> {
    for &child in entries.children(class) {
        if entries.tag(child) == gimli::DW_TAG_subprogram
            && entries.name(child)?.as_deref() == Some("operator->")
            && let Some(result) = entries.type_of(child)?
        {
            return Ok(matches!(shape(entries, result)?, Shape::Instruction));
        }
    }
    Ok(false)
}

fn is_public(entries: &Entries<'_>, class: UnitOffset, member: UnitOffset) -> Result<bool, Error> {
    Ok(match entries.entry(member)?.attr_value(DW_AT_accessibility) {
        Some(AttributeValue::Accessibility(access)) => access == gimli::DW_ACCESS_public,
        _ => entries.tag(class) != gimli::DW_TAG_class_type,
    })
}

/// The place of a variable in its frame; `None` if it is anywhere else.
fn frame_offset(entries: &Entries<'_>, variable: UnitOffset) -> Result<Option<i64>, Error> {
    let Some(AttributeValue::Exprloc(expression)) = entries.entry(variable)?.attr_value(DW_AT_location)
    else {
        return Ok(None);
    };
    let mut operations = expression.operations(entries.unit.encoding());
    let (first, rest) = (operations.next()?, operations.next()?);
    match (first, rest) {
        (Some(Operation::FrameOffset { offset }), None) => Ok(Some(offset)),
        // An argument that is passed by reference to a copy: the frame has the address of the object.
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::is_instruction_class;

    #[test]
    fn classes_of_instructions_are_known_by_name() {
        for name in ["Instruction", "BranchInst", "PHINode", "BinaryOperator", "Value", "IntrinsicInst"] {
            assert!(is_instruction_class(name), "{name}");
        }
        for name in ["BasicBlock", "Loop", "Type", "Constant", "SmallVector<Value *>", "InstVisitor"] {
            assert!(!is_instruction_class(name), "{name}");
        }
    }
}
