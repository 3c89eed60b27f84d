//! The report for people.
