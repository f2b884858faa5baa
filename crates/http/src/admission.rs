//! The proof that a request of another protocol has passed the checks of the server.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::request::Parts;
use protomcp_auth::Rejection;
use protomcp_server::{Extensions, Peer, Reservation};
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::auth;
use crate::body::Unread;
use crate::caller::{Caller, Connection, Principal};
use crate::endpoint::Endpoint;
use crate::guard::Origin;

/// A request of a [`Protocol`](crate::Protocol) that has passed the checks of the server, in its extensions. The server
/// counts as busy while one lives: [`StreamableHttp::drained`](crate::StreamableHttp::drained) waits for it. It does not wait
/// for clients to read their responses: the drain timeout of the listener bounds that.
#[derive(Clone)]
pub struct Admission {
    endpoint: Arc<Endpoint>,
    caller: Caller,
    valid_until: Option<SystemTime>,
    is_of_listed_page: bool,
    _token: TaskTrackerToken,
}

impl Admission {
    /// Admits an authenticated request.
    pub(crate) fn new(endpoint: &Arc<Endpoint>, head: &Parts, page: &Origin) -> Self {
        Self {
            endpoint: Arc::clone(endpoint),
            caller: Caller::of(head),
            valid_until: auth::valid_until(head),
            is_of_listed_page: matches!(page, Origin::Allowed(_)),
            _token: endpoint.token(),
        }
    }

    /// The sender of the request.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.caller.peer()
    }

    /// The authenticated user, if there is one.
    #[must_use]
    pub fn principal(&self) -> Option<&Arc<str>> {
        self.caller.principal.as_ref().map(|Principal(principal)| principal)
    }

    /// The facts about the sender that services of every protocol see: the [`CallerIdentity`] of its token, if it has
    /// one.
    ///
    /// [`CallerIdentity`]: protomcp_server::CallerIdentity
    #[must_use]
    pub fn known(&self) -> Extensions {
        self.caller.identity.iter().fold(Extensions::default(), |known, identity| known.with(Arc::clone(identity)))
    }

    /// The address that the request counts for: the address of the client behind a trusted proxy.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.caller.address
    }

    /// The number of the connection, unique in this process.
    #[must_use]
    pub fn connection(&self) -> Option<u64> {
        self.caller.connection.map(|Connection(number)| number)
    }

    /// Reads a whole body of at most `limit` bytes, within the time that the server gives to bodies. Its bytes count in
    /// the inbound budget until the reservation is dropped.
    ///
    /// # Errors
    /// If it is longer, the budget has no room, or it does not arrive.
    pub async fn read<B: http_body::Body>(&self, body: B, limit: usize) -> Result<(Bytes, Reservation), Unread> {
        self.endpoint.read_within(&self.caller, body, limit).await
    }

    /// The end of the token of the request; `None`: it has no end, or there is no token.
    #[must_use]
    pub fn valid_until(&self) -> Option<SystemTime> {
        self.valid_until
    }

    /// True if the request is of a web page that [`Access::allowed_origins`](crate::Access::allowed_origins) names. Pages
    /// of the local machine pass the checks without that, because their browsers do not show them responses; a protocol
    /// that is not subject to CORS refuses them itself.
    #[must_use]
    pub fn is_of_listed_page(&self) -> bool {
        self.is_of_listed_page
    }

    /// Checks that the token of the request grants the scopes that a method of MCP needs, such as `tools/call`. `name`:
    /// of the tool, or the URI of the resource. Without OAuth every method is permitted.
    ///
    /// # Errors
    ///
    /// The response that asks for another token.
    pub fn authorize(&self, head: &Parts, method: &str, name: Option<&str>) -> Result<(), Rejection> {
        auth::permit(&self.endpoint.config, head, method, name)
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission").field("caller", &self.caller).finish_non_exhaustive()
    }
}
