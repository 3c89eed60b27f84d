//! Initialisers of constant globals as bytes.

use super::cursor::{Cursor, integer};
use super::float;
use super::instruction::Value;
use super::token::Token;
use super::types::Type;

/// The bytes of a constant initialiser, little-endian; nothing if a part is no number.
pub(super) fn initialiser(cursor: &mut Cursor, of: &Type) -> Option<Vec<u8>> {
    let size = usize::try_from(cursor.layout.size_bytes(of)?).ok()?;
    // Larger constants are left as memory of which nothing is known.
    if size > 1 << 20 {
        return None;
    }
    if cursor.word("zeroinitializer") {
        return Some(vec![0; size]);
    }
    match of {
        Type::Int(width_bits) => match cursor.next().ok()? {
            Token::Word(digits) => match integer(digits, *width_bits).ok()? {
                Value::Constant(bits) => Some(bits.value().to_le_bytes()[..size].to_vec()),
                _ => None,
            },
            _ => None,
        },
        Type::Float(format) => match cursor.next().ok()? {
            Token::Word(digits) => match float::constant(digits, *format).ok()? {
                Value::Constant(bits) => Some(bits.value().to_le_bytes()[..size].to_vec()),
                _ => None,
            },
            _ => None,
        },
        Type::Array(count, element) => {
            if let [Token::Text(text), ..] = cursor.rest {
                cursor.next().ok()?;
                return (text.len() as u64 == *count).then(|| text.clone());
            }
            cursor.expect('[').ok()?;
            let parts = cursor
                .list(']', |cursor| {
                    let of = cursor.type_name()?;
                    initialiser(cursor, &of).filter(|_| of == **element).ok_or_else(String::new)
                })
                .ok()?;
            Some(parts.concat()).filter(|bytes| bytes.len() == size)
        }
        _ => None,
    }
}
