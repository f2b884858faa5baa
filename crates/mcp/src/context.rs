//! What a call knows about who called it, and how it reports back while it runs.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protomcp_types::{
    Amount, ClientCapabilities, HostMethod, Implementation, Level, Progress, ProgressToken, ProtocolVersion, RawJson,
    RequestId,
};
use tokio::sync::Notify;

use crate::ask::{AskError, ask};
use crate::outbox::Outbox;
use crate::session::{Client, SessionId, Stateless, Ticket};

/// The surroundings of one call. Cloning is cheap.
#[derive(Clone)]
pub struct Context(Arc<Call>);

struct Call {
    session: SessionId,
    terms: Terms,
    outbox: Arc<Outbox>,
    ask_timeout: Duration,
    cancelled: AtomicBool,
    wake: Notify,
    /// The last progress that was sent.
    reached: Mutex<Option<Amount>>,
}

/// What a request says about itself and its sender.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) ticket: Ticket,
    pub(crate) client: Arc<Client>,
    pub(crate) token: Option<ProgressToken>,
    pub(crate) stateless: Option<Stateless>,
}

impl Context {
    pub(crate) fn new(session: SessionId, terms: Terms, outbox: Arc<Outbox>, ask_timeout: Duration) -> Self {
        let reached = Mutex::new(None);
        Self(Arc::new(Call {
            session,
            terms,
            outbox,
            ask_timeout,
            cancelled: AtomicBool::new(false),
            wake: Notify::new(),
            reached,
        }))
    }

    /// A context without a host behind it, for tests of services: what it reports goes nowhere.
    #[must_use]
    pub fn detached() -> Self {
        let client = Client {
            version: ProtocolVersion::NEWEST_STATEFUL,
            implementation: Implementation::new("detached", ""),
            capabilities: ClientCapabilities::new(),
        };
        let ticket = Ticket { number: 0, id: RequestId::from(0) };
        let terms = Terms { ticket, client: Arc::new(client), token: None, stateless: None };
        Self::new(SessionId::DETACHED, terms, Outbox::closed(), Duration::ZERO)
    }

    /// The session that the request came from; [`SessionId::STATELESS`] when it belongs to none.
    #[must_use]
    pub fn session(&self) -> SessionId {
        if self.is_stateless() { SessionId::STATELESS } else { self.0.session }
    }

    /// Whether the request is one of the stateless revision. What it is answered must not depend on what came before
    /// it, nor on the connection (MCP 2026-07-28, basic).
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.0.terms.stateless.is_some()
    }

    /// The id of the request, as the host chose it.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.0.terms.ticket.id
    }

    /// The revision that host and server have agreed on, or that the request names.
    #[must_use]
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.0.terms.client.version
    }

    /// Who the host is.
    #[must_use]
    pub fn client(&self) -> &Implementation {
        &self.0.terms.client.implementation
    }

    /// What the host can do.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.terms.client.capabilities
    }

    /// Whether the host does not want the answer any more, or the server shuts down.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Waits until [`Context::is_cancelled`].
    pub async fn cancelled(&self) {
        loop {
            let woken = self.0.wake.notified();
            if self.is_cancelled() {
                return;
            }
            woken.await;
        }
    }

    /// The token under which the host wants progress; without one [`Context::progress`] does nothing.
    #[must_use]
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.0.terms.token.as_ref()
    }

    /// Tells the host how far the call has come. What does not grow is dropped (MCP 2025-11-25,
    /// basic/utilities/progress), and so is everything after the answer.
    pub fn progress(&self, progress: &Progress) {
        let Some(token) = &self.0.terms.token else { return };
        let mut reached = self.0.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let grows = reached.is_none_or(|reached| progress.progress > reached);
        if !grows || self.is_cancelled() {
            tracing::debug!(request = %self.0.terms.ticket.id, ?progress, "progress does not grow: dropped");
            return;
        }
        if let Some(notification) = progress.to_notification(token, self.0.terms.client.version) {
            *reached = Some(progress.progress);
            // Sent under the lock, so that two reporters cannot overtake each other.
            self.0.outbox.progress(&self.0.terms.ticket, notification);
        }
    }

    /// Asks the host something, within [`Limits::ask_timeout`](crate::Limits::ask_timeout): `sampling/createMessage`,
    /// `roots/list`, `elicitation/create`, `ping`. The session of this call is asked, and no other. Dropping the future
    /// takes the question back.
    ///
    /// ```
    /// use protomcp_mcp::{AskError, Context};
    /// use protomcp_types::{ListRoots, Root};
    ///
    /// async fn roots(context: &Context) -> Result<Vec<Root>, AskError> {
    ///     match context.ask::<ListRoots>(&ListRoots::default()).await {
    ///         Ok(result) => Ok(result.roots),
    ///         Err(AskError::NotSupported(_)) => Ok(Vec::new()),
    ///         Err(error) => Err(error),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// At once when the host does not declare that it answers such questions or owes too many answers; when it refuses
    /// or takes too long; and when the call is cancelled or its session ends.
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    pub fn ask<M: HostMethod>(
        &self,
        params: &M::Params,
    ) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<M> {
        self.ask_within::<M>(params, self.0.ask_timeout)
    }

    /// As [`Context::ask`], with another time limit.
    ///
    /// # Errors
    /// As [`Context::ask`].
    ///
    /// # Panics
    /// As [`Context::ask`].
    pub fn ask_within<M: HostMethod>(
        &self,
        params: &M::Params,
        timeout: Duration,
    ) -> impl Future<Output = Result<M::Result, AskError>> + Send + use<M> {
        let call = &self.0;
        let answer = ask::<M>(&call.outbox, &call.terms.client, Some(call.terms.ticket.clone()), params, timeout);
        let context = self.clone();
        async move {
            tokio::select! {
                biased;
                () = context.cancelled() => Err(AskError::Gone),
                answer = answer => answer,
            }
        }
    }

    /// Sends the host a log message, if it wants messages of this level: in its session, or about this request.
    pub fn log(&self, level: Level, logger: Option<&str>, data: &RawJson) {
        match &self.0.terms.stateless {
            None => self.0.outbox.log(Some(&self.0.terms.ticket), level, logger, data),
            Some(Stateless { log_level: Some(least), .. }) if level >= *least => {
                self.0.outbox.log_during(&self.0.terms.ticket, level, logger, data);
            }
            Some(_) => {}
        }
    }

    /// Says that this call will have nothing to report for a while. Over HTTP its stream is closed and the host comes
    /// back for the answer, which spares a connection (MCP 2025-11-25, basic/transports, Streamable HTTP); where that
    /// cannot be, nothing happens.
    pub fn close_stream(&self) {
        self.0.outbox.pause(&self.0.terms.ticket);
    }

    pub(crate) fn ticket(&self) -> &Ticket {
        &self.0.terms.ticket
    }

    pub(crate) fn outbox(&self) -> &Arc<Outbox> {
        &self.0.outbox
    }

    pub(crate) fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.wake.notify_waiters();
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("session", &self.0.session)
            .field("request", &self.0.terms.ticket.id)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
