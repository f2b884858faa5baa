//! Tests for implementations of the stores, with the feature `contract-tests`.
//!
//! Each function takes an empty store and panics where it differs from the one in memory in a way that a server would
//! notice. [`notice_bus`] takes two buses, of two processes that share a store.

mod leases;
mod listeners;
mod notices;
mod tasks;

pub use leases::lease_store;
pub use listeners::listener_store;
pub use notices::notice_bus;
pub use tasks::task_store;
