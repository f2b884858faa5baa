//! Connections: directly or through a proxy, with or without TLS.
//!
//! Plain requests go to a proxy, which forwards them; secure ones through a tunnel that the proxy opens (CONNECT).

pub(crate) mod proxies;
#[cfg(feature = "tls")]
pub(crate) mod tls;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

use crate::server_url::is_https;

pub use self::proxies::ProxyError;
#[cfg(feature = "tls")]
pub use self::tls::{Tls, TlsError};
use crate::connector::proxies::Proxies;

type BoxError = Box<dyn Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// The time without traffic after which the system checks that the other end is still there.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Opens connections to the server.
#[derive(Clone)]
pub(crate) struct Connector {
    direct: Direct,
    proxies: Arc<Proxies>,
    timeout: Duration,
}

/// Opens connections without a proxy.
#[derive(Clone)]
struct Direct {
    tcp: HttpConnector,
    #[cfg(feature = "tls")]
    tls: Tls,
}

/// An open connection.
pub(crate) struct Stream {
    io: Plain,
    is_h2: bool,
    is_proxied: bool,
}

type Plain = TokioIo<Box<dyn Io>>;

trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The protocols that a connection offers in its TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alpn {
    /// HTTP/2 and HTTP/1.1.
    Both,
    /// HTTP/1.1, for the way to a proxy.
    Http1,
}

impl Connector {
    #[cfg(feature = "tls")]
    pub(crate) fn new(tls: Tls, proxies: Arc<Proxies>, timeout: Duration) -> Self {
        Self { direct: Direct { tcp: tcp(), tls }, proxies, timeout }
    }

    #[cfg(not(feature = "tls"))]
    pub(crate) fn new(proxies: Arc<Proxies>, timeout: Duration) -> Self {
        Self { direct: Direct { tcp: tcp() }, proxies, timeout }
    }

    /// The field that authorizes a request which a proxy forwards, if one does.
    pub(crate) fn proxy_authorization(&self, target: &Uri) -> Option<HeaderValue> {
        if is_https(target) {
            return None;
        }
        self.proxies.find(target)?.basic_auth().cloned()
    }

    async fn connect(self, target: Uri) -> Result<Stream, BoxError> {
        let Some(proxy) = self.proxies.find(&target) else {
            let (io, is_h2) = self.direct.open(&target, Alpn::Both).await?;
            return Ok(Stream { io, is_h2, is_proxied: false });
        };
        if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
            return Err(format!("the proxy {} is neither http nor https", proxy.uri()).into());
        }
        if !is_https(&target) {
            let (io, _) = self.direct.open(proxy.uri(), Alpn::Http1).await?;
            return Ok(Stream { io, is_h2: false, is_proxied: true });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), ToProxy(self.direct.clone()));
        if let Some(authorization) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(authorization.clone());
        }
        let io = tunnel.call(target.clone()).await?;
        let (io, is_h2) = self.direct.secure(&target, io.into_inner(), Alpn::Both).await?;
        Ok(Stream { io, is_h2, is_proxied: false })
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Connecting<Stream>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Connecting<Stream> {
        let connector = self.clone();
        Box::pin(async move {
            let timeout = connector.timeout;
            tokio::time::timeout(timeout, connector.connect(target))
                .await
                .unwrap_or_else(|_| Err(format!("no connection within {timeout:?}").into()))
        })
    }
}

/// The way to a proxy, for the tunnel through it.
#[derive(Clone)]
struct ToProxy(Direct);

impl Service<Uri> for ToProxy {
    type Response = Plain;
    type Error = BoxError;
    type Future = Connecting<Plain>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, proxy: Uri) -> Connecting<Plain> {
        let direct = self.0.clone();
        Box::pin(async move { Ok(direct.open(&proxy, Alpn::Http1).await?.0) })
    }
}

impl Direct {
    /// Opens a connection, and returns true if it speaks HTTP/2.
    async fn open(&self, target: &Uri, alpn: Alpn) -> Result<(Plain, bool), BoxError> {
        let stream = self.tcp.clone().call(target.clone()).await?.into_inner();
        if is_https(target) {
            self.secure(target, Box::new(stream), alpn).await
        } else {
            Ok((TokioIo::new(Box::new(stream)), false))
        }
    }

    #[cfg(feature = "tls")]
    async fn secure(&self, target: &Uri, stream: Box<dyn Io>, alpn: Alpn) -> Result<(Plain, bool), BoxError> {
        self.tls.connect(target, stream, alpn).await
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_async, reason = "it waits with the feature `tls`")]
    async fn secure(&self, _: &Uri, _: Box<dyn Io>, _: Alpn) -> Result<(Plain, bool), BoxError> {
        Err("https needs the feature `tls`".into())
    }
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(TCP_KEEP_ALIVE));
    tcp
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().proxy(self.is_proxied);
        if self.is_h2 { connected.negotiated_h2() } else { connected }
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("proxies", &self.proxies)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
