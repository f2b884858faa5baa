//! One request to an authorization server, with bounded time, size and destination.
//!
//! Each request has its own connection, because there are few: their results are cached. Redirects are not followed, since
//! a configured issuer has no reason to redirect.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
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
        let response = self.exchange(url, outgoing.into_request(), MAX_BODY).await?;
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status { url: url.brief(), status: response.status() });
        }
        if response.body().len() > MAX_BODY {
            return Err(FetchError::TooLong { url: url.brief() });
        }
        Ok(response.into_body())
    }

    /// Sends a request to a URL, which replaces the URL of the request, and returns the response of any status. Its
    /// body has at most `limit` bytes, or one more for a longer one. Redirects are not followed.
    ///
    /// # Errors
    /// [`FetchError::NoResponse`] if there is no complete response in time.
    pub async fn exchange(
        &self,
        url: &Url,
        mut request: Request<Bytes>,
        limit: usize,
    ) -> Result<Response<Bytes>, FetchError> {
        *request.uri_mut() = url.uri().clone();
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static("protomcp"));
        let response = self.web.send(request, self.timeout, limit).await;
        response.map_err(|source| FetchError::NoResponse { url: url.brief(), source })
    }
}

impl Outgoing {
    fn into_request(self) -> Request<Bytes> {
        let is_form = self.form.is_some();
        let mut request = Request::new(Bytes::from(self.form.unwrap_or_default()));
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(self.authorization.map(|value| (AUTHORIZATION, value)));
        if is_form {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
            *request.method_mut() = Method::POST;
        }
        request
    }
}
