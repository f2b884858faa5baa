//! The configuration of the HTTP transport.

pub(crate) mod access;
pub(crate) mod limits;
mod streams;

use std::sync::Arc;

use protomcp_auth::ResourceServer;
use protomcp_fair::LogRate;
use protomcp_server::LeaseKeeper;

use crate::credential::Credential;
use crate::network::IpNetwork;
use crate::replicas::Replicas;
use crate::store::EventStore;

pub use self::access::{Access, Disallowed, RejectionHint};
pub use self::limits::HttpLimits;
pub use self::streams::StreamConfig;

/// The configuration of a server over HTTP. The defaults are safe for a server on this machine.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Config {
    /// The clients that may use the server.
    pub access: Access,
    /// The bounds of sessions and requests, and their timeouts.
    pub limits: HttpLimits,
    /// The responses that are streams of events.
    pub streams: StreamConfig,
    /// Serves the transport of MCP 2024-11-05 as well: `GET /sse`, and POST to the address in its first event.
    pub legacy_sse: bool,
    /// The leases of the processes that serve the same clients: when one of them has ended, the others take over its
    /// sessions. `None`: a session ends with its process.
    pub leases: Option<Arc<LeaseKeeper>>,
    /// The other processes: requests that belong to one of them are handed on to it. `None`: they get 503, or an error
    /// with the code `WRONG_PROCESS`, and requests that another process hands on are refused.
    pub replicas: Option<Arc<Replicas>>,
    /// Limits the log of requests without the right secret.
    pub(crate) refused_log: Arc<LogRate>,
}

impl Config {
    /// Adds to [`Access::allowed_hosts`].
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.access.allowed_hosts.push(host.into());
        self
    }

    /// Adds to [`Access::allowed_origins`]: allows pages of this origin, and answers CORS requests of their browsers.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.access.allowed_origins.push(origin.into());
        self
    }

    /// Appends to the message about a rejected host or origin how to allow it, a command line flag for example.
    #[must_use]
    pub fn with_rejection_hint(mut self, hint: impl Fn(Disallowed<'_>) -> String + Send + Sync + 'static) -> Self {
        self.access.rejection_hint = Some(RejectionHint::new(hint));
        self
    }

    /// Adds to [`Access::trusted_proxies`].
    #[must_use]
    pub fn trust_proxy(mut self, proxy: impl Into<IpNetwork>) -> Self {
        self.access.trusted_proxies.push(proxy.into());
        self
    }

    /// Adds to [`Access::credentials`].
    #[must_use]
    pub fn require(mut self, credential: Credential) -> Self {
        self.access.credentials.push(credential);
        self
    }

    /// Requires a token in each request (OAuth 2.1), and binds sessions to its bearer. The extensions of each request
    /// then hold the bearer as an [`Identity`](protomcp_auth::Identity). A handler reads the identity of its request:
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
        self.access.oauth = Some(server);
        self
    }

    /// Sets [`Config::legacy_sse`].
    #[must_use]
    pub fn with_legacy_sse(mut self) -> Self {
        self.legacy_sse = true;
        self
    }

    /// Sets [`Config::limits`].
    #[must_use]
    pub fn with_limits(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets [`Config::streams`].
    #[must_use]
    pub fn with_streams(mut self, streams: StreamConfig) -> Self {
        self.streams = streams;
        self
    }

    /// Sets [`StreamConfig::event_store`].
    #[must_use]
    pub fn with_event_store(mut self, store: impl EventStore) -> Self {
        self.streams.event_store = Some(Arc::new(store));
        self
    }

    /// Sets [`Config::leases`]. The processes share the store of the leases, and a store of events for streams to be
    /// resumed ([`Config::with_event_store`]). A session is opened, saved and closed in the store of the leases. While
    /// that store is away, requests for new sessions and for sessions of other processes get 503.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use protomcp_http::Config;
    /// use protomcp_server::{LeaseKeeper, LeaseTerms, MemoryLeases, NodeId};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let store = Arc::new(MemoryLeases::new(10_000, Duration::from_secs(3600)));
    /// let keeper = LeaseKeeper::start(store, NodeId::new("a"), LeaseTerms::default());
    /// let config = Config::default().with_leases(Arc::new(keeper));
    /// # assert!(config.leases.is_some());
    /// # });
    /// ```
    #[must_use]
    pub fn with_leases(mut self, leases: Arc<LeaseKeeper>) -> Self {
        self.leases = Some(leases);
        self
    }

    /// Sets [`Config::replicas`]. It needs [`Config::with_leases`], with a lease that has the URL of this process
    /// ([`LeaseKeeper::start_at`]) under the name that the process has in its stores
    /// ([`ServerHandle::node`](protomcp_server::ServerHandle::node)).
    ///
    /// A request for a session that another process serves is handed on to it, and so is a request without a session
    /// that takes up a call which another process has parked, or is about a task that runs there. The other process
    /// gets the same request, with its credentials, and a signed header that names the caller: it authenticates the
    /// process, and not the caller again. The links between the processes should be private, or use TLS.
    #[must_use]
    pub fn with_replicas(mut self, replicas: Arc<Replicas>) -> Self {
        self.replicas = Some(replicas);
        self
    }

    /// Disables resuming: [`StreamConfig::event_store`] is `None`.
    #[must_use]
    pub fn without_event_store(mut self) -> Self {
        self.streams.event_store = None;
        self
    }
}
