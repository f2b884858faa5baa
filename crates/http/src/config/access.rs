//! The clients that may use a server.

use std::fmt;
use std::sync::Arc;

use protomcp_auth::ResourceServer;

use crate::credential::Credential;
use crate::network::IpNetwork;

/// The clients that may use a server: names of the server, web pages, credentials and proxies. By default these are
/// programs and pages of this machine.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Host names of the server other than the names of the local machine: `example.com`, or `example.com:8443` for one
    /// port only. `*` allows every name, which exposes a server on this machine to web pages of other sites (DNS
    /// rebinding).
    pub allowed_hosts: Vec<String>,
    /// Web pages that may use the server from a browser, such as `https://app.example.com`; `*` allows all. Pages of
    /// the local machine are never rejected, but get CORS headers only when they are listed here.
    pub allowed_origins: Vec<String>,
    /// Explains how to allow a rejected host or origin.
    pub rejection_hint: Option<RejectionHint>,
    /// Secrets that each request must carry: one of the tokens, if there are some, and one of the API keys. Clients
    /// with different tokens are not told apart.
    pub credentials: Vec<Credential>,
    /// The issuers of tokens, and the scopes that a token needs. With `credentials` as well, either is enough: a
    /// request with those needs no token and no scopes.
    pub oauth: Option<ResourceServer>,
    /// Proxies whose `X-Forwarded-For` or `Forwarded` header names the client when limits are shared by address. A
    /// proxy must set one of the two itself; a request with two different addresses counts for the proxy.
    pub trusted_proxies: Vec<IpNetwork>,
}

/// A host or origin that the configuration does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Disallowed<'a> {
    /// A value of `Host` ([`Access::allowed_hosts`]).
    #[error("host {0:?} is not allowed")]
    Host(&'a str),
    /// A value of `Origin` ([`Access::allowed_origins`]).
    #[error("origin {0:?} is not allowed")]
    Origin(&'a str),
}

/// Explains in the words of a program how to allow a rejected host or origin
/// ([`Config::with_rejection_hint`](crate::Config::with_rejection_hint)).
#[derive(Clone)]
pub struct RejectionHint(Arc<dyn Fn(Disallowed<'_>) -> String + Send + Sync>);

impl RejectionHint {
    pub(crate) fn new(hint: impl Fn(Disallowed<'_>) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(hint))
    }

    pub(crate) fn for_value(&self, disallowed: Disallowed<'_>) -> String {
        (self.0)(disallowed)
    }
}

impl fmt::Debug for RejectionHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RejectionHint(..)")
    }
}
