//! The sockets to serve on.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, ToSocketAddrs};

use crate::config::ListenerConfig;
use crate::serve::{Serve, ServeStreams};

/// One or several listening sockets with common limits. [`Listener::serve`] accepts their connections.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
    config: ListenerConfig,
}

impl Listener {
    /// Binds one socket. A name with several addresses gets the first that can be bound.
    ///
    /// # Errors
    /// When the name cannot be resolved or no address can be bound.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Self> {
        Ok(Self::from_sockets([TcpListener::bind(address).await?]))
    }

    /// Uses sockets that are bound already.
    #[must_use]
    pub fn from_sockets(sockets: impl IntoIterator<Item = TcpListener>) -> Self {
        Self { sockets: sockets.into_iter().collect(), config: ListenerConfig::default() }
    }

    /// Sets limits, timeouts and the certificate.
    #[must_use]
    pub fn with_config(mut self, config: ListenerConfig) -> Self {
        self.config = config;
        self
    }

    /// The local address of the first socket.
    ///
    /// # Errors
    /// When the system does not name it, or there is no socket.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.sockets.first().ok_or(io::ErrorKind::NotFound)?.local_addr()
    }

    /// Serves a tower service on every connection; await the result to start.
    ///
    /// The service is cloned for each request. Requests carry a [`ConnectionInfo`](crate::ConnectionInfo) in their
    /// extensions.
    pub fn serve<S>(self, service: S) -> Serve<S> {
        Serve::new(self.sockets, self.config, service)
    }

    /// Serves every connection as a stream of bytes, with the same limits; await the result to start.
    pub fn serve_streams<S>(self, service: S) -> ServeStreams<S> {
        ServeStreams::new(self.sockets, self.config, service)
    }
}
