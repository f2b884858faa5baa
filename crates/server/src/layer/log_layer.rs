//! The program's own log, shown to clients: a layer for `tracing_subscriber` that sends each event as a log message
//! (MCP 2025-11-25, server/utilities/logging).
//!
//! ```
//! use protomcp_server::{Limits, LogLayer, ServerInfo, ServerHandle};
//! use tracing_subscriber::layer::SubscriberExt;
//!
//! let sessions = ServerHandle::new(ServerInfo::new("greeter", "1.0"), Limits::default());
//! let subscriber = tracing_subscriber::registry().with(LogLayer::new(sessions.clone()));
//! tracing::subscriber::with_default(subscriber, || {
//!     tracing::warn!(logger = "database", table = "users", "slow query");
//! });
//! ```
//!
//! Each client gets the levels that it has requested: `TRACE` and `DEBUG` count as `debug`, the other three as their
//! namesakes. The levels that tracing does not have are a field: `tracing::info!(level = Level::Notice.as_str(), "…")`.
//! The name of the logger is the field `logger`, or else the target; the data is an object of the message and all other
//! fields. Spans are not shown.
//!
//! An event in a handler is for the client of its call, with or without a session. One in a task that the handler has
//! spawned, or outside of all calls, does not name a client. So it is sent to the sessions while all of them belong to
//! one owner; when several owners are connected, it stays in the program's own log.
//!
//! Events cannot flood a client: they are queued like every log message, so that at most
//! [`Limits::max_notices`](crate::Limits::max_notices) wait for one client, and the dropped ones are counted and
//! reported. A text longer than [`LogLayer::MAX_TEXT`] is cut. Events of this project's own crates are not sent,
//! because sending a log message may itself log.

use std::fmt::{self, Write};

use protomcp_types::{JsonObject, Level, RawJson};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::call::current_call;
use crate::records::session_notice::Audience;
use crate::state::handle::ServerHandle;

/// Sends events of calls to their clients, and others to all open sessions while these belong to one owner.
#[derive(Debug, Clone)]
pub struct LogLayer {
    sessions: ServerHandle,
}

impl LogLayer {
    /// The longest text in an event, in bytes.
    pub const MAX_TEXT: usize = 8 * 1024;

    /// Targets that begin like this belong to us.
    const OWN: &str = "protomcp";

    /// Sends to these sessions.
    #[must_use]
    pub fn new(sessions: ServerHandle) -> Self {
        Self { sessions }
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if metadata.target().starts_with(Self::OWN) {
            return;
        }
        let mut level = level(*metadata.level());
        let names_level = metadata.fields().field("level").is_some();
        let call = current_call::current();
        let is_wanted = match &call {
            Some(call) => call.log_level().is_some_and(|least| level >= least),
            None => self.sessions.wants(level),
        };
        if !names_level && !is_wanted {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(named) = fields.level {
            level = named;
        }
        let logger = fields.logger.as_deref().unwrap_or(metadata.target());
        let data = fields.data.to_body().into_raw();
        match call {
            Some(call) => call.log(level, Some(logger), &data),
            None => {
                if let Some(owner) = self.sessions.sole_owner() {
                    self.sessions.log(Audience::Owner(owner), level, Some(logger), &data);
                }
            }
        }
    }
}

fn level(level: tracing::Level) -> Level {
    match level {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warning,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG | tracing::Level::TRACE => Level::Debug,
    }
}

/// The fields of an event.
#[derive(Default)]
struct Fields {
    logger: Option<String>,
    level: Option<Level>,
    data: JsonObject,
}

impl Fields {
    fn insert<E>(&mut self, field: &Field, value: Result<RawJson, E>) {
        self.data.insert(field.name(), value.unwrap_or(RawJson::NULL));
    }

    fn insert_text(&mut self, field: &Field, text: &str) {
        self.data.insert(field.name(), RawJson::text(text));
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        let mut text = Short::default();
        // An error means that it was cut.
        let _ = text.write_str(value);
        match (field.name(), Level::parse(value)) {
            ("logger", _) => self.logger = Some(text.finish()),
            ("level", Some(level)) => self.level = Some(level),
            _ => self.insert_text(field, &text.finish()),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = Short::default();
        // A value that cannot be shown, or was cut, is shown as far as it goes.
        let _ = write!(text, "{value:?}");
        self.insert_text(field, &text.finish());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, RawJson::of(&value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, RawJson::of(&value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, RawJson::of(&value));
    }

    /// Infinities and NaN become `null`.
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, RawJson::of(&value));
    }
}

/// A text that stops growing.
#[derive(Default)]
struct Short {
    text: String,
    cut: bool,
}

impl Short {
    fn finish(mut self) -> String {
        if self.cut {
            self.text.push('…');
        }
        self.text
    }
}

impl Write for Short {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = LogLayer::MAX_TEXT - self.text.len();
        if more.len() <= room && !self.cut {
            self.text.push_str(more);
            return Ok(());
        }
        if !self.cut {
            self.cut = true;
            self.text.push_str(&more[..more.floor_char_boundary(room)]);
        }
        Err(fmt::Error)
    }
}
