//! Log messages of a process (docs/envelope.md, "Log messages and changes").

use protomcp_envelope::LogMessage;
use protomcp_types::{Level, RawJson};

/// A log message as clients read it.
#[derive(Debug, PartialEq)]
pub struct LogLine<'a> {
    /// The severity.
    pub level: Level,
    /// The part of the process that logs.
    pub logger: Option<&'a str>,
    /// The message.
    pub data: RawJson,
}

impl<'a> LogLine<'a> {
    /// Reads a message. Unknown levels are informational; data that is not JSON is a text, as two of the published SDKs send
    /// it.
    pub fn to_mcp(message: &'a LogMessage) -> Self {
        let level = match message.level.as_str() {
            "warn" => Level::Warning,
            other => Level::parse(other).unwrap_or(Level::Info),
        };
        let data = RawJson::parse_lossy(message.data_json.clone())
            .unwrap_or_else(|_| RawJson::text(&String::from_utf8_lossy(&message.data_json)));
        Self { level, logger: Some(message.logger.as_str()).filter(|logger| !logger.is_empty()), data }
    }
}
