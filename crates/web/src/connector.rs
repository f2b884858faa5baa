//! Connections: directly or through a proxy, with or without TLS.
//!
//! Plain requests go to a proxy, which forwards them; secure ones through a tunnel that the proxy opens (CONNECT).

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::proxies::Proxies;
#[cfg(feature = "tls")]
use crate::tls::Tls;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// The time without traffic after which the system checks that the other end is still there.
const TCP_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The interval and number of these checks: a connection whose other end is gone ends within two minutes. The system's
/// own values are ten minutes and more.
const TCP_KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
const TCP_KEEP_ALIVE_RETRIES: u32 = 3;

/// Opens connections to servers: a service for a client of `hyper-util`. Cloning is cheap.
#[derive(Clone)]
pub struct Connector {
    direct: Direct,
    proxies: Arc<Proxies>,
    timeout: Duration,
    alpn: Alpn,
}

/// Opens connections without a proxy.
#[derive(Clone)]
struct Direct {
    tcp: HttpConnector,
    /// The address in place of the addresses of the names of servers.
    address: Option<SocketAddr>,
    #[cfg(feature = "tls")]
    tls: Tls,
}

/// An open connection.
pub struct Stream {
    io: Plain,
    is_h2: bool,
    is_proxied: bool,
}

pub(crate) type Plain = TokioIo<Box<dyn Io>>;

pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// The protocols that a connection offers in its TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alpn {
    /// HTTP/2 and HTTP/1.1.
    Both,
    /// HTTP/1.1, as for the way to a proxy.
    Http1,
}

impl Connector {
    /// Opens each connection within `timeout`, TLS and proxy included, with the certificates that the system trusts.
    #[must_use]
    pub fn new(proxies: Arc<Proxies>, timeout: Duration) -> Self {
        let direct = Direct {
            tcp: tcp(),
            address: None,
            #[cfg(feature = "tls")]
            tls: Tls::default(),
        };
        Self { direct, proxies, timeout, alpn: Alpn::Both }
    }

    /// Offers HTTP/1.1 alone, so that each request has a connection.
    #[must_use]
    pub fn http1_only(mut self) -> Self {
        self.alpn = Alpn::Http1;
        self
    }

    /// Replaces the certificates that are trusted, and the certificate of the client.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.direct.tls = tls;
        self
    }

    /// Connects to this address whatever the name of the server; its certificate is still checked for the name. Proxies
    /// are not used.
    #[must_use]
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.direct.address = Some(address);
        self.proxies = Arc::new(Proxies::off());
        self
    }

    /// The field that authorizes a request which a proxy forwards, if one does.
    #[must_use]
    pub fn proxy_authorization(&self, target: &Uri) -> Option<HeaderValue> {
        if is_https(target) {
            return None;
        }
        self.proxies.find(target)?.basic_auth().cloned()
    }

    async fn connect(self, target: Uri) -> Result<Stream, BoxError> {
        let Some(proxy) = self.proxies.find(&target) else {
            let (io, is_h2) = self.direct.open(&target, self.alpn).await?;
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
        let (io, is_h2) = self.direct.secure(&target, io.into_inner(), self.alpn).await?;
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
        let stream = match self.address {
            Some(address) => TcpStream::connect(address).await?,
            None => self.tcp.clone().call(target.clone()).await?.into_inner(),
        };
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

fn is_https(uri: &Uri) -> bool {
    uri.scheme() == Some(&Scheme::HTTPS)
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(TCP_KEEP_ALIVE));
    tcp.set_keepalive_interval(Some(TCP_KEEP_ALIVE_INTERVAL));
    tcp.set_keepalive_retries(Some(TCP_KEEP_ALIVE_RETRIES));
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

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("is_h2", &self.is_h2)
            .field("is_proxied", &self.is_proxied)
            .finish_non_exhaustive()
    }
}
