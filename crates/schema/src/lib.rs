//! The parts that every MCP server needs beside its handlers: schemas, names, lists and tool errors.
//!
//! * [`Validator`] checks a value against a JSON Schema. A [`Mismatch`] names the place of each fault, the expectation, and
//!   the nearest known name, so that a model can correct its call;
//! * [`nearest`] finds the known name that a misspelt one most likely stands for;
//! * [`Pages`] cuts a sorted list into pages, with cursors that survive a change of the list;
//! * [`ErrorMeta`] is the machine-readable form of a tool error, in the `_meta` of a result.
//!
//! The crate is pure: no I/O, no clock.

mod cursor;
#[cfg(feature = "validation")]
mod explain;
#[cfg(feature = "validation")]
mod mismatch;
mod nearest;
mod pages;
mod tool_error;
#[cfg(feature = "validation")]
mod validator;

#[cfg(feature = "validation")]
pub use mismatch::Mismatch;
pub use nearest::{did_you_mean, nearest};
pub use pages::{PAGE_SIZE, Page, Pages};
pub use tool_error::{ERROR_META, ErrorMeta, INVALID_ARGUMENTS, OUTPUT_SCHEMA_MISMATCH};
#[cfg(feature = "validation")]
pub use validator::{Quote, Validator};
