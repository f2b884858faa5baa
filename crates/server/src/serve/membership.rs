//! Members of a server: clients whose front turns what they send into typed calls by itself.
//!
//! A member is one of the open sessions: observers and [`ServerHandle`] know it as they know the others. It has no
//! messages. Its front takes the notices for it out of a [`Membership`], and makes its calls with
//! [`Server::call`](crate::Server::call).

use std::borrow::Cow;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context as Wakes, Poll, ready};

use protomcp_types::{
    ErrorObject, JsonBuf, JsonObject, Level, Notification, Params, ProgressToken, RawJson, RequestId, method,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::call::client_request::{ClientRequest, OutgoingRequest};
use crate::call::outlet::Layers;
use crate::call::session_queue::{Notice, SessionEvent, SessionQueue, Usage};
use crate::records::clock::now;
use crate::serve::Server;
use crate::serve::peer::Peer;
use crate::serve::timer::Timer;
use crate::service::Service;
use crate::service::observer::Observers;
use crate::service::outgoing_layer::OutgoingLayer;
use crate::state::handle::ServerHandle;
use protomcp_fair::Reservation;
use protomcp_session::{
    CallerKey, ClientInfo, Extensions, ListChangedDebounce, Session, SessionId, SessionView, Subscriptions, Topic,
};

/// A member of a server, until it is dropped: what the server announces, logs and asks outside any call.
///
/// Notices that are not taken wait within the bounds of a session ([`Limits`](crate::Limits)): changes of one list or
/// of one resource are one notice, and log messages and questions beyond the bounds are dropped. A resource to which a
/// call of the member has subscribed stays so until the end; there are at most 1,024, whose bytes count in
/// [`Limits::max_inbound_bytes`](crate::Limits::max_inbound_bytes).
pub struct Membership {
    member: Arc<Member>,
    events: mpsc::UnboundedReceiver<Box<SessionEvent>>,
    announcements: ListChangedDebounce,
    timer: Timer,
    /// The resource that the notice taken last was about.
    notified: Option<Arc<str>>,
    shutdown: Pin<Box<WaitForCancellationFutureOwned>>,
}

/// The part of a membership that its calls share.
pub(super) struct Member {
    pub(super) id: SessionId,
    pub(super) sessions: ServerHandle,
    pub(super) peer: Peer,
    pub(super) queue: Arc<SessionQueue>,
    pub(super) subscriptions: Arc<Subscriptions>,
    sending: Vec<Arc<dyn OutgoingLayer>>,
    client: Arc<ClientInfo>,
    observers: Observers,
    /// The number of the last call.
    last: AtomicU64,
    /// The calls that have not ended, or whose answer is not written.
    pub(super) running: AtomicUsize,
}

/// A message of the server for a member that belongs to none of its calls.
#[derive(Debug)]
pub enum MemberNotice {
    /// A list or a resource has changed, an elicitation is complete, or the server logs something.
    Notification(Notification),
    /// The server asks the client.
    Question(MemberQuestion),
    /// The answer to the question with this number is no longer needed. It may have been given already.
    Withdrawn(u64),
}

/// A question of the server to a member. Dropping it fails it for the asker.
pub struct MemberQuestion {
    /// Tells it apart from other questions to the member.
    pub number: u64,
    /// The method, of [`ClientMethod`](protomcp_types::ClientMethod).
    pub method: &'static str,
    /// Its parameters.
    pub params: Params,
    answer: oneshot::Sender<Result<JsonBuf, ErrorObject>>,
    member: Arc<Member>,
    /// Its place among the questions that the member has not answered.
    _slot: OwnedSemaphorePermit,
    /// Its bytes in the outbound budget.
    _reservation: Reservation,
}

/// The facts about a call of a member, for [`Server::call`](crate::Server::call).
#[derive(Debug, Clone)]
pub struct CallFacts {
    /// The client of the call; at first the client of the member.
    pub client: Arc<ClientInfo>,
    /// The caller, for limits and state that belong to callers; at first the member. Its conversation is the session of
    /// the call; a [`Conversation::Connection`](crate::Conversation) is none. The bytes of the request count for its owner.
    pub caller: CallerKey,
    /// The token under which the client wants progress; at first none.
    pub progress_token: Option<ProgressToken>,
    /// More facts, for [`Context::extension`](crate::Context::extension); at first none.
    pub known: Extensions,
    pub(super) id: RequestId,
    pub(super) member: Arc<Member>,
}

impl<S: Service> Server<S> {
    /// Adds a client to the open sessions. It counts for the owner of `peer`, and can answer the questions that
    /// `client` declares. Must be called inside a tokio runtime with timers.
    pub fn join(&self, peer: Peer, client: ClientInfo) -> Membership {
        let sessions = self.0.sessions.clone();
        let (limits, owner) = (*sessions.limits(), peer.owner.clone());
        let reservation = sessions.inbound_budget().empty(&owner);
        let subscriptions = Arc::new(Subscriptions::within(Session::MAX_SUBSCRIPTIONS, reservation));
        let has_logging = sessions.info().capabilities.logging.is_some();
        let budget = sessions.outbound_budget().clone();
        let (queue, events) =
            SessionQueue::new(&limits, has_logging, Some(Arc::clone(&subscriptions)), budget, owner.clone());
        let client = Arc::new(client);
        queue.introduce(Arc::clone(&client));
        let id = sessions.join(owner.clone(), &queue);
        let observers = self.0.observers.clone();
        observers.opened(&SessionView { id, owner, client: Arc::clone(&client) });
        let shutdown = Box::pin(sessions.shutdown_token().cancelled_owned());
        let member = Member {
            id,
            sessions,
            peer,
            queue,
            subscriptions,
            sending: self.0.sending.clone(),
            client,
            observers,
            last: AtomicU64::new(0),
            running: AtomicUsize::new(0),
        };
        Membership {
            member: Arc::new(member),
            events,
            announcements: ListChangedDebounce::new(limits.announce_delay),
            timer: Timer::default(),
            notified: None,
            shutdown,
        }
    }
}

impl Membership {
    /// The facts about a call with this id, which are the member's.
    #[must_use]
    pub fn facts(&self, id: RequestId) -> CallFacts {
        CallFacts {
            client: Arc::clone(&self.member.client),
            caller: self.member.peer.in_session(self.member.id),
            progress_token: None,
            known: Extensions::default(),
            id,
            member: Arc::clone(&self.member),
        }
    }

    /// Sets the least severe level of log messages for the client; `None`: it takes none. At first it takes the levels that a
    /// session has without a request of its client.
    pub fn set_log_level(&self, level: impl Into<Option<Level>>) {
        let Some(level) = level.into() else { return self.member.queue.refuse_logs() };
        if self.member.queue.set_level(level) {
            self.member.observers.log_level_set(self.member.id, level);
        }
    }

    /// The next notice; `None`: the server shuts down, and the calls of the member have ended and are dropped. Cancel
    /// safe.
    pub async fn next(&mut self) -> Option<MemberNotice> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Ends the membership once its calls have ended and are dropped: those that were cancelled have their grace.
    pub async fn close(mut self) {
        // The end of each call is an event.
        while self.member.running.load(Ordering::Acquire) > 0 && self.events.recv().await.is_some() {}
    }

    fn poll_next(&mut self, cx: &mut Wakes<'_>) -> Poll<Option<MemberNotice>> {
        loop {
            self.requeue();
            if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
                match self.event(*event) {
                    Some(notice) => return Poll::Ready(Some(notice)),
                    None => continue,
                }
            }
            if let Some(due) = self.announcements.deadline() {
                ready!(self.timer.poll(due, cx));
                let due = self.announcements.poll(now());
                let notice = due.and_then(|(list, _)| self.member.notice(list.changed().into(), Params::Absent));
                match notice {
                    Some(notice) => return Poll::Ready(Some(notice)),
                    None => continue,
                }
            }
            if !self.member.sessions.is_shut_down() {
                ready!(self.shutdown.as_mut().poll(cx));
            }
            // The end of each call is an event.
            let is_busy = self.member.running.load(Ordering::Acquire) > 0;
            return if is_busy { Poll::Pending } else { Poll::Ready(None) };
        }
    }

    /// The resource of the last notice may have changed again before it was taken.
    fn requeue(&mut self) {
        if let Some(uri) = self.notified.take()
            && self.member.subscriptions.flushed(Topic::Resource, &uri)
        {
            self.member.queue.updated_again(Topic::Resource, uri);
        }
    }

    fn event(&mut self, event: SessionEvent) -> Option<MemberNotice> {
        let member = &self.member;
        match event {
            SessionEvent::Answered(number) => {
                self.announcements.answered(now(), number);
                None
            }
            SessionEvent::ListChanged(list, scope) => {
                member.queue.change_seen(list, scope);
                if list.is_announced_by(&member.sessions.info().capabilities) {
                    let next = member.last.load(Ordering::Relaxed) + 1;
                    self.announcements.changed(list, scope, now(), next);
                }
                None
            }
            SessionEvent::Log(_, _, notice) => {
                let notice = member.report(notice);
                notice.filter(|_| member.sessions.info().capabilities.logging.is_some())
            }
            SessionEvent::CallNotification(_, notice) | SessionEvent::Notice(notice) => member.report(notice),
            SessionEvent::ClientRequest(request) => self.question(*request),
            SessionEvent::Withdraw(number) => Some(MemberNotice::Withdrawn(number)),
            SessionEvent::Updated(Topic::Resource, uri) => {
                let wanted = member.subscriptions.sending(Topic::Resource, &uri)?;
                let params = JsonObject::new().with("uri", RawJson::text(&uri)).into();
                let notice = wanted.session.then(|| member.notice(method::RESOURCE_UPDATED.into(), params));
                self.notified = Some(uri);
                notice.flatten()
            }
            // These belong to clients with messages.
            SessionEvent::Done(..)
            | SessionEvent::CloseStream(_)
            | SessionEvent::Park
            | SessionEvent::Detach(_)
            | SessionEvent::Undeliverable(_)
            | SessionEvent::Updated(Topic::Task, _)
            | SessionEvent::TaskFound(..)
            | SessionEvent::Listening(..) => None,
        }
    }

    fn question(&self, request: ClientRequest) -> Option<MemberNotice> {
        let ClientRequest { number, request, answer, slot, reservation } = request;
        let OutgoingRequest { method, mut params, .. } = request;
        if answer.is_closed() {
            return None;
        }
        for layer in &self.member.sending {
            params = match layer.question(self.member.id, method, params) {
                Ok(params) => params,
                Err(error) => {
                    // The asker may be gone at this moment.
                    drop(answer.send(Err(error)));
                    return None;
                }
            };
        }
        let member = Arc::clone(&self.member);
        let question =
            MemberQuestion { number, method, params, answer, member, _slot: slot, _reservation: reservation };
        Some(MemberNotice::Question(question))
    }
}

impl CallFacts {
    /// The same facts about the call with this id.
    #[must_use]
    pub fn for_request(&self, id: RequestId) -> Self {
        Self { id, ..self.clone() }
    }
}

impl Member {
    /// The number of a new call.
    pub(super) fn next_number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A notification, unless a layer withholds it.
    fn notice(&self, method: Cow<'static, str>, params: Params) -> Option<MemberNotice> {
        self.pass(Notification { method, params })
    }

    /// A notification that has waited, unless a layer withholds it.
    fn report(&self, Notice { notification, .. }: Notice) -> Option<MemberNotice> {
        self.queue.release(Usage::of(&notification));
        let dropped = self.queue.take_dropped();
        if dropped > 0 {
            tracing::warn!(session = %self.id, dropped, "the client reads too slowly: notifications were dropped");
        }
        self.pass(notification)
    }

    fn pass(&self, notification: Notification) -> Option<MemberNotice> {
        self.layered(notification).map(MemberNotice::Notification)
    }

    fn layered(&self, notification: Notification) -> Option<Notification> {
        self.sending.iter().try_fold(notification, |sent, layer| layer.notification(self.id, sent))
    }

    /// The layers for the reports of its calls, if there are any.
    pub(super) fn layers(self: &Arc<Self>) -> Option<Layers> {
        let member = (!self.sending.is_empty()).then(|| Arc::clone(self))?;
        Some(Arc::new(move |notification| member.layered(notification)))
    }
}

impl MemberQuestion {
    /// Answers it, with the result or the error of the client.
    pub fn answer(self, outcome: Result<JsonBuf, ErrorObject>) {
        let Self { method, answer, member, .. } = self;
        let layers = member.sending.iter().rev();
        let outcome = layers.fold(outcome, |outcome, layer| layer.answered(member.id, method, outcome));
        // The asker may be gone at this moment.
        drop(answer.send(outcome));
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.member.sessions.leave(self.member.id);
        self.member.observers.closed(self.member.id);
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Membership").field("member", &self.member).finish_non_exhaustive()
    }
}

impl fmt::Debug for MemberQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("MemberQuestion");
        shown.field("number", &self.number).field("method", &self.method).finish_non_exhaustive()
    }
}
