//! Servers over gRPC, for clients of proto-mcp.

mod byte_stream;
mod calls;
mod carrier;
mod channel;
mod listener;
mod numbers;
mod raw_codec;
mod streams;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use http::{HeaderValue, Uri};
use protomcp_bufmcp::{Connect, FrameLimits};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::Mutex;

use crate::client::carrier::Carrier;

/// A server over gRPC, over the streams of another way to it: TCP, or TLS over TCP.
///
/// Each request of a conversation is a call; its subscriptions are one call of `Listen`, which is made again when it ends.
/// A connection that the server retires finishes its calls, and later ones get
/// another. The conversation ends with a connection that has no calls. A call ends with its request if the conversation
/// [says so](protomcp_bufmcp::BinaryClientConfig::cancels).
#[derive(Clone)]
pub struct GrpcServer<C> {
    way: Arc<C>,
    origin: Uri,
    /// The value of `Authorization`.
    authorization: Option<HeaderValue>,
    limits: FrameLimits,
    timeout: Option<Duration>,
}

/// An address or a token that a call cannot carry. The token is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTarget {
    /// The URL has no host, or another scheme than `grpc` and `grpcs`.
    #[error("expected a URL such as grpc://localhost:8080")]
    Url,
    /// The token has characters that a header cannot carry.
    #[error("the token has characters that a header cannot carry")]
    Token,
}

impl<C: Connect> GrpcServer<C> {
    /// The server at this URL, such as `grpc://localhost:8080`. `way` opens its streams; with `grpcs` they are encrypted.
    ///
    /// # Errors
    /// If it is not a URL of this kind.
    pub fn new(way: C, url: &str) -> Result<Self, InvalidTarget> {
        let (scheme, place) = url.split_once("://").ok_or(InvalidTarget::Url)?;
        let scheme = match scheme {
            "grpc" => "http",
            "grpcs" => "https",
            _ => return Err(InvalidTarget::Url),
        };
        let authority = place.trim_end_matches('/');
        let origin = Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build();
        let origin = origin.map_err(|_| InvalidTarget::Url)?;
        Ok(Self { way: Arc::new(way), origin, authorization: None, limits: FrameLimits::default(), timeout: None })
    }

    /// Sends this token with each call.
    ///
    /// # Errors
    /// If a header cannot carry it.
    pub fn with_token(mut self, token: &str) -> Result<Self, InvalidTarget> {
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| InvalidTarget::Token)?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// Gives each call this time, which the server is told. Without it a call ends with its conversation at the latest.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Bounds messages.
    #[must_use]
    pub fn with_limits(mut self, limits: FrameLimits) -> Self {
        self.limits = limits;
        self
    }
}

impl<C> Connect for GrpcServer<C>
where
    C: Connect<Reader: Sync, Writer: Sync> + 'static,
{
    type Reader = ReadHalf<DuplexStream>;
    type Writer = WriteHalf<DuplexStream>;

    async fn connect(&self) -> io::Result<(Self::Reader, Self::Writer)> {
        let channel = carrier::connect(&*self.way).await?;
        let (near, far) = duplex(BUFFER);
        let carrier = Carrier {
            way: Arc::clone(&self.way),
            origin: self.origin.clone(),
            authorization: self.authorization.clone(),
            max_message: self.limits.max_frame,
            timeout: self.timeout,
            listener: Mutex::default(),
            lacks_reports: AtomicBool::new(false),
            lacks_logs: AtomicBool::new(false),
        };
        tokio::spawn(carrier.run(channel, far));
        Ok(split(near))
    }
}

impl<C> fmt::Debug for GrpcServer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_token = self.authorization.is_some();
        f.debug_struct("GrpcServer")
            .field("origin", &self.origin)
            .field("has_token", &has_token)
            .finish_non_exhaustive()
    }
}

/// The bytes between a conversation and its calls.
const BUFFER: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use protomcp_bufmcp::TcpServer;

    use super::*;

    #[test]
    fn a_url_names_a_scheme_and_a_place() {
        for (url, origin) in [
            ("grpc://localhost:8080", Ok("http://localhost:8080/")),
            ("grpcs://tools.example.com:443/", Ok("https://tools.example.com:443/")),
            ("grpc://[::1]:1", Ok("http://[::1]:1/")),
            ("http://localhost:8080", Err(InvalidTarget::Url)),
            ("grpc://", Err(InvalidTarget::Url)),
            ("grpc://a b", Err(InvalidTarget::Url)),
            ("localhost:8080", Err(InvalidTarget::Url)),
        ] {
            let server = GrpcServer::new(TcpServer::new("localhost:8080"), url);
            assert_eq!(server.map(|server| server.origin.to_string()), origin.map(str::to_owned), "{url}");
        }
        let server = GrpcServer::new(TcpServer::new("localhost:8080"), "grpc://localhost:8080").unwrap();
        assert_eq!(server.clone().with_token("a\nb").err(), Some(InvalidTarget::Token));
        assert!(!format!("{:?}", server.with_token("t0k").unwrap()).contains("t0k"));
    }
}
