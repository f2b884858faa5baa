//! The first line that a tool process prints on standard output. `pmcp doctor` has no log, and reports it.

use std::fmt;
use std::sync::OnceLock;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The target of lines on standard output.
const TARGET: &str = "tool::stdout";

static FIRST: OnceLock<String> = OnceLock::new();

/// Keeps the first line from now on.
pub(super) fn keep_first() {
    let lines = FirstLine.with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO));
    // Another subscriber is the log of the program, which has the line.
    let _started = tracing_subscriber::registry().with(lines).try_init();
}

/// The first line, without the name of the file in front of it.
pub(super) fn first() -> Option<String> {
    let line = FIRST.get()?;
    Some(line.split_once("] ").map_or(line.as_str(), |(_, text)| text).to_owned())
}

struct FirstLine;

impl<S: Subscriber> Layer<S> for FirstLine {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut message = Message::default();
        event.record(&mut message);
        let _earlier = FIRST.set(message.0);
    }
}

#[derive(Default)]
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
