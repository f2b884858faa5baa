#![doc = include_str!("../README.md")]

mod cursor;
#[cfg(feature = "validation")]
mod explain;
mod go_duration;
#[cfg(feature = "validation")]
mod json_text;
#[cfg(feature = "validation")]
mod mismatch;
mod nearest;
mod pages;
mod tool_error;
#[cfg(feature = "validation")]
mod validator;

pub use go_duration::GoDuration;
#[cfg(feature = "validation")]
pub use mismatch::Mismatch;
pub use nearest::{did_you_mean, nearest};
pub use pages::{PAGE_SIZE, Page, Pages};
pub use tool_error::{ERROR_META, ErrorMeta, INVALID_ARGUMENTS, OUTPUT_SCHEMA_MISMATCH, mismatched_result};
#[cfg(feature = "validation")]
pub use validator::{Quote, Validator};
