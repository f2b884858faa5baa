//! Notices servers that are gone without a word: their host is off, or the network has forgotten the connection.
//!
//! Proto-mcp 1.0 has no ping, so the kernel asks.

use std::io;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::TcpStream;

/// The silence after which the kernel asks for a sign of life.
const IDLE: Duration = Duration::from_secs(30);

/// The time between two such questions.
const INTERVAL: Duration = Duration::from_secs(10);

/// The questions without an answer that end a connection.
const PROBES: u32 = 3;

/// The time in which sent bytes must be acknowledged, in milliseconds.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNACKNOWLEDGED: u32 = 60_000;

/// Ends a connection whose peer is silent for about a minute.
pub(super) fn notice(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, IDLE)?;
    sockopt::set_tcp_keepintvl(stream, INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, PROBES)?;
    // While bytes wait for an acknowledgement the kernel does not ask.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    sockopt::set_tcp_user_timeout(stream, UNACKNOWLEDGED)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;
    use crate::client::connect::TcpServer;

    #[tokio::test]
    async fn the_kernel_asks_for_signs_of_life() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = TcpServer::new(listener.local_addr().unwrap().to_string());
        let stream = server.open().await.unwrap();
        assert!(sockopt::socket_keepalive(&stream).unwrap());
        assert_eq!(sockopt::tcp_keepidle(&stream).unwrap(), IDLE);
        assert_eq!(sockopt::tcp_keepintvl(&stream).unwrap(), INTERVAL);
        assert_eq!(sockopt::tcp_keepcnt(&stream).unwrap(), PROBES);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        assert_eq!(sockopt::tcp_user_timeout(&stream).unwrap(), UNACKNOWLEDGED);
    }
}
