//! One request that listens: the acknowledgement, then notifications of changes, until the client or the server ends
//! it.
//!
//! A notification is sent when the one before has been taken; changes of one list or resource in between are one
//! change.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context as Wakes, Poll};

use protomcp_fair::Reservation;
use protomcp_types::{Message, SubscriptionFilter};
use tokio::sync::mpsc;

use crate::call::call_info::CallInfo;
use crate::call::context::Context;
use crate::call::ended::Reserved;
use crate::call::listen_guard::ListenGuard;
use crate::call::mrtr::ReplyTarget;
use crate::call::session_queue::{SessionEvent, SessionQueue};
use crate::records::cancel::Cancel;
use crate::records::clock::now;
use crate::records::overload;
use crate::serve::ending::Ending;
use crate::serve::listened_resources::listen_to_resources;
use crate::serve::shutdown::Due;
use crate::serve::stateless::request::StatelessParts;
use crate::serve::stateless_tasks;
use crate::serve::timer::Timer;
use crate::service::Service;
use protomcp_session::{
    Attempt, ClientInfo, Extensions, List, ListChangedDebounce, ListScope, RequestKey, Session, SessionId, TaskView,
    Topic,
};

/// One request that listens.
pub(super) struct Listener {
    parts: StatelessParts,
    /// The entry of the request among the open sessions, which are notified of changes.
    open: SessionId,
    key: RequestKey,
    /// One of the requests that listen.
    _slot: Reservation,
    /// The subscriptions of the request.
    session: Session,
    events: mpsc::UnboundedReceiver<Box<SessionEvent>>,
    queue: Arc<SessionQueue>,
    announcements: ListChangedDebounce,
    timer: Timer,
    ending: Ending,
    ready: VecDeque<Reserved>,
    /// The changes that the messages taken last were about.
    notified: Vec<(Topic, Arc<str>)>,
    /// The service is being notified of the resources.
    opening: Option<Context>,
    /// Keeps the request listening to resources.
    guard: Option<ListenGuard>,
    is_over: bool,
}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// The answer to a request for which there is no room.
    pub(super) fn start<S: Service>(
        parts: StatelessParts,
        service: &Arc<S>,
        client: Arc<ClientInfo>,
        mut filter: Box<SubscriptionFilter>,
        known: Extensions,
    ) -> Result<Self, Box<Message>> {
        let (sessions, owner) = (&parts.sessions, &parts.peer.owner);
        let limits = *sessions.limits();
        let slot = sessions.listener_budget().reserve(owner, 1);
        let slot = slot.map_err(|_| Box::new(parts.response(Err(overload::listener()))))?;
        let reservation = sessions.inbound_budget().empty(owner);
        let mut session = Session::server(Arc::clone(parts.stateless.info()), 1).within(reservation);
        let key =
            session.listen(parts.id.clone(), &filter).map_err(|(_, error)| Box::new(parts.response(Err(error))))?;
        let budget = sessions.outbound_budget().clone();
        let subscriptions = Arc::clone(session.subscriptions());
        let (queue, events) = SessionQueue::new(&limits, false, Some(subscriptions), budget, owner.clone());
        let open = sessions.join(owner.clone(), &queue);
        let tasks = stateless_tasks::retain_known(sessions, &parts.peer, &mut filter);
        let mut listener = Self {
            open,
            key: key.clone(),
            _slot: slot,
            session,
            events,
            queue: Arc::clone(&queue),
            announcements: ListChangedDebounce::new(limits.announce_delay),
            timer: Timer::default(),
            ending: Ending::new(sessions),
            ready: VecDeque::new(),
            notified: Vec::new(),
            opening: None,
            guard: None,
            is_over: false,
            parts,
        };
        if filter.resource_subscriptions.is_empty() && tasks.is_none() {
            listener.begin(&filter, None);
            return Ok(listener);
        }
        // The service knows the resources, and the store the tasks.
        let info = Arc::new(CallInfo::of_listener(key, client, known));
        let caller = listener.parts.peer.without_session(open);
        let context = Context::new(caller, open, ReplyTarget { queue, info }, None);
        listener.opening = Some(context.clone());
        listen_to_resources(&listener.parts.sessions, service, filter, context, tasks);
        Ok(listener)
    }

    /// The next message for the client; `None` after the answer.
    pub(super) fn poll_next(&mut self, cx: &mut Wakes<'_>) -> Poll<Option<Reserved>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Poll::Ready(Some(message));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            for (topic, name) in std::mem::take(&mut self.notified) {
                if self.session.subscriptions().flushed(topic, &name) && !self.ending.has_begun() {
                    self.updated(topic, name);
                }
            }
            if !self.ready.is_empty() {
                continue;
            }
            if let Poll::Ready(Some(event)) = self.events.poll_recv(cx) {
                self.event(*event);
                continue;
            }
            if let Some(due) = self.announcements.deadline()
                && self.timer.poll(due, cx).is_ready()
            {
                while let Some((list, _)) = self.announcements.poll(now()) {
                    self.list_changed(list);
                }
                continue;
            }
            let due = self.ending.poll(cx);
            if self.ending.has_begun() && self.opening.is_none() && self.announcements.deadline().is_none() {
                self.end();
                continue;
            }
            match due {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Due::GiveUp) => {
                    self.answer(self.parts.answer(Err(overload::shutting_down()), Attempt::First));
                }
                Poll::Ready(Due::Cancel | Due::Nothing | Due::Stalled) => {
                    self.opening.iter().for_each(Context::cancel);
                }
            }
        }
    }

    fn event(&mut self, event: SessionEvent) {
        match event {
            SessionEvent::ListChanged(list, scope) => {
                self.queue.change_seen(list, scope);
                let is_promised = list.is_announced_by(&self.parts.sessions.stateless_info().capabilities);
                if scope == ListScope::Everyone && is_promised && self.session.has_listeners(list) {
                    self.announcements.changed(list, scope, now(), self.session.next_number());
                }
            }
            SessionEvent::Updated(topic, name) => self.updated(topic, name),
            SessionEvent::TaskFound(id, task) => self.send_updates(Topic::Task, id, task.as_deref()),
            SessionEvent::Listening(_, filter, guard) => self.begin(&filter, Some(guard)),
            // These belong to calls, to sessions and to members.
            SessionEvent::Done(..)
            | SessionEvent::Answered(_)
            | SessionEvent::CallNotification(..)
            | SessionEvent::Log(..)
            | SessionEvent::CloseStream(_)
            | SessionEvent::Notice(_)
            | SessionEvent::ClientRequest(_)
            | SessionEvent::Park
            | SessionEvent::Detach(_)
            | SessionEvent::Withdraw(_)
            | SessionEvent::Undeliverable(_) => {}
        }
    }

    /// The resources that the request may listen to are known.
    fn begin(&mut self, filter: &SubscriptionFilter, guard: Option<ListenGuard>) {
        self.opening = None;
        match self.session.begin_listening(&self.key, filter) {
            // MCP 2026-07-28, basic/utilities/subscriptions: the acknowledgement comes before any notification.
            Ok(acknowledged) => {
                self.guard = guard;
                self.ready.push_back(acknowledged.into());
                for (topic, name) in self.session.take_missed() {
                    self.updated(topic, name);
                }
            }
            Err(error) => self.answer(self.parts.answer(Err(error), Attempt::First)),
        }
    }

    fn list_changed(&mut self, list: List) {
        let notices = self.session.list_notices(list);
        self.notify(notices.into_iter().map(|(_, notice)| notice));
    }

    /// A resource or a task has changed.
    fn updated(&mut self, topic: Topic, name: Arc<str>) {
        let StatelessParts { sessions, peer, .. } = &self.parts;
        if let Some(task) = stateless_tasks::changed(sessions, peer, &self.queue, topic, &name) {
            self.send_updates(topic, name, task.as_ref());
        }
    }

    fn send_updates(&mut self, topic: Topic, name: Arc<str>, task: Option<&TaskView>) {
        let Some(notices) = self.session.update_notices(topic, &name, task) else { return };
        self.notify(notices.into_iter().map(|(_, notice)| notice));
        self.notified.push((topic, name));
    }

    fn notify(&mut self, notices: impl Iterator<Item = Message>) {
        for notice in notices {
            if let Message::Notification(notice) = notice {
                self.ready.extend(self.parts.notification(self.open, notice, None));
            }
        }
    }

    /// The server notifies of no further changes.
    fn end(&mut self) {
        self.guard = None;
        for (_, answer) in self.session.end_listening() {
            self.answer(answer);
        }
        self.is_over = true;
    }

    fn answer(&mut self, message: Message) {
        self.ready.push_back(self.parts.with_reservation(message, None));
        self.is_over = true;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.opening.iter().for_each(Context::cancel);
        self.parts.sessions.leave(self.open);
    }
}
