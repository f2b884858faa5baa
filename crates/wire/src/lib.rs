//! Conversions between the envelopes of a tool process and the messages of MCP.
//!
//! One module for each message. `to_mcp` reads what a process sends and writes what a client reads; `to_envelope` is the
//! other direction. The crate is pure, and keeps the text of JSON wherever a message carries it unread.
//!
//! ```
//! use protomcp_proto::CallToolResponse;
//!
//! let response = CallToolResponse { result_json: r#""sunny""#.into(), ..Default::default() };
//! let result = protomcp_wire::tool_result::to_mcp(response)?;
//! assert_eq!(result.content.as_str(), r#"[{"type":"text","text":"sunny"}]"#);
//! # Ok::<_, protomcp_wire::tool_result::InvalidStructured>(())
//! ```

pub mod completion;
pub mod content;
pub mod definition;
pub mod log;
pub mod prompt;
pub mod question;
pub mod resource;
pub mod tool_error;
pub mod tool_result;
