#![doc = include_str!("../README.md")]

#[cfg(feature = "validation")]
mod admits;
mod cursor;
#[cfg(feature = "validation")]
mod describe;
#[cfg(feature = "validation")]
mod explain;
#[cfg(feature = "validation")]
mod format;
mod go_duration;
#[cfg(feature = "validation")]
mod json_text;
#[cfg(feature = "validation")]
mod mismatch;
mod nearest;
mod pages;
#[cfg(feature = "validation")]
mod patterns;
#[cfg(feature = "validation")]
mod quote;
#[cfg(feature = "validation")]
mod reference;
mod sized_page;
#[cfg(feature = "validation")]
mod text;
mod tool_error;
#[cfg(feature = "validation")]
mod validator;
#[cfg(feature = "validation")]
mod walk;
#[cfg(feature = "validation")]
mod work;

#[cfg(feature = "validation")]
pub use admits::admits_member;
#[cfg(feature = "validation")]
pub use format::has_format;
pub use go_duration::GoDuration;
#[cfg(feature = "validation")]
pub use mismatch::Mismatch;
pub use nearest::{did_you_mean, nearest};
pub use pages::{PAGE_SIZE, Page, Pages};
#[cfg(feature = "validation")]
pub use quote::Quote;
#[cfg(feature = "validation")]
pub use reference::local_fragment;
pub use sized_page::sized_page;
pub use tool_error::{ERROR_META, ErrorMeta, INVALID_ARGUMENTS, OUTPUT_SCHEMA_MISMATCH, mismatched_result};
#[cfg(feature = "validation")]
pub use validator::Validator;
#[cfg(feature = "validation")]
pub use walk::references::References;
