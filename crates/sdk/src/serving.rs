//! The server behind one connection to the bridge: reads envelopes, begins calls, and passes notices on.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use protomcp_codec::{Decoder, Frame};
use protomcp_server::{ClientInfo, Membership, Peer, ServeError, Server, Service};
use protomcp_transport::TransportError;
use protomcp_types::{ClientCapabilities, Implementation, Level, ProtocolVersion, RawJson};
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::bridge::{Bridge, Calls};
use crate::call_outlet::{CallOutlet, describe};
use crate::outgoing::Outgoing;
use crate::step::ServerCall;

/// One connection, with the bridge as a member of the server.
pub(crate) struct Serving<S, R> {
    server: Server<S>,
    membership: Membership,
    bridge: Bridge,
    calls: Calls,
    source: Source<R>,
}

/// Reads envelopes.
struct Source<R> {
    io: R,
    buffer: BytesMut,
    decoder: Decoder,
}

impl<S: Service, R: AsyncRead + Unpin> Serving<S, R> {
    pub(crate) fn new(server: Server<S>, io: R, decoder: Decoder, bridge: Bridge, calls: Calls) -> Self {
        let membership = server.join(Peer::new(None, None, None), client());
        if server.handle().info().capabilities.logging.is_some() {
            // The bridge knows the levels of its clients.
            membership.set_log_level(Level::Debug);
        }
        Self { server, membership, bridge, calls, source: Source { io, buffer: BytesMut::new(), decoder } }
    }

    /// Serves until the bridge closes the connection, or the server has shut down.
    pub(crate) async fn run(mut self) -> Result<(), ServeError> {
        let outgoing = self.bridge.outgoing().clone();
        let limits = *self.server.handle().limits();
        loop {
            tokio::select! {
                Some(call) = self.calls.recv() => self.begin(*call),
                notice = behind(&outgoing, limits.max_unsent, self.membership.next()) => match notice {
                    Some(notice) => self.bridge.turn(|exchange| exchange.noticed(notice)),
                    None => return flush(&outgoing, limits.drain_timeout).await,
                },
                is_open = behind(&outgoing, limits.max_unsent, self.source.next(&self.bridge)) => if !is_open? {
                    return Ok(());
                },
            }
        }
    }

    fn begin(&self, call: ServerCall) {
        let ServerCall { id, request, progress_token, about, stop, run } = call;
        let mut facts = self.membership.facts(id.clone());
        facts.progress_token = progress_token;
        if let Some(about) = about {
            describe(&mut facts, *about);
        }
        let outlet = CallOutlet::new(id.clone(), facts.client.version, self.bridge.clone());
        let running = self.server.call(request, facts, outlet);
        tokio::spawn(self.bridge.clone().drive(id, running, stop, run));
    }
}

impl<R: AsyncRead + Unpin> Source<R> {
    /// Handles the next frame. Returns false when the bridge has closed the connection. Cancel safe.
    async fn next(&mut self, bridge: &Bridge) -> Result<bool, TransportError> {
        loop {
            if self.decode(bridge)? {
                return Ok(true);
            }
            self.buffer.reserve(self.decoder.want().max(8 * 1024));
            if self.io.read_buf(&mut self.buffer).await? == 0 {
                return Ok(false);
            }
        }
    }

    /// Handles a frame that is complete.
    fn decode(&mut self, bridge: &Bridge) -> Result<bool, TransportError> {
        match self.decoder.decode(&mut self.buffer) {
            Ok(None) => return Ok(false),
            Ok(Some(Frame::Envelope(envelope))) => bridge.turn(|exchange| exchange.received(envelope)),
            Ok(Some(Frame::Raw(_))) => tracing::debug!("the bridge has sent a payload, which is ignored"),
            Ok(Some(Frame::TooLarge(frame))) => {
                tracing::error!(message = frame.message, size = frame.size, "a message is too large and was skipped");
                bridge.turn(|exchange| exchange.skipped(frame.message, &frame.request_id));
            }
            Err(error) if error.is_fatal() => {
                return Err(TransportError::Io(io::Error::new(io::ErrorKind::InvalidData, error)));
            }
            Err(error) => tracing::error!(%error, "a message of the bridge cannot be read"),
        }
        Ok(true)
    }
}

/// Waits while the bridge does not read, before it causes more to write. Cancel safe if `next` is.
async fn behind<T>(outgoing: &Outgoing, max: usize, next: impl Future<Output = T>) -> T {
    outgoing.below(max).await;
    next.await
}

/// Waits until the last messages are written.
///
/// # Errors
/// When the bridge has read nothing of them for `patience`.
async fn flush(outgoing: &Outgoing, patience: Duration) -> Result<(), ServeError> {
    loop {
        let unwritten = outgoing.len();
        match tokio::time::timeout(patience, outgoing.written()).await {
            Ok(()) => return Ok(()),
            Err(_) if outgoing.len() >= unwritten => return Err(ServeError::Stalled),
            Err(_) => {}
        }
    }
}

/// The bridge, as the client of calls without another. It asks its clients all that tools may ask.
fn client() -> ClientInfo {
    let elicitation = RawJson::parse(r#"{"form":{},"url":{}}"#).expect("it is JSON");
    ClientInfo {
        version: ProtocolVersion::NEWEST_STATEFUL,
        implementation: Implementation::new("protomcp", env!("CARGO_PKG_VERSION")),
        capabilities: ClientCapabilities::new()
            .with("sampling", RawJson::EMPTY_OBJECT)
            .with("roots", RawJson::EMPTY_OBJECT)
            .with("elicitation", elicitation),
    }
}
