//! The file format: lines of JSON.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most entries of a trace.
const MAX_ENTRIES: usize = 1_000_000;

/// The name of the format, in its first line.
const FORMAT: &str = "mcp";
/// Its version. Readers pass over members that they do not know.
const VERSION: u64 = 2;
/// The first version that is read. It has one session, and not the wire of the tool process.
const FIRST_VERSION: u64 = 1;

/// Recorded conversations between clients and one server.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// The program that has recorded it.
    pub program: String,
    /// The messages, in the order in which they passed.
    pub entries: Vec<Entry>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry {
    /// Milliseconds since the beginning.
    pub at: u64,
    /// The number of the session, from 1. Over stdio there is one.
    #[serde(default = "first_session")]
    pub session: u64,
    /// The sender.
    pub from: Party,
    /// The message, without secrets: in JSON-RPC, or an envelope as JSON.
    pub message: Value,
    /// Its line, from 1.
    #[serde(skip)]
    line: usize,
}

/// One end of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The host.
    Client,
    /// The server, towards the host.
    Server,
    /// The server, towards its tool process.
    Bridge,
    /// The tool process.
    Tool,
}

/// A connection whose messages are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Between the host and the server, in JSON-RPC.
    Client,
    /// Between the server and its tool process, in envelopes.
    Tool,
}

impl Party {
    /// The wire on which it sends.
    #[must_use]
    pub fn wire(self) -> Wire {
        match self {
            Self::Client | Self::Server => Wire::Client,
            Self::Bridge | Self::Tool => Wire::Tool,
        }
    }
}

/// The reason why a text is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The first line is not the header of a trace.
    #[error("the first line is not the header of a trace, such as {{\"trace\":\"mcp\",\"version\":{VERSION}}}")]
    NoHeader,
    /// A newer program has written it.
    #[error("the trace has version {0}, and this program reads versions {FIRST_VERSION} to {VERSION}")]
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

    /// Adds a message of the first session.
    pub fn push(&mut self, at: u64, from: Party, message: Value) {
        self.add(Entry::new(at, from, message));
    }

    /// Adds a message.
    pub fn add(&mut self, entry: Entry) {
        // The header is the first line.
        let line = self.entries.len() + 2;
        self.entries.push(Entry { line, ..entry });
    }

    /// The messages between clients and the server, as a trace for each session, in the order of their first messages.
    #[must_use]
    pub fn sessions(&self) -> Vec<Self> {
        let mut sessions: Vec<(u64, Self)> = Vec::new();
        let mut positions: HashMap<u64, usize> = HashMap::new();
        for entry in self.entries.iter().filter(|entry| entry.from.wire() == Wire::Client) {
            let position = *positions.entry(entry.session).or_insert_with(|| {
                sessions.push((entry.session, Self::new(self.program.clone())));
                sessions.len() - 1
            });
            sessions[position].1.entries.push(entry.clone());
        }
        sessions.into_iter().map(|(_, trace)| trace).collect()
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
            Some(FIRST_VERSION..=VERSION) => {}
            other => return Err(TraceError::Version(other.unwrap_or_default())),
        }
        let mut trace = Self::new(header["program"].as_str().unwrap_or_default());
        for (number, line) in lines {
            let wrong = |why: String| TraceError::Entry { line: number + 1, why };
            let entry: Entry = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if !entry.message.is_object() {
                return Err(wrong("the message is not an object".into()));
            }
            trace.add(entry);
            if trace.entries.len() > MAX_ENTRIES {
                return Err(TraceError::TooLong);
            }
        }
        Ok(trace)
    }
}

impl Entry {
    /// A message of the first session, this many milliseconds after the beginning.
    #[must_use]
    pub fn new(at: u64, from: Party, message: Value) -> Self {
        Self { at, session: first_session(), from, message, line: 0 }
    }

    /// The same in another session.
    #[must_use]
    pub fn in_session(self, session: u64) -> Self {
        Self { session, ..self }
    }

    /// Its line, with the line feed.
    #[must_use]
    pub fn line(&self) -> String {
        let session = (self.session != first_session()).then_some(self.session);
        let Self { at, from, message, .. } = self;
        line(&Line { at: *at, wire: from.wire(), session, from: *from, message })
    }

    /// The number of its line in the trace, from 1.
    pub(crate) fn number(&self) -> usize {
        self.line
    }
}

/// The session of lines that name none.
fn first_session() -> u64 {
    1
}

/// The line of a message.
#[derive(Debug, Serialize)]
struct Line<'a> {
    at: u64,
    wire: Wire,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<u64>,
    from: Party,
    message: &'a Value,
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
        assert!(text.starts_with("{\"trace\":\"mcp\",\"version\":2,"), "{text}");
        assert_eq!(Recording::parse(&text), Ok(trace.clone()));
        assert_eq!(Recording::parse(&format!("\u{feff}{text}")), Ok(trace.clone()));
        assert_eq!(Recording::parse(&text.replace('\n', "\r\n\n")), Ok(trace));
    }

    #[test]
    fn a_trace_of_the_first_version_is_read() {
        let text = "{\"trace\":\"mcp\",\"version\":1}\n{\"at\":5,\"from\":\"client\",\"message\":{}}\n";
        let trace = Recording::parse(text).unwrap();
        assert_eq!((trace.entries[0].at, trace.entries[0].session), (5, 1));
    }

    #[test]
    fn sessions_are_apart_and_without_the_tool() {
        let mut trace = Recording::new("test");
        let message = |number: u64| json!({"number": number});
        for (number, session, from) in [
            (1, 1, Party::Client),
            (2, 1, Party::Bridge),
            (3, 7, Party::Client),
            (4, 1, Party::Tool),
            (5, 1, Party::Server),
        ] {
            trace.add(Entry::new(number, from, message(number)).in_session(session));
        }
        let text = trace.to_text();
        let lines: Vec<&str> = text.lines().skip(2).take(2).collect();
        assert_eq!(lines[0], r#"{"at":2,"wire":"tool","from":"bridge","message":{"number":2}}"#);
        assert_eq!(lines[1], r#"{"at":3,"wire":"client","session":7,"from":"client","message":{"number":3}}"#);
        let trace = Recording::parse(&text).unwrap();
        let numbers = |trace: &Recording| trace.entries.iter().map(Entry::number).collect::<Vec<_>>();
        assert_eq!(trace.sessions().iter().map(numbers).collect::<Vec<_>>(), [vec![2, 6], vec![4]]);
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let header = "{\"trace\":\"mcp\",\"version\":1}\n";
        for (text, expected) in [
            (String::new(), "the first line is not the header of a trace"),
            ("{}".into(), "the first line is not the header of a trace"),
            ("{\"trace\":\"mcp\",\"version\":3}".into(), "the trace has version 3"),
            ("{\"trace\":\"mcp\",\"version\":0}".into(), "the trace has version 0"),
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
