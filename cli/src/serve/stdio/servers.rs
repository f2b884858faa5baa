//! Servers in place of a tool file, for the client on standard input and output.

use std::time::Duration;

use protomcp_bufmcp::{Rewound, peek_line};
use protomcp_gateway::Era;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::args::upstream::Upstreams;
use crate::exit::Failure;
use crate::serve::gateway;
use crate::serve::run::{Signals, Wish};
use crate::serve::stdio::{Front, outcome};

/// The first message is read up to this many bytes, which are enough for a handshake.
const MAX_FIRST: usize = 64 * 1024;

/// The end of the host.
pub(super) struct Host<R, W> {
    pub(super) reader: R,
    pub(super) writer: W,
    /// It is a person at a terminal.
    pub(super) is_terminal: bool,
    pub(super) drain_timeout: Duration,
}

/// Connects the servers, in the era of the first message, and serves until the host disconnects or a signal ends it.
pub(super) async fn serve<R, W>(
    servers: &Upstreams,
    host: Host<R, W>,
    front: Front,
    mut signals: Signals,
) -> Result<(), Failure>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    gateway::note(servers);
    gateway::check(servers)?;
    let Host { reader, writer, is_terminal, drain_timeout } = host;
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
    let in_era = |builder| era.into_iter().fold(builder, protomcp_gateway::Builder::first_era);
    let gateway = tokio::select! {
        gateway = gateway::open(servers, &remote, in_era, &mut signals) => gateway?,
        gone = gone(&mut reader, drain_timeout) => return gone,
    };
    tracing::info!("serving on stdio, as a gateway to {}", servers.names());
    let serving = front.serve(gateway::server(&gateway, servers), reader, writer);
    outcome(gateway::serve(gateway, serving, signals, || {}).await)
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
