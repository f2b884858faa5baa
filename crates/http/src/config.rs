//! The configuration of the HTTP transport.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use protomcp_auth::ResourceServer;

use crate::credential::Credential;
use crate::network::IpNetwork;
use crate::store::{EventStore, MemoryStore};

/// The limits, timeouts and access rules of a server over HTTP. The defaults are safe for a server on this machine.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Host names of the server besides those of the local machine: `example.com`, or `example.com:8443` for one port
    /// only. `*` allows every name, which exposes a server on this machine to web pages of other sites (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Web pages that may use the server from a browser, such as `https://app.example.com`; `*` allows all. Pages of
    /// the local machine are never rejected, but get CORS headers only when they are listed here.
    pub allowed_origins: Vec<String>,
    /// Explains how to allow a rejected host or origin.
    pub rejection_hint: Option<RejectionHint>,
    /// Secrets that each request must carry: all of these.
    pub credentials: Vec<Credential>,
    /// The issuers of tokens, and the scopes that a token needs. Beside `credentials` either is enough: a request with
    /// all of those needs no token and no scopes.
    pub oauth: Option<ResourceServer>,
    /// The longest body, in bytes. Longer ones get 413.
    pub max_body: usize,
    /// The time for a client to send a body.
    pub body_timeout: Duration,
    /// The most open sessions. Owners (a principal, or else an address) share them: at the limit a new session replaces
    /// one of the owner with the most. Within one owner, and between owners with about as many, only a session that was
    /// unused for a minute, or has not completed its handshake in ten seconds, is replaced; otherwise the new one gets
    /// 503.
    pub max_sessions: usize,
    /// Proxies whose `X-Forwarded-For` or `Forwarded` header names the client when limits are shared by address. A
    /// proxy must set one of the two itself; a request with two different addresses counts for the proxy.
    pub trusted_proxies: Vec<IpNetwork>,
    /// The time without a connection and without a request after which a session is closed.
    pub session_idle: Duration,
    /// The most open responses of one session. Another one gets 503.
    pub max_streams: usize,
    /// The time without a message after which a comment is sent on an open stream.
    pub keep_alive: Duration,
    /// The time without an answer after which the response to a request becomes a stream of events. It keeps proxies
    /// from closing the connection, and lets clients of stateful revisions come back for the answer.
    pub stream_after: Duration,
    /// The delay that clients are asked to keep before they reconnect to a closed stream.
    pub retry: Duration,
    /// The time that a client has to reconnect to a broken stream. Then questions of its request fail, because no
    /// response carries them; the answer to the request itself is kept for a later reconnect.
    pub reconnect_window: Duration,
    /// Keeps events for clients that reconnect; `None` disables resuming.
    pub event_store: Option<Arc<dyn EventStore>>,
    /// Serves the transport of MCP 2024-11-05 as well: `GET /sse`, and POST to the address in its first event.
    pub legacy_sse: bool,
}

/// A host or origin that the configuration does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Disallowed<'a> {
    /// A value of `Host` ([`Config::allowed_hosts`]).
    #[error("host {0:?} is not allowed")]
    Host(&'a str),
    /// A value of `Origin` ([`Config::allowed_origins`]).
    #[error("origin {0:?} is not allowed")]
    Origin(&'a str),
}

/// Explains in the words of a program how to allow a rejected host or origin ([`Config::with_rejection_hint`]).
#[derive(Clone)]
pub struct RejectionHint(Arc<dyn Fn(Disallowed<'_>) -> String + Send + Sync>);

impl RejectionHint {
    pub(crate) fn for_value(&self, disallowed: Disallowed<'_>) -> String {
        (self.0)(disallowed)
    }
}

impl fmt::Debug for RejectionHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RejectionHint(..)")
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            rejection_hint: None,
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
    /// Adds to [`Config::allowed_hosts`].
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into());
        self
    }

    /// Adds to [`Config::allowed_origins`]: allows pages of this origin, and answers CORS requests of their browsers.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into());
        self
    }

    /// Appends to the message about a rejected host or origin how to allow it, a command line flag for example.
    #[must_use]
    pub fn with_rejection_hint(mut self, hint: impl Fn(Disallowed<'_>) -> String + Send + Sync + 'static) -> Self {
        self.rejection_hint = Some(RejectionHint(Arc::new(hint)));
        self
    }

    /// Adds to [`Config::trusted_proxies`].
    #[must_use]
    pub fn trust_proxy(mut self, proxy: impl Into<IpNetwork>) -> Self {
        self.trusted_proxies.push(proxy.into());
        self
    }

    /// Adds to [`Config::credentials`].
    #[must_use]
    pub fn require(mut self, credential: Credential) -> Self {
        self.credentials.push(credential);
        self
    }

    /// Requires a token in each request (OAuth 2.1), and binds sessions to its bearer. The extensions of each request
    /// then hold the bearer as an [`Identity`](protomcp_auth::Identity). A handler reads the one of its own request:
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

    /// Sets [`Config::legacy_sse`].
    #[must_use]
    pub fn with_legacy_sse(mut self) -> Self {
        self.legacy_sse = true;
        self
    }

    /// Sets [`Config::event_store`].
    #[must_use]
    pub fn with_event_store(mut self, store: impl EventStore) -> Self {
        self.event_store = Some(Arc::new(store));
        self
    }

    /// Disables resuming: [`Config::event_store`] is `None`.
    #[must_use]
    pub fn without_event_store(mut self) -> Self {
        self.event_store = None;
        self
    }

    /// Sets [`Config::max_body`].
    #[must_use]
    pub fn with_max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sets [`Config::body_timeout`].
    #[must_use]
    pub fn with_body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// Sets [`Config::max_sessions`].
    #[must_use]
    pub fn with_max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions;
        self
    }

    /// Sets [`Config::session_idle`].
    #[must_use]
    pub fn with_session_idle(mut self, timeout: Duration) -> Self {
        self.session_idle = timeout;
        self
    }

    /// Sets [`Config::max_streams`].
    #[must_use]
    pub fn with_max_streams(mut self, max_streams: usize) -> Self {
        self.max_streams = max_streams;
        self
    }

    /// Sets [`Config::keep_alive`].
    #[must_use]
    pub fn with_keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// Sets [`Config::stream_after`].
    #[must_use]
    pub fn with_stream_after(mut self, delay: Duration) -> Self {
        self.stream_after = delay;
        self
    }

    /// Sets [`Config::retry`].
    #[must_use]
    pub fn with_retry(mut self, delay: Duration) -> Self {
        self.retry = delay;
        self
    }

    /// Sets [`Config::reconnect_window`].
    #[must_use]
    pub fn with_reconnect_window(mut self, window: Duration) -> Self {
        self.reconnect_window = window;
        self
    }
}
