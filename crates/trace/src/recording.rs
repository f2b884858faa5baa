//! The file format: lines of JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most entries of a trace.
const MAX_ENTRIES: usize = 1_000_000;

/// The name of the format, in its first line.
const FORMAT: &str = "mcp";
/// Its version. Readers pass over members that they do not know.
const VERSION: u64 = 1;

/// A recorded conversation between one client and one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The program that has recorded it.
    pub program: String,
    /// The messages, in the order in which they passed.
    pub entries: Vec<Entry>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Milliseconds since the beginning.
    pub at: u64,
    /// The sender.
    pub from: Party,
    /// The JSON-RPC message, without secrets.
    pub message: Value,
}

/// One end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The host.
    Client,
    /// The server.
    Server,
}

/// The reason why a text is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The first line is not that of a trace.
    #[error("the first line is not that of a trace, such as {{\"trace\":\"mcp\",\"version\":1}}")]
    NoHeader,
    /// A newer program has written it.
    #[error("the trace has version {0}, and this program reads version {VERSION}")]
    Version(u64),
    /// A line is not an entry.
    #[error("line {line}: {why}")]
    Entry {
        /// Its number, from 1.
        line: usize,
        /// The reason.
        why: String,
    },
    /// It has too many entries.
    #[error("more than {MAX_ENTRIES} messages")]
    TooLong,
}

impl Recording {
    /// An empty trace, recorded by this program.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Self { program: program.into(), entries: Vec::new() }
    }

    /// Adds a message.
    pub fn push(&mut self, at: u64, from: Party, message: Value) {
        self.entries.push(Entry { at, from, message });
    }

    /// The first line, with its line feed.
    #[must_use]
    pub fn header(&self) -> String {
        line(&Header { trace: FORMAT, version: VERSION, program: &self.program })
    }

    /// The whole text.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.entries.iter().fold(self.header(), |text, entry| text + &entry.line())
    }

    /// Reads a trace. Blank lines are passed over, and so is a byte order mark at the beginning.
    ///
    /// # Errors
    /// If the text is not a trace. The error names the line.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let header = lines.next().and_then(|(_, line)| serde_json::from_str::<Value>(line).ok());
        let header = header.filter(|header| header["trace"] == FORMAT).ok_or(TraceError::NoHeader)?;
        match header["version"].as_u64() {
            Some(VERSION) => {}
            other => return Err(TraceError::Version(other.unwrap_or_default())),
        }
        let mut trace = Self::new(header["program"].as_str().unwrap_or_default());
        for (number, line) in lines {
            let wrong = |why: String| TraceError::Entry { line: number + 1, why };
            let entry: Entry = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if !entry.message.is_object() {
                return Err(wrong("the message is not an object".into()));
            }
            trace.entries.push(entry);
            if trace.entries.len() > MAX_ENTRIES {
                return Err(TraceError::TooLong);
            }
        }
        Ok(trace)
    }
}

impl Entry {
    /// Its line, with the line feed.
    #[must_use]
    pub fn line(&self) -> String {
        line(self)
    }
}

/// The first line.
#[derive(Debug, Serialize)]
struct Header<'a> {
    trace: &'static str,
    version: u64,
    program: &'a str,
}

fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trace_is_read_as_it_was_written() {
        let mut trace = Recording::new("pmcp 1");
        trace.push(0, Party::Client, json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        trace.push(12, Party::Server, json!({"jsonrpc": "2.0", "id": 1, "result": {"text": "a\nb"}}));
        let text = trace.to_text();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with("{\"trace\":\"mcp\",\"version\":1,"), "{text}");
        assert_eq!(Recording::parse(&text), Ok(trace.clone()));
        assert_eq!(Recording::parse(&format!("\u{feff}{text}")), Ok(trace.clone()));
        assert_eq!(Recording::parse(&text.replace('\n', "\r\n\n")), Ok(trace));
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let header = "{\"trace\":\"mcp\",\"version\":1}\n";
        for (text, expected) in [
            (String::new(), "the first line is not that of a trace"),
            ("{}".into(), "the first line is not that of a trace"),
            ("{\"trace\":\"mcp\",\"version\":2}".into(), "the trace has version 2"),
            (format!("{header}{{\"at\":1}}"), "line 2: missing field `from`"),
            (format!("{header}\n{{\"at\":1,\"from\":\"host\",\"message\":{{}}}}"), "line 3: unknown variant `host`"),
            (
                format!("{header}{{\"at\":1,\"from\":\"client\",\"message\":[]}}"),
                "line 2: the message is not an object",
            ),
        ] {
            let error = Recording::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
