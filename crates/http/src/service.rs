//! The service: authenticates a request and dispatches it by its method.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use protomcp_fair::LeftOut;
use protomcp_server::{Server, ServerHandle, Service};
use tokio::time::Instant;
use tower_service::Service as TowerService;

use crate::access_log::Visit;
use crate::admission::Admission;
use crate::body::SourceRequest;
use crate::box_body::BoxBody;
use crate::caller;
use crate::config::Config;
use crate::endpoint::{Endpoint, Factory, is_taken};
use crate::exposition::HttpMetrics;
use crate::guard;
use crate::headers::{EVENTS, JSON, accepts, is_json};
use crate::hop::HOP;
use crate::protocol::Protocol;
use crate::reply::{self, Body, Reason, Refusal, TRANSPORT_ERROR};
use crate::unread::{Rest, Watched};
use crate::{auth, cors, delete, get, http_sse, post, protocol_era};

/// An MCP server over HTTP, as a [`tower_service::Service`] for any server based on [`http`]. Cloning is cheap.
///
/// It ignores the path, except for the path of the old transport and, with OAuth, the path of the metadata
/// ([`ResourceServer::metadata_path`](protomcp_auth::ResourceServer::metadata_path)), so it can be mounted anywhere.
#[derive(Clone)]
pub struct StreamableHttp(Arc<Endpoint>);

impl StreamableHttp {
    /// Serves `server` over HTTP.
    pub fn new<S: Service>(server: Server<S>, config: Config) -> Self {
        let sessions = server.handle().clone();
        Self(Arc::new(Endpoint::new(Box::new(server), sessions, config)))
    }

    /// Makes a server for each session, and for each request of the revision without sessions: `make` gets the head of
    /// the request that begins it, with headers, URI and, in its extensions, [`PeerAddr`](crate::PeerAddr) and
    /// [`Principal`](crate::Principal). The request is authenticated by then. All these servers share the sessions that
    /// `make` gets.
    ///
    /// Handlers see the head of each request, with this and every other constructor
    /// ([`Context::extension`](protomcp_server::Context::extension)).
    ///
    /// ```
    /// use http::request::Parts;
    /// use protomcp_http::{Config, StreamableHttp};
    /// use protomcp_server::{Handler, Limits, Server, ServerInfo, ServerHandle};
    ///
    /// struct Tenant(String);
    ///
    /// impl Handler for Tenant {
    ///     fn info(&self) -> ServerInfo {
    ///         ServerInfo::new("tenants", "1.0")
    ///     }
    /// }
    ///
    /// let sessions = ServerHandle::new(ServerInfo::new("tenants", "1.0"), Limits::default());
    /// let mcp = StreamableHttp::per_session(sessions, Config::default(), |head: &Parts, sessions| {
    ///     let name = head.headers.get("x-tenant").and_then(|name| name.to_str().ok());
    ///     Server::with_sessions(sessions.clone(), Tenant(name.unwrap_or("default").to_owned()))
    /// });
    /// # drop(mcp);
    /// ```
    pub fn per_session<S: Service>(
        sessions: ServerHandle,
        config: Config,
        make: impl Fn(&Parts, &ServerHandle) -> Server<S> + Send + Sync + 'static,
    ) -> Self {
        let factory = Factory { sessions: sessions.clone(), make };
        Self(Arc::new(Endpoint::new(Box::new(factory), sessions, config)))
    }

    /// The number of open sessions.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.0.table.len()
    }

    /// The metrics of the server, to be registered with a registry of Prometheus.
    #[must_use]
    pub fn metrics(&self) -> HttpMetrics {
        HttpMetrics(Arc::clone(&self.0))
    }

    /// Shuts the server down ([`ServerHandle::shutdown`]): new requests get 503, except those about tasks without a session,
    /// and the sessions end with their last calls.
    pub fn shut_down(&self) {
        self.0.sessions.shutdown();
    }

    /// Resolves when the server was shut down and all its sessions and calls have ended, and its tasks without a session
    /// ([`ServerHandle::tasks_ended`]). Until then clients may connect to answer questions and to fetch results of
    /// sessions, so keep accepting connections. With [`Config::with_replicas`] it resolves more than a second later, when
    /// the other processes have forgotten that its sessions were here.
    pub async fn drained(&self) {
        self.0.drained().await;
    }

    /// Checks a request for a page that requires the same authentication as the server.
    pub(crate) async fn permit_page(&self, mut parts: Parts) -> Result<(), Refusal> {
        let endpoint = &self.0;
        caller::note_client(&mut parts, &endpoint.config.access.trusted_proxies);
        if let Err(why) = endpoint.guard.check(&parts.uri, &parts.headers) {
            return Err(Box::new(reply::error(StatusCode::FORBIDDEN, TRANSPORT_ERROR, why)));
        }
        auth::authenticate(&endpoint.config, &mut parts).await?;
        if parts.method == Method::GET { Ok(()) } else { Err(Box::new(reply::not_allowed("GET"))) }
    }

    /// True if a path is the path of the OAuth metadata.
    pub(crate) fn is_metadata(&self, path: &str) -> bool {
        auth::is_metadata(self.0.config.access.oauth.as_ref(), path)
    }

    /// True if new requests are refused.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.sessions.is_shut_down()
    }

    /// True if the transport of MCP 2024-11-05 is served.
    pub(crate) fn has_legacy_sse(&self) -> bool {
        self.0.config.legacy_sse
    }

    /// Answers one request. Dropping the future cancels it, like a broken connection.
    ///
    /// A response over HTTP/1 that does not need the body of its request waits up to a second for the rest of it, or has
    /// `Connection: close`: otherwise the client would lose its next request on the connection.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
    {
        let (parts, body) = request.into_parts();
        let rest = Rest::of(&parts);
        let body = pin!(body);
        let mut body = Watched::new(body);
        let mut response = self.answer(Request::from_parts(parts, &mut body)).await;
        rest.settle(&mut body, &mut response).await;
        response
    }

    /// Answers one request, and leaves the rest of its body to the caller.
    pub(crate) async fn answer<B: http_body::Body>(&self, request: Request<B>) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let endpoint = &self.0;
        // Only other protocols continue on an upgraded connection.
        #[cfg(feature = "listener")]
        parts.extensions.remove::<protomcp_listener::UpgradeLease>();
        let page =
            if parts.headers.contains_key(HOP) { take(endpoint, &mut parts) } else { check(endpoint, &mut parts) };
        let visit = Visit::begin(endpoint, &parts);
        let response = match page {
            Ok(page) => {
                let response = match auth::metadata(&endpoint.config, &parts) {
                    Some(metadata) => metadata,
                    None => route(endpoint, parts, &page, body).await,
                };
                finish(endpoint, page, response)
            }
            Err(refusal) => *refusal,
        };
        if let Some(visit) = visit {
            visit.end(&response);
        }
        response
    }

    /// Answers one request of another protocol, and leaves the rest of its body to the caller.
    pub(crate) async fn handle_for(&self, protocol: &dyn Protocol, request: Request<BoxBody>) -> Response<Body> {
        let (mut parts, body) = request.into_parts();
        let endpoint = &self.0;
        let page = check(endpoint, &mut parts).and_then(|page| {
            if protocol.needs_tls_1_3() && caller::is_within_tls_1_2(&parts) {
                return Err(forbid(endpoint, TLS_1_2.to_owned()));
            }
            Ok(page)
        });
        let visit = Visit::begin(endpoint, &parts);
        let refuse = |refusal: Refusal| {
            if let Some(visit) = &visit {
                visit.refused(refusal.status());
            }
            let reason = refusal.extensions().get::<Reason>().map(|Reason(text)| text.clone()).unwrap_or_default();
            protocol.refuse(*refusal, &reason)
        };
        let page = match page {
            Ok(page) => page,
            Err(refusal) => return refuse(refusal),
        };
        let response = match admit(endpoint, &mut parts, &page).await {
            Ok(admission) => {
                parts.extensions.insert(admission);
                protocol.respond(Request::from_parts(parts, body)).await
            }
            Err(refusal) => refuse(refusal),
        };
        finish(endpoint, page, response)
    }
}

/// Checks the host and the origin of a request, and notes its client.
fn check(endpoint: &Endpoint, parts: &mut Parts) -> Result<guard::Origin, Refusal> {
    caller::note_client(parts, &endpoint.config.access.trusted_proxies);
    endpoint.guard.check(&parts.uri, &parts.headers).map_err(|why| forbid(endpoint, why))
}

/// Takes a request that another process hands on, which has checked the host and the origin.
fn take(endpoint: &Endpoint, parts: &mut Parts) -> Result<guard::Origin, Refusal> {
    caller::note_client(parts, &endpoint.config.access.trusted_proxies);
    endpoint.take(parts).map(|()| guard::Origin::None)
}

/// The reason for which a request of a protocol with [`Protocol::needs_tls_1_3`] is refused.
const TLS_1_2: &str = "the connection has TLS 1.2, and this protocol needs TLS 1.3: use a newer client";

/// 403, which is logged and counted.
fn forbid(endpoint: &Endpoint, why: String) -> Refusal {
    if let Some(LeftOut(left_out)) = endpoint.forbidden_log.permit(Instant::now().into_std()) {
        tracing::warn!(left_out, "a request was refused: {why}");
    }
    endpoint.metrics.count_response(StatusCode::FORBIDDEN);
    Box::new(reply::error(StatusCode::FORBIDDEN, TRANSPORT_ERROR, why))
}

/// Authenticates a request of another protocol. During a shutdown no new request begins.
async fn admit(endpoint: &Arc<Endpoint>, parts: &mut Parts, page: &guard::Origin) -> Result<Admission, Refusal> {
    auth::authenticate(&endpoint.config, parts).await?;
    endpoint.may_begin()?;
    Ok(Admission::new(endpoint, parts, page))
}

/// Lets an allowed page read the response, and counts it.
fn finish(endpoint: &Endpoint, page: guard::Origin, mut response: Response<Body>) -> Response<Body> {
    if let guard::Origin::Allowed(origin) = page {
        cors::expose(&mut response, origin);
    }
    endpoint.metrics.count_response(response.status());
    response
}

/// Dispatches a request by its method.
async fn route<B: http_body::Body>(
    endpoint: &Arc<Endpoint>,
    mut parts: Parts,
    page: &guard::Origin,
    body: B,
) -> Response<Body> {
    match parts.method {
        Method::POST => {}
        Method::GET | Method::DELETE => {
            return match endpoint.authenticate(&mut parts).await {
                Ok(()) if parts.method == Method::DELETE => delete::delete(endpoint, &parts).await,
                Ok(()) if http_sse::is_meant(endpoint, &parts) => http_sse::get(endpoint, &parts),
                Ok(()) => get::get(endpoint, &parts).await,
                Err(refusal) => *refusal,
            };
        }
        Method::OPTIONS if *page != guard::Origin::None => return cors::preflight(&parts.headers),
        _ => return reply::not_allowed(protocol_era::methods(&parts.headers)),
    }
    let is_http_sse = http_sse::is_meant(endpoint, &parts);
    if !is_http_sse && !accepts(&parts.headers, &[JSON, EVENTS]) {
        let why = "not acceptable: Accept must allow application/json and text/event-stream";
        return reply::error(StatusCode::NOT_ACCEPTABLE, TRANSPORT_ERROR, why);
    }
    if !is_json(&parts.headers) {
        let why = "unsupported media type: Content-Type must be application/json";
        return reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, TRANSPORT_ERROR, why);
    }
    if let Err(refusal) = endpoint.authenticate(&mut parts).await {
        return *refusal;
    }
    let (body, reservation) = match endpoint.read(&parts, body).await {
        Ok(read) => read,
        Err(refusal) => return *refusal,
    };
    // Boxed: it is rare.
    if is_taken(&parts)
        && let Err(refusal) = Box::pin(endpoint.check_body(&parts, &body)).await
    {
        return *refusal;
    }
    // Handlers can see the head.
    let origin = SourceRequest { head: Arc::new(parts), reservation: Arc::new(reservation) };
    if is_http_sse { http_sse::post(endpoint, &origin, body).await } else { post::post(endpoint, origin, body).await }
}

impl<B> TowerService<Request<B>> for StreamableHttp
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

impl fmt::Debug for StreamableHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamableHttp").field("sessions", &self.sessions()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
