//! The server's end of a conversation, as tables of messages.

mod opening;
mod requests;
mod streaming;
mod subscriptions;
pub(crate) mod table;
mod verification;
