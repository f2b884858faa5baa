//! What the HTTP side of a server allows and how long it waits.

use std::sync::Arc;
use std::time::Duration;

use protomcp_auth::ResourceServer;

use crate::credential::Credential;
use crate::network::IpNetwork;
use crate::store::{EventStore, MemoryStore};

/// How a server behaves over HTTP. The defaults are safe for a server on this machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Names under which the server may be addressed, besides those of the local machine: `example.com`, or
    /// `example.com:8443` for one port only. `*` allows every name, which lets web pages of strangers reach a server
    /// that only this machine should reach (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Web pages that may use the server from a browser, such as `https://app.example.com`; `*` allows all. Pages of
    /// the local machine are never refused, but get CORS headers only when they are named here.
    pub allowed_origins: Vec<String>,
    /// What each request must carry: all of these.
    pub credentials: Vec<Credential>,
    /// Who issues tokens, and what they must allow. Beside `credentials` either is enough: whoever carries all of those
    /// needs no token, and is asked for no scopes.
    pub oauth: Option<ResourceServer>,
    /// The longest body, in bytes. A longer one is refused with 413.
    pub max_body: usize,
    /// How long a host may take to send a body.
    pub body_timeout: Duration,
    /// How many sessions may be open. Owners share them (a principal, or else an address): one more takes the place of
    /// one of the owner that has most. Within one owner and between owners who have about the same only a session yields
    /// that was not used for a minute, or has not completed its handshake in ten seconds; otherwise the new one is refused
    /// with 503.
    pub max_sessions: usize,
    /// Proxies whose word about the addresses of clients is taken: `X-Forwarded-For` or `Forwarded` then says where a
    /// request comes from when limits are shared by address. A proxy has to write one of the two itself; clients whose
    /// requests carry both with different addresses count for the proxy.
    pub trusted_proxies: Vec<IpNetwork>,
    /// How long a session may be without a connection and without a request before it is closed.
    pub session_idle: Duration,
    /// How many responses of one session may be open at once. One more is refused with 503.
    pub max_streams: usize,
    /// After how long without a message a comment is sent on an open stream.
    pub keep_alive: Duration,
    /// After how long without an answer the response to a request becomes a stream of events, so that nobody on the way
    /// gives up on it and the host of a stateful revision can come back for the answer.
    pub stream_after: Duration,
    /// After how long a host should come back when its stream was closed.
    pub retry: Duration,
    /// How long a host whose stream has broken is expected back. What its request has asked it fails then, because
    /// nobody would read the answer; the answer to the request itself is kept for whoever comes later still.
    pub reconnect_window: Duration,
    /// Where events are kept for hosts that come back; `None`: none can.
    pub event_store: Option<Arc<dyn EventStore>>,
    /// Whether the transport of MCP 2024-11-05 is served as well: `GET /sse` and POST to where its first event says.
    pub legacy_sse: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            credentials: Vec::new(),
            oauth: None,
            max_body: 64 * 1024 * 1024,
            body_timeout: Duration::from_secs(60),
            max_sessions: 10_000,
            trusted_proxies: Vec::new(),
            session_idle: Duration::from_secs(3600),
            max_streams: 1024,
            keep_alive: Duration::from_secs(15),
            stream_after: Duration::from_secs(1),
            retry: Duration::from_millis(500),
            reconnect_window: Duration::from_secs(60),
            event_store: Some(Arc::new(MemoryStore::default())),
            legacy_sse: false,
        }
    }
}

impl Config {
    /// Allows a name under which the server may be addressed.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Allows web pages of this origin, and answers their browsers' questions (CORS).
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Takes the word of this proxy about the addresses of clients.
    #[must_use]
    pub fn trust_proxy(mut self, proxy: impl Into<IpNetwork>) -> Self {
        self.trusted_proxies.push(proxy.into());
        self
    }

    /// Asks for one more credential in each request.
    #[must_use]
    pub fn require(mut self, credential: Credential) -> Self {
        self.credentials.push(credential);
        self
    }

    /// Asks for a token in each request (OAuth 2.1). What it says about its bearer is in the extensions of the request
    /// from then on, as an [`Identity`](protomcp_auth::Identity), and sessions are bound to it. A handler sees the one
    /// of its own request:
    ///
    /// ```
    /// use http::request::Parts;
    /// use protomcp_auth::Identity;
    /// use protomcp_server::Context;
    ///
    /// fn caller(context: &Context) -> Option<&Identity> {
    ///     context.extension::<Parts>()?.extensions.get()
    /// }
    /// ```
    #[must_use]
    pub fn protect(mut self, server: ResourceServer) -> Self {
        self.oauth = Some(server);
        self
    }

    /// Serves the transport of MCP 2024-11-05 as well.
    #[must_use]
    pub fn with_legacy_sse(mut self) -> Self {
        self.legacy_sse = true;
        self
    }
}
