//! A log message of the tool process becomes one for hosts (wire contract §4.6).

use protomcp_proto::LogMessage;
use protomcp_types::{Level, RawJson};

/// Where in our log the log messages of the tool process stand.
const TOOL_LOG: &str = "tool::log";

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
    /// Writes it to our log, at its level.
    pub(crate) fn write_down(&self) {
        let Self { level, logger, data } = self;
        let name = level.as_str();
        match level {
            Level::Debug => tracing::debug!(target: TOOL_LOG, level = name, logger, "{data}"),
            Level::Info | Level::Notice => tracing::info!(target: TOOL_LOG, level = name, logger, "{data}"),
            Level::Warning => tracing::warn!(target: TOOL_LOG, level = name, logger, "{data}"),
            Level::Error | Level::Critical | Level::Alert | Level::Emergency => {
                tracing::error!(target: TOOL_LOG, level = name, logger, "{data}");
            }
        }
    }
}
