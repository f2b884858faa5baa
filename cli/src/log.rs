//! The log on stderr, which may have no reader.
//!
//! Hosts give their servers a stderr and some never read it. A write to a full pipe would block the whole bridge, so
//! lines go through a bounded queue to a separate thread; dropped lines are counted, and the count is logged later.

mod display;
mod facts;
pub(crate) mod live;
pub(crate) mod queue;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use clap::{Args, ValueEnum};
use protomcp_bridge::STATUS_TARGET;
use protomcp_server::ACCESS_TARGET;
use protomcp_types::is_shown;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

use crate::color::ColorFlag;
use crate::exit::Failure;
use crate::log::display::Display;
use crate::log::facts::Facts;
use crate::log::live::LiveView;
use crate::log::queue::Item;

/// Gets each line of the log as well.
type Reader = Box<dyn Fn(&str) + Send + Sync>;
static COPY: OnceLock<Reader> = OnceLock::new();

/// The level of the log.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum LogLevel {
    /// All messages
    Debug,
    /// Events, warnings and errors
    Info,
    /// Warnings and errors
    Warn,
    /// Errors only
    Error,
}

/// The form of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    #[default]
    Text,
    /// One JSON object a line, with timestamp, level, message and target
    Json,
}

/// The flags of the log other than its level, and of colours.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct LogFlags {
    /// Format of the log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,

    /// Log errors only, without the output of the tool
    #[arg(long, short, conflicts_with = "log_level")]
    quiet: bool,

    #[command(flatten)]
    color: ColorFlag,
}

impl LogFlags {
    /// True if errors alone are printed.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// True if the log is for people.
    pub(crate) fn is_text(self) -> bool {
        self.log_format == LogFormat::Text
    }
}

/// The live status of a server, for the author of its tools.
#[derive(Clone)]
pub(crate) enum Status {
    /// Not shown.
    Hidden,
    /// Lines of the log.
    Lines,
    /// A view below the log.
    View(LiveView),
}

/// Sends the log to stderr from now on. Output of tools is shown at every level, unless the log is quiet.
pub(crate) fn start(level: LogLevel, flags: LogFlags) {
    begin(level, flags, Lines { has_times: false, is_terminal: io::stderr().is_terminal() }, Status::Hidden);
}

/// Like [`start`], for a server: with times where no terminal reads the log, and with the live status.
pub(crate) fn start_with(level: LogLevel, flags: LogFlags, status: Status) {
    let is_terminal = io::stderr().is_terminal();
    begin(level, flags, Lines { has_times: !is_terminal, is_terminal }, status);
}

fn begin(level: LogLevel, flags: LogFlags, form: Lines, status: Status) {
    flags.color.apply();
    if !queue::open(flags.log_format == LogFormat::Json) {
        return;
    }
    let level = match level {
        LogLevel::Debug => Level::DEBUG,
        LogLevel::Info => Level::INFO,
        LogLevel::Warn => Level::WARN,
        LogLevel::Error => Level::ERROR,
    };
    let targets = if flags.quiet {
        Targets::new().with_default(Level::ERROR)
    } else {
        Targets::new().with_default(level).with_target("tool", Level::TRACE)
    };
    let shows_lines = matches!(status, Status::Lines) && !flags.quiet && level >= Level::INFO;
    let targets = targets.with_target(STATUS_TARGET, if shows_lines { LevelFilter::DEBUG } else { LevelFilter::OFF });
    // The access log has lines only where a flag asks for them.
    let targets = targets.with_target(ACCESS_TARGET, LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer().with_writer(Queue);
    match (flags.log_format, status) {
        (LogFormat::Text, Status::View(view)) => {
            queue::send(Item::Open(Display::new(view.clone())));
            let facts = Facts(view).with_filter(Targets::new().with_target(STATUS_TARGET, Level::TRACE));
            tracing_subscriber::registry().with(lines.event_format(form).with_filter(targets)).with(facts).init();
        }
        (LogFormat::Text, _) => tracing_subscriber::registry().with(lines.event_format(form)).with(targets).init(),
        (LogFormat::Json, _) => {
            let lines = lines.json().flatten_event(true).with_current_span(false).with_span_list(false);
            tracing_subscriber::registry().with(lines).with(targets).init();
        }
    }
}

/// True if the log has what tools print.
pub(crate) fn shows_tools() -> bool {
    tracing::enabled!(target: "tool::stderr", Level::INFO)
}

/// Logs an error that ends the program, if the log has a form for programs.
pub(crate) fn is_explained(failure: &Failure) -> bool {
    let is_json = queue::is_json();
    if is_json {
        tracing::error!("{failure}");
        queue::flush();
    }
    is_json
}

/// Passes each line to `reader` as well, which must not log. Only the first reader gets lines.
#[cfg(feature = "playground")]
pub(crate) fn copy(reader: impl Fn(&str) + Send + Sync + 'static) {
    let _first = COPY.set(Box::new(reader));
}

/// Gives each event a buffer that is queued as one line when the event is formatted.
struct Queue;

struct Line(Vec<u8>);

impl<'a> MakeWriter<'a> for Queue {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(Vec::new())
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(copy) = COPY.get() {
            copy(&String::from_utf8_lossy(&self.0));
        }
        queue::send(Item::Line(std::mem::take(&mut self.0)));
    }
}

/// `pmcp: message key=value` for us, with the level when it is not the usual one; the bare line for tools. The live
/// status is its messages alone.
struct Lines {
    /// Each entry begins with its time, in UTC.
    has_times: bool,
    is_terminal: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let meta = event.metadata();
        let mut text = Text::default();
        event.record(&mut text);
        if self.has_times {
            SystemTime.format_time(&mut writer)?;
            writer.write_char(' ')?;
        }
        // Lines of a tool are its own. In lines of this program a server names its tools.
        if meta.target().starts_with("tool::") {
            let line = text.message + &text.fields;
            return if self.is_terminal {
                writeln!(writer, "{}", for_terminal(&line))
            } else {
                writeln!(writer, "{line}")
            };
        }
        writer.write_str("pmcp: ")?;
        if meta.target() == STATUS_TARGET {
            return writeln!(writer, "{}", one_entry(&text.message));
        }
        if *meta.level() != Level::INFO {
            write!(writer, "{}: ", meta.level().as_str().to_ascii_lowercase())?;
        }
        writeln!(writer, "{}", one_entry(&format!("{}{}", text.message, text.fields)))
    }
}

/// The text of one entry of the log: further lines are indented, so that none begins like an entry, and other characters
/// that are not [shown](is_shown) are escaped.
fn one_entry(text: &str) -> String {
    let mut entry = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => entry.push_str("\n  "),
            '\t' => entry.push(c),
            c if is_shown(c) => entry.push(c),
            c => entry.extend(c.escape_default()),
        }
    }
    entry
}

/// A line of a tool for a terminal: its colours stay, and other characters that are not [shown](is_shown) are escaped, since
/// the line may quote a text from elsewhere.
fn for_terminal(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| !is_shown(c) && c != '\t') {
        shown.push_str(&rest[..at]);
        rest = &rest[at..];
        let colours = rest.strip_prefix("\x1b[").map_or(0, |codes| {
            let length = codes.find(|c: char| !matches!(c, '0'..='9' | ';' | ':')).unwrap_or(codes.len());
            if codes[length..].starts_with('m') { length + "\x1b[m".len() } else { 0 }
        });
        if colours > 0 {
            shown.push_str(&rest[..colours]);
            rest = &rest[colours..];
        } else if let Some(c) = rest.chars().next() {
            shown.extend(c.escape_default());
            rest = &rest[c.len_utf8()..];
        }
    }
    shown + rest
}

#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        use fmt::Write;
        let written = if field.name() == "message" {
            write!(self.message, "{value:?}")
        } else {
            write!(self.fields, " {}={value:?}", field.name())
        };
        written.expect("a string takes everything");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message.push_str(value);
        } else {
            self.record_debug(field, &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_forge_an_entry() {
        assert_eq!(one_entry("tool \"a\x1b[2J\u{202e}\" of b\nc\td"), "tool \"a\\u{1b}[2J\\u{202e}\" of b\n  c\td");
    }

    #[test]
    fn a_line_of_a_tool_keeps_its_colours_in_a_terminal() {
        for (line, shown) in [
            ("a\x1b[1;31mb\x1b[0m\tc", "a\x1b[1;31mb\x1b[0m\tc"),
            ("\x1b[2J\x1b]0;x\x07", "\\u{1b}[2J\\u{1b}]0;x\\u{7}"),
            ("\x1b[31", "\\u{1b}[31"),
            ("\x1b", "\\u{1b}"),
            ("ä\rb", "ä\\rb"),
            ("\x1b[1m\u{202e}b", "\x1b[1m\\u{202e}b"),
        ] {
            assert_eq!(for_terminal(line), shown);
        }
    }
}
