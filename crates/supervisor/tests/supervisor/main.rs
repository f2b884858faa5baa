//! The supervisor from outside: its machines as tables, its driver with real processes.
//!
//! Guardians are the example program `watch_over`, which `cargo test` builds along with the tests.

#![allow(clippy::unwrap_used)]

mod lifecycle;
mod restart;

#[cfg(target_os = "linux")]
mod orphans;
#[cfg(target_os = "linux")]
mod output;
#[cfg(target_os = "linux")]
mod pipes;
#[cfg(target_os = "linux")]
mod start;
#[cfg(target_os = "linux")]
mod stop;
#[cfg(target_os = "linux")]
mod support;
