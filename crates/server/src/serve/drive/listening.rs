//! Notifies the client of changed lists and resources, in its session and in requests that listen.

use std::sync::Arc;

use protomcp_types::{Message, Params, SubscriptionFilter};

use crate::call::call_info::CallInfo;
use crate::call::context::Context;
use crate::call::listen_guard::ListenGuard;
use crate::call::mrtr::ReplyTarget;
use crate::records::clock::now;
use crate::records::overload;
use crate::serve::drive::Driver;
use crate::serve::listened_resources::listen_to_resources;
use crate::serve::stateless_tasks;
use crate::service::Service;
use protomcp_session::{ClientInfo, List, ListScope, RequestKey, Session, TaskView, Topic};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// A request listens for changes. Returns the answer if it cannot.
    pub(super) fn listen(
        &mut self,
        key: RequestKey,
        client: Arc<ClientInfo>,
        mut filter: Box<SubscriptionFilter>,
    ) -> Result<Option<Message>, TransportError> {
        if !self.shutdown.is_open() {
            return Ok(self.session.reply(&key, Err(overload::shutting_down())));
        }
        let tasks = stateless_tasks::retain_known(&self.server.sessions, &self.connection.peer, &mut filter);
        if filter.resource_subscriptions.is_empty() && tasks.is_none() {
            self.begin_listening(&key, &filter, None)?;
            return Ok(None);
        }
        // The service knows the resources, and the store the tasks.
        let number = key.number;
        let info = Arc::new(CallInfo::of_listener(key, client, self.connection.arrival.known.clone()));
        let caller = self.connection.peer.without_session(self.id);
        let target = ReplyTarget { queue: Arc::clone(&self.queue), info };
        let context = Context::new(caller, self.id, target, None);
        self.calls.running.insert(number, context.clone());
        listen_to_resources(&self.server.sessions, &self.server.service, filter, context, tasks);
        Ok(None)
    }

    /// Begins to listen, once the service knows the resources: acknowledges the request.
    pub(super) fn begin_listening(
        &mut self,
        key: &RequestKey,
        filter: &SubscriptionFilter,
        guard: Option<ListenGuard>,
    ) -> Result<(), TransportError> {
        self.calls.running.remove(&key.number);
        if !self.session.is_pending(key) {
            return Ok(());
        }
        match self.session.begin_listening(key, filter) {
            // MCP 2026-07-28, basic/utilities/subscriptions: the acknowledgement precedes all notifications.
            Ok(acknowledged) => {
                self.calls.listening.extend(guard.map(|guard| (key.number, guard)));
                self.send(acknowledged, Some(&key.id))?;
                self.send_missed()
            }
            Err(error) => {
                let reply = self.session.reply(key, Err(error));
                self.answer(key, reply, None)
            }
        }
    }

    /// A list has changed; the notification is sent after the debounce.
    pub(super) fn changed(&mut self, list: List, scope: ListScope) {
        self.queue.change_seen(list, scope);
        if (list, scope) == (List::Tools, ListScope::Session) {
            // The session selects its tools.
            self.keep_state();
        }
        // Requests listen for no list that is not announced to them.
        let has_listeners = scope == ListScope::Everyone && self.session.has_listeners(list);
        if has_listeners || self.announces(list) {
            self.announcements.changed(list, scope, now(), self.session.next_number());
        }
    }

    /// True if the client of the session is notified of changes of a list.
    fn announces(&self, list: List) -> bool {
        self.session.is_ready() && list.is_announced_by(&self.server.sessions.info().capabilities)
    }

    /// Sends the notification of a changed list.
    pub(super) fn list_changed(&mut self, list: List, scope: ListScope) -> Result<(), TransportError> {
        if self.announces(list) {
            self.unsent.has_changes = true;
            self.send_unsolicited(Message::notification(list.changed(), Params::Absent), None)?;
        }
        if scope == ListScope::Everyone {
            for (id, notice) in self.session.list_notices(list) {
                self.unsent.has_changes = true;
                self.send_unsolicited(notice, Some(&id))?;
            }
        }
        Ok(())
    }

    /// A resource or a task has changed.
    pub(super) fn updated(&mut self, topic: Topic, name: Arc<str>) -> Result<(), TransportError> {
        let (sessions, peer) = (&self.server.sessions, &self.connection.peer);
        match stateless_tasks::changed(sessions, peer, &self.queue, topic, &name) {
            Some(task) => self.send_updates(topic, name, task.as_ref()),
            None => Ok(()),
        }
    }

    /// Sends the notifications of a changed resource, or of a task in this state.
    pub(super) fn send_updates(
        &mut self,
        topic: Topic,
        name: Arc<str>,
        task: Option<&TaskView>,
    ) -> Result<(), TransportError> {
        let Some(notices) = self.session.update_notices(topic, &name, task) else { return Ok(()) };
        if notices.is_empty() {
            // Counted as a message, so that the next flush lets later changes through.
            self.unsent.messages += 1;
        }
        for (id, notice) in notices {
            self.send_unsolicited(notice, id.as_ref())?;
        }
        self.unsent.updates.push((topic, name));
        Ok(())
    }

    /// Sends the notifications of changes that came between the acceptance of a subscription and its answer.
    pub(super) fn send_missed(&mut self) -> Result<(), TransportError> {
        let missed = self.session.take_missed();
        missed.into_iter().try_for_each(|(topic, name)| self.updated(topic, name))
    }

    /// Ends all requests that listen: each is answered.
    pub(super) fn end_listening(&mut self) -> Result<(), TransportError> {
        self.calls.listening.clear();
        // A separate stream shows the end of its request by its own end.
        let is_single_stream = self.connection.sink.delivery().is_none();
        for (id, answer) in self.session.end_listening() {
            if is_single_stream {
                self.send(Session::listening_cancelled(&id), Some(&id))?;
            }
            self.send(answer, Some(&id))?;
        }
        Ok(())
    }
}
