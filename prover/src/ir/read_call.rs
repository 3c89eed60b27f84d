//! Calls, and the attributes of what is passed and returned.

use super::cursor::{Cursor, Refusal};
use super::float;
use super::instruction::{Operation, Typed};
use super::token::Token;

/// Attributes of a parameter or result that change nothing about the value passed.
const PLAIN_ATTRIBUTES: [&str; 15] = [
    "noundef",
    "nonnull",
    "zeroext",
    "signext",
    "nocapture",
    "readonly",
    "writeonly",
    "readnone",
    "noalias",
    "immarg",
    "nofree",
    "returned",
    "allocptr",
    "writable",
    "nocallback",
];

/// Skips attributes; refuses those that change how a value is passed.
pub(super) fn attributes(cursor: &mut Cursor) -> Result<Extension, Refusal> {
    let mut extension = Extension::None;
    loop {
        match cursor.rest {
            [Token::Word(word), ..] if PLAIN_ATTRIBUTES.contains(&word.as_str()) => {
                extension = match word.as_str() {
                    "zeroext" => Extension::Zero,
                    "signext" => Extension::Sign,
                    _ => extension,
                };
                cursor.next()?;
            }
            [Token::Word(word), Token::Word(_), ..] if word == "align" => {
                cursor.next()?;
                cursor.next()?;
            }
            [Token::Word(word), Token::Punctuation('('), ..]
                if matches!(
                    word.as_str(),
                    "dereferenceable" | "dereferenceable_or_null" | "range" | "captures" | "align" | "memory"
                ) =>
            {
                cursor.next()?;
                skip_brackets(cursor)?;
            }
            _ => return Ok(extension),
        }
    }
}

/// How a caller widens a narrow argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Anything may be above it.
    None,
    /// Zeros.
    Zero,
    /// Its sign.
    Sign,
}

/// Skips a bracketed part.
fn skip_brackets(cursor: &mut Cursor) -> Result<(), Refusal> {
    cursor.expect('(')?;
    let mut depth = 1;
    while depth > 0 {
        match cursor.next()? {
            Token::Punctuation('(') => depth += 1,
            Token::Punctuation(')') => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn call(cursor: &mut Cursor) -> Result<Operation, Refusal> {
    attributes(cursor)?;
    let returns = cursor.type_name()?;
    let mut refused = None;
    if matches!(cursor.rest.first(), Some(Token::Punctuation('('))) {
        let before = cursor.rest;
        skip_brackets(cursor)?;
        let skipped = &before[..before.len() - cursor.rest.len()];
        if skipped.contains(&Token::Word("...".to_owned())) {
            refused = Some("with a variable number of arguments".to_owned());
        }
    }
    let callee = match cursor.next()? {
        Token::Global(name) => name.clone(),
        Token::Local(_) => return Err("through a pointer".into()),
        Token::Word(word) => return Err(word.clone()),
        other => return Err(format!("{other:?} in place of a callee")),
    };
    cursor.expect('(')?;
    let arguments = cursor.list(')', |cursor| {
        let of = cursor.type_name()?;
        let extension = attributes(cursor)?;
        let value = cursor.value(&of)?;
        Ok((Typed { of, value }, extension))
    })?;
    let (arguments, extensions): (Vec<Typed>, Vec<Extension>) = arguments.into_iter().unzip();
    let mut groups = Vec::new();
    while let [Token::Hash(group), ..] = cursor.rest {
        groups.push(group.clone());
        cursor.next()?;
    }
    if let Some(operation) = float::intrinsic(&callee, &arguments, &returns) {
        return Ok(operation);
    }
    Ok(Operation::Call { returns, callee, arguments, extensions, groups, refused })
}
