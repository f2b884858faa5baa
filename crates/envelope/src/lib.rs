#![doc = include_str!("../README.md")]

#[cfg(feature = "serde")]
mod json_text;
mod rpc;

/// Generated code. Its items are re-exported at the root.
#[rustfmt::skip]
#[allow(missing_docs, clippy::all, clippy::struct_excessive_bools, clippy::use_self, unused_qualifications, unreachable_pub)]
#[path = "gen/protomcp.rs"]
mod generated;

pub use generated::envelope::Msg;
pub use generated::*;
pub use rpc::{AnyAnswer, CallAnswer, Rpc, UnexpectedMessage, message_name};
