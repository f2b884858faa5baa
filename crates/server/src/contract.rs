//! Tests for implementations of the stores, with the feature `contract-tests`.
//!
//! Each function takes an empty store and panics where it differs from the one in memory in a way that a server would
//! notice.

mod leases;
mod listeners;
mod tasks;

pub use leases::lease_store;
pub use listeners::listener_store;
pub use tasks::task_store;
