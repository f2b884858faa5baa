//! The sessions of Streamable HTTP in a trace.

use http::{HeaderMap, request, response};
use protomcp_http::{Exchange, Observer};
use protomcp_trace::Party;
use protomcp_types::RawJson;
use serde_json::Value;

use crate::recorder::Recorder;

/// The name of a session, in a request and in the answer to `initialize` (MCP 2025-11-25, transports, session management).
const SESSION: &str = "mcp-session-id";

fn session_in(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(SESSION)?.to_str().ok()?.to_owned())
}

impl Observer for Recorder {
    fn begin(&self, head: &request::Parts) -> Option<Box<dyn Exchange>> {
        let name = session_in(&head.headers);
        Some(Box::new(Recorded { recorder: self.clone(), name, session: None }))
    }
}

/// A request with its response.
struct Recorded {
    recorder: Recorder,
    /// The session that the request names.
    name: Option<String>,
    /// Its number; `None` for a request that was not let in.
    session: Option<u64>,
}

impl Exchange for Recorded {
    fn request(&mut self, body: &[u8]) {
        let mut writer = self.recorder.lock();
        let messages = messages(body);
        // After the end of the trace nothing is remembered for it.
        let Some(first) = messages.first().filter(|_| writer.is_open()) else { return };
        // A name that the server does not know is refused.
        self.session = match &self.name {
            Some(name) => writer.sessions.find(name),
            None => Some(writer.sessions.begin(first)),
        };
        if self.session.is_some() {
            messages.into_iter().for_each(|message| writer.add(Party::Client, self.session, message));
        }
    }

    fn respond(&mut self, head: &response::Parts) {
        let mut writer = self.recorder.lock();
        if !head.status.is_success() {
            return;
        }
        match (self.session, session_in(&head.headers)) {
            (Some(session), Some(name)) => writer.sessions.name(session, &name),
            // A stream of the server has no body in its request.
            (None, _) => self.session = self.name.as_deref().and_then(|name| writer.sessions.find(name)),
            (Some(_), None) => {}
        }
    }

    fn message(&mut self, event: Option<&str>, text: &[u8]) {
        let Some(session) = self.session else { return };
        let mut writer = self.recorder.lock();
        if writer.is_open() && writer.sessions.is_new(session, event) {
            messages(text).into_iter().for_each(|message| writer.add(Party::Server, Some(session), message));
        }
    }
}

/// The messages of a text: one, or a batch. A text without any is refused or passed over.
fn messages(text: &[u8]) -> Vec<Value> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let all = match RawJson::parse(text.to_vec()).map(|raw| raw.to_value()) {
        Ok(Value::Array(all)) => all,
        Ok(message) => vec![message],
        Err(_) => Vec::new(),
    };
    all.into_iter().filter(Value::is_object).collect()
}
