//! The members of a request that only the stateless revision has.

use std::collections::BTreeMap;

use protomcp_types::{JsonObject, Level, RawJson};

/// The members that only a request of the stateless revision has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatelessInfo {
    /// The lowest level of log messages about this request that are sent; `None`: none are.
    pub log_level: Option<Level>,
}

/// The answers and the state in a request whose call may ask the client (MCP 2026-07-28, basic/patterns/mrtr).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryInput {
    /// The method of the request.
    pub method: &'static str,
    /// Answers to questions, by key; each is an object.
    pub responses: BTreeMap<String, RawJson>,
    /// The state of an earlier answer, as the client sends it.
    pub state: Option<String>,
    /// All parameters of the request: its repetition has the same.
    pub params: JsonObject,
}
