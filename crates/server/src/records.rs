//! The values that a server keeps in stores or sends to other processes, and the traits of the stores.
//!
//! The lowest room of the crate: it knows neither calls nor open sessions.

pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod clock;
pub(crate) mod lease;
pub(crate) mod lease_clock;
pub(crate) mod lease_name;
pub(crate) mod lease_store;
mod lease_table;
pub(crate) mod listener_store;
pub(crate) mod live_leases;
pub(crate) mod node;
pub(crate) mod notice_bus;
pub(crate) mod notice_record;
pub(crate) mod outage;
pub(crate) mod overload;
pub(crate) mod session_notice;
pub(crate) mod session_snapshot;
pub(crate) mod store_error;
pub(crate) mod store_future;
pub(crate) mod stores;
pub(crate) mod task_record;
pub(crate) mod task_store;
mod task_table;
pub(crate) mod task_update;
pub(crate) mod task_writer;
