//! The state that the handlers of all methods share, and the start of sessions.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use protomcp_fair::{LeftOut, LogRate};
use protomcp_server::layer::lazy_tools::RequestTarget;
use protomcp_server::{Limits, Replies, Reservation, Server, ServerHandle, Service, StatelessMeta};
use protomcp_types::{RawJson, Request, TaskRequest};
use tokio::time::{Instant, sleep};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::auth;
use crate::body::{self, SourceRequest, Unread};
use crate::caller::Caller;
use crate::config::Config;
use crate::config::limits::HttpLimits;
use crate::events::{EventSource, Events};
use crate::guard::Guard;
use crate::hop::HopRefusal;
use crate::http_session::transport::SessionTransport;
use crate::http_session::{HttpSession, SessionKind};
use crate::known_holders::REMEMBERED_FOR;
use crate::metrics::Metrics;
use crate::patience::Patience;
use crate::protocol_era::is_sessionless;
use crate::reply::{self, Body, Refusal, TRANSPORT_ERROR};
use crate::session_table::{SessionTable, new_key};

/// The time on its way of a request that another process has handed on at the last moment.
const LATE: Duration = Duration::from_millis(500);

pub(crate) struct Endpoint {
    pub(crate) config: Config,
    pub(crate) table: SessionTable,
    pub(crate) guard: Guard,
    pub(crate) metrics: Metrics,
    /// Limits the log of requests that get 403 from the host and origin checks.
    pub(crate) forbidden_log: LogRate,
    /// Limits the log of sessions that get 503 because the table is full.
    table_full_log: LogRate,
    /// Limits the log of requests that get 503 because the inbound budget is used up.
    budget_full_log: LogRate,
    /// The time after which a response becomes a stream.
    pub(crate) patience: Patience,
    server: Box<dyn Serve>,
    pub(crate) sessions: ServerHandle,
    /// One for each session and for each request without one.
    tasks: TaskTracker,
}

/// A server of any type of service.
pub(crate) trait Serve: Send + Sync {
    /// Starts the task of a session.
    fn spawn(&self, session: Arc<HttpSession>, slot: TableSlot, head: &Parts, tasks: &TaskTracker);

    /// Serves a request without a session.
    fn answer(&self, request: Request, meta: &StatelessMeta, source: &SourceRequest) -> Replies;

    /// The method and the name by which the access to a request with this head is decided.
    fn target(&self, request: &Request, head: &Parts) -> RequestTarget;

    /// The definition of a tool as every client reads it, if it is the same in all sessions.
    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        let _ = tool;
        None
    }
}

impl<S: Service> Serve for Server<S> {
    fn spawn(&self, session: Arc<HttpSession>, slot: TableSlot, _: &Parts, tasks: &TaskTracker) {
        // An async block would hold the session twice.
        tasks.spawn(self.serve_inline(SessionTransport(session)).map(move |outcome| {
            if let Err(error) = outcome {
                tracing::debug!("a session ended early: {error}");
            }
            drop(slot);
        }));
    }

    fn answer(&self, request: Request, meta: &StatelessMeta, source: &SourceRequest) -> Replies {
        Self::answer(self, request, meta, Caller::of(&source.head).peer(), source.clone().extensions())
    }

    fn target(&self, request: &Request, _: &Parts) -> RequestTarget {
        Self::target(self, request)
    }

    fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        Self::tool_definition(self, tool)
    }
}

/// One server for each session, and for each request without one.
pub(crate) struct Factory<F> {
    pub(crate) sessions: ServerHandle,
    pub(crate) make: F,
}

impl<S: Service, F: Fn(&Parts, &ServerHandle) -> Server<S> + Send + Sync> Serve for Factory<F> {
    fn spawn(&self, session: Arc<HttpSession>, slot: TableSlot, head: &Parts, tasks: &TaskTracker) {
        (self.make)(head, &self.sessions).spawn(session, slot, head, tasks);
    }

    fn answer(&self, request: Request, meta: &StatelessMeta, source: &SourceRequest) -> Replies {
        Serve::answer(&(self.make)(&source.head, &self.sessions), request, meta, source)
    }

    /// Only the server knows its lazy tools: one is made if the request may be about them.
    fn target(&self, request: &Request, head: &Parts) -> RequestTarget {
        let target = RequestTarget::needed_by(request);
        if target.may_be_lazy() { (self.make)(head, &self.sessions).target(request) } else { target }
    }
}

/// The slot of a session in the table. It is freed when the task of the session ends, also by a panic.
pub(crate) struct TableSlot {
    endpoint: Arc<Endpoint>,
    session: Arc<HttpSession>,
}

impl Drop for TableSlot {
    fn drop(&mut self) {
        self.endpoint.table.remove_session(&self.session);
    }
}

impl Endpoint {
    pub(crate) fn new(server: Box<dyn Serve>, sessions: ServerHandle, config: Config) -> Self {
        if config.access.oauth.is_some() {
            // The scopes that a task has needed are known to the process that has begun it.
            sessions.serve_own_tasks_only();
        }
        Self {
            table: SessionTable::new(config.limits.max_sessions),
            guard: Guard::new(&config),
            metrics: Metrics::default(),
            forbidden_log: LogRate::default(),
            table_full_log: LogRate::default(),
            budget_full_log: LogRate::default(),
            patience: Patience::new(config.streams.stream_after),
            sessions,
            tasks: TaskTracker::new(),
            server,
            config,
        }
    }

    /// The definition of a tool as every client reads it, if the server knows it.
    pub(crate) fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        self.server.tool_definition(tool)
    }

    /// Waits until the server shuts down and every session and request has ended, and until the other processes have
    /// forgotten that the sessions were here: a connection that is closed while they send on it loses a request.
    pub(crate) async fn drained(&self) {
        self.sessions.shutdown_token().cancelled().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.sessions.tasks_ended().await;
        if self.config.replicas.is_some() {
            sleep(REMEMBERED_FOR + LATE).await;
        }
    }

    /// Reads a body within its timeout and budget.
    pub(crate) async fn read<B: http_body::Body>(
        &self,
        parts: &Parts,
        body: B,
    ) -> Result<(Bytes, Reservation), Refusal> {
        let HttpLimits { max_body: limit, max_body_setting: setting, .. } = self.config.limits;
        let (status, why) = match self.read_within(&Caller::of(parts), body, limit).await {
            Ok(read) => return Ok(read),
            Err(Unread::NoRoom) => return Err(self.no_room()),
            Err(Unread::TooLong) => {
                let raise = setting.map(|name| format!("; raise {name} of the server")).unwrap_or_default();
                (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {limit} bytes{raise}"))
            }
            Err(unread @ Unread::Broken) => (StatusCode::BAD_REQUEST, unread.to_string()),
            Err(unread @ Unread::TimedOut) => (StatusCode::REQUEST_TIMEOUT, unread.to_string()),
        };
        Err(Box::new(reply::error(status, TRANSPORT_ERROR, why)))
    }

    /// Reads a body of at most `limit` bytes within its timeout and budget.
    pub(crate) async fn read_within<B: http_body::Body>(
        &self,
        caller: &Caller,
        body: B,
        limit: usize,
    ) -> Result<(Bytes, Reservation), Unread> {
        let owner = caller.owner();
        let budget = self.sessions.inbound_budget();
        let read = body::read(body, limit, budget, &owner, Limits::REQUEST_OVERHEAD);
        tokio::time::timeout(self.config.limits.body_timeout, read).await.unwrap_or(Err(Unread::TimedOut))
    }

    /// The response to a request that exceeds the inbound budget.
    pub(crate) fn no_room(&self) -> Refusal {
        let why = "too many bytes of requests wait for their answers";
        if let Some(LeftOut(left_out)) = self.budget_full_log.permit(Instant::now().into_std()) {
            tracing::warn!(left_out, "a request was refused: {why}");
        }
        Box::new(unavailable(&format!("{why}; send it again in a moment")))
    }

    /// Takes a request that another process hands on, and its caller.
    pub(crate) fn take(&self, parts: &mut Parts) -> Result<(), Refusal> {
        let lease = self.config.leases.as_ref().and_then(|keeper| keeper.holder());
        let taken = match &self.config.replicas {
            Some(replicas) => replicas.take(lease.as_ref(), parts),
            None => Err(HopRefusal::NotConfigured),
        };
        match taken {
            Ok(hop) => {
                auth::accept(&self.config, parts, hop.caller);
                parts.extensions.insert(Taken { body: hop.body });
                Ok(())
            }
            Err(refusal) => {
                self.metrics.count_response(refusal.status());
                Err(auth::refuse_hop(&self.config, parts, refusal))
            }
        }
    }

    /// Checks the credentials of a request, before its body is read.
    pub(crate) async fn authenticate(&self, parts: &mut Parts) -> Result<(), Refusal> {
        if is_taken(parts) { Ok(()) } else { auth::authenticate(&self.config, parts).await }
    }

    /// Checks that another process has handed on a request with this body, if it has.
    pub(crate) async fn check_body(&self, parts: &Parts, body: &Bytes) -> Result<(), Refusal> {
        let Some(taken) = parts.extensions.get::<Taken>() else { return Ok(()) };
        let Some(replicas) = &self.config.replicas else { return Ok(()) };
        if replicas.digest(&Caller::of(parts).owner(), body).await == taken.body {
            return Ok(());
        }
        Err(auth::refuse_hop(&self.config, parts, HopRefusal::OtherBody))
    }

    /// Checks the scopes that a request needs. During a shutdown no new request begins; running ones are answered, and
    /// can still be cancelled, and tasks without a session can be read, answered and cancelled.
    pub(crate) fn authorize(&self, parts: &Parts, request: &Request) -> Result<(), Refusal> {
        if !(TaskRequest::is_method(&request.method) && is_sessionless(&parts.headers)) {
            self.may_take_up(parts)?;
        }
        auth::authorize(&self.config, parts, &request.id, || self.server.target(request, parts))
    }

    /// Refuses everything new during a shutdown. Another process waits until the session that it hands a request on for
    /// is free.
    pub(crate) fn may_take_up(&self, parts: &Parts) -> Result<(), Refusal> {
        if self.sessions.is_shut_down() && is_taken(parts) {
            return Err(auth::hop_refusal(HopRefusal::Leaving));
        }
        self.may_begin()
    }

    /// Refuses everything new during a shutdown.
    pub(crate) fn may_begin(&self) -> Result<(), Refusal> {
        if self.sessions.is_shut_down() {
            return Err(Box::new(unavailable("the server is shutting down")));
        }
        Ok(())
    }

    /// Begins a session for this process alone, and spawns its task.
    pub(crate) fn begin(self: &Arc<Self>, kind: SessionKind, parts: &Parts) -> Result<Arc<HttpSession>, Refusal> {
        let key = self.new_session()?;
        self.enter(HttpSession::new(kind, key, &Caller::of(parts), &self.config), parts)
    }

    /// The key of a session that may begin.
    pub(crate) fn new_session(&self) -> Result<Box<str>, Refusal> {
        self.may_begin()?;
        new_key().map_err(|error| {
            tracing::error!("no session can begin: {error}");
            Box::new(unavailable("no session can begin; try again later"))
        })
    }

    /// Enters a session in the table, and spawns its task.
    pub(crate) fn enter(
        self: &Arc<Self>,
        session: Arc<HttpSession>,
        parts: &Parts,
    ) -> Result<Arc<HttpSession>, Refusal> {
        if !self.table.insert(&session) {
            if let Some(LeftOut(left_out)) = self.table_full_log.permit(Instant::now().into_std()) {
                tracing::warn!(left_out, "a session was refused: there are {} already", self.table.len());
            }
            return Err(Box::new(unavailable("there are too many sessions; end another one, or try again later")));
        }
        let slot = TableSlot { endpoint: Arc::clone(self), session: Arc::clone(&session) };
        self.server.spawn(Arc::clone(&session), slot, parts, &self.tasks);
        Ok(session)
    }

    /// A response that is a stream of events.
    pub(crate) fn events(&self, source: EventSource) -> Events {
        Events::new(source, self.config.streams.keep_alive).counted(self.metrics.open_stream())
    }

    /// Keeps [`Endpoint::drained`] waiting until it is dropped.
    pub(crate) fn token(&self) -> TaskTrackerToken {
        self.tasks.token()
    }

    /// The same for a request without a session; `None`: the server shuts down. Requests about tasks do not prolong that, and
    /// the listener waits for their responses.
    pub(crate) fn request_token(&self) -> Option<TaskTrackerToken> {
        (!self.sessions.is_shut_down()).then(|| self.token())
    }

    /// Serves a request without a session. [`Endpoint::drained`] waits for its end, if it has come before the shutdown.
    pub(crate) fn answer(&self, request: Request, meta: &StatelessMeta, source: &SourceRequest) -> Replies {
        let replies = self.server.answer(request, meta, source);
        self.request_token().into_iter().fold(replies, Replies::tracked)
    }
}

/// Another process hands the request on, in its extensions. It may come back to no other one.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// The SHA-256 of its body.
    body: [u8; 32],
}

/// True if another process hands the request with this head on.
pub(crate) fn is_taken(parts: &Parts) -> bool {
    parts.extensions.get::<Taken>().is_some()
}

/// 503 with `Retry-After`.
pub(crate) fn unavailable(why: &str) -> Response<Body> {
    retry_after("5", why)
}

/// 503 for something that is over in a moment.
pub(crate) fn retry_soon(why: &str) -> Response<Body> {
    retry_after("1", why)
}

fn retry_after(seconds: &'static str, why: &str) -> Response<Body> {
    let mut response = reply::error(StatusCode::SERVICE_UNAVAILABLE, TRANSPORT_ERROR, why);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(seconds));
    response
}
