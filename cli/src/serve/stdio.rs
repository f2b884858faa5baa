//! One client on standard input and output, in the protocol of its first bytes.

use std::io::{self, IsTerminal};
use std::time::Duration;

use protomcp_bridge::RunError;
use protomcp_bufmcp::{BinaryPeer, BinaryServeError, DetectOptions, Rewound, ServeAnyError, peek_line};
use protomcp_gateway::Era;
use protomcp_server::{ServeError, Server, Service};
use protomcp_transport::lines::Lines;
use protomcp_transport::{TransportError, stdio};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::args::options::{Source, StdioOptions};
use crate::args::tool::ToolFlags;
use crate::exit::Failure;
use crate::log::{self, Status};
use crate::recorder::{Recorder, recorded};
use crate::serve::binary::Terms;
use crate::serve::gateway;
use crate::serve::live;
use crate::serve::run::{Signals, Wish, failure, prepare};
use crate::serve::view;

/// The first message is read up to this many bytes, which are enough for a handshake.
const MAX_FIRST: usize = 64 * 1024;

/// Serves until the client disconnects or a signal ends it.
pub(super) async fn serve(
    source: Source,
    tool: &ToolFlags,
    options: StdioOptions,
    recorder: Option<Recorder>,
) -> Result<(), Failure> {
    // Before descriptor 0 is another.
    let status = live::status(&source, tool);
    let is_terminal = io::stdin().is_terminal();
    if let Status::View(_) = status {
        return view::serve(source, tool, status).await;
    }
    // Before anything else can write to descriptor 1.
    let (reader, writer) =
        stdio::take().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    let is_live = matches!(status, Status::Lines);
    log::start_with(tool.log_level, tool.log, status);
    recorder.iter().for_each(Recorder::announce);
    let front = Front { terms: Terms::new(tool), max_line: options.max_line, recorder };
    for flag in options.idle {
        tracing::warn!("{flag} has no effect on stdio: there is one host, the one that started this program");
    }
    let mut signals = Signals::new()?;
    let outcome = match source {
        Source::File { path, watch } => {
            if is_live {
                tracing::info!("{}", live::advice(&path));
            }
            let (bridge, starting) = recorded(tool.bridge(&path, watch), front.recorder.as_ref()).launch();
            let server = bridge.server();
            let run = prepare(bridge, starting, signals, format!("{} on stdio", path.display()), || {});
            match run.serve(front.serve(server, reader, writer)).await {
                Ok(()) => Ok(()),
                Err(RunError::Serve(error)) => Err(error),
                Err(error) => return Err(failure(&error)),
            }
        }
        Source::Servers(servers) => {
            gateway::note(&servers);
            gateway::check(&servers)?;
            let mut reader = if is_terminal {
                // A person who tries the command sees immediately whether the servers start.
                Rewound::new(reader)
            } else {
                tokio::select! {
                    reader = peek_line(reader, MAX_FIRST) => reader.map_err(|error| Failure::failed(error.to_string()))?,
                    () = stopped(&mut signals) => return Ok(()),
                }
            };
            let remote = front.terms.remote(servers.limits.timeout);
            let era = era(&reader);
            let gateway = tokio::select! {
                gateway = gateway::open(&servers, &remote, era, &mut signals) => gateway?,
                gone = gone(&mut reader, tool.limits.drain_timeout) => return gone,
            };
            tracing::info!("serving on stdio, as a gateway to {}", servers.names());
            let serving = front.serve(gateway::server(&gateway, &servers), reader, writer);
            gateway::serve(gateway, serving, signals, || {}).await
        }
    };
    match outcome {
        Err(error) if !is_gone(&error) => Err(Failure::failed(error.to_string())),
        _ => Ok(()),
    }
}

/// The conversation with the client.
struct Front {
    terms: Terms,
    /// The longest line, in bytes.
    max_line: usize,
    /// The trace, if one is written.
    recorder: Option<Recorder>,
}

impl Front {
    /// Serves the client, in the protocol of its first bytes; if it is recorded, in JSON-RPC.
    async fn serve<S, R, W>(self, server: Server<S>, reader: R, writer: W) -> Result<(), ServeAnyError>
    where
        S: Service,
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let Self { terms, max_line, recorder } = self;
        let max_line_setting = "--max-line";
        match recorder {
            Some(recorder) => {
                let lines = Lines::new(reader, writer).with_max_line(max_line).with_max_line_name(max_line_setting);
                Ok(terms.json(server).serve(recorder.observed(lines)).await?)
            }
            None => {
                let max_line_setting = Some(max_line_setting);
                let detect = DetectOptions { max_line, max_line_setting, ..DetectOptions::STDIO };
                terms.both(server).serve_any(reader, writer, BinaryPeer::default(), detect).await
            }
        }
    }
}

/// Waits until the host has closed its end while the servers start. They get the time that running calls have, to answer
/// requests from before, or to fail.
async fn gone<R: AsyncRead + Unpin>(reader: &mut Rewound<R>, drain_timeout: Duration) -> Result<(), Failure> {
    reader.ended(MAX_FIRST).await;
    tokio::time::sleep(drain_timeout).await;
    let why = "the host closed its end before the servers were connected";
    if reader.has_text() {
        return Err(Failure::failed(format!(
            "{why}: its requests have no answer; --drain-timeout gives them more time"
        )));
    }
    tracing::info!("{why}");
    Ok(())
}

/// Waits for a signal that ends the program.
async fn stopped(signals: &mut Signals) {
    while signals.next().await != Wish::Stop {}
}

/// The era of the client, if its first message shows it.
fn era<R>(reader: &Rewound<R>) -> Option<Era> {
    #[derive(Deserialize)]
    struct First {
        method: String,
    }
    match serde_json::from_slice::<First>(reader.first_line()?).ok()?.method.as_str() {
        "initialize" => Some(Era::Stateful),
        "server/discover" => Some(Era::Stateless),
        _ => None,
    }
}

/// True if the client has only gone: a host that was killed takes both ends of the pipes with it.
fn is_gone(error: &ServeAnyError) -> bool {
    match error {
        ServeAnyError::Json(ServeError::Transport(TransportError::Closed)) => true,
        ServeAnyError::Binary(BinaryServeError::Io(error)) => error.kind() == io::ErrorKind::BrokenPipe,
        _ => false,
    }
}
