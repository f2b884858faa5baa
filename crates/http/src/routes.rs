//! The paths of a whole server.

use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response, StatusCode};
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::time::timeout;
use tower_service::Service;

use crate::box_body::{BoxBody, BoxError};
use crate::observe::{self, Observed, Observer};
use crate::protocol::Protocol;
use crate::readiness::Readiness;
use crate::reply::{self, Body, TRANSPORT_ERROR};
use crate::service::StreamableHttp;
use crate::unread::{self, Rest, Watched};

/// The paths of a whole server, as a [`tower_service::Service`]: MCP at `/` and `/mcp`, with the older transport
/// `/sse`, with OAuth the metadata of the server, and optionally `/healthz`, `/readyz`, `/metrics` and other protocols.
#[derive(Debug, Clone)]
pub struct Routes(Arc<Inner>);

#[derive(Debug, Clone, Default)]
struct Inner {
    service: Option<StreamableHttp>,
    readiness: Option<Readiness>,
    metrics: Option<Arc<Registry>>,
    protocols: Protocols,
    observed: Observed,
    without_mcp: bool,
}

/// In the order in which requests are matched.
#[derive(Clone, Default)]
struct Protocols(Vec<Arc<dyn Protocol>>);

impl Protocols {
    /// The protocol of a request with this head.
    fn of(&self, head: &Parts) -> Option<&dyn Protocol> {
        self.0.iter().find(|protocol| protocol.is_meant(head)).map(|protocol| &**protocol)
    }
}

impl fmt::Debug for Protocols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} protocols", self.0.len())
    }
}

impl Routes {
    /// Routes to an MCP server.
    #[must_use]
    pub fn new(service: StreamableHttp) -> Self {
        Self(Arc::new(Inner { service: Some(service), ..Inner::default() }))
    }

    /// Routes to probes and metrics only, for a separate port.
    #[must_use]
    pub fn monitoring() -> Self {
        Self(Arc::default())
    }

    /// Adds `/healthz` and `/readyz`. They answer every request without authentication. `/readyz` also reports a server
    /// that shuts down as not ready.
    #[must_use]
    pub fn with_health(mut self, readiness: Readiness) -> Self {
        Arc::make_mut(&mut self.0).readiness = Some(readiness);
        self
    }

    /// Adds `/metrics`, a page with the metrics of this registry. Together with a server the page requires the same
    /// authentication as the server; with [`Routes::monitoring`] it requires none.
    #[must_use]
    pub fn with_metrics(mut self, registry: impl Into<Arc<Registry>>) -> Self {
        Arc::make_mut(&mut self.0).metrics = Some(registry.into());
        self
    }

    /// Adds a protocol, which gets its requests on all paths, before MCP and the pages. Earlier ones come first.
    /// Without effect for [`Routes::monitoring`], which has no server.
    #[must_use]
    pub fn with_protocol(mut self, protocol: impl Protocol) -> Self {
        Arc::make_mut(&mut self.0).protocols.0.push(Arc::new(protocol));
        self
    }

    /// Shows the messages of Streamable HTTP to an observer, and not the ones of other protocols and of HTTP+SSE.
    #[must_use]
    pub fn observed_by(mut self, observer: impl Observer) -> Self {
        Arc::make_mut(&mut self.0).observed = Observed::by(observer);
        self
    }

    /// Serves the protocols that were added, and the pages, and not Streamable HTTP.
    #[must_use]
    pub fn without_mcp(mut self) -> Self {
        Arc::make_mut(&mut self.0).without_mcp = true;
        self
    }

    /// Answers one request. Dropping the future cancels the request, like a broken connection.
    ///
    /// A response over HTTP/1 that does not need the body of its request waits up to a second for the rest of it, or has
    /// `Connection: close`: otherwise the client would lose its next request on the connection.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Error: Into<BoxError>> + Send + 'static,
    {
        let (head, body) = request.into_parts();
        let rest = Rest::of(&head);
        if let Some(service) = &self.0.service
            && let Some(protocol) = self.0.protocols.of(&head)
        {
            if rest == Rest::Apart || body.is_end_stream() {
                return self.respond(service, protocol, Request::from_parts(head, BoxBody::new(body))).await;
            }
            let (body, lender) = unread::lend(body);
            let request = Request::from_parts(head, BoxBody::new(body));
            let mut response = self.respond(service, protocol, request).await;
            lender.settle(rest, &mut response).await;
            return response;
        }
        let body = pin!(body);
        let mut body = Watched::new(body);
        let mut response = self.answer(Request::from_parts(head, &mut body)).await;
        rest.settle(&mut body, &mut response).await;
        response
    }

    /// Answers a request of another protocol.
    async fn respond(
        &self,
        service: &StreamableHttp,
        protocol: &dyn Protocol,
        request: Request<BoxBody>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let is_probe = self.0.readiness.is_some() && protocol.is_probe(&head);
        let request = Request::from_parts(head, body);
        if !is_probe {
            return service.handle_for(protocol, request).await;
        }
        // A probe is not authenticated, so it may not keep the connection busy for long.
        let responding = timeout(PROBE_TIMEOUT, protocol.respond(request)).await;
        responding.unwrap_or_else(|_| {
            let refusal = reply::error(StatusCode::REQUEST_TIMEOUT, TRANSPORT_ERROR, SLOW_PROBE);
            protocol.refuse(refusal, SLOW_PROBE)
        })
    }

    /// Answers a request for MCP or for a page.
    async fn answer<B: http_body::Body>(&self, request: Request<B>) -> Response<Body> {
        let Inner { service, readiness, metrics, observed, without_mcp, .. } = &*self.0;
        match (request.uri().path(), service) {
            ("/" | "/mcp" | "/sse", Some(_)) if *without_mcp => {
                not_found("not found: Streamable HTTP is not served here")
            }
            ("/" | "/mcp", Some(service)) => observe::answer(service, observed.get(), request).await,
            ("/sse", Some(service)) if service.has_legacy_sse() => service.answer(request).await,
            (path, Some(service)) if service.is_metadata(path) => service.answer(request).await,
            ("/healthz", _) if readiness.is_some() => reply::text(StatusCode::OK, "ok\n"),
            ("/readyz", _) if let Some(readiness) = readiness => {
                let is_draining = service.as_ref().is_some_and(StreamableHttp::is_draining);
                if readiness.is_ready() && !is_draining {
                    reply::text(StatusCode::OK, "ready\n")
                } else {
                    reply::text(StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
                }
            }
            ("/metrics", service) if let Some(registry) = metrics => {
                if let Some(service) = service
                    && let Err(refusal) = service.permit_page(request.into_parts().0).await
                {
                    return *refusal;
                }
                let mut page = String::new();
                match text::encode(&mut page, registry) {
                    Ok(()) => reply::metrics(page),
                    Err(fmt::Error) => reply::text(StatusCode::INTERNAL_SERVER_ERROR, "cannot encode the metrics\n"),
                }
            }
            ("/metrics", _) => not_found("not found"),
            (_, Some(_)) if *without_mcp => not_found("not found"),
            (_, Some(_)) => not_found("not found: the server is at /mcp"),
            (_, None) => not_found("not found: there are /metrics, /healthz and /readyz"),
        }
    }

    #[cfg(feature = "listener")]
    pub(crate) fn service(&self) -> Option<&StreamableHttp> {
        self.0.service.as_ref()
    }
}

impl From<StreamableHttp> for Routes {
    fn from(service: StreamableHttp) -> Self {
        Self::new(service)
    }
}

/// The time for a probe, with its body.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
const SLOW_PROBE: &str = "the probe did not arrive in time";

fn not_found(why: &str) -> Response<Body> {
    reply::error(StatusCode::NOT_FOUND, TRANSPORT_ERROR, why)
}

impl<B> Service<Request<B>> for Routes
where
    B: http_body::Body<Data: Send, Error: Into<BoxError> + Send> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let routes = self.clone();
        Box::pin(async move { Ok(routes.handle(request).await) })
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Mutex;

    use http::{Method, response};
    use http_body::Body as _;
    use protomcp_server::{Handler, Server, ServerInfo};

    use super::*;
    use crate::config::Config;
    use crate::observe::Exchange;
    use crate::protocol::Responding;

    struct Nothing;

    impl Handler for Nothing {
        fn info(&self) -> ServerInfo {
            ServerInfo::new("nothing", "1")
        }
    }

    /// Takes every request for a probe, and reads its body, which never ends.
    struct Probes;

    impl Protocol for Probes {
        fn is_meant(&self, _: &Parts) -> bool {
            true
        }

        fn is_probe(&self, _: &Parts) -> bool {
            true
        }

        fn respond(&self, _: Request<BoxBody>) -> Responding {
            Box::pin(std::future::pending())
        }
    }

    fn service() -> StreamableHttp {
        StreamableHttp::new(Server::from_handler(Nothing), Config::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_does_not_arrive_is_refused() {
        let routes = Routes::new(service()).with_protocol(Probes).with_health(Readiness::default());
        let begin = tokio::time::Instant::now();
        let probe = routes.handle(Request::new(String::new()));
        let answer = timeout(PROBE_TIMEOUT * 2, probe).await.expect("the probe stays open");
        assert_eq!((answer.status(), begin.elapsed()), (StatusCode::REQUEST_TIMEOUT, PROBE_TIMEOUT));
    }

    /// Responds to requests below `/other` without their bodies.
    struct Other;

    impl Protocol for Other {
        fn is_meant(&self, head: &Parts) -> bool {
            head.uri.path().starts_with("/other")
        }

        fn respond(&self, _: Request<BoxBody>) -> Responding {
            Box::pin(async { reply::text(StatusCode::OK, "other") })
        }
    }

    /// Notes what it is shown.
    #[derive(Clone, Default)]
    struct Notes(Arc<Mutex<Vec<String>>>);

    impl Observer for Notes {
        fn begin(&self, head: &Parts) -> Option<Box<dyn Exchange>> {
            (head.method == Method::POST).then(|| Box::new(self.clone()) as Box<dyn Exchange>)
        }
    }

    impl Exchange for Notes {
        fn request(&mut self, body: &[u8]) {
            self.0.lock().unwrap().push(String::from_utf8_lossy(body).into_owned());
        }

        fn respond(&mut self, head: &response::Parts) {
            self.0.lock().unwrap().push(head.status.as_str().to_owned());
        }

        fn message(&mut self, _: Option<&str>, text: &[u8]) {
            self.0.lock().unwrap().push(String::from_utf8_lossy(text).into_owned());
        }
    }

    #[tokio::test]
    async fn an_observer_sees_the_bodies_that_are_let_in() {
        let notes = Notes::default();
        let routes = Routes::new(service()).observed_by(notes.clone());
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for (method, host, count) in
            [("POST", "localhost", 3), ("POST", "evil.example.com", 2), ("PUT", "localhost", 0)]
        {
            let request = Request::builder().method(method).uri("/mcp").header("host", host);
            let request = request.header("content-type", "application/json");
            let request = request.header("accept", "application/json, text/event-stream");
            let mut body = routes.handle(request.body(ping.to_owned()).unwrap()).await.into_body();
            while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
                frame.unwrap();
            }
            let seen = std::mem::take(&mut *notes.0.lock().unwrap());
            assert_eq!(seen.len(), count, "{seen:?}");
            assert_eq!(seen.first().is_some_and(|text| text == ping), count == 3, "{seen:?}");
            assert!(seen.last().is_none_or(|text| text.contains("jsonrpc")), "{seen:?}");
        }
    }

    /// A body that never arrives.
    struct Never;

    impl http_body::Body for Never {
        type Data = &'static [u8];
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<&'static [u8]>, Infallible>>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_response_before_the_body_closes_the_connection() {
        let registry = Arc::new(Registry::default());
        let routes = Routes::new(service()).with_health(Readiness::default()).with_metrics(registry);
        let routes = routes.with_protocol(Other);
        for (path, host, status) in [
            ("/mcp", "localhost", 415_u16),
            ("/mcp", "evil.example.com", 403),
            ("/other", "localhost", 200),
            ("/other", "evil.example.com", 403),
            ("/nowhere", "localhost", 404),
            ("/healthz", "localhost", 200),
            ("/metrics", "localhost", 405),
        ] {
            let request = Request::post(path).header("host", host).header("accept", "*/*").body(Never).unwrap();
            let begin = tokio::time::Instant::now();
            let response = routes.handle(request).await;
            assert_eq!(response.status(), status, "{path} of {host}");
            assert_eq!(response.headers()["connection"], "close", "{path} of {host}");
            assert_eq!(begin.elapsed().as_secs(), 1, "{path} of {host}");
        }
        let response = service().handle(Request::post("/mcp").header("host", "localhost").body(Never).unwrap()).await;
        assert!(response.headers().contains_key("connection"));
    }
}
