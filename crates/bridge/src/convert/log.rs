//! A log message of the tool process becomes one for hosts (wire contract §4.6).

use protomcp_proto::LogMessage;
use protomcp_types::{Level, RawJson};

/// What is told to hosts.
#[derive(Debug, PartialEq)]
pub(crate) struct LogLine<'a> {
    pub(crate) level: Level,
    pub(crate) logger: Option<&'a str>,
    pub(crate) data: RawJson,
}

impl<'a> LogLine<'a> {
    /// Unknown levels are informational; data that is no JSON is a text, which is what two of the published SDKs send.
    pub(crate) fn of(message: &'a LogMessage) -> Self {
        let level = match message.level.as_str() {
            "warn" => Level::Warning,
            other => Level::parse(other).unwrap_or(Level::Info),
        };
        let data = RawJson::parse(message.data_json.clone())
            .unwrap_or_else(|_| RawJson::text(&String::from_utf8_lossy(&message.data_json)));
        Self { level, logger: Some(message.logger.as_str()).filter(|logger| !logger.is_empty()), data }
    }
}
