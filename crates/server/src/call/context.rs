//! The surroundings of a call: its caller, its cancellation, and its reports while it runs.

pub(crate) mod asking;
mod remote;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use protomcp_types::{
    Amount, ClientCapabilities, Implementation, Level, Progress, ProgressToken, ProtocolVersion, RawJson, RequestId,
};
use tokio::sync::Notify;

use crate::call::call_info::CallInfo;
use crate::call::ended::{Ended, Outcome};
use crate::call::mrtr::{MultiRoundTrip, ReplyTarget};
use crate::call::outlet::{Layers, Outlet};
use crate::call::session_queue::{SessionQueue, log_message};
use crate::records::cancel::Cancel;
use protomcp_fair::Owner;
use protomcp_session::{
    CallerKey, ClientInfo, Conversation, Extensions, InputRequired, InputResponses, RequestKey, SessionId,
};

/// The surroundings of one call. Cloning is cheap.
#[derive(Clone)]
pub struct Context(Arc<Call>);

struct Call {
    caller: CallerKey,
    session: SessionId,
    info: Arc<CallInfo>,
    queue: Arc<SessionQueue>,
    outlet: Arc<dyn Outlet>,
    /// Only of an outlet that is not of this crate: the queue of a session has its own.
    layers: Option<Layers>,
    /// Only of a stateless call that may ask, whose outlet they are.
    rounds: Option<Arc<MultiRoundTrip>>,
    cancelled: AtomicBool,
    wake: Notify,
    /// The input that the handler requires before it answers, in a session.
    required: Mutex<Option<Box<InputRequired>>>,
    /// Only of a handler that is called again.
    given: Option<Box<Given>>,
    /// The last progress that was sent.
    reached: Mutex<Option<Amount>>,
    /// Runs when the answer is sent.
    after_response: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// The state and answers for a handler that is called again.
#[derive(Debug)]
struct Given {
    /// The call as the session knows it.
    first: Context,
    state: Option<String>,
    answers: InputResponses,
}

impl Context {
    /// The context of a new call. `rounds`: of a stateless call that may ask its client, or continue as a task. Any other
    /// reaches its client through the queue of `target`.
    pub(crate) fn new(
        caller: CallerKey,
        session: SessionId,
        target: ReplyTarget,
        rounds: Option<Arc<MultiRoundTrip>>,
    ) -> Self {
        let outlet = match &rounds {
            Some(rounds) => Arc::clone(rounds) as Arc<dyn Outlet>,
            None => Arc::clone(&target.queue) as Arc<dyn Outlet>,
        };
        Self(Arc::new(Call { rounds, ..Call::new(caller, session, target, outlet) }))
    }

    /// The context of a new call that reaches its client through this. Its reports pass the layers first.
    pub(crate) fn with_outlet(
        caller: CallerKey,
        session: SessionId,
        target: ReplyTarget,
        outlet: Arc<dyn Outlet>,
        layers: Option<Layers>,
    ) -> Self {
        Self(Arc::new(Call { layers, ..Call::new(caller, session, target, outlet) }))
    }

    /// The context of a call of the same client that reaches it on another way.
    pub(crate) fn through(&self, outlet: Arc<dyn Outlet>) -> Self {
        Self(Arc::new(self.0.derived(outlet)))
    }

    /// The context of another call of the same client.
    pub(crate) fn for_same_client(&self) -> Self {
        self.through(Arc::clone(&self.0.queue) as Arc<dyn Outlet>)
    }

    /// The context of a handler that is called again.
    pub(crate) fn for_retry(&self, state: Option<String>, answers: InputResponses) -> Self {
        let call = self.0.derived(Arc::clone(&self.0.outlet));
        let given = Some(Box::new(Given { first: self.clone(), state, answers }));
        let (rounds, layers) = (self.0.rounds.clone(), self.0.layers.clone());
        Self(Arc::new(Call { rounds, layers, given, ..call }))
    }

    /// The call as the session knows it.
    fn first(&self) -> &Call {
        self.0.given.as_ref().map_or(&self.0, |given| &given.first.0)
    }

    /// The input that the handler requires before it answers.
    pub(crate) fn take_required(&self) -> Option<InputRequired> {
        self.0.required.lock().unwrap_or_else(PoisonError::into_inner).take().map(|required| *required)
    }

    /// A context without a client, for tests of services: its notifications are dropped.
    #[must_use]
    pub fn detached() -> Self {
        let client = ClientInfo {
            version: ProtocolVersion::NEWEST_STATEFUL,
            implementation: Implementation::new("detached", ""),
            capabilities: ClientCapabilities::new(),
        };
        let key = RequestKey { number: 0, id: RequestId::from(0) };
        let info = CallInfo::new(key, Arc::new(client), Extensions::default());
        Self::new(
            CallerKey { owner: Owner::Local, conversation: Conversation::Session(SessionId::DETACHED) },
            SessionId::DETACHED,
            ReplyTarget { queue: SessionQueue::closed(), info: Arc::new(info) },
            None,
        )
    }

    /// The session that the request came from; [`SessionId::STATELESS`] when it belongs to none.
    #[must_use]
    pub fn session(&self) -> SessionId {
        if self.is_stateless() { SessionId::STATELESS } else { self.0.session }
    }

    /// The caller of the request, for limits that callers share.
    #[must_use]
    pub fn caller(&self) -> &CallerKey {
        &self.0.caller
    }

    /// True if the request is one of the stateless revision. Its answer must depend neither on earlier requests nor on
    /// the connection (MCP 2026-07-28, basic).
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.0.info.stateless.is_some()
    }

    /// The id of the request, as the client chose it. The retry of a stateless request has another id; this is the id
    /// of the first request.
    #[must_use]
    pub fn request_id(&self) -> &RequestId {
        &self.0.info.key.id
    }

    /// The revision that client and server have agreed on, or that the request names.
    #[must_use]
    pub fn protocol_version(&self) -> ProtocolVersion {
        self.0.info.client.version
    }

    /// The name and version of the client.
    #[must_use]
    pub fn client(&self) -> &Implementation {
        &self.0.info.client.implementation
    }

    /// The capabilities of the client.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.0.info.client.capabilities
    }

    /// True if the host of the client shows pages of MCP Apps next to the results of tools.
    #[must_use]
    pub fn shows_apps(&self) -> bool {
        self.capabilities().shows_apps()
    }

    /// The facts that the transport knows about the request in addition to its text. Over HTTP that is the head of the
    /// HTTP request, as `http::request::Parts`: headers, URI, and in its extensions the address and the identity of the
    /// peer.
    #[must_use]
    pub fn extension<T: Any>(&self) -> Option<&T> {
        self.0.info.known.find()
    }

    /// The facts that the transport knows about the request.
    pub(crate) fn extensions(&self) -> &Extensions {
        &self.0.info.known
    }

    /// True if the client has cancelled the request, or the server shuts down.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.first().cancelled.load(Ordering::Acquire)
    }

    /// Waits until [`Context::is_cancelled`].
    pub async fn cancelled(&self) {
        loop {
            let woken = self.first().wake.notified();
            if self.is_cancelled() {
                return;
            }
            woken.await;
        }
    }

    /// The token under which the client wants progress; without one [`Context::progress`] does nothing.
    #[must_use]
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.0.info.token.as_ref()
    }

    /// Sends the client the progress of the call. Progress that does not grow is dropped (MCP 2025-11-25,
    /// basic/utilities/progress), and so is all progress after the answer. Between the rounds of a stateless call the
    /// last 32 reports wait for the next request of the client. A message is also the status message of a task.
    pub fn progress(&self, progress: &Progress) {
        if let Some(message) = &progress.message {
            self.set_task_message(message);
        }
        let mut reached = self.first().reached.lock().unwrap_or_else(PoisonError::into_inner);
        let grows = reached.is_none_or(|reached| progress.progress > reached);
        if !grows || self.is_cancelled() {
            tracing::debug!(request = %self.0.info.key.id, ?progress, "progress does not grow: dropped");
            return;
        }
        // Sent under the lock, so that two reporters cannot overtake each other.
        if self.0.send_progress(progress) {
            *reached = Some(progress.progress);
        }
    }

    /// Sets the status message of a task, for people; the first 4096 bytes are kept. No effect on a call that is not a
    /// task.
    pub fn set_task_message(&self, message: &str) {
        self.0.outlet.set_task_message(message);
    }

    /// The least severe level of the log messages that [`Context::log`] sends; `None`: it sends none.
    #[must_use]
    pub fn log_level(&self) -> Option<Level> {
        match self.0.info.stateless {
            None => Some(self.0.queue.level()),
            Some(info) => info.log_level,
        }
    }

    /// Sends the client a log message, if it wants messages of this level: in its session, or about this request.
    ///
    /// MCP 2026-07-28 deprecates log messages to clients: they stay for a year at least. What only the operator needs
    /// belongs to standard error.
    pub fn log(&self, level: Level, logger: Option<&str>, data: &RawJson) {
        let Call { outlet, info, layers, .. } = &*self.0;
        let Some(layers) = layers else { return outlet.send_log(info, level, logger, data) };
        let Some(notification) = layers(log_message(level, logger, data)) else { return };
        let text = |name: &str| notification.params.member(name).and_then(|value| value.to::<String>().ok());
        let level = text("level").and_then(|name| Level::parse(&name)).unwrap_or(level);
        let data = notification.params.member("data").unwrap_or(data);
        outlet.send_log(info, level, text("logger").as_deref(), data);
    }

    /// Closes the stream of this call over HTTP until it has something to send. The client reconnects for the answer,
    /// which saves a connection (MCP 2025-11-25, basic/transports, Streamable HTTP). No effect on other transports.
    pub fn close_stream(&self) {
        self.0.queue.close_stream(&self.0.info.key);
    }

    /// Keeps the slot of the call until all of it has ended, also as a task.
    pub(crate) fn keep(&self, slot: Arc<dyn Any + Send + Sync>) {
        // A call that is made again, as by a layer, has the slot of the first time.
        let _first = self.0.info.slot.set(slot);
    }

    pub(crate) fn key(&self) -> &RequestKey {
        &self.0.info.key
    }

    pub(crate) fn mrtr(&self) -> Option<&Arc<MultiRoundTrip>> {
        self.0.rounds.as_ref()
    }

    pub(crate) fn queue(&self) -> &Arc<SessionQueue> {
        &self.0.queue
    }

    /// Cancels the call, and keeps the rest of it as well.
    pub(crate) fn canceller(&self) -> Arc<dyn Cancel> {
        Arc::clone(&self.0) as Arc<dyn Cancel>
    }

    /// The call has ended: its outcome answers the request that it belongs to now, if it belongs to one.
    pub(crate) fn finish(&self, outcome: Outcome) {
        match self.mrtr() {
            None => self.0.queue.done(self.0.info.key.clone(), self.0.queue.settle(outcome)),
            Some(mrtr) => {
                if let Some((ReplyTarget { queue, info }, ended)) = mrtr.finish(outcome, &self.0.queue) {
                    queue.done(info.key.clone(), ended);
                }
            }
        }
        self.answered();
    }

    /// Like [`Context::finish`], of a call that still belongs to its first request. `None`: it is about to become a task,
    /// which keeps the outcome.
    pub(crate) fn finish_first(&self, outcome: Outcome) -> Option<Ended> {
        match self.mrtr() {
            None => Some(self.0.queue.settle(outcome)),
            Some(mrtr) => mrtr.finish(outcome, &self.0.queue).map(|(_, ended)| ended),
        }
    }

    /// Like [`Context::finish`], of a call of a session in the task of its connection.
    pub(crate) fn conclude(&self, outcome: Outcome) -> Ended {
        self.answered();
        self.0.queue.settle(outcome)
    }

    /// Runs a function when the answer to the request is sent: messages that it sends follow the answer.
    pub(crate) fn after_response(&self, then: impl FnOnce() + Send + 'static) {
        *self.first().after_response.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(then));
    }

    /// The answer to the request is about to be sent.
    pub(crate) fn answered(&self) {
        let then = self.first().after_response.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(then) = then {
            then();
        }
    }
}

impl Call {
    fn new(caller: CallerKey, session: SessionId, target: ReplyTarget, outlet: Arc<dyn Outlet>) -> Self {
        let ReplyTarget { queue, info } = target;
        Self {
            caller,
            session,
            info,
            queue,
            outlet,
            layers: None,
            rounds: None,
            cancelled: AtomicBool::new(false),
            wake: Notify::new(),
            required: Mutex::new(None),
            given: None,
            reached: Mutex::new(None),
            after_response: Mutex::new(None),
        }
    }

    /// Another call of the same client and request.
    fn derived(&self, outlet: Arc<dyn Outlet>) -> Self {
        let target = ReplyTarget { queue: Arc::clone(&self.queue), info: Arc::clone(&self.info) };
        Self::new(self.caller.clone(), self.session, target, outlet)
    }

    fn send_progress(&self, progress: &Progress) -> bool {
        let Some(layers) = &self.layers else { return self.outlet.send_progress(&self.info, progress) };
        let Some(notification) = self.info.progress(progress) else { return false };
        match layers(notification).as_ref().and_then(Progress::from_notification) {
            Some((_, progress)) => self.outlet.send_progress(&self.info, &progress),
            None => true,
        }
    }
}

impl Cancel for Context {
    fn cancel(&self) {
        self.0.cancel();
    }
}

impl Cancel for Call {
    fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.wake.notify_waiters();
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("request", &self.info.key.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("session", &self.0.session)
            .field("request", &self.0.info.key.id)
            .field("cancelled", &self.is_cancelled())
            .finish_non_exhaustive()
    }
}
