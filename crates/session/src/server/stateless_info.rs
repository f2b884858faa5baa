//! The members of a request that only the stateless revision has.

use std::collections::BTreeMap;

use protomcp_types::{JsonObject, Level, RawJson};

/// What only a request of the stateless revision says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatelessInfo {
    /// From which level on the client wants log messages about this request; `None`: it wants none.
    pub log_level: Option<Level>,
    /// What belongs to questions for the host; only of requests that may ask.
    pub inputs: Option<RetryInput>,
}

/// What a request that may ask the host brings along (MCP 2026-07-28, basic/patterns/mrtr).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetryInput {
    /// Answers to questions, by key; each is an object.
    pub responses: BTreeMap<String, RawJson>,
    /// What an earlier answer wanted to have back, as the host sends it.
    pub state: Option<String>,
    /// All parameters of the request: its repetition has the same.
    pub params: JsonObject,
}
