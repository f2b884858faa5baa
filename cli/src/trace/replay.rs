//! `pmcp replay`: sends what the trace says, and waits for what it expects.

use std::collections::VecDeque;
use std::time::Instant;

use protomcp_trace::{Comparison, Difference, Recording, Replay, Step};
use protomcp_transport::{Received, Sink, Source, Transport, TransportError};
use protomcp_types::{Message, one_line};

use crate::args::trace::ReplayOptions;
use crate::exit::{self, Failure};
use crate::recorder::value;
use crate::trace::parts::{message, messages, process, read};
use crate::waiting;

/// Holds the conversations again, one after the other, and prints the differences.
pub(super) async fn replay(options: ReplayOptions) -> Result<(), Failure> {
    let recording = read(&options.trace)?;
    if options.log.is_quiet() {
        waiting::give_way();
    }
    let what = format!("replaying {}", options.trace.display());
    let (mut differences, mut count) = (Vec::new(), 0);
    for session in recording.sessions() {
        count += session.entries.len();
        differences.extend(waiting::shown(&what, hold(&session, &options)).await?);
    }
    differences.sort_by_key(|difference| difference.line);
    let lines: String =
        differences.iter().map(|difference| format!("{}\n", one_line(&difference.to_string()))).collect();
    exit::print(&exit::for_stdout(lines))?;
    match differences.len() {
        0 => exit::print(&format!("{count} messages, no difference\n")),
        1 => Err(Failure::failed(format!("1 difference from {}", options.trace.display()))),
        count => Err(Failure::failed(format!("{count} differences from {}", options.trace.display()))),
    }
}

/// Holds the conversation of one session with a server that is started for it.
async fn hold(session: &Recording, options: &ReplayOptions) -> Result<Vec<Difference>, Failure> {
    let ReplayOptions { target, strict, ignored, timeout, .. } = options;
    let comparison = if *strict { Comparison::Strict } else { Comparison::Shape };
    let mut replay = Replay::new(session, comparison, ignored.clone());
    let running = process(target.clone())?.spawn().await.map_err(|error| Failure::from(&error))?;
    let (source, sink) = running.split();
    let mut server = Server { source, sink, early: VecDeque::new() };
    let (mut expected, mut begun) = (None, Instant::now());
    loop {
        let failed = match replay.step() {
            Step::Send(next) => match tokio::time::timeout(*timeout, server.send(message(&next)?)).await {
                Ok(sent) => sent.err(),
                Err(_) => Some(format!("the server did not read it within {timeout:?}")),
            },
            Step::Wait(what) => {
                let next = Some((replay.position(), what));
                if expected != next {
                    (expected, begun) = (next, Instant::now());
                }
                // Other messages do not prolong the time.
                let left = timeout.saturating_sub(begun.elapsed());
                match tokio::time::timeout(left, server.receive(&mut replay)).await {
                    Ok(received) if !left.is_zero() => received.err(),
                    _ => Some(format!("it did not come within {timeout:?}")),
                }
            }
            Step::Done => break,
        };
        if let Some(why) = failed {
            replay.give_up(&why);
            break;
        }
    }
    Ok(replay.into_differences())
}

/// The server, and what it has sent while a message was sent to it.
struct Server<R, S> {
    source: R,
    sink: S,
    early: VecDeque<Result<Option<Received>, TransportError>>,
}

impl<R: Source, S: Sink> Server<R, S> {
    /// Sends a message. A server may read on when its output was read.
    async fn send(&mut self, message: Message) -> Result<(), String> {
        self.sink.send(message, None).map_err(|error| error.to_string())?;
        loop {
            let is_reading = self.early.len() < MAX_EARLY && !matches!(self.early.back(), Some(Ok(None) | Err(_)));
            tokio::select! {
                flushed = self.sink.flush() => return flushed.map_err(|error| error.to_string()),
                received = self.source.next(), if is_reading => self.early.push_back(received),
            }
        }
    }

    /// Waits for the next messages.
    async fn receive(&mut self, replay: &mut Replay) -> Result<(), String> {
        let received = match self.early.pop_front() {
            Some(received) => received,
            None => self.source.next().await,
        };
        match received {
            Ok(Some(Ok(incoming))) => {
                messages(incoming).iter().for_each(|message| replay.receive(value(message)));
                Ok(())
            }
            Ok(Some(Err(malformed))) => {
                Err(format!("the server has sent text without a message: {}", malformed.error.message))
            }
            Ok(None) => Err("the server has ended".into()),
            Err(error) => Err(format!("the server has ended: {error}")),
        }
    }
}

/// The most texts of a server that wait while a message is sent to it.
const MAX_EARLY: usize = 10_000;
