//! The service: checks who asks, tells the methods apart, and hands on.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use protomcp_mcp::{Limits, Reservation, Server, Service, Sessions};
use protomcp_metrics::Page;
use protomcp_types::{RawJson, Request as AnyRequest};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tower_service::Service as TowerService;

use crate::body::{Origin, Unread};
use crate::caller::{self, Caller};
use crate::config::Config;
use crate::events::{Events, Seat};
use crate::exchange::{Exchange, Kind, Served};
use crate::figures::Figures;
use crate::guard::{Guard, Page as Seen};
use crate::headers::{EVENTS, JSON, accepts, is_json};
use crate::log_rate::LogRate;
use crate::reply::{self, Body, Refusal, TRANSPORT_ERROR};
use crate::session_table::{SessionTable, new_key};
use crate::{auth, body, cors, delete, era, get, legacy, post};

/// An MCP server over HTTP, as a [`tower_service::Service`] for any server that speaks [`http`]. Cloning is cheap.
///
/// It looks at no path but that of the old transport and, with OAuth, those where the server describes itself
/// ([`ResourceServer::metadata_path`](protomcp_auth::ResourceServer::metadata_path)), so it can be mounted anywhere.
#[derive(Clone)]
pub struct StreamableHttp(Arc<Inner>);

/// Looks up the definition of a tool.
type Definitions = Box<dyn Fn(&str) -> Option<RawJson> + Send + Sync>;

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) table: SessionTable,
    pub(crate) guard: Guard,
    pub(crate) definitions: Definitions,
    figures: Figures,
    /// Requests that were refused by their names.
    refused: LogRate,
    /// Sessions that found no place.
    rejected: LogRate,
    /// Requests that found no room.
    crowded: LogRate,
    server: Box<dyn Serve>,
    pub(crate) sessions: Sessions,
    /// One for each exchange.
    tasks: TaskTracker,
}

/// A server of whatever service.
trait Serve: Send + Sync {
    /// Starts the task of an exchange.
    fn spawn(&self, exchange: Arc<Exchange>, place: Option<TablePlace>, head: &Parts, tasks: &TaskTracker);
}

impl<S: Service> Serve for Server<S> {
    fn spawn(&self, exchange: Arc<Exchange>, place: Option<TablePlace>, _: &Parts, tasks: &TaskTracker) {
        // An async block would hold the session twice.
        tasks.spawn(self.serve_here(Served(exchange)).map(move |outcome| {
            if let Err(error) = outcome {
                tracing::debug!("a session ended early: {error}");
            }
            drop(place);
        }));
    }
}

/// One service for each session, and for each request without one.
struct Factory<F> {
    sessions: Sessions,
    make: F,
}

impl<S: Service, F: Fn(&Parts) -> S + Send + Sync> Serve for Factory<F> {
    fn spawn(&self, exchange: Arc<Exchange>, place: Option<TablePlace>, head: &Parts, tasks: &TaskTracker) {
        Server::over(self.sessions.clone(), (self.make)(head)).spawn(exchange, place, head, tasks);
    }
}

/// A session's place in the table, which it loses when its task ends, however that is.
struct TablePlace {
    inner: Arc<Inner>,
    exchange: Arc<Exchange>,
}

impl Drop for TablePlace {
    fn drop(&mut self) {
        self.inner.table.remove(self.exchange.key());
    }
}

impl StreamableHttp {
    /// Serves `server` over HTTP.
    pub fn new<S: Service>(server: Server<S>, config: Config) -> Self {
        Self::with_tools(server, config, |_| None)
    }

    /// As [`StreamableHttp::new`], with a way to look up the definition of a tool as `tools/list` has it: arguments that
    /// its input schema annotates with `x-mcp-header` are then compared with their headers (MCP 2026-07-28,
    /// basic/transports, custom headers).
    pub fn with_tools<S: Service>(
        server: Server<S>,
        config: Config,
        definitions: impl Fn(&str) -> Option<RawJson> + Send + Sync + 'static,
    ) -> Self {
        let sessions = server.sessions().clone();
        Self::serving(Box::new(server), sessions, config, Box::new(definitions))
    }

    /// A service of its own for each session, and for each request of the revision without sessions: `make` is shown the
    /// head of the request that begins it, with headers, URI and, in its extensions, [`PeerAddr`](crate::PeerAddr) and
    /// [`Principal`](crate::Principal). Who may come at all has been decided by then. `sessions` are those of all these services.
    ///
    /// Handlers see the head of each request, whether this or another constructor is used
    /// ([`Context::extension`](protomcp_mcp::Context::extension)).
    ///
    /// ```
    /// use http::request::Parts;
    /// use protomcp_http::{Config, StreamableHttp};
    /// use protomcp_mcp::{Handler, Limits, Router, ServerInfo, Sessions};
    ///
    /// struct Tenant(String);
    ///
    /// impl Handler for Tenant {
    ///     fn info(&self) -> ServerInfo {
    ///         ServerInfo::new("tenants", "1.0")
    ///     }
    /// }
    ///
    /// let sessions = Sessions::new(ServerInfo::new("tenants", "1.0"), Limits::default());
    /// let mcp = StreamableHttp::per_session(sessions, Config::default(), |head: &Parts| {
    ///     let name = head.headers.get("x-tenant").and_then(|name| name.to_str().ok());
    ///     Router::new(Tenant(name.unwrap_or("nobody").to_owned()))
    /// });
    /// # drop(mcp);
    /// ```
    pub fn per_session<S: Service>(
        sessions: Sessions,
        config: Config,
        make: impl Fn(&Parts) -> S + Send + Sync + 'static,
    ) -> Self {
        let factory = Factory { sessions: sessions.clone(), make };
        Self::serving(Box::new(factory), sessions, config, Box::new(|_| None))
    }

    fn serving(server: Box<dyn Serve>, sessions: Sessions, config: Config, definitions: Definitions) -> Self {
        Self(Arc::new(Inner {
            table: SessionTable::new(config.max_sessions),
            guard: Guard::new(&config.allowed_hosts, &config.allowed_origins),
            definitions,
            figures: Figures::default(),
            refused: LogRate::default(),
            rejected: LogRate::default(),
            crowded: LogRate::default(),
            sessions,
            tasks: TaskTracker::new(),
            server,
            config,
        }))
    }

    /// How many sessions are open.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.0.table.len()
    }

    /// Writes down what was counted so far: responses by status, sessions and streams that are open. The names begin with
    /// `pmcp_http_`.
    pub fn figures(&self) -> impl Fn(&mut Page) + Send + Sync + use<> {
        let service = self.clone();
        move |page| service.0.figures.write(service.sessions(), page)
    }

    /// Answers with a page that is for those who may use the server.
    #[cfg(feature = "listener")]
    pub(crate) async fn page<B>(&self, request: Request<B>, page: impl FnOnce() -> Response<Body>) -> Response<Body> {
        let (mut parts, _) = request.into_parts();
        let inner = &self.0;
        caller::note_client(&mut parts, &inner.config.trusted_proxies);
        if let Err(why) = inner.guard.check(&parts.uri, &parts.headers) {
            return reply::error(StatusCode::FORBIDDEN, TRANSPORT_ERROR, why);
        }
        match auth::admit(&inner.config, &mut parts).await {
            Ok(()) if parts.method == Method::GET => page(),
            Ok(()) => reply::not_allowed("GET"),
            Err(refusal) => *refusal,
        }
    }

    /// Whether a path is one where the server describes itself to those who look for its issuer.
    #[cfg(feature = "listener")]
    pub(crate) fn is_metadata(&self, path: &str) -> bool {
        auth::is_metadata(self.0.config.oauth.as_ref(), path)
    }

    /// Waits until all that was begun has ended, once the sessions of the server were told to
    /// ([`Sessions::shutdown`]). Until then hosts may come with answers that are waited for, and for answers that they
    /// wait for: whoever accepts connections goes on with it.
    pub async fn drained(&self) {
        self.0.sessions.shutdown_token().cancelled().await;
        self.0.tasks.close();
        self.0.tasks.wait().await;
    }

    /// Whether nothing new begins any more.
    #[cfg(feature = "listener")]
    pub(crate) fn is_draining(&self) -> bool {
        self.0.sessions.is_shut_down()
    }

    /// Whether the old transport is served as well.
    #[cfg(feature = "listener")]
    pub(crate) fn has_legacy_sse(&self) -> bool {
        self.0.config.legacy_sse
    }

    /// Answers one request. Dropping the future is what a broken connection is.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
    {
        let (mut parts, body) = request.into_parts();
        let inner = &self.0;
        caller::note_client(&mut parts, &inner.config.trusted_proxies);
        let page = match inner.guard.check(&parts.uri, &parts.headers) {
            Ok(page) => page,
            Err(why) => {
                if let Some(left_out) = inner.refused.permit(Instant::now()) {
                    tracing::warn!(left_out, "a request was refused: {why}");
                }
                inner.figures.answered(StatusCode::FORBIDDEN);
                return reply::error(StatusCode::FORBIDDEN, TRANSPORT_ERROR, why);
            }
        };
        let mut response = match auth::metadata(&inner.config, &parts) {
            Some(metadata) => metadata,
            None => inner.route(parts, &page, body).await,
        };
        if let Seen::Named(origin) = page {
            cors::expose(&mut response, origin);
        }
        inner.figures.answered(response.status());
        response
    }
}

impl Inner {
    async fn route<B: http_body::Body>(self: &Arc<Self>, mut parts: Parts, page: &Seen, body: B) -> Response<Body> {
        match parts.method {
            Method::POST => {}
            Method::GET | Method::DELETE => {
                return match self.admit(&mut parts).await {
                    Ok(()) if parts.method == Method::DELETE => delete::delete(self, &parts),
                    Ok(()) if legacy::is_meant(self, &parts) => legacy::get(self, &parts),
                    Ok(()) => get::get(self, &parts).await,
                    Err(refusal) => *refusal,
                };
            }
            Method::OPTIONS if *page != Seen::Unnamed => return cors::preflight(&parts.headers),
            _ => return reply::not_allowed(era::methods(&parts.headers)),
        }
        if !legacy::is_meant(self, &parts) && !accepts(&parts.headers, &[JSON, EVENTS]) {
            let why = "not acceptable: Accept must allow application/json and text/event-stream";
            return reply::error(StatusCode::NOT_ACCEPTABLE, TRANSPORT_ERROR, why);
        }
        if !is_json(&parts.headers) {
            let why = "unsupported media type: Content-Type must be application/json";
            return reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, TRANSPORT_ERROR, why);
        }
        if let Err(refusal) = self.admit(&mut parts).await {
            return *refusal;
        }
        match self.read(&parts, body).await {
            // Handlers may want to see the head.
            Ok((body, room)) => {
                let origin = Origin { head: Arc::new(parts), room: Arc::new(room) };
                if legacy::is_meant(self, &origin.head) {
                    legacy::post(self, &origin, body).await
                } else {
                    post::post(self, origin, body).await
                }
            }
            Err(refusal) => *refusal,
        }
    }

    /// Reads a body in the time and the room that there are for it.
    async fn read<B: http_body::Body>(&self, parts: &Parts, body: B) -> Result<(Bytes, Reservation), Refusal> {
        let owner = Caller::of(parts).owner();
        let budget = self.sessions.inbound_budget();
        let read = body::read(body, self.config.max_body, budget, &owner, Limits::REQUEST_OVERHEAD);
        let (status, why) = match tokio::time::timeout(self.config.body_timeout, read).await {
            Ok(Ok(read)) => return Ok(read),
            Ok(Err(Unread::NoRoom)) => return Err(self.no_room()),
            Ok(Err(Unread::TooLong)) => {
                (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {} bytes", self.config.max_body))
            }
            Ok(Err(Unread::Broken)) => (StatusCode::BAD_REQUEST, "the body cannot be read".to_owned()),
            Err(_) => (StatusCode::REQUEST_TIMEOUT, "the body took too long".to_owned()),
        };
        Err(Box::new(reply::error(status, TRANSPORT_ERROR, why)))
    }

    /// The response to a request that finds no room in the inbound budget.
    pub(crate) fn no_room(&self) -> Refusal {
        let why = "too many bytes of requests wait for their answers";
        if let Some(left_out) = self.crowded.permit(Instant::now()) {
            tracing::warn!(left_out, "a request was refused: {why}");
        }
        Box::new(unavailable(&format!("{why}; send it again in a moment")))
    }

    /// Whether this request may be served at all.
    async fn admit(&self, parts: &mut Parts) -> Result<(), Refusal> {
        auth::admit(&self.config, parts).await
    }

    /// Whether this may be asked, by whoever does. At the end nothing new begins; what was begun is answered, and may
    /// still be asked, cancelled and listened to.
    pub(crate) fn permit(&self, parts: &Parts, request: &AnyRequest) -> Result<(), Refusal> {
        self.may_begin()?;
        auth::permit(&self.config, parts, request)
    }

    fn may_begin(&self) -> Result<(), Refusal> {
        if self.sessions.is_shut_down() {
            return Err(Box::new(unavailable("the server is shutting down")));
        }
        Ok(())
    }

    /// Begins a session, whose task runs until its end.
    pub(crate) fn begin(self: &Arc<Self>, kind: Kind, parts: &Parts) -> Result<Arc<Exchange>, Refusal> {
        self.may_begin()?;
        let key = new_key().map_err(|error| {
            tracing::error!("no session can begin: {error}");
            Box::new(unavailable("no session can begin"))
        })?;
        let exchange = Exchange::new(kind, key, &Caller::of(parts), &self.config);
        if !self.table.insert(&exchange) {
            if let Some(left_out) = self.rejected.permit(Instant::now()) {
                tracing::warn!(left_out, "a session was refused: there are {} already", self.table.len());
            }
            return Err(Box::new(unavailable("there are too many sessions")));
        }
        let place = TablePlace { inner: Arc::clone(self), exchange: Arc::clone(&exchange) };
        self.server.spawn(Arc::clone(&exchange), Some(place), parts, &self.tasks);
        Ok(exchange)
    }

    /// A response that is a stream of events.
    pub(crate) fn events(&self, seat: Seat) -> Events {
        Events::new(seat, self.config.keep_alive).counted(self.figures.streams.hold())
    }

    /// Serves an exchange that is in no table.
    pub(crate) fn spawn(&self, exchange: &Arc<Exchange>, head: &Parts) {
        self.server.spawn(Arc::clone(exchange), None, head, &self.tasks);
    }
}

/// 503, with a time after which to try again.
pub(crate) fn unavailable(why: &str) -> Response<Body> {
    let mut response = reply::error(StatusCode::SERVICE_UNAVAILABLE, TRANSPORT_ERROR, why);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
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
