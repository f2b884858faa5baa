#![doc = include_str!("../README.md")]

#[cfg(test)]
#[path = "../build_modules.rs"]
mod build_modules;
mod bundle;
mod cache;
mod deno;
mod error;
mod lender;
mod node;
mod python;
mod source;

pub use bundle::Bundles;
pub use cache::SdkCache;
pub use error::LendError;
pub use lender::{Lender, Loan};
pub use node::file_url;
pub use source::{Runtime, SdkSource};
