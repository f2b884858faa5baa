//! One request to an authorization server, with bounded time, size and destination.
//!
//! Each request has a connection of its own, because there are few: their results are cached. Redirects are not
//! followed, since a configured issuer has no reason to redirect.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body::Body;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::url::Url;

/// The default time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest answer, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Sends requests to authorization servers. Certificates are checked against those that the system trusts, or against
/// the file that `SSL_CERT_FILE` names. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct HttpClient {
    timeout: Duration,
    tls: Arc<OnceLock<Arc<ClientConfig>>>,
}

/// The reason for which a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The connection failed, or the certificate names another server.
    #[error("{url} cannot be reached: {source}")]
    Unreachable {
        /// The URL.
        url: String,
        /// The cause.
        source: io::Error,
    },
    /// The connection broke, or the answer was not HTTP.
    #[error("{url} does not answer properly: {source}")]
    Broken {
        /// The URL.
        url: String,
        /// The cause.
        source: hyper::Error,
    },
    /// A status other than 200.
    #[error("{url} answers with {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
    },
    /// More than 1 MiB.
    #[error("{url} sends more than {MAX_BODY} bytes")]
    TooLong {
        /// The URL.
        url: String,
    },
    /// The answer did not arrive in time.
    #[error("{url} does not answer within {timeout:?}")]
    TimedOut {
        /// The URL.
        url: String,
        /// The time that the request had.
        timeout: Duration,
    },
}

/// The variable parts of a request.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// A form, which makes it a POST.
    pub(crate) form: Option<String>,
    pub(crate) authorization: Option<HeaderValue>,
}

impl Default for HttpClient {
    fn default() -> Self {
        Self { timeout: TIMEOUT, tls: Arc::default() }
    }
}

impl HttpClient {
    /// The time for one request. Default 10 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Gets JSON.
    pub(crate) async fn get(&self, url: &Url) -> Result<Bytes, FetchError> {
        self.send(url, Outgoing::default()).await
    }

    pub(crate) async fn send(&self, url: &Url, outgoing: Outgoing) -> Result<Bytes, FetchError> {
        let response = self.exchange(url, outgoing.into_request(url), MAX_BODY).await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status { url: url.brief(), status: response.status() });
        }
        if response.body().len() > MAX_BODY {
            return Err(FetchError::TooLong { url: url.brief() });
        }
        Ok(response.into_body())
    }

    /// The response of any status, in time. Its body ends behind the limit.
    pub(crate) async fn exchange(
        &self,
        url: &Url,
        request: Request<Form>,
        limit: usize,
    ) -> Result<Response<Bytes>, FetchError> {
        tokio::time::timeout(self.timeout, self.connect(url, request, limit))
            .await
            .unwrap_or_else(|_| Err(FetchError::TimedOut { url: url.brief(), timeout: self.timeout }))
    }

    async fn connect(&self, url: &Url, request: Request<Form>, limit: usize) -> Result<Response<Bytes>, FetchError> {
        let unreachable = |source| FetchError::Unreachable { url: url.brief(), source };
        let is_secure = url.uri().scheme_str() == Some("https");
        let host = url.uri().host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.uri().port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let stream = TcpStream::connect((bare, port)).await.map_err(unreachable)?;
        if !is_secure {
            return speak(stream, url, request, limit).await;
        }
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|error| unreachable(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let tls = self.tls().await.map_err(unreachable)?;
        let stream = TlsConnector::from(tls).connect(name, stream).await.map_err(unreachable)?;
        speak(stream, url, request, limit).await
    }

    async fn tls(&self) -> io::Result<Arc<ClientConfig>> {
        if let Some(known) = self.tls.get() {
            return Ok(Arc::clone(known));
        }
        // On a blocking task, because it reads a long file.
        let config = tokio::task::spawn_blocking(trusting_the_system).await.map_err(io::Error::other)??;
        Ok(Arc::clone(self.tls.get_or_init(|| config)))
    }
}

fn trusting_the_system() -> io::Result<Arc<ClientConfig>> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        let why = found.errors.first().map_or_else(String::new, |error| format!(": {error}"));
        return Err(io::Error::other(format!("this system trusts no certificates{why}")));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    url: &Url,
    request: Request<Form>,
    limit: usize,
) -> Result<Response<Bytes>, FetchError> {
    let broken = |source| FetchError::Broken { url: url.brief(), source };
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let mut connection = pin!(connection);
    let exchange = async {
        let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
        let mut body = pin!(body);
        let mut whole = Vec::new();
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(mut data) = frame.map_err(broken)?.into_data() else { continue };
            let room = limit + 1 - whole.len();
            whole.extend_from_slice(&data.copy_to_bytes(data.remaining().min(room)));
            if whole.len() > limit {
                break;
            }
        }
        Ok(Response::from_parts(head, whole.into()))
    };
    let mut exchange = pin!(exchange);
    // The connection progresses only while it is polled; its rest is dropped with the answer.
    tokio::select! {
        outcome = exchange.as_mut() => outcome,
        ended = connection.as_mut() => {
            ended.map_err(broken)?;
            exchange.await
        }
    }
}

impl Outgoing {
    fn into_request(self, url: &Url) -> Request<Form> {
        let method = if self.form.is_some() { Method::POST } else { Method::GET };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if self.form.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        headers.extend(self.authorization.map(|value| (AUTHORIZATION, value)));
        request(url, method, headers, self.form)
    }
}

/// A request over a connection of its own.
pub(crate) fn request(url: &Url, method: Method, mut headers: HeaderMap, body: Option<String>) -> Request<Form> {
    let target = url.uri().path_and_query().map_or("/", |target| target.as_str());
    if let Ok(host) = url.uri().authority().map_or("", |authority| authority.as_str()).parse() {
        headers.insert(HOST, host);
    }
    headers.insert(USER_AGENT, HeaderValue::from_static("protomcp"));
    let mut request = Request::new(Form(body.map(Bytes::from)));
    *request.method_mut() = method;
    *request.uri_mut() = target.parse().unwrap_or_default();
    *request.headers_mut() = headers;
    request
}

/// A body in one piece, or none.
pub(crate) struct Form(Option<Bytes>);

impl Body for Form {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(self.0.take().map(|piece| Ok(http_body::Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        http_body::SizeHint::with_exact(self.0.as_ref().map_or(0, |piece| piece.len() as u64))
    }
}
