//! The client's end of a conversation: the machine as tables, and the client with servers of this crate.

mod connecting;
mod reports;
mod round_trip;
mod streaming;
mod subscriptions;
mod table;

use protomcp_bufmcp::BinaryClientConfig;

pub(crate) fn config() -> BinaryClientConfig {
    BinaryClientConfig::new("tests", "1.0")
}
