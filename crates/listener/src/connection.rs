//! One connection: its handshake, its slot, and the protocol on it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::client_name::ClientName;
use crate::connection_info::ConnectionInfo;
use crate::connections::Connections;
#[cfg(feature = "tls")]
use crate::handshake::Handshake;
use crate::slots::{Slot, SlotUsage};
use crate::stall::{Stall, Watched};
#[cfg(feature = "tls")]
use crate::tls::version_of;

/// Counts the connections of all listeners.
static CONNECTIONS: AtomicU64 = AtomicU64::new(0);

/// The protocol of the connections of a listener.
pub(crate) trait Protocol: Clone + Send + 'static {
    /// The response to a client that sends plain text where TLS is served. Empty: the connection is closed.
    #[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "only TLS refuses plain text"))]
    const REPLY_TO_PLAIN_TEXT: &'static [u8];

    /// Serves a connection until it ends. The first message must be complete at `deadline`.
    fn serve(self, accepted: Accepted<'_>, io: impl Io, deadline: Instant) -> impl Future<Output = ()> + Send;
}

/// Both directions of a connection.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for T {}

/// A connection that has its slot.
pub(crate) struct Accepted<'a> {
    pub(crate) connections: &'a Connections,
    pub(crate) info: ConnectionInfo,
    /// The client that a certificate names.
    pub(crate) client: Option<ClientName>,
    pub(crate) usage: SlotUsage,
    pub(crate) stall: Stall,
}

/// Serves a connection until it ends, loses its slot, or has a client that does not read.
pub(crate) async fn serve<P: Protocol>(
    connections: Arc<Connections>,
    protocol: P,
    stream: TcpStream,
    peer: SocketAddr,
    slot: Slot,
) {
    let info = ConnectionInfo { peer, number: CONNECTIONS.fetch_add(1, Ordering::Relaxed), tls: None };
    let stall = Stall::default();
    let accepted =
        Accepted { connections: &connections, info, client: None, usage: slot.usage(), stall: stall.clone() };
    tokio::select! {
        () = serve_stream(accepted, protocol, stream) => {}
        () = stall.lasts(connections.config.write_timeout) => {
            tracing::debug!("connection closed: the client does not read");
        }
        () = slot.revoked() => tracing::debug!("connection closed in favour of another address"),
    }
}

/// Completes the TLS handshake where there is one, and serves the protocol.
async fn serve_stream<P: Protocol>(accepted: Accepted<'_>, protocol: P, stream: TcpStream) {
    let (connections, stall) = (accepted.connections, accepted.stall.clone());
    let config = &connections.config;
    #[cfg(feature = "tls")]
    if let Some(tls) = &config.tls {
        let deadline = Instant::now() + config.handshake_timeout;
        let handshake = Handshake { tls, connections, reply_to_plain_text: P::REPLY_TO_PLAIN_TEXT, stall };
        let secured = tokio::select! {
            secured = handshake.shake(accepted.info.peer, stream, deadline) => secured,
            () = connections.stop.cancelled() => return,
        };
        if let Some(secured) = secured {
            let session = secured.get_ref().1;
            let Ok(client) = tls.client_name(session) else { return };
            let info = ConnectionInfo { tls: Some(version_of(session)), ..accepted.info };
            let accepted = Accepted { client, info, ..accepted };
            protocol.serve(accepted, secured, Instant::now() + config.first_request_timeout).await;
        }
        return;
    }
    let deadline = Instant::now() + config.first_request_timeout;
    let mut byte = [0];
    let first_byte = tokio::time::timeout_at(deadline, stream.peek(&mut byte));
    tokio::select! {
        peeked = first_byte => if !matches!(peeked, Ok(Ok(1..))) {
            return;
        },
        () = connections.stop.cancelled() => return,
    }
    protocol.serve(accepted, Watched::new(stream, stall), deadline).await;
}
