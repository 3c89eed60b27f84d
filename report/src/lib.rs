//! The report document, `metaloc.report/1`: what the plugin writes and what `metaloc report` prints.
//!
//! It is its own crate because two programs make it: the plugin at the end of the compiler's process,
//! and the command line, which merges the documents of many processes into one.
//!
//! - [`document`]: the types, exactly as in the schema `report/schemas/report-1.json`;
//! - [`kept_run`]: a function before and after a pass, for those who want to look at it, and [`drawing`] shows it;
//! - [`confirm`]: what a newer LLVM makes of an error;
//! - [`merge`]: one error per site, however many inputs show it;
//! - [`pass_names`]: what a pass is called, from its class;
//! - [`summary`]: the parts of it that are about passes and inputs as a whole;
//! - [`text`]: the same for people; [`table`]: in one line per pass;
//! - [`html`]: as a page to look at; [`sarif`]: for code hosts and editors.

pub mod confirm;
pub mod document;
pub mod drawing;
#[cfg(test)]
mod example;
pub mod html;
pub mod kept_run;
pub mod merge;
pub mod pass_names;
pub mod sarif;
pub mod summary;
pub mod table;
pub mod text;

pub use document::{
    Actual, Confidence, Destination, Document, Error, Kind, Operation, SCHEMA, Site, Source, Stats, Trace,
    Update, Witness,
};
pub use summary::{NotRun, PassSummary, Reached, Statements, Why};

/// Why a text is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or a field is missing or of another type.
    #[error("not a report: {0}")]
    Json(#[from] serde_json::Error),
    /// Something else that has a schema.
    #[error("a document of schema {0:?}, not {SCHEMA:?}")]
    OtherSchema(String),
}
