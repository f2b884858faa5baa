//! TLS handshakes, with a bound on how many run at a time.

use std::net::SocketAddr;

use protomcp_fair::Network;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::server::TlsStream;

use crate::client_hello;
use crate::connections::Connections;
use crate::fair_limit::SlotState;
use crate::stall::{Stall, Watched};
use crate::tls::Tls;

/// The first byte of a TLS connection: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// The most that is read of a plain request.
const MAX_PLAIN: u64 = 64 * 1024;

/// The handshake of one connection.
pub(crate) struct Handshake<'a> {
    pub(crate) tls: &'a Tls,
    pub(crate) connections: &'a Connections,
    /// The response to a client that sends plain text.
    pub(crate) reply_to_plain_text: &'static [u8],
    pub(crate) stall: Stall,
}

impl Handshake<'_> {
    /// Completes it before `deadline`. `None`: the client is gone, too slow, or sends something else.
    pub(crate) async fn shake(
        self,
        peer: SocketAddr,
        stream: TcpStream,
        deadline: Instant,
    ) -> Option<TlsStream<Watched<TcpStream>>> {
        let outcome = timeout_at(deadline, self.secure(peer, stream)).await;
        outcome.unwrap_or_else(|_| {
            tracing::debug!("TLS handshake timed out");
            None
        })
    }

    async fn secure(self, peer: SocketAddr, stream: TcpStream) -> Option<TlsStream<Watched<TcpStream>>> {
        let Self { tls, connections, reply_to_plain_text, stall } = self;
        let mut first = [0];
        if !matches!(stream.peek(&mut first).await, Ok(1..)) {
            return None;
        }
        if first != [HANDSHAKE] {
            reject_plain(stream, reply_to_plain_text).await;
            return None;
        }
        let start = match client_hello::read(Watched::new(stream, stall)).await {
            Ok(start) => start,
            Err(error) => {
                tracing::debug!("TLS handshake failed: {error}");
                return None;
            }
        };
        let slot = connections.handshakes.take(Network::of(peer.ip()), SlotState::Busy).await;
        if slot.has_evicted() {
            connections.log.count(|counts| counts.handshakes += 1);
        }
        tokio::select! {
            outcome = start.into_stream(tls.config()) => {
                outcome.map_err(|error| tracing::debug!("TLS handshake failed: {error}")).ok()
            }
            () = slot.revoked() => {
                tracing::debug!("TLS handshake cancelled in favour of another address");
                None
            }
        }
    }
}

/// Responds to a plain request after reading it to its end: closing the connection over unread bytes would lose the
/// response.
async fn reject_plain(mut stream: TcpStream, reply: &[u8]) {
    if reply.is_empty() {
        return;
    }
    let responded = async {
        stream.write_all(reply).await?;
        stream.shutdown().await?;
        copy(&mut stream.take(MAX_PLAIN), &mut sink()).await
    };
    if let Err(error) = responded.await {
        tracing::debug!("client of plain HTTP is gone: {error}");
    }
}
