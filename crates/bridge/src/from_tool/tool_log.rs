//! Log messages of the tool process in the log of this program.

use protomcp_types::Level;
use protomcp_wire::log::LogLine;

/// The target of these messages.
const TOOL_LOG: &str = "tool::log";

/// Writes a message at its level.
pub(crate) fn write(line: &LogLine<'_>) {
    let LogLine { level, logger, data } = line;
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
