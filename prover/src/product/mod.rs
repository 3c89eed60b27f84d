//! The product of two graphs: which points they reach together, what holds there, and the search for it
//! (Counter, OOPSLA 2020).
//!
//! - [`flow`]: anchors, paths and liveness of one graph; [`walk`]: symbolic execution along paths;
//! - [`problem`]: what is to be proved (`places`: where it is, in words); [`columns`], [`folds`] and [`node`]: the invariant at a pair of points;
//! - [`replay`]: both programs on concrete states; [`refute`]: an input on which they differ;
//! - [`triple`] and [`assumed`]: questions about one edge, settled by rewriting or by the solver (`promised`: about
//!   products that do not overflow);
//! - [`search`], `correlate` and `infer`: finding a product (`depth_first` without ranking, to compare); [`certify`]: showing all its obligations (those of calls in `events`), of the classes
//!   that [`required`] lists; [`document`]: the proof; [`locate`]: questions about variables at any pc of a proved
//!   function.

pub mod assumed;
pub mod certify;
pub mod columns;
mod correlate;
mod depth_first;
pub mod document;
mod elements;
mod events;
pub mod flow;
pub mod folds;
mod infer;
pub mod locate;
mod nan_order;
pub mod node;
mod places;
pub mod problem;
mod promised;
pub mod refute;
pub mod replay;
pub mod required;
pub mod search;
pub mod triple;
pub mod walk;
