//! The state that all connections of a server share, behind its handle.
//!
//! Uses calls and records. It knows no service: a service may hold the handle.

mod descriptions;
pub(crate) mod handle;
pub(crate) mod held_lease;
pub(crate) mod lease_keeper;
mod notices;
mod open_sessions;
pub(crate) mod resource_listeners;
mod stateless_info;
mod sweep;
