//! A client for the other processes of a server, over connections that are kept.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use protomcp_web::{Connector, Proxies, chain};

use crate::box_body::BoxBody;
use crate::replica_client::{ReplicaAnswer, ReplicaClient, ReplicaError};

/// The time in which a connection is opened, with TLS.
const CONNECT_TIME: Duration = Duration::from_secs(2);

/// The time after which an idle connection is closed: before the listener of the other process closes it.
const POOL_IDLE: Duration = Duration::from_secs(30);

/// The most idle connections to a process.
const MAX_IDLE: usize = 64;

/// The longest head of a response, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// Sends requests to the other processes of a server, directly and never through a proxy, over connections that are
/// opened within 2 s and kept for 30 s. Both schemes are HTTP/1.1, because the streams of one connection would share its
/// room; `https` has the certificates that the system trusts (feature `tls`).
#[derive(Debug, Clone)]
pub struct HttpReplicaClient(Client<Connector, Full<Bytes>>);

impl HttpReplicaClient {
    /// Without a connection yet.
    #[must_use]
    pub fn new() -> Self {
        let connector = Connector::new(Arc::new(Proxies::off()), CONNECT_TIME).http1_only();
        let client = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(MAX_IDLE)
            .http1_max_buf_size(MAX_HEAD)
            .build(connector);
        Self(client)
    }
}

impl Default for HttpReplicaClient {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplicaClient for HttpReplicaClient {
    /// A connection that the other process has closed while it was idle is replaced: the client knows that nothing was
    /// written. Every other failure of an open connection counts as [`ReplicaError::Lost`].
    fn send(&self, request: Request<Bytes>) -> ReplicaAnswer<'_> {
        let response = self.0.request(request.map(Full::new));
        Box::pin(async move {
            match response.await {
                Ok(response) => Ok(response.map(BoxBody::new)),
                Err(error) if error.is_connect() => Err(ReplicaError::NotSent(chain(&error))),
                Err(error) => Err(ReplicaError::Lost(chain(&error))),
            }
        })
    }
}
