//! From a TCP connection to a TLS one, with a bound on how many are on the way.

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, sink};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::server::TlsStream;

use crate::tls::Tls;

/// The first byte of a TLS connection: a record of the handshake (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;

/// What whoever speaks plain HTTP is told.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
    this is plain HTTP, and the server speaks HTTPS here\n";

/// The most that is read of a plain request.
const MAX_PLAIN: u64 = 64 * 1024;

/// Shakes hands before `deadline`. `None`: there is nobody to talk to.
pub(super) async fn shake(
    tls: &Tls,
    places: &Semaphore,
    stream: TcpStream,
    deadline: Instant,
) -> Option<TlsStream<TcpStream>> {
    let handshake = async {
        let mut first = [0];
        // Whoever says nothing takes no place from those who do.
        if !matches!(stream.peek(&mut first).await, Ok(1..)) {
            return None;
        }
        if first != [HANDSHAKE] {
            explain(stream).await;
            return None;
        }
        let place = places.acquire().await.expect("the semaphore is never closed");
        let outcome = tls.accept(stream).await;
        drop(place);
        outcome.map_err(|error| tracing::debug!("no TLS: {error}")).ok()
    };
    let outcome = timeout_at(deadline, handshake).await;
    outcome.unwrap_or_else(|_| {
        tracing::debug!("a TLS handshake takes too long: given up");
        None
    })
}

/// Tells whoever speaks plain HTTP, and reads what they say: a connection that is closed over it takes the answer along.
async fn explain(mut stream: TcpStream) {
    let told = async {
        stream.write_all(PLAIN).await?;
        stream.shutdown().await?;
        copy(&mut stream.take(MAX_PLAIN), &mut sink()).await
    };
    if let Err(error) = told.await {
        tracing::debug!("whoever speaks plain HTTP is gone: {error}");
    }
}
