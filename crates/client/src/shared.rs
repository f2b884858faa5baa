//! The part of a session that its handles and its task share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protomcp_session::{CallId, ClientLimits, ServerView};
use protomcp_transport::AuthorizationContext;
use tokio::sync::{Semaphore, watch};

use crate::cache::Cache;
use crate::command::Status;
use crate::tool_fields::ToolFields;

/// The part of a session that its handles and its task share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) id: u64,
    pub(crate) status: watch::Receiver<Status>,
    /// Permits for calls without an answer.
    pub(crate) permits: Arc<Semaphore>,
    /// The time for which a request may take in all, unless it has its own.
    pub(crate) total_timeout: Duration,
    /// The authorization of requests, if each has its own exchange, as over HTTP.
    authorization: Option<AuthorizationContext>,
    server: Mutex<Option<Arc<ServerView>>>,
    cache: Mutex<Cache>,
    tool_fields: Mutex<ToolFields>,
    last_call: AtomicU64,
}

impl Shared {
    /// `authorization` comes from a transport on which each request has its own exchange.
    pub(crate) fn new(
        id: u64,
        status: watch::Receiver<Status>,
        limits: &ClientLimits,
        authorization: Option<AuthorizationContext>,
    ) -> Self {
        Self {
            id,
            status,
            permits: Arc::new(Semaphore::new(limits.max_pending.min(Semaphore::MAX_PERMITS))),
            total_timeout: limits.total_timeout.min(ClientLimits::LONGEST),
            authorization,
            server: Mutex::default(),
            cache: Mutex::default(),
            tool_fields: Mutex::default(),
            last_call: AtomicU64::new(0),
        }
    }

    pub(crate) fn next_call(&self) -> CallId {
        CallId::new(self.last_call.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The server; `None` before the connection was opened.
    pub(crate) fn server(&self) -> Option<Arc<ServerView>> {
        lock(&self.server).clone()
    }

    pub(crate) fn opened(&self, server: Arc<ServerView>) {
        *lock(&self.server) = Some(server);
    }

    pub(crate) fn is_stateless(&self) -> bool {
        lock(&self.server).as_ref().is_some_and(|server| !server.is_stateful())
    }

    /// True if arguments are mirrored in header fields.
    pub(crate) fn mirrors(&self) -> bool {
        self.authorization.is_some() && self.is_stateless()
    }

    /// The number of the authorization context of requests.
    pub(crate) fn context(&self) -> u64 {
        self.authorization.as_ref().map_or(0, AuthorizationContext::number)
    }

    pub(crate) fn cache(&self) -> MutexGuard<'_, Cache> {
        lock(&self.cache)
    }

    pub(crate) fn tool_fields(&self) -> MutexGuard<'_, ToolFields> {
        lock(&self.tool_fields)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
