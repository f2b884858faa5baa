//! Changes of lists and resources: who is told, in its session or in a request that listens.

use std::sync::Arc;

use protomcp_types::{JsonObject, Message, Params, RawJson, SubscriptionFilter, method};

use crate::call_info::CallInfo;
use crate::context::{CallKind, Context};
use crate::listen_guard::ListenGuard;
use crate::mrtr::ReplyTarget;
use crate::overload;
use crate::server::clock::now;
use crate::server::drive::Driver;
use crate::server::resource_listeners::listen_to_resources;
use crate::service::Service;
use protomcp_session::{ClientInfo, List, ListScope, RequestKey, Session, Topic};
use protomcp_transport::{Sink, TransportError};

impl<S: Service, Q, K: Sink> Driver<S, Q, K> {
    /// A request wants to be told of changes. Returns the answer if it cannot be.
    pub(super) fn listen(
        &mut self,
        key: RequestKey,
        client: Arc<ClientInfo>,
        mut filter: Box<SubscriptionFilter>,
    ) -> Result<Option<Message>, TransportError> {
        if !self.shutdown.is_open() {
            return Ok(self.session.reply(&key, Err(overload::shutting_down())));
        }
        self.known_tasks(&mut filter.task_ids);
        if filter.resource_subscriptions.is_empty() {
            self.begin_listening(&key, &filter, None)?;
            return Ok(None);
        }
        // The service knows the resources.
        let number = key.number;
        let info = CallInfo::of_listener(key, client, self.connection.arrival.known.clone());
        let caller = self.connection.peer.without_session(self.id);
        let timeout = self.server.sessions.limits().ask_timeout;
        let target = ReplyTarget { queue: Arc::clone(&self.queue), info };
        let context = Context::new(caller, self.id, target, timeout, CallKind::Plain);
        self.calls.running.insert(number, context.clone());
        let (listeners, service) =
            (Arc::clone(self.server.sessions.resource_listeners()), Arc::clone(&self.server.service));
        listen_to_resources(listeners, service, filter, context);
        Ok(None)
    }

    /// It is known what a request may listen to.
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
            // MCP 2026-07-28, basic/utilities/subscriptions: nothing is told before the acknowledgement.
            Ok(acknowledged) => {
                self.calls.listening.extend(guard.map(|guard| (key.number, guard)));
                self.send(acknowledged, Some(&key.id))
            }
            Err(error) => {
                let reply = self.session.reply(key, Err(error));
                self.answer(key, reply, None)
            }
        }
    }

    /// A list has changed; its listeners are told in a moment.
    pub(super) fn changed(&mut self, list: List, scope: ListScope) {
        self.queue.change_seen(list, scope);
        let is_wanted = self.session.is_ready() || scope == ListScope::Everyone && self.session.has_listeners(list);
        if is_wanted && list.is_announced_by(&self.server.sessions.info().capabilities) {
            self.announcements.changed(list, scope, now(), self.session.next_number());
        }
    }

    /// The moment is over.
    pub(super) fn list_changed(&mut self, list: List, scope: ListScope) -> Result<(), TransportError> {
        if self.session.is_ready() {
            self.unsent.has_changes = true;
            self.tell(Message::notification(list.changed(), Params::Absent), None)?;
        }
        if scope == ListScope::Everyone {
            for (id, notice) in self.session.list_notices(list) {
                self.unsent.has_changes = true;
                self.tell(notice, Some(&id))?;
            }
        }
        Ok(())
    }

    /// A resource has changed; the client has it still to hear.
    pub(super) fn updated(&mut self, uri: Arc<str>) -> Result<(), TransportError> {
        let Some(wanted) = self.session.subscriptions().sending(Topic::Resource, &uri) else { return Ok(()) };
        if wanted.session {
            let params = JsonObject::new().with("uri", RawJson::text(&uri));
            self.tell(Message::notification(method::RESOURCE_UPDATED, params.into()), None)?;
        }
        for (id, notice) in self.session.update_notices(&uri, &wanted.listeners) {
            self.tell(notice, Some(&id))?;
        }
        self.unsent.updates.push((Topic::Resource, uri));
        Ok(())
    }

    /// Nothing more will be told: the requests that listen are answered.
    pub(super) fn end_listening(&mut self) -> Result<(), TransportError> {
        self.calls.listening.clear();
        // On a stream of its own a request sees its end by the end of the stream.
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
