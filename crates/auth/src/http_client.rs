//! One request to an authorization server, with bounded time, size and destination.
//!
//! Each request has its own connection, because there are few: their results are cached. Redirects are not followed, since
//! a configured issuer has no reason to redirect.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use protomcp_web::{Connector, OneShot, Proxies, SendError};

use crate::url::Url;

/// The default time for one request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest answer, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Sends requests to authorization servers, through the proxies of the environment. Certificates are checked against those
/// that the system trusts, or against the file that `SSL_CERT_FILE` names. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct HttpClient {
    timeout: Duration,
    web: OneShot,
}

/// The reason for which a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// There is no response.
    #[error("{url} {source}")]
    NoResponse {
        /// The URL.
        url: String,
        /// The cause.
        source: SendError,
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
        let connector = Connector::new(Arc::new(Proxies::from_environment()), Duration::MAX);
        Self { timeout: TIMEOUT, web: OneShot::new(connector) }
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
        request: Request<Bytes>,
        limit: usize,
    ) -> Result<Response<Bytes>, FetchError> {
        let response = self.web.send(request, self.timeout, limit).await;
        response.map_err(|source| FetchError::NoResponse { url: url.brief(), source })
    }
}

impl Outgoing {
    fn into_request(self, url: &Url) -> Request<Bytes> {
        let method = if self.form.is_some() { Method::POST } else { Method::GET };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if self.form.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        headers.extend(self.authorization.map(|value| (AUTHORIZATION, value)));
        request(url, method, headers, self.form.unwrap_or_default())
    }
}

/// A request with these fields.
pub(crate) fn request(url: &Url, method: Method, mut headers: HeaderMap, body: String) -> Request<Bytes> {
    headers.insert(USER_AGENT, HeaderValue::from_static("protomcp"));
    let mut request = Request::new(Bytes::from(body));
    *request.method_mut() = method;
    *request.uri_mut() = url.uri().clone();
    *request.headers_mut() = headers;
    request
}
