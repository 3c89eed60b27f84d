//! Constants modulo 2^w, w at most 128, written as hexadecimal text: JSON numbers lose bits above 2^53.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::fmt;

/// A non-negative constant below 2^128. Negative numbers are written modulo 2^w.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Word(pub u128);

impl Word {
    /// Whether the constant is below 2^`width_bits`.
    pub fn fits(self, width_bits: u32) -> bool {
        width_bits >= 128 || self.0 >> width_bits == 0
    }

    /// The one text form of the constant.
    fn parse(text: &str) -> Option<Word> {
        let digits = text.strip_prefix("0x")?;
        let canonical = digits == "0" || !digits.starts_with('0');
        let lower = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if !canonical || !lower {
            return None;
        }
        u128::from_str_radix(digits, 16).ok().map(Word)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Word::parse(&text).ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is not a constant: want 0x and lower-case digits, no leading zero"
            ))
        })
    }
}

impl JsonSchema for Word {
    fn schema_name() -> Cow<'static, str> {
        "Word".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A constant below 2^128; negative numbers are written modulo 2^w.",
            "type": "string",
            "pattern": "^0x(0|[1-9a-f][0-9a-f]{0,31})$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_form_round_trips(value: u128) {
            prop_assert_eq!(Word::parse(&Word(value).to_string()), Some(Word(value)));
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in
            ["", "0x", "4", "-0x4", "0x04", "0X4", "0xA", "0x1_0", "0x+1", &format!("0x1{}", "0".repeat(32))]
        {
            assert_eq!(Word::parse(text), None, "{text}");
        }
    }

    #[test]
    fn fits_counts_bits() {
        assert!(Word(0xff).fits(8));
        assert!(!Word(0x100).fits(8));
        assert!(Word(u128::MAX).fits(128));
    }
}
