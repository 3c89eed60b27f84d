//! JSON in and out. Reading never panics on foreign bytes and says which of four things is wrong: not JSON,
//! another version, another shape, or a document that contradicts itself.

use crate::defect::Defect;
use crate::document::{Document, SCHEMA};
use crate::validate::defects;
use serde::Deserialize;
use std::ops::Deref;

/// A document that has passed validation.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof(Document);

/// Why bytes are not a proof.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes are not JSON.
    #[error("not JSON: {0}")]
    Syntax(serde_json::Error),
    /// Another document, or another version of this one.
    #[error("the document is `{found}`, want `{SCHEMA}`")]
    Schema {
        /// Its `schema` field, cut to 80 characters.
        found: String,
    },
    /// JSON that does not follow the schema.
    #[error("not as `{SCHEMA}` wants it: {0}")]
    Shape(serde_json::Error),
    /// A document that contradicts itself.
    #[error("not a proof: {}", Defect::list(.0))]
    Invalid(Vec<Defect>),
}

impl Proof {
    /// Checks a document.
    pub fn new(document: Document) -> Result<Proof, Vec<Defect>> {
        let found = defects(&document);
        if found.is_empty() { Ok(Proof(document)) } else { Err(found) }
    }

    /// Reads and checks a document.
    pub fn from_json(bytes: &[u8]) -> Result<Proof, ReadError> {
        Proof::new(document_from_json(bytes)?).map_err(ReadError::Invalid)
    }

    /// The text form: indented, so that two proofs can be compared line by line, with a final newline.
    pub fn to_json(&self) -> String {
        document_to_json(&self.0)
    }

    /// The document, to be changed and checked again.
    pub fn into_document(self) -> Document {
        self.0
    }
}

impl Deref for Proof {
    type Target = Document;

    fn deref(&self) -> &Document {
        &self.0
    }
}

/// Reads a document without checking what it says.
pub fn document_from_json(bytes: &[u8]) -> Result<Document, ReadError> {
    #[derive(Deserialize)]
    struct Header {
        schema: String,
    }
    let classify = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => ReadError::Shape(error),
        _ => ReadError::Syntax(error),
    };
    let header: Header = serde_json::from_slice(bytes).map_err(classify)?;
    if header.schema != SCHEMA {
        return Err(ReadError::Schema { found: header.schema.chars().take(80).collect() });
    }
    serde_json::from_slice(bytes).map_err(classify)
}

/// Text of a document that may be malformed.
pub fn document_to_json(document: &Document) -> String {
    let mut text =
        serde_json::to_string_pretty(document).expect("plain data with string keys has a JSON form");
    text.push('\n');
    text
}

/// The JSON schema, as kept in `schemas/proof-1.json`.
pub fn schema_json() -> String {
    let schema = schemars::schema_for!(Document);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_four_errors_are_told_apart() {
        let read = |text: &str| document_from_json(text.as_bytes()).unwrap_err();
        assert!(matches!(read("{"), ReadError::Syntax(_)));
        assert!(matches!(read("\u{0}"), ReadError::Syntax(_)));
        assert!(matches!(read("[]"), ReadError::Shape(_)));
        assert!(matches!(read(r#"{"schema": "metaloc.proof/2"}"#), ReadError::Schema { .. }));
        assert!(matches!(read(r#"{"schema": "metaloc.proof/1"}"#), ReadError::Shape(_)));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
        let text = format!("{{\"schema\": \"metaloc.proof/1\", \"object\": {}", "[".repeat(100_000));
        assert!(document_from_json(text.as_bytes()).is_err());
    }

    #[test]
    fn the_kept_schema_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas/proof-1.json");
        if std::env::var_os("METALOC_BLESS").is_some() {
            std::fs::write(path, schema_json()).unwrap();
        }
        assert!(
            std::fs::read_to_string(path).unwrap() == schema_json(),
            "run with METALOC_BLESS=1 and review"
        );
    }

    proptest! {
        #[test]
        fn foreign_bytes_do_not_panic(bytes: Vec<u8>) {
            let _ = Proof::from_json(&bytes);
        }
    }
}
