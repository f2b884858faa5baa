//! The code that several fuzz targets share.
//!
//! `cargo fuzz run NAME` in the root of the workspace runs a target (on stable Rust with `RUSTC_BOOTSTRAP=1`). A crash
//! is written to `fuzz/artifacts` and can be run again by naming its file.

pub mod auth;
pub mod codec;
pub mod descriptor_sets;
pub mod json;
