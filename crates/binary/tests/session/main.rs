//! The server's end of a conversation, as tables of messages.

#![allow(clippy::unwrap_used)]

mod opening;
mod requests;
mod table;
mod verification;
