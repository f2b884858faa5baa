//! The trace that is written while a server serves: of each wire every message, without its secrets.

mod http;
mod new_file;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use protomcp_bridge::{Builder, Passing, Side, Tap};
use protomcp_trace::{Entry, Party, Recording, Redaction, Sessions};
use protomcp_transport::{Direction, Observed, Transport};
use protomcp_types::{Message, RawJson};
use serde_json::{Map, Value, json};

use crate::exit::Failure;
use crate::recorder::new_file::create;

/// The largest trace, in bytes. Later messages are not recorded.
pub(crate) const MAX_TRACE: u64 = 256 << 20;

/// The longest line of an envelope, in bytes. Of a longer one the kind and the length are written. Messages of the client's
/// wire are whole: they are sent again.
const MAX_ENVELOPE: usize = 1 << 20;

/// A message as JSON.
pub(crate) fn value(message: &Message) -> Value {
    RawJson::parse(message.to_text()).map(|raw| raw.to_value()).unwrap_or_default()
}

/// A trace that grows. Clones write to the same one, in the order in which they are called.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    path: PathBuf,
    writer: Arc<Mutex<Writer>>,
}

impl Recorder {
    /// Creates the file, or the next one if it exists.
    pub(crate) fn create(path: &Path, redaction: Redaction) -> Result<Self, Failure> {
        let (file, path) = create(path)?;
        let header = Recording::new(concat!("pmcp ", env!("CARGO_PKG_VERSION"))).header();
        let mut writer = Writer {
            file: Some(file),
            redaction,
            sessions: Sessions::default(),
            began: Instant::now(),
            written: 0,
            entries: 0,
            is_warned: false,
        };
        writer.write(&header).map_err(|error| Failure::failed(format!("cannot write {}: {error}", path.display())))?;
        Ok(Self { path, writer: Arc::new(Mutex::new(writer)) })
    }

    /// Names the file in the log.
    pub(crate) fn announce(&self) {
        tracing::info!("recording to {}", self.path.display());
    }

    /// Removes a file without messages.
    pub(crate) fn discard_if_empty(&self) {
        if self.lock().entries == 0 {
            // If it stays, it is an empty trace.
            let _stays = fs::remove_file(&self.path);
        }
    }

    /// Records the wire of a tool process.
    fn tap(&self) -> Tap {
        let recorder = self.clone();
        Tap::new(move |passing| recorder.lock().envelope(passing))
    }

    /// Records what a server receives and sends over this transport.
    pub(crate) fn observed<T: Transport>(&self, transport: T) -> impl Transport + use<T> {
        let recorder = self.clone();
        Observed::new(transport, move |direction, message: &Message| {
            let from = match direction {
                Direction::Received => Party::Client,
                Direction::Sent => Party::Server,
            };
            recorder.message(from, message);
        })
    }

    /// Records a message of the only session.
    pub(crate) fn message(&self, from: Party, message: &Message) {
        self.lock().add(from, None, value(message));
    }

    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bridge, with the wire of its tool process recorded if there is a trace.
pub(crate) fn recorded(builder: Builder, recorder: Option<&Recorder>) -> Builder {
    recorder.map(Recorder::tap).into_iter().fold(builder, Builder::tap)
}

/// Writes each message when it passes, so that a trace is whole when the program is killed.
#[derive(Debug)]
struct Writer {
    /// `None` after the end of the trace.
    file: Option<File>,
    redaction: Redaction,
    sessions: Sessions,
    began: Instant,
    /// The bytes in the file.
    written: u64,
    entries: usize,
    /// The log has said that there are more secrets than are remembered.
    is_warned: bool,
}

impl Writer {
    /// False after the end of the trace.
    fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Adds a message of the client's wire, of a session with this number.
    fn add(&mut self, from: Party, session: Option<u64>, message: Value) {
        if !self.is_open() {
            return;
        }
        let entry = Entry::new(self.elapsed(), from, self.redaction.redact(message));
        self.append(&session.into_iter().fold(entry, Entry::in_session).line());
    }

    /// Adds a message of the wire of a tool process.
    fn envelope(&mut self, passing: &Passing<'_>) {
        if !self.is_open() {
            return;
        }
        let from = match passing.sender() {
            Side::Bridge => Party::Bridge,
            Side::Tool => Party::Tool,
        };
        let at = self.elapsed();
        let mut line = Entry::new(at, from, self.redaction.redact(passing.to_json())).line();
        if line.len() > MAX_ENVELOPE {
            let mut short = Map::from_iter([(passing.kind().to_owned(), json!({"bytes": line.len()}))]);
            if !passing.request_id().is_empty() {
                short.insert("request_id".to_owned(), passing.request_id().into());
            }
            line = Entry::new(at, from, short.into()).line();
        }
        self.append(&line);
    }

    fn append(&mut self, line: &str) {
        if self.written.saturating_add(line.len() as u64) > MAX_TRACE {
            self.file = None;
            tracing::warn!("the trace is full; later messages are passed on and not recorded");
            return;
        }
        if let Err(error) = self.write(line) {
            self.file = None;
            tracing::warn!(
                "cannot write the trace: {error}; later messages are passed on and not recorded. Make room, and start \
                 the recording again"
            );
            return;
        }
        self.entries += 1;
        if self.redaction.has_forgotten() && !self.is_warned {
            self.is_warned = true;
            tracing::warn!(
                "the conversation has more secrets than are remembered: read the trace for the oldest ones before you share it"
            );
        }
    }

    /// Writes a whole line, or nothing.
    fn write(&mut self, line: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        if let Err(error) = file.write_all(line.as_bytes()) {
            // A part of a line would make the trace unreadable.
            let _cut = file.set_len(self.written);
            return Err(error);
        }
        self.written += line.len() as u64;
        Ok(())
    }

    /// Milliseconds since the beginning.
    fn elapsed(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_trace_ends_with_a_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let recorder = Recorder::create(&path, Redaction::default()).map_err(drop).unwrap();
        let before = fs::metadata(&path).unwrap().len();
        recorder.lock().written = MAX_TRACE - 200;
        recorder.lock().add(Party::Client, None, json!({"method": "x".repeat(1000)}));
        recorder.lock().add(Party::Client, None, json!({"method": "ping"}));
        assert_eq!(fs::metadata(&path).unwrap().len(), before, "nothing follows the message without room");
        recorder.discard_if_empty();
        assert!(!path.exists());
    }
}
