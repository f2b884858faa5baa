//! Tools with their own messages: on the wire, before the handler, behind references, and for a client of MCP.

mod client;
mod registry;
mod server;
mod stage;
#[path = "../../descriptors/tests/registry/stand_in.rs"]
#[allow(dead_code, reason = "the tests of the registry's client use all of it")]
mod stand_in;
