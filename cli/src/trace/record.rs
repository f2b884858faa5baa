//! `pmcp record`: passes messages on in both directions, and writes each down without its secrets.

use std::fs::{self, File};
use std::io::Write;
use std::time::Instant;

use protomcp_client::{Running, ServerEnd};
use protomcp_trace::{Entry, Party, Recording, Redaction};
use protomcp_transport::lines::Lines;
use protomcp_transport::{Sink, Source, Transport, TransportError, stdio};
use protomcp_types::Message;

use crate::args::trace::RecordOptions;
use crate::exit::Failure;
use crate::log;
use crate::trace::new_file::create;
use crate::trace::parts::{MAX_TRACE, messages, process, value};

/// Records until the host or the server ends the conversation, or a signal does.
pub(super) async fn record(options: RecordOptions) -> Result<(), Failure> {
    let RecordOptions { target, to, names, patterns, log_level, log: flags } = options;
    let redaction = Redaction::with_names(names)
        .with_patterns(&patterns)
        .map_err(|error| Failure::usage(format!("invalid --redact-pattern: {error}")))?;
    // Before anything else can write to descriptor 1.
    let (reader, writer) =
        stdio::take().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(log_level, flags);
    let command = process(target)?;
    let (file, path) = create(&to)?;
    let mut scribe = Writer::begin(file, redaction)?;
    let running = match command.spawn().await {
        Ok(running) => running,
        Err(error) => {
            // Nothing is in it. If it stays, it is an empty trace.
            let _stays = fs::remove_file(&path);
            return Err(Failure::from(&error));
        }
    };
    tracing::info!("recording to {}", path.display());
    pass_on(&mut scribe, Lines::new(reader, writer), running).await
}

/// Passes the messages on until one end closes.
async fn pass_on(scribe: &mut Writer, host: impl Transport, server: Running) -> Result<(), Failure> {
    let (mut from_host, mut to_host) = host.split();
    let (mut from_server, mut to_server) = server.split();
    loop {
        let passed = tokio::select! {
            received = from_host.next() => match received {
                Ok(Some(Ok(incoming))) => {
                    let messages = messages(incoming);
                    scribe.write(Party::Client, &messages)?;
                    // Its source says how it has ended, after its last messages.
                    if let Err(error) = pass(&mut to_server, messages).await {
                        tracing::info!("the server takes no more messages: {error}");
                    }
                    Ok(())
                }
                Ok(Some(Err(malformed))) => {
                    let refusal = Message::error(malformed.id, malformed.error);
                    pass(&mut to_host, vec![refusal]).await
                }
                Ok(None) | Err(_) => return Ok(()),
            },
            received = from_server.next() => match received {
                Ok(Some(Ok(incoming))) => {
                    let messages = messages(incoming);
                    scribe.write(Party::Server, &messages)?;
                    pass(&mut to_host, messages).await
                }
                Ok(Some(Err(malformed))) => {
                    tracing::warn!("the server has sent text without a message: {}", malformed.error.message);
                    Ok(())
                }
                Ok(None) => return Err(end(&mut from_server)),
                Err(error) => return Err(Failure::failed(format!("the server has ended: {error}"))),
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        if let Err(error) = passed {
            tracing::info!("the conversation has ended: {error}");
            return Ok(());
        }
    }
}

/// The end of a server that the host still uses.
fn end(server: &mut impl Source) -> Failure {
    let facts = server.extensions();
    let why = facts.find::<ServerEnd>().map_or("", |end| end.0.as_str());
    // The log has the output of the server, if it shows that.
    let why = if log::shows_tools() { why.lines().next().unwrap_or_default() } else { why };
    match why {
        "" => Failure::failed("the server closed the connection"),
        why => Failure::failed(format!("the server closed the connection: {why}")),
    }
}

async fn pass(sink: &mut impl Sink, messages: Vec<Message>) -> Result<(), TransportError> {
    for message in messages {
        sink.send(message, None)?;
    }
    sink.flush().await
}

/// Writes each message at once, so that a trace is whole when the program is killed.
struct Writer {
    file: File,
    redaction: Redaction,
    began: Instant,
    written: u64,
    /// The log has said that there are more secrets than are remembered.
    is_warned: bool,
}

impl Writer {
    fn begin(file: File, redaction: Redaction) -> Result<Self, Failure> {
        let mut writer = Self { file, redaction, began: Instant::now(), written: 0, is_warned: false };
        writer.append(&Recording::new(concat!("pmcp ", env!("CARGO_PKG_VERSION"))).header())?;
        Ok(writer)
    }

    fn write(&mut self, from: Party, messages: &[Message]) -> Result<(), Failure> {
        for message in messages {
            let at = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let entry = Entry { at, from, message: self.redaction.redact(value(message)) };
            self.append(&entry.line())?;
        }
        if self.redaction.has_forgotten() && !self.is_warned {
            self.is_warned = true;
            tracing::warn!(
                "the conversation has more secrets than are remembered: read the trace for the oldest ones before you share it"
            );
        }
        Ok(())
    }

    fn append(&mut self, line: &str) -> Result<(), Failure> {
        let before = self.written;
        self.written = before.saturating_add(line.len() as u64);
        if self.written > MAX_TRACE {
            if before <= MAX_TRACE {
                tracing::warn!("the trace is full; later messages are passed on and not recorded");
            }
            return Ok(());
        }
        self.file
            .write_all(line.as_bytes())
            .map_err(|error| Failure::failed(format!("cannot write the trace: {error}")))
    }
}
