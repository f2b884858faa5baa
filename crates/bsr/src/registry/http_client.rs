//! One request to a registry: TLS 1.3, with bounded time and size, and pinned keys if there are any.
//!
//! Each request has a connection of its own, because there are few: one for each version of a module. Redirects are not
//! followed, so that a token reaches its own host only.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{AUTHORIZATION, CONTENT_TYPE, ETAG, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Method, Request, Response};
use http_body::{Body, Frame};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::WebPkiServerVerifier;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::reference::Host;
use crate::registry::api::{HttpRequest, HttpResponse};
use crate::registry::credentials::Token;
use crate::registry::error::{Cause, ResolveError};
use crate::registry::pins::{Pin, PinnedVerifier};

/// The way to one registry.
#[derive(Debug, Clone, Default)]
pub struct Endpoint {
    address: Option<SocketAddr>,
    authorities: Vec<CertificateDer<'static>>,
    pins: Vec<Pin>,
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

impl Endpoint {
    /// Port 443 of the registry's name, with the certificates that the system trusts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects to an address instead of the registry's name. The certificate is still that of the name.
    #[must_use]
    pub fn address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Trusts this certificate authority, in place of those of the system.
    #[must_use]
    pub fn authority(mut self, certificate: CertificateDer<'static>) -> Self {
        self.authorities.push(certificate);
        self
    }

    /// Refuses connections unless the registry's key is one of `pins`. Give two at least: a key is replaced some day.
    #[must_use]
    pub fn pins(mut self, pins: impl IntoIterator<Item = Pin>) -> Self {
        self.pins.extend(pins);
        self
    }

    /// Sends a request, and reads the answer within `timeout`, up to `limit` bytes.
    pub(crate) async fn exchange(
        &self,
        host: &Host,
        (request, token): (HttpRequest, Option<&Token>),
        timeout: Duration,
        limit: usize,
    ) -> Result<HttpResponse, ResolveError> {
        let request = prepare(host, request, token)?;
        let exchange = async {
            let stream = self.connect(host).await.map_err(|error| unreachable(host, &error))?;
            speak(stream, request, limit).await.map_err(|error| unreachable(host, &error))
        };
        let timed_out = |_| ResolveError::new(Cause::Unavailable, format!("{host} does not answer within {timeout:?}"));
        tokio::time::timeout(timeout, exchange).await.map_err(timed_out)?
    }

    async fn connect(&self, host: &Host) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let stream = match self.address {
            Some(address) => TcpStream::connect(address).await?,
            None => TcpStream::connect((host.as_str(), 443)).await?,
        };
        let name = ServerName::try_from(host.as_str().to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(self.tls().await?).connect(name, stream).await
    }

    async fn tls(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(known) = self.tls.get() {
            return Ok(Arc::clone(known));
        }
        let (authorities, pins) = (self.authorities.clone(), self.pins.clone());
        // On a blocking task, because it reads a long file.
        let made =
            tokio::task::spawn_blocking(move || configure(authorities, pins)).await.map_err(io::Error::other)??;
        Ok(Arc::clone(self.tls.get_or_init(|| made)))
    }
}

fn unreachable(host: &Host, error: &io::Error) -> ResolveError {
    ResolveError::new(Cause::Unavailable, format!("{host} cannot be reached: {error}"))
}

fn configure(authorities: Vec<CertificateDer<'static>>, pins: Vec<Pin>) -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    let certificates =
        if authorities.is_empty() { rustls_native_certs::load_native_certs().certs } else { authorities };
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err(io::Error::other("no certificate authority is trusted"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(io::Error::other)?;
    let verifier: Arc<WebPkiServerVerifier> =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().map_err(io::Error::other)?;
    let config = if pins.is_empty() {
        builder.with_webpki_verifier(verifier).with_no_client_auth()
    } else {
        let verifier = Arc::new(PinnedVerifier { inner: verifier, pins });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    };
    Ok(Arc::new(config))
}

fn prepare(host: &Host, request: HttpRequest, token: Option<&Token>) -> Result<Request<Whole>, ResolveError> {
    let invalid = || ResolveError::new(Cause::InvalidRef, "the request cannot be written");
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers {
        headers.insert(name, HeaderValue::from_str(&value).map_err(|_| invalid())?);
    }
    headers.insert(HOST, HeaderValue::from_str(host.as_str()).map_err(|_| invalid())?);
    headers.insert(USER_AGENT, HeaderValue::from_static("protomcp"));
    if let Some(token) = token {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.secret())).map_err(|_| invalid())?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let mut prepared = Request::new(Whole(Some(request.body)));
    *prepared.method_mut() = Method::POST;
    *prepared.uri_mut() = http::Uri::from_static(request.path);
    *prepared.headers_mut() = headers;
    Ok(prepared)
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Whole>,
    limit: usize,
) -> io::Result<HttpResponse> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let mut connection = pin!(connection);
    let exchange = async { read(sender.send_request(request).await.map_err(io::Error::other)?, limit).await };
    let mut exchange = pin!(exchange);
    // The connection progresses only while it is polled; its rest is dropped with the answer.
    tokio::select! {
        outcome = exchange.as_mut() => outcome,
        ended = connection.as_mut() => {
            ended.map_err(io::Error::other)?;
            exchange.await
        }
    }
}

async fn read(response: Response<hyper::body::Incoming>, limit: usize) -> io::Result<HttpResponse> {
    let (head, body) = response.into_parts();
    let mut body = pin!(body);
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(mut data) = frame.map_err(io::Error::other)?.into_data() else { continue };
        if whole.len() + data.remaining() > limit {
            return Err(io::Error::other(format!("the answer has more than {limit} bytes")));
        }
        whole.extend_from_slice(&data.copy_to_bytes(data.remaining()));
    }
    let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Ok(HttpResponse {
        status: head.status.as_u16(),
        content_type: text(CONTENT_TYPE).unwrap_or_default(),
        retry_after: text(RETRY_AFTER).and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs),
        etag: text(ETAG),
        body: whole.into(),
    })
}

/// A body in one piece.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(self.0.take().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.0.as_ref().map_or(0, |piece| piece.len() as u64))
    }
}
