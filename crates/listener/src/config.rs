//! The limits and timeouts of a listener.

use std::time::Duration;

use crate::descriptors;
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// The limits and timeouts of a [`Listener`](crate::Listener). Its sockets share them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ListenerConfig {
    /// The most connections at a time, if the limit of open files allows as many: see [`ListenerConfig::open_files`].
    /// At the limit a connection of an address that holds few replaces one of the address that holds most, an idle one
    /// first; other connections are refused. IPv6 addresses of one /64 network count as one address.
    pub max_connections: usize,
    /// The time from the start of a connection, or from the end of its TLS handshake, until the head of its first
    /// request is complete.
    pub first_request_timeout: Duration,
    /// The time between two requests, until the head of the second is complete. It does not run while a response, such
    /// as a stream, is open.
    pub idle_timeout: Duration,
    /// The time after which a connection of [`Listener::serve_streams`](crate::Listener::serve_streams) is closed if no
    /// byte has moved in either direction.
    pub stream_idle_timeout: Duration,
    /// The time after which a connection is closed if bytes wait for its client, which takes none of them.
    pub write_timeout: Duration,
    /// The most open requests on one HTTP/2 connection.
    pub max_concurrent_requests: u32,
    /// The time that open requests have to finish after the shutdown signal. Then their connections are closed.
    pub drain_timeout: Duration,
    /// The time for a TLS handshake.
    #[cfg(feature = "tls")]
    pub handshake_timeout: Duration,
    /// The most TLS handshakes at a time, counted from the complete first message of the client, because from there on
    /// they cost more than most requests. Others wait; an address that holds few takes the slot of one that holds most.
    #[cfg(feature = "tls")]
    pub max_handshakes: usize,
    /// The certificate of HTTPS; `None` serves plain HTTP.
    #[cfg(feature = "tls")]
    pub tls: Option<Tls>,
}

impl Default for ListenerConfig {
    fn default() -> Self {
        Self {
            max_connections: 20_000,
            first_request_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            stream_idle_timeout: Duration::from_secs(3600),
            write_timeout: Duration::from_secs(60),
            max_concurrent_requests: 256,
            drain_timeout: Duration::from_secs(10),
            #[cfg(feature = "tls")]
            handshake_timeout: Duration::from_secs(10),
            #[cfg(feature = "tls")]
            max_handshakes: 256,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl ListenerConfig {
    /// Sets [`ListenerConfig::max_connections`].
    #[must_use]
    pub fn with_max_connections(mut self, max_connections: usize) -> Self {
        self.max_connections = max_connections;
        self
    }

    /// Sets [`ListenerConfig::first_request_timeout`].
    #[must_use]
    pub fn with_first_request_timeout(mut self, timeout: Duration) -> Self {
        self.first_request_timeout = timeout;
        self
    }

    /// Sets [`ListenerConfig::idle_timeout`].
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// Sets [`ListenerConfig::stream_idle_timeout`].
    #[must_use]
    pub fn with_stream_idle_timeout(mut self, timeout: Duration) -> Self {
        self.stream_idle_timeout = timeout;
        self
    }

    /// Sets [`ListenerConfig::write_timeout`].
    #[must_use]
    pub fn with_write_timeout(mut self, timeout: Duration) -> Self {
        self.write_timeout = timeout;
        self
    }

    /// Sets [`ListenerConfig::max_concurrent_requests`].
    #[must_use]
    pub fn with_max_concurrent_requests(mut self, max_concurrent_requests: u32) -> Self {
        self.max_concurrent_requests = max_concurrent_requests;
        self
    }

    /// Sets [`ListenerConfig::drain_timeout`].
    #[must_use]
    pub fn with_drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Sets [`ListenerConfig::handshake_timeout`].
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Sets [`ListenerConfig::max_handshakes`].
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_max_handshakes(mut self, max_handshakes: usize) -> Self {
        self.max_handshakes = max_handshakes;
        self
    }

    /// Serves HTTPS.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: impl Into<Tls>) -> Self {
        self.tls = Some(tls.into());
        self
    }

    /// The limit of open files (`RLIMIT_NOFILE`) that [`ListenerConfig::max_connections`] needs: one for each
    /// connection, and 256 for everything else that the process opens. A smaller limit allows fewer connections.
    #[must_use]
    pub fn open_files(&self) -> u64 {
        self.max_connections.saturating_add(descriptors::RESERVED).try_into().unwrap_or(u64::MAX)
    }

    /// These limits with times that can be used: fields can be set to any.
    pub(crate) fn bounded(mut self) -> Self {
        self.first_request_timeout = self.first_request_timeout.min(LONGEST);
        self.idle_timeout = self.idle_timeout.min(LONGEST);
        self.stream_idle_timeout = self.stream_idle_timeout.min(LONGEST);
        #[cfg(feature = "tls")]
        {
            self.handshake_timeout = self.handshake_timeout.min(LONGEST);
        }
        self
    }

    /// Keeps the certificate up to date. Never resolves.
    pub(crate) async fn reload_certificate(&self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            tls.reload().await;
        }
        std::future::pending::<()>().await;
    }
}

/// Longer times are cut, so that they can be added to any moment.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);
