//! The services of gRPC, as a protocol on the port of Streamable HTTP.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use protomcp_bufmcp::BinaryServer;
use protomcp_http::{Body, BoxBody, Protocol, Readiness, Responding};
use protomcp_server::Service;
use tokio::time::Instant;

use crate::deadline;
use crate::method::Method;
use crate::respond::respond;
use crate::services::Services;
use crate::status;

/// `buf.mcp.v1.MCPService`, `buf.mcp.v1.MCPPrompts` and `buf.mcp.v1.MCPStreams`, with health checks, for
/// [`Routes::with_protocol`](protomcp_http::Routes::with_protocol). Cloning is cheap.
///
/// Each call is a separate request, and one of MCP 2026-07-28 for the server behind. `Initialize` is optional.
#[derive(Debug, Clone)]
pub struct GrpcService(Arc<Services>);

impl GrpcService {
    /// Serves this server. Its settings of conversations hold for calls, as far as a call has them: limits, times,
    /// tokens, field numbers.
    pub fn new<S: Service>(server: &BinaryServer<S>) -> Self {
        Self(Arc::new(Services { endpoint: server.endpoint(), readiness: None, reflects: false }))
    }

    /// Reports this readiness in health checks. Without it the service is healthy until it shuts down.
    #[must_use]
    pub fn with_health(mut self, readiness: Readiness) -> Self {
        Arc::make_mut(&mut self.0).readiness = Some(readiness);
        self
    }

    /// Serves the reflection of gRPC as well, by which clients without the proto file learn the messages.
    #[must_use]
    pub fn with_reflection(mut self) -> Self {
        Arc::make_mut(&mut self.0).reflects = true;
        self
    }
}

impl Protocol for GrpcService {
    fn is_meant(&self, head: &Parts) -> bool {
        head.version == Version::HTTP_2 && is_grpc(&head.headers)
    }

    fn is_probe(&self, head: &Parts) -> bool {
        Method::of(head.uri.path()) == Some(Method::HealthCheck)
    }

    fn needs_tls_1_3(&self) -> bool {
        true
    }

    fn respond(&self, request: Request<BoxBody>) -> Responding {
        let services = Arc::clone(&self.0);
        Box::pin(async move {
            match deadline::of(request.headers()) {
                Ok(time) => {
                    // A time beyond the clock is none.
                    let deadline = time.and_then(|time| Instant::now().checked_add(time));
                    within(deadline, respond(&services, request, deadline)).await
                }
                Err(status) => status.into_http(),
            }
        })
    }

    fn refuse(&self, refusal: Response<Body>, reason: &str) -> Response<Body> {
        status::of_refusal(&refusal, reason)
    }
}

/// Responds within the time that the client has given. Then the call is dropped, and with it the tool.
async fn within(deadline: Option<Instant>, responding: impl Future<Output = Response<Body>>) -> Response<Body> {
    let Some(deadline) = deadline else { return responding.await };
    tokio::time::timeout_at(deadline, responding).await.unwrap_or_else(|_| deadline::passed().into_http())
}

/// True for `application/grpc`, also with a format of messages behind it. The framing of gRPC-Web differs.
fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let rest = kind.strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grpc_is_known_by_its_content_type() {
        for (kind, expected) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc; charset=utf-8", true),
            ("application/grpc-web", false),
            ("application/grpc-web+proto", false),
            ("application/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(is_grpc(&headers), expected, "{kind}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }
}
