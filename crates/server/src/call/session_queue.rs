//! The queue into a session's task.
//!
//! Answers, progress, log messages and changes of lists all pass the same channel, so that the notifications of a call
//! precede its answer. The channel itself has no bound, but its events do: answers by the number of pending requests;
//! notices by a count and their bytes, which are freed when the notices are written; changes of lists by a flag for
//! each list; updates of resources by the number of subscriptions; and questions by a count of slots, which are freed
//! when the questions are answered or their cancellation is written. Answers, notices and questions also reserve their
//! bytes in the outbound budget of all sessions. Events are boxed, because an empty channel has room for dozens of
//! them, which would be most of the memory of an idle session.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use protomcp_types::{
    ErrorObject, JsonBuf, JsonObject, Level, Notification, Progress, ProgressToken, RawJson, RequestId,
    SubscriptionFilter, Task, method,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::call::client_request::{ClientRequest, OutgoingRequest};
use crate::call::ended::{Ended, Outcome};
use crate::call::listen_guard::ListenGuard;
use crate::records::session_notice::{Audience, SessionNotice};
use protomcp_fair::{Budget, Owner, Reservation};
use protomcp_session::{
    ClientInfo, Limits, List, ListScope, RequestKey, Session, Subscriptions, TaskOptions, TaskView, Topic,
};

/// The events of a session's task.
#[derive(Debug)]
pub(crate) enum SessionEvent {
    /// A call has ended.
    Done(RequestKey, Ended),
    /// The call of a member with this number has ended, and its answer is written.
    Answered(u64),
    /// A notification of a call before its answer: progress, or its log message.
    CallNotification(RequestKey, Notice),
    /// A log message of a call, or of the server.
    Log(Option<RequestKey>, Level, Notice),
    /// The stream of a call is closed until the call sends something.
    CloseStream(RequestKey),
    /// Any other notification, which is sent only after the handshake.
    Notice(Notice),
    /// A list has changed.
    ListChanged(List, ListScope),
    /// A request to the client.
    ClientRequest(Box<ClientRequest>),
    /// A stateless call waits for answers: park it, and answer its request with the questions.
    Park,
    /// A stateless call asks to continue as a task.
    Detach(TaskOptions),
    /// The answer to this question is no longer needed.
    Withdraw(u64),
    /// The messages of this request can no longer reach the client.
    Undeliverable(RequestId),
    /// The store has found a task that has changed; `None`: it no longer exists.
    TaskFound(Arc<str>, Option<Box<TaskView>>),
    /// A resource has changed that the client had subscribed to, or a task that it listens for.
    Updated(Topic, Arc<str>),
    /// The topics that a request listens to while it holds the guard.
    Listening(RequestKey, Box<SubscriptionFilter>, ListenGuard),
}

/// A notification that is dropped if there is no room for it, with its reservation.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(crate) notification: Notification,
    pub(crate) reservation: Reservation,
}

/// The bytes that notices take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    count: usize,
    bytes: usize,
}

impl Usage {
    pub(crate) fn of(notification: &Notification) -> Self {
        Self { count: 1, bytes: notification.params.weight() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// The slots of open questions, and the numbers of questions.
#[derive(Debug)]
struct QuestionSlots {
    /// Made with the first question.
    slots: OnceLock<Arc<Semaphore>>,
    max: usize,
    /// The time for an answer.
    timeout: Duration,
    last: AtomicU64,
}

impl QuestionSlots {
    fn new(limits: &Limits) -> Self {
        let (max, timeout) = (limits.max_questions, limits.ask_timeout);
        Self { slots: OnceLock::new(), max, timeout, last: AtomicU64::new(0) }
    }

    /// A slot and a number for a question; `None`: all slots are taken.
    fn take(&self) -> Option<(OwnedSemaphorePermit, u64)> {
        let slots = || Arc::new(Semaphore::new(self.max.min(Semaphore::MAX_PERMITS)));
        let slot = Arc::clone(self.slots.get_or_init(slots)).try_acquire_owned().ok()?;
        Some((slot, self.last.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

#[derive(Debug)]
pub(crate) struct SessionQueue {
    events: mpsc::UnboundedSender<Box<SessionEvent>>,
    outbound: Budget,
    owner: Owner,
    /// The lowest level of log messages that the client has requested.
    level: AtomicU8,
    /// Notices that are queued or not written yet.
    notices: AtomicUsize,
    max_notices: usize,
    /// Bytes of their parameters.
    notice_bytes: AtomicUsize,
    max_notice_bytes: usize,
    /// Notices that were dropped since [`SessionQueue::take_dropped`] was last called.
    dropped: AtomicUsize,
    /// True if a change is queued, for each kind of list and each scope.
    changed: [[AtomicBool; 2]; List::ALL.len()],
    /// `None`: of a call without a session.
    subscriptions: Option<Arc<Subscriptions>>,
    questions: QuestionSlots,
    /// Set when the client has introduced itself.
    client: OnceLock<Arc<ClientInfo>>,
    /// True if the server has declared log messages.
    logging: bool,
}

impl SessionQueue {
    pub(crate) fn new(
        limits: &Limits,
        logging: bool,
        subscriptions: Option<Arc<Subscriptions>>,
        outbound: Budget,
        owner: Owner,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Box<SessionEvent>>) {
        let (events, receiver) = mpsc::unbounded_channel();
        let queue = Self {
            events,
            outbound,
            owner,
            level: AtomicU8::new(Session::INITIAL_LEVEL as u8),
            notices: AtomicUsize::new(0),
            max_notices: limits.max_notices,
            notice_bytes: AtomicUsize::new(0),
            max_notice_bytes: limits.max_notice_bytes,
            dropped: AtomicUsize::new(0),
            changed: List::ALL.map(|_| Default::default()),
            subscriptions,
            questions: QuestionSlots::new(limits),
            client: OnceLock::new(),
            logging,
        };
        (Arc::new(queue), receiver)
    }

    /// A queue without a reader.
    pub(crate) fn closed() -> Arc<Self> {
        let limits = Limits { max_notices: 0, ..Limits::default() };
        Self::new(&limits, false, None, Budget::new(usize::MAX), Owner::Local).0
    }

    /// Reserves the bytes of the outcome of a call.
    pub(crate) fn settle(&self, outcome: Outcome) -> Ended {
        Ended::new(outcome, &self.outbound, &self.owner)
    }

    pub(crate) fn done(&self, key: RequestKey, ended: Ended) {
        self.send(SessionEvent::Done(key, ended));
    }

    /// The call of a member with this number has ended.
    pub(crate) fn answered(&self, number: u64) {
        self.send(SessionEvent::Answered(number));
    }

    pub(crate) fn progress(&self, key: &RequestKey, notification: Notification) {
        if let Some(notice) = self.reserve(notification) {
            self.send(SessionEvent::CallNotification(key.clone(), notice));
        }
    }

    /// A log message that belongs to one request.
    pub(crate) fn log_during(&self, key: &RequestKey, level: Level, logger: Option<&str>, data: &RawJson) {
        if !self.logging {
            return;
        }
        if let Some(notice) = self.reserve(log_message(level, logger, data)) {
            self.send(SessionEvent::CallNotification(key.clone(), notice));
        }
    }

    /// True if a log message of this level is sent; before the handshake none is.
    pub(crate) fn wants(&self, level: Level) -> bool {
        level as u8 >= self.level.load(Ordering::Relaxed) && self.client().is_some()
    }

    pub(crate) fn log(&self, during: Option<&RequestKey>, level: Level, logger: Option<&str>, data: &RawJson) {
        if !self.wants(level) {
            return;
        }
        if let Some(notice) = self.reserve(log_message(level, logger, data)) {
            self.send(SessionEvent::Log(during.cloned(), level, notice));
        }
    }

    pub(crate) fn close_stream(&self, key: &RequestKey) {
        self.send(SessionEvent::CloseStream(key.clone()));
    }

    pub(crate) fn notice(&self, notification: Notification) {
        if let Some(notice) = self.reserve(notification) {
            self.send(SessionEvent::Notice(notice));
        }
    }

    /// Queues a notice of the server. `audience`: the sessions that have it.
    pub(crate) fn notify(&self, audience: &Audience, notice: SessionNotice<'_>) {
        match notice {
            SessionNotice::ListChanged(list) => {
                let is_for_all = *audience == Audience::Everyone;
                self.changed(list, if is_for_all { ListScope::Everyone } else { ListScope::Session });
            }
            SessionNotice::ResourceUpdated(uri) => self.updated(Topic::Resource, uri),
            SessionNotice::TaskChanged(id) => self.updated(Topic::Task, id),
            SessionNotice::Missed => self.missed(),
            SessionNotice::TokenRefused(_) => {}
            SessionNotice::TaskStatus(task) => self.task_status(task),
            SessionNotice::TaskProgress { token, progress } => self.task_progress(token, progress),
            SessionNotice::ElicitationComplete(id) => {
                let params = JsonObject::new().with("elicitationId", RawJson::text(id)).into();
                self.notice(Notification { method: method::ELICITATION_COMPLETE.into(), params });
            }
            SessionNotice::Log { level, logger, data } => self.log(None, level, logger, data),
        }
    }

    /// Changes may have been missed.
    fn missed(&self) {
        for list in List::ALL {
            self.changed(list, ListScope::Everyone);
        }
        for (topic, name) in self.subscriptions.iter().flat_map(|subscriptions| subscriptions.all_changed()) {
            self.updated_again(topic, name);
        }
    }

    fn task_progress(&self, token: &ProgressToken, progress: &Progress) {
        let version = self.client().map(|client| client.version).filter(|version| version.has_tasks());
        if let Some(notification) = version.and_then(|version| progress.to_notification(token, version)) {
            self.notice(notification);
        }
    }

    /// Sends the status of a task to the client that began it, if its revision has tasks.
    pub(crate) fn task_status(&self, task: &Task) {
        if self.client().is_some_and(|client| client.version.has_tasks()) {
            let params = task.to_members().into();
            self.notice(Notification { method: method::TASK_STATUS.into(), params });
        }
    }

    pub(crate) fn changed(&self, list: List, scope: ListScope) {
        if !self.changed[list as usize][scope as usize].swap(true, Ordering::AcqRel) {
            self.send(SessionEvent::ListChanged(list, scope));
        }
    }

    /// Clears the flag of a list, so that a later change is queued again.
    pub(crate) fn change_seen(&self, list: List, scope: ListScope) {
        self.changed[list as usize][scope as usize].store(false, Ordering::Release);
    }

    pub(crate) fn updated(&self, topic: Topic, name: &str) {
        if let Some(name) = self.subscriptions.as_ref().and_then(|subscriptions| subscriptions.changed(topic, name)) {
            self.updated_again(topic, name);
        }
    }

    /// Queues a change that [`Subscriptions`] has returned.
    pub(crate) fn updated_again(&self, topic: Topic, name: Arc<str>) {
        self.send(SessionEvent::Updated(topic, name));
    }

    /// Sends a request to the client; `None`: it owes too many answers already, or the outbound budget is used up. The
    /// channel of the answer closes when the request is dropped.
    pub(crate) fn ask(
        &self,
        request: OutgoingRequest,
    ) -> Option<(u64, oneshot::Receiver<Result<JsonBuf, ErrorObject>>)> {
        let (slot, number) = self.questions.take()?;
        let reservation =
            self.outbound.reserve(&self.owner, request.params.weight() + Limits::MESSAGE_OVERHEAD).ok()?;
        let (answer, receiver) = oneshot::channel();
        self.send(SessionEvent::ClientRequest(Box::new(ClientRequest { number, request, answer, slot, reservation })));
        Some((number, receiver))
    }

    /// The time that the client has for an answer.
    pub(crate) fn ask_timeout(&self) -> Duration {
        self.questions.timeout
    }

    /// A stateless call waits for answers.
    pub(crate) fn park(&self) {
        self.send(SessionEvent::Park);
    }

    /// A stateless call asks to continue as a task.
    pub(crate) fn detach(&self, options: TaskOptions) {
        self.send(SessionEvent::Detach(options));
    }

    /// The service has accepted the topics that a request listens to.
    pub(crate) fn listening(&self, key: RequestKey, filter: Box<SubscriptionFilter>, guard: ListenGuard) {
        self.send(SessionEvent::Listening(key, filter, guard));
    }

    /// The store has found a task that has changed.
    pub(crate) fn task_found(&self, id: Arc<str>, task: Option<TaskView>) {
        self.send(SessionEvent::TaskFound(id, task.map(Box::new)));
    }

    /// The messages of this request can no longer reach the client.
    pub(crate) fn undeliverable(&self, request: RequestId) {
        self.send(SessionEvent::Undeliverable(request));
    }

    pub(crate) fn withdraw(&self, question: u64) {
        self.send(SessionEvent::Withdraw(question));
    }

    /// The client has introduced itself.
    pub(crate) fn introduce(&self, client: Arc<ClientInfo>) {
        // A session is opened once.
        drop(self.client.set(client));
    }

    pub(crate) fn client(&self) -> Option<&Arc<ClientInfo>> {
        self.client.get()
    }

    /// True if this is another level.
    pub(crate) fn set_level(&self, level: Level) -> bool {
        self.level.swap(level as u8, Ordering::Relaxed) != level as u8
    }

    /// Sends no log messages from here on.
    pub(crate) fn refuse_logs(&self) {
        // It is above all levels.
        self.level.store(u8::MAX, Ordering::Relaxed);
    }

    /// The lowest level of log messages that are sent.
    pub(crate) fn level(&self) -> Level {
        Level::ALL.get(usize::from(self.level.load(Ordering::Relaxed))).copied().unwrap_or(Level::Emergency)
    }

    /// Frees the bytes of notices that were written or dropped.
    pub(crate) fn release(&self, left: Usage) {
        if left.count > 0 {
            self.notices.fetch_sub(left.count, Ordering::Relaxed);
            self.notice_bytes.fetch_sub(left.bytes, Ordering::Relaxed);
        }
    }

    /// The number of dropped notices since the last call.
    pub(crate) fn take_dropped(&self) -> usize {
        if self.dropped.load(Ordering::Relaxed) == 0 { 0 } else { self.dropped.swap(0, Ordering::Relaxed) }
    }

    /// `None`: there is no room, and the notification is dropped.
    fn reserve(&self, notification: Notification) -> Option<Notice> {
        let usage = Usage::of(&notification);
        let others = self.notices.fetch_add(usage.count, Ordering::Relaxed);
        let bytes = self.notice_bytes.fetch_add(usage.bytes, Ordering::Relaxed);
        let reserve = || self.outbound.reserve(&self.owner, usage.bytes + Limits::MESSAGE_OVERHEAD).ok();
        let has_room = others < self.max_notices && bytes < self.max_notice_bytes;
        let notice = has_room.then(reserve).flatten().map(|reservation| Notice { notification, reservation });
        if notice.is_none() {
            self.release(usage);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        notice
    }

    fn send(&self, event: SessionEvent) {
        // Without a receiver the session is over, and its events with it.
        drop(self.events.send(Box::new(event)));
    }
}

/// `notifications/message` (MCP 2025-11-25, server/utilities/logging).
pub(crate) fn log_message(level: Level, logger: Option<&str>, data: &RawJson) -> Notification {
    let mut params = JsonObject::new().with("level", RawJson::text(level.as_str()));
    if let Some(logger) = logger {
        params.insert("logger", RawJson::text(logger));
    }
    params.insert("data", data.clone());
    Notification { method: method::LOG.into(), params: params.into() }
}
