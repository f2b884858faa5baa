//! The requests of an OAuth client, over connections like the connections of a transport.

use std::time::Duration;

use bytes::Bytes;
use http::header::USER_AGENT;
use http::{HeaderValue, Request};
use protomcp_oauth::{BoxFuture, ExchangeError, HttpExchange, HttpRequest, HttpResponse, MAX_DOCUMENT};
use protomcp_web::{Connector, OneShot};

/// The time for one request, its connection included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Carries the requests of an OAuth client to authorization servers, through the proxies of a transport and with the
/// certificates that it trusts ([`HttpTransport::authorization`](crate::HttpTransport::authorization)). Each request has
/// its own connection, takes at most 10 seconds, and follows no redirects. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct AuthorizationHttp(OneShot);

impl AuthorizationHttp {
    pub(crate) fn new(connector: Connector) -> Self {
        Self(OneShot::new(connector))
    }

    async fn exchange(&self, message: HttpRequest) -> Result<HttpResponse, String> {
        let HttpRequest { method, url, headers, body } = message;
        let mut request = Request::new(Bytes::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = url.as_str().parse().map_err(|_| format!("{url} cannot be requested"))?;
        *request.headers_mut() = headers;
        let agent = HeaderValue::from_static(concat!("protomcp/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(USER_AGENT, agent);
        let response = self.0.send(request, TIMEOUT, MAX_DOCUMENT).await;
        let (head, body) = response.map_err(|error| format!("{url} {error}"))?.into_parts();
        Ok(HttpResponse { status: head.status, headers: head.headers, body: body.into() })
    }
}

impl HttpExchange for AuthorizationHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, ExchangeError>> {
        Box::pin(async move { self.exchange(request).await.map_err(ExchangeError) })
    }
}
