//! The messages of `buf.mcp.v1`, generated from `proto/buf/mcp/v1/mcp.proto`.
//!
//! Two things differ from what a generator makes by default. The bytes of large fields are slices of what was received.
//! And [`tool::SchemaSource::InlineSchema`] holds the descriptor set as bytes: read into structs and written again, a
//! descriptor set loses the options that it does not know, such as the rules of buf.validate.

#[rustfmt::skip]
#[allow(missing_docs, clippy::all, clippy::struct_excessive_bools, clippy::use_self, unused_qualifications, unreachable_pub)]
#[path = "gen/buf.mcp.v1.rs"]
mod generated;

pub use generated::mcp_message::Payload;
pub use generated::*;
