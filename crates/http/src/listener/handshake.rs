//! From a TCP connection to a TLS one, with a bound on how many are on the way.

use std::sync::Arc;

use protomcp_server::Owner;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::server::TlsStream;

use super::accept_log::AcceptLog;
use super::client_hello;
use super::fair_limit::State;
use super::places::Places;
use crate::tls::Tls;

/// The first byte of a TLS connection: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// The answer to a client that speaks plain HTTP.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
    this is plain HTTP, and the server speaks HTTPS here\n";

/// The most that is read of a plain request.
const MAX_PLAIN: u64 = 64 * 1024;

/// Shakes hands before `deadline`. `None`: there is no client, or none that speaks TLS.
pub(super) async fn shake(
    tls: &Tls,
    places: &Arc<Places>,
    log: &AcceptLog,
    owner: &Owner,
    stream: TcpStream,
    deadline: Instant,
) -> Option<TlsStream<TcpStream>> {
    let handshake = async {
        let mut first = [0];
        if !matches!(stream.peek(&mut first).await, Ok(1..)) {
            return None;
        }
        if first != [HANDSHAKE] {
            explain(stream).await;
            return None;
        }
        let start = match client_hello::read(stream).await {
            Ok(start) => start,
            Err(error) => {
                tracing::debug!("no TLS: {error}");
                return None;
            }
        };
        let (place, has_evicted) = places.take(owner, State::Busy).await;
        if has_evicted {
            log.count(|counts| counts.handshakes += 1);
        }
        tokio::select! {
            outcome = start.into_stream(tls.config()) => {
                outcome.map_err(|error| tracing::debug!("no TLS: {error}")).ok()
            }
            () = place.revoked() => {
                tracing::debug!("a TLS handshake makes room for another address");
                None
            }
        }
    };
    let outcome = timeout_at(deadline, handshake).await;
    outcome.unwrap_or_else(|_| {
        tracing::debug!("a TLS handshake takes too long: given up");
        None
    })
}

/// Answers a client that speaks plain HTTP, and reads its request: a connection that is closed over it loses the answer.
async fn explain(mut stream: TcpStream) {
    let told = async {
        stream.write_all(PLAIN).await?;
        stream.shutdown().await?;
        copy(&mut stream.take(MAX_PLAIN), &mut sink()).await
    };
    if let Err(error) = told.await {
        tracing::debug!("a client that speaks plain HTTP is gone: {error}");
    }
}
