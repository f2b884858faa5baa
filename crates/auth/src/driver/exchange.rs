//! The requests of a flow over the HTTP client of this crate.

use crate::authorizer::BoxFuture;
use crate::exchange::{ExchangeError, HttpExchange, HttpRequest, HttpResponse, MAX_DOCUMENT};
use crate::http_client::{HttpClient, request};

impl HttpExchange for HttpClient {
    fn send(&self, message: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, ExchangeError>> {
        Box::pin(async move {
            let HttpRequest { method, url, headers, body } = message;
            let response = self.exchange(&url, request(&url, method, headers, body), MAX_DOCUMENT).await;
            let (head, body) = response.map_err(|error| ExchangeError(error.to_string()))?.into_parts();
            Ok(HttpResponse { status: head.status, headers: head.headers, body: body.into() })
        })
    }
}
