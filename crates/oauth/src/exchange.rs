//! The messages between an OAuth client and the HTTP client that carries them, as plain values.

use std::fmt;
use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode};

use crate::authorizer::BoxFuture;
use protomcp_auth::Url;

/// The longest document that an OAuth client reads, in bytes. An [`HttpExchange`] need not receive more.
pub const MAX_DOCUMENT: usize = 256 * 1024;

/// A request of an OAuth client. Its URL is `https`, or on this machine.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// GET or POST.
    pub method: Method,
    /// The complete URL.
    pub url: Url,
    /// Among them `accept` and `content-type`, but neither `host` nor `content-length`.
    pub headers: HeaderMap,
    /// Empty for GET.
    pub body: String,
}

impl fmt::Debug for HttpRequest {
    /// Without headers and body, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.url.brief())
    }
}

/// The response to an [`HttpRequest`].
#[derive(Clone, PartialEq, Eq)]
pub struct HttpResponse {
    /// The status, a redirect included.
    pub status: StatusCode,
    /// All header fields.
    pub headers: HeaderMap,
    /// At most [`MAX_DOCUMENT`] bytes, or one more for a longer body.
    pub body: Vec<u8>,
}

impl fmt::Debug for HttpResponse {
    /// Without headers and body, which hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {} bytes", self.status, self.body.len())
    }
}

/// Sends requests to authorization servers.
pub trait HttpExchange: Send + Sync + 'static {
    /// Sends the request and returns the response of any status. An implementation must not follow redirects,
    /// must not add cookies or credentials, and has a time limit.
    ///
    /// # Errors
    /// If there is no complete response: the reason, for people.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, ExchangeError>>;
}

impl<E: HttpExchange + ?Sized> HttpExchange for Arc<E> {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, ExchangeError>> {
        E::send(self, request)
    }
}

/// The reason for which a request has no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExchangeError(pub String);
