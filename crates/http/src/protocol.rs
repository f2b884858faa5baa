//! Protocols that share the port of Streamable HTTP.

use std::future::Future;
use std::pin::Pin;

use http::request::Parts;
use http::{Request, Response};

use crate::box_body::BoxBody;
use crate::reply::Body;

/// The response of a [`Protocol`] to a request. Dropped when the client goes away.
pub type Responding = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;

/// A protocol that shares the port of Streamable HTTP ([`Routes::with_protocol`](crate::Routes::with_protocol)).
///
/// Its requests pass the checks of Streamable HTTP: host and origin, authentication, and the shutdown, during which no
/// new request begins. The extensions of a request that has passed hold an [`Admission`](crate::Admission), and where
/// they are known [`PeerAddr`](crate::PeerAddr), [`ClientAddr`](crate::ClientAddr), [`Principal`](crate::Principal) and
/// [`Identity`](protomcp_auth::Identity).
///
/// The protocol bounds the bodies that it reads, in bytes and time. A body of a response that calls still fill holds the
/// admission; one that is complete, or ends by itself when the server shuts down, does not. While it continues on an upgraded connection it
/// holds the admission, and the `UpgradeLease` that a listener of `protomcp-listener` puts into the extensions.
pub trait Protocol: Send + Sync + 'static {
    /// True if a request with this head is one of this protocol. Called before all checks.
    fn is_meant(&self, head: &Parts) -> bool;

    /// True for a probe that needs no checks where [`Routes::with_health`](crate::Routes::with_health) has added
    /// `/healthz`, which needs none either. It is responded to without an [`Admission`](crate::Admission).
    fn is_probe(&self, head: &Parts) -> bool {
        let _ = head;
        false
    }

    /// True if requests within TLS 1.2 are refused, with 403, while Streamable HTTP is served to older clients on the
    /// same port. The version is known for the connections of a listener of `protomcp-listener`; probes pass. False by
    /// default.
    fn needs_tls_1_3(&self) -> bool {
        false
    }

    /// Responds to a request that has passed the checks.
    fn respond(&self, request: Request<BoxBody>) -> Responding;

    /// The response to a request that has not: by default `refusal`, which is an error of JSON-RPC with a status of
    /// HTTP. `reason` is the text of that error. Another response keeps the headers, such as `www-authenticate`.
    fn refuse(&self, refusal: Response<Body>, reason: &str) -> Response<Body> {
        let _ = reason;
        refusal
    }
}
