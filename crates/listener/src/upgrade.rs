//! Connections that carry another protocol after a response.

use std::sync::Arc;

use http::{HeaderMap, Method, Request, header};
use hyper::ext::Protocol;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::activity::{Activity, OpenRequest};

/// Keeps a connection in use after the response to a request that asks for another protocol. A
/// [`Listener`](crate::Listener) adds it to the extensions of requests with the header `Upgrade` (HTTP/1.1), and of
/// requests with the method CONNECT and `:protocol` (HTTP/2, RFC 8441).
///
/// Hold it for as long as the protocol speaks. Without one the connection counts as idle, and as ended for the limits.
#[derive(Debug, Clone)]
pub struct UpgradeLease {
    /// Keeps an HTTP/2 connection from being closed as idle.
    _open: Arc<OpenRequest>,
    /// Keeps the slot of the connection.
    _token: TaskTrackerToken,
    closed: CancellationToken,
}

impl UpgradeLease {
    /// Resolves when the connection has to end immediately: it has lost its slot to another address, or the drain
    /// timeout of the listener is over. The holder then drops the connection.
    pub async fn closed(&self) {
        self.closed.cancelled().await;
    }
}

/// The leases of one connection.
#[derive(Debug)]
pub(crate) struct Leases {
    held: TaskTracker,
    closed: CancellationToken,
    /// Closes the connection whichever way its task ends.
    _closing: DropGuard,
}

impl Leases {
    pub(crate) fn new() -> Self {
        let closed = CancellationToken::new();
        Self { held: TaskTracker::new(), _closing: closed.clone().drop_guard(), closed }
    }

    /// Gives leases to requests of the connection.
    pub(crate) fn lessor(&self) -> Lessor {
        Lessor { held: self.held.clone(), closed: self.closed.clone() }
    }

    /// Waits until no lease is held.
    pub(crate) async fn returned(&self) {
        self.held.close();
        self.held.wait().await;
    }
}

/// Gives leases.
#[derive(Debug, Clone)]
pub(crate) struct Lessor {
    held: TaskTracker,
    closed: CancellationToken,
}

impl Lessor {
    /// Adds a lease to the extensions of a request that asks for another protocol.
    pub(crate) fn equip<B>(&self, request: &mut Request<B>, activity: &Arc<Activity>) {
        let extended_connect = *request.method() == Method::CONNECT && request.extensions().get::<Protocol>().is_some();
        if extended_connect || asks_for_upgrade(request.headers()) {
            let open = Arc::new(activity.open(request.version()));
            let lease = UpgradeLease { _open: open, _token: self.held.token(), closed: self.closed.clone() };
            request.extensions_mut().insert(lease);
        }
    }
}

fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}
