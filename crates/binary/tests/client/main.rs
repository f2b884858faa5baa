//! The client's end of a conversation: the machine as tables, and the client with servers of this crate.

#![allow(clippy::unwrap_used)]

mod connecting;
mod round_trip;
mod table;
