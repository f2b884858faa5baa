//! The messages of the link between a bridge and a tool process, and the answer that each request is owed.
//!
//! The messages are generated from `proto/protomcp.proto` and committed, so building needs no `protoc`; a test
//! generates them again and fails on any difference. Start at [`Envelope`], the one message in a frame, and [`Msg`],
//! the content of an envelope. [`Rpc`] pairs a request with its answer, so that a link needs only one generic call
//! function.
//!
//! # JSON payloads are bytes
//!
//! The proto file declares fields named `*_json` as `string`. Here they are [`bytes::Bytes`]. On the wire both are the
//! same, a length and that many bytes; but a `String` must be copied and checked on arrival, while `Bytes` can be a
//! slice of the receive buffer. A result of many megabytes thus passes through without being touched. The price: **such
//! a field may hold invalid UTF-8**. Text is checked once, at its use, usually by the JSON scan.
//!
//! The decoder checks all other strings, and rejects an envelope that breaks the rule.

mod rpc;

/// Generated code. Its items are re-exported at the root.
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, clippy::use_self, unused_qualifications, unreachable_pub)]
#[path = "gen/protomcp.rs"]
mod generated;

pub use generated::envelope::Msg;
pub use generated::*;
pub use rpc::{AnyAnswer, CallAnswer, Rpc, UnexpectedMessage, message_name};
