//! Types, and how large they are in memory.

use crate::float::Format;
use std::collections::HashMap;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// No value.
    Void,
    /// An integer of so many bits.
    Int(u32),
    /// A number.
    Float(Format),
    /// A pointer.
    Pointer,
    /// A number of elements in a row.
    Array(u64, Box<Type>),
    /// Fields one after the other.
    Struct {
        /// Whether there is no padding.
        packed: bool,
        /// The fields.
        fields: Vec<Type>,
    },
    /// A type with a name.
    Named(String),
    /// A type that is known to exist and not modelled: half and long double, vectors and so on.
    Other(String),
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Void => write!(f, "void"),
            Type::Int(bits) => write!(f, "i{bits}"),
            Type::Float(Format::Single) => write!(f, "float"),
            Type::Float(Format::Double) => write!(f, "double"),
            Type::Pointer => write!(f, "ptr"),
            Type::Array(count, element) => write!(f, "[{count} x {element}]"),
            Type::Struct { .. } => write!(f, "a struct"),
            Type::Named(name) => write!(f, "%{name}"),
            Type::Other(name) => write!(f, "{name}"),
        }
    }
}

/// What the module says about sizes: the width of a pointer, alignments, and the named types.
#[derive(Debug, Clone, Default)]
pub struct DataLayout {
    /// Width of an address.
    pub pointer_bits: u32,
    /// Alignments of integers in bytes, by width in bits.
    alignments: Vec<(u32, u64)>,
    /// Alignment of `double` in bytes.
    double_align: u64,
    /// Types by name.
    pub(super) named: HashMap<String, Type>,
}

/// Nested types deeper than this are refused: no program has them, and a broken module may loop.
const DEPTH: u32 = 64;

impl DataLayout {
    /// Reads a `target datalayout`; nothing if it is not that of a little-endian machine.
    pub(super) fn parse(text: &str) -> Option<DataLayout> {
        // LLVM's defaults, which a layout overrides.
        let mut layout = DataLayout {
            pointer_bits: 64,
            alignments: vec![(1, 1), (8, 1), (16, 2), (32, 4), (64, 4)],
            double_align: 8,
            named: HashMap::new(),
        };
        let mut parts = text.split('-');
        if parts.next() != Some("e") {
            return None;
        }
        for part in parts {
            let mut numbers = part.get(1..)?.split(':');
            match part.as_bytes()[0] {
                b'p' if part.starts_with("p:") => layout.pointer_bits = numbers.nth(1)?.parse().ok()?,
                b'i' => {
                    let (width, align): (u32, u64) =
                        (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
                    layout.alignments.retain(|(known, _)| *known != width);
                    layout.alignments.push((width, align / 8));
                }
                b'f' if part.starts_with("f64:") => {
                    layout.double_align = numbers.nth(1)?.parse::<u64>().ok()? / 8;
                }
                _ => {}
            }
        }
        layout.alignments.sort_unstable();
        matches!(layout.pointer_bits, 32 | 64).then_some(layout)
    }

    /// The bytes from one element of an array to the next; nothing if the type has no known size.
    pub fn size_bytes(&self, of: &Type) -> Option<u64> {
        self.measure(of, DEPTH).map(|(size, _)| size)
    }

    /// Alignment in memory.
    pub fn align_bytes(&self, of: &Type) -> Option<u64> {
        self.measure(of, DEPTH).map(|(_, align)| align)
    }

    /// Bytes from the start of a struct to a field, and the field's type.
    pub fn field(&self, of: &Type, number: usize) -> Option<(u64, Type)> {
        match self.resolve(of)? {
            Type::Struct { packed, fields } => {
                let wanted = fields.get(number)?.clone();
                let mut at = 0u64;
                for (position, field) in fields.iter().take(number + 1).enumerate() {
                    let (size, align) = self.measure(field, DEPTH)?;
                    at = at.checked_next_multiple_of(if *packed { 1 } else { align })?;
                    at = if position < number { at.checked_add(size)? } else { at };
                }
                Some((at, wanted))
            }
            _ => None,
        }
    }

    /// The type behind a name.
    pub fn resolve<'a>(&'a self, of: &'a Type) -> Option<&'a Type> {
        let mut found = of;
        for _ in 0..DEPTH {
            match found {
                Type::Named(name) => found = self.named.get(name)?,
                _ => return Some(found),
            }
        }
        None
    }

    /// Size with padding at the end, and alignment.
    fn measure(&self, of: &Type, depth: u32) -> Option<(u64, u64)> {
        let depth = depth.checked_sub(1)?;
        match self.resolve(of)? {
            Type::Int(bits) => {
                let bytes = u64::from(bits.div_ceil(8));
                // The first listed width that is not smaller; beyond the last one, the last one.
                let listed = self.alignments.iter().find(|(width, _)| width >= bits);
                let align = listed.or(self.alignments.last()).map(|(_, align)| (*align).max(1))?;
                Some((bytes.next_multiple_of(align), align))
            }
            Type::Float(Format::Single) => Some((4, 4)),
            Type::Float(Format::Double) => Some((8, self.double_align.max(1))),
            Type::Pointer => Some((u64::from(self.pointer_bits / 8), u64::from(self.pointer_bits / 8))),
            Type::Array(count, element) => {
                let (size, align) = self.measure(element, depth)?;
                Some((size.checked_mul(*count)?, align))
            }
            Type::Struct { packed, fields } => {
                let (mut size, mut largest) = (0u64, 1);
                for field in fields {
                    let (bytes, align) = self.measure(field, depth)?;
                    let align = if *packed { 1 } else { align };
                    size = size.checked_next_multiple_of(align)?.checked_add(bytes)?;
                    largest = align.max(largest);
                }
                Some((size.checked_next_multiple_of(largest)?, largest))
            }
            Type::Void | Type::Named(_) | Type::Other(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86_64: &str = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";
    const I386: &str =
        "e-m:e-p:32:32-p270:32:32-p271:32:32-p272:64:64-i128:128-f64:32:64-f80:32-n8:16:32-S128";

    fn record(packed: bool) -> Type {
        let words = Type::Array(3, Box::new(Type::Int(16)));
        Type::Struct { packed, fields: vec![Type::Int(8), words, Type::Int(64), Type::Pointer] }
    }

    #[test]
    fn fields_lie_where_the_abi_puts_them() {
        let layout = DataLayout::parse(X86_64).unwrap();
        let offsets = |layout: &DataLayout, packed| {
            (0..4).map(|field| layout.field(&record(packed), field).unwrap().0).collect::<Vec<_>>()
        };
        assert_eq!(offsets(&layout, false), [0, 2, 8, 16]);
        assert_eq!(offsets(&layout, true), [0, 1, 7, 15]);
        assert_eq!(
            (layout.size_bytes(&record(false)), layout.size_bytes(&record(true))),
            (Some(24), Some(23))
        );
        let small = DataLayout::parse(I386).unwrap();
        assert_eq!(offsets(&small, false), [0, 2, 8, 16]);
        let number = Type::Struct { packed: false, fields: vec![Type::Int(8), Type::Float(Format::Double)] };
        assert_eq!((layout.size_bytes(&number), small.size_bytes(&number)), (Some(16), Some(12)));
        assert_eq!((small.pointer_bits, small.size_bytes(&record(false))), (32, Some(20)));
    }

    #[test]
    fn what_has_no_size_has_none() {
        let mut layout = DataLayout::parse(X86_64).unwrap();
        layout.named.insert("loop".into(), Type::Array(2, Box::new(Type::Named("loop".into()))));
        for of in
            [Type::Void, Type::Other("double".into()), Type::Named("gone".into()), Type::Named("loop".into())]
        {
            assert_eq!(layout.size_bytes(&of), None, "{of}");
        }
        let huge = Type::Array(u64::MAX, Box::new(Type::Int(64)));
        assert_eq!(layout.size_bytes(&huge), None);
        assert_eq!(layout.field(&record(false), 4), None);
    }

    #[test]
    fn big_endian_layouts_are_refused() {
        assert!(DataLayout::parse("E-m:e-i64:64").is_none());
        assert!(DataLayout::parse("e-p:x").is_none());
    }
}
