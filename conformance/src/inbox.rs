//! The lines that `pmcp` has written to its standard output, in order, with a way to wait for more.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use protomcp_testing::patience;

/// One line of standard output.
#[derive(Debug, Clone)]
pub struct Message {
    /// The original line without its newline.
    pub text: String,
    /// The line as JSON.
    pub value: Value,
    /// Its index among all messages of the session, counted from 0.
    pub place: usize,
    /// When it was read.
    pub at: Instant,
}

impl Message {
    /// The method of a request or notification; empty for a response.
    pub fn method(&self) -> &str {
        self.value["method"].as_str().unwrap_or_default()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<Message>,
    /// Lines that are not JSON-RPC: there must never be any.
    junk: Vec<String>,
    closed: bool,
}

impl Inbox {
    pub(crate) fn push(&self, line: String) {
        let mut state = self.lock();
        match serde_json::from_str::<Value>(&line) {
            Ok(value) if is_json_rpc(&value) => {
                let place = state.messages.len();
                state.messages.push(Message { text: line, value, place, at: Instant::now() });
            }
            _ => state.junk.push(line),
        }
        self.arrived.notify_all();
    }

    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    /// The first message from index `place` on that is `wanted`.
    pub(crate) fn find(&self, what: &str, place: usize, wanted: impl Fn(&Message) -> bool) -> Message {
        self.find_within(patience(), place, wanted).unwrap_or_else(|outcome| {
            let seen: Vec<String> = self.lock().messages.iter().skip(place).map(|m| brief(&m.text)).collect();
            panic!("{outcome} while waiting for {what}; seen since: {seen:#?}")
        })
    }

    /// Like [`Inbox::find`], but an error gives the reason if there is none within `time`.
    pub(crate) fn find_within(
        &self,
        time: Duration,
        mut place: usize,
        wanted: impl Fn(&Message) -> bool,
    ) -> Result<Message, &'static str> {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        loop {
            assert!(state.junk.is_empty(), "pmcp wrote lines to stdout that are not JSON-RPC: {:?}", state.junk);
            while place < state.messages.len() {
                if wanted(&state.messages[place]) {
                    return Ok(state.messages[place].clone());
                }
                place += 1;
            }
            if state.closed {
                return Err("pmcp closed its stdout");
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("time ran out");
            }
            state = self.arrived.wait_timeout(state, left).expect("no reader panics").0;
        }
    }

    /// Waits until the stream has ended; false if it is still open after [`patience`].
    pub(crate) fn closes(&self) -> bool {
        let waiting = self.arrived.wait_timeout_while(self.lock(), patience(), |state| !state.closed);
        waiting.expect("no reader panics").0.closed
    }

    /// All messages so far.
    pub(crate) fn all(&self) -> Vec<Message> {
        self.lock().messages.clone()
    }

    /// The number of messages so far: the index of the next one.
    pub(crate) fn len(&self) -> usize {
        self.lock().messages.len()
    }

    pub(crate) fn junk(&self) -> Vec<String> {
        self.lock().junk.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_json_rpc(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.get("jsonrpc").is_some_and(|version| version == "2.0"),
        Value::Array(batch) => !batch.is_empty() && batch.iter().all(is_json_rpc),
        _ => false,
    }
}

fn brief(text: &str) -> String {
    text.chars().take(300).collect()
}
