//! The requests of a flow over the HTTP client for authorization servers.

use bytes::Bytes;
use http::Request;
use protomcp_auth::HttpClient;

use crate::authorizer::BoxFuture;
use crate::exchange::{ExchangeError, HttpExchange, HttpRequest, HttpResponse, MAX_DOCUMENT};

impl HttpExchange for HttpClient {
    fn send(&self, message: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, ExchangeError>> {
        Box::pin(async move {
            let mut request = Request::new(Bytes::from(message.body));
            *request.method_mut() = message.method;
            *request.headers_mut() = message.headers;
            let response = self.exchange(&message.url, request, MAX_DOCUMENT).await;
            let (head, body) = response.map_err(|error| ExchangeError(error.to_string()))?.into_parts();
            Ok(HttpResponse { status: head.status, headers: head.headers, body: body.into() })
        })
    }
}
