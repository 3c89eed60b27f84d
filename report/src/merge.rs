//! Merging documents: one error per id.
