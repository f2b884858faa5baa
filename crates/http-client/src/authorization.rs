//! The requests of an OAuth client, over connections like those of a transport.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Request};
use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use protomcp_auth::{BoxFuture, ExchangeError, HttpExchange, HttpRequest, HttpResponse, MAX_DOCUMENT};

use crate::body::RequestBody;
use crate::connector::Connector;
use crate::failure::chain;

/// The time for one request, its connection included.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The longest head of a response, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// Carries the requests of an OAuth client to authorization servers, through the proxies of a transport and with the
/// certificates that it trusts ([`HttpTransport::authorization`](crate::HttpTransport::authorization)). Each request has
/// a connection of its own, takes at most 10 seconds, and follows no redirects. Cloning is cheap.
#[derive(Clone)]
pub struct AuthorizationHttp {
    client: Client<Connector, RequestBody>,
    connector: Connector,
}

impl AuthorizationHttp {
    pub(crate) fn new(connector: Connector) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .http1_max_buf_size(MAX_HEAD)
            .http2_max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
            .build(connector.clone());
        Self { client, connector }
    }

    async fn exchange(&self, message: HttpRequest) -> Result<HttpResponse, String> {
        let HttpRequest { method, url, headers, body } = message;
        let mut request = Request::new(RequestBody::new(&[Bytes::from(body)], None));
        *request.method_mut() = method;
        *request.uri_mut() = url.as_str().parse().map_err(|_| format!("{url} cannot be requested"))?;
        let proxy = self.connector.proxy_authorization(request.uri());
        let fields = request.headers_mut();
        *fields = headers;
        fields.insert(USER_AGENT, HeaderValue::from_static(concat!("protomcp/", env!("CARGO_PKG_VERSION"))));
        fields.extend(proxy.map(|value| (PROXY_AUTHORIZATION, value)));
        let response = self.client.request(request).await;
        let response = response.map_err(|error| format!("{url} cannot be reached: {}", chain(&error)))?;
        let (head, body) = response.into_parts();
        let broken = |error| format!("{url} breaks its response off: {}", chain(&error));
        let body = beginning(body).await.map_err(broken)?;
        Ok(HttpResponse { status: head.status, headers: head.headers, body })
    }
}

/// At most [`MAX_DOCUMENT`] bytes of a body, and one more if it is longer.
async fn beginning<B: Body<Data = Bytes>>(body: B) -> Result<Vec<u8>, B::Error> {
    let (mut body, mut read) = (pin!(body), Vec::new());
    while let Some(frame) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let Ok(mut data) = frame?.into_data() else { continue };
        let rest = MAX_DOCUMENT + 1 - read.len();
        read.extend_from_slice(&data.copy_to_bytes(data.remaining().min(rest)));
        if read.len() > MAX_DOCUMENT {
            break;
        }
    }
    Ok(read)
}

impl HttpExchange for AuthorizationHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, ExchangeError>> {
        Box::pin(async move {
            let late = format!("{} does not answer within {TIMEOUT:?}", request.url);
            let outcome = tokio::time::timeout(TIMEOUT, self.exchange(request)).await;
            outcome.unwrap_or(Err(late)).map_err(ExchangeError)
        })
    }
}

impl fmt::Debug for AuthorizationHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationHttp").field("connector", &self.connector).finish_non_exhaustive()
    }
}
