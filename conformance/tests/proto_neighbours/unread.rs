//! Requests that a carrier itself answers, by a user who reads no answer: pings of WebSocket and of HTTP/2, and settings.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::carrier::{Carrier, Door};

/// A ping of WebSocket with as many bytes as it may have (RFC 6455, section 5.5), behind a mask of zeros.
const WEBSOCKET_PING: &[u8] = &{
    let mut frame = [0_u8; 131];
    (frame[0], frame[1]) = (0x89, 0x80 | 125);
    frame
};

/// RFC 9113, section 6.7.
const HTTP2_PING: &[u8] = b"\0\0\x08\x06\0\0\0\0\0unread!!";

/// RFC 9113, section 6.5: no setting changes.
const HTTP2_SETTINGS: &[u8] = b"\0\0\0\x04\0\0\0\0\0";

/// The bytes of all connections, unless the server reads fewer: twice as many as the server may grow by.
const BYTES: usize = 128 << 20;

/// The time after which a server that reads nothing is not written to any longer.
const STUCK: Duration = Duration::from_secs(1);

/// Pings on this many connections.
pub(crate) async fn send_pings(door: Door, connections: usize) {
    let ping = if door.carrier == Carrier::WebSocket { WEBSOCKET_PING } else { HTTP2_PING };
    send(&door, connections, ping).await;
}

/// Settings on this many connections of HTTP/2.
pub(crate) async fn send_settings(door: Door, connections: usize) {
    send(&door, connections, HTTP2_SETTINGS).await;
}

/// Sends a frame again and again, on connections that stay open.
async fn send(door: &Door, connections: usize, frame: &'static [u8]) {
    let mut sending = JoinSet::new();
    for _ in 0..connections {
        let door = door.clone();
        sending.spawn(async move {
            let mut stream = open(&door).await?;
            let block = frame.repeat((64 << 10) / frame.len());
            for _ in 0..BYTES / connections / block.len() {
                let written = tokio::time::timeout(STUCK, stream.write_all(&block)).await;
                if !matches!(written, Ok(Ok(()))) {
                    break;
                }
            }
            io::Result::Ok(stream)
        });
    }
    let _streams = sending.join_all().await;
    door.hold().over().await;
}

/// A connection on which frames may be sent, and whose receive buffer is small.
async fn open(door: &Door) -> io::Result<TcpStream> {
    let mut stream = door.user.narrow_socket().await?;
    if door.carrier != Carrier::WebSocket {
        // RFC 9113, section 3.4.
        stream.write_all(&[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], HTTP2_SETTINGS].concat()).await?;
        return Ok(stream);
    }
    let head = format!(
        "GET /mcp HTTP/1.1\r\nhost: localhost:{}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        door.user.port
    );
    stream.write_all(head.as_bytes()).await?;
    let mut response = Vec::new();
    while !response.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut response).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(stream)
}
