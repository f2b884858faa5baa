//! Requests that listen: each stays open while its client is notified of changes (MCP 2026-07-28,
//! basic/utilities/subscriptions).
//!
//! A listening request is first acknowledged with the changes that it covers, and is notified of no others. It is
//! answered when the server stops notifying. Each notification carries the id of the request. A listening request that
//! the client cancels is not answered, like every other request.

use protomcp_types::{ErrorObject, JsonBuf, JsonObject, Message, RawJson, RequestId, SubscriptionFilter, meta, method};

use crate::list_changed::List;
use crate::pending::{Era, OnSuccess, RequestKey};
use crate::server::listener::Listener;
use crate::server::{Session, encode};
use crate::task_view::TaskView;
use crate::topic::Topic;

impl Session {
    /// The number of requests of one connection that may listen concurrently.
    pub const MAX_LISTENERS: usize = 64;

    /// A request wants to listen. It is notified of nothing until [`Session::begin_listening`].
    ///
    /// # Errors
    /// The id and the error that answers the request, if there is no room.
    pub fn listen(
        &mut self,
        id: RequestId,
        filter: &SubscriptionFilter,
    ) -> Result<RequestKey, (RequestId, ErrorObject)> {
        if self.listeners.0.len() >= Self::MAX_LISTENERS {
            let why = format!("too many subscriptions: at most {} requests may listen", Self::MAX_LISTENERS);
            return Err((id, ErrorObject::internal(why)));
        }
        if filter.resource_subscriptions.len() + filter.task_ids.len() > Self::MAX_SUBSCRIPTIONS {
            return Err((id, self.subscriptions.full()));
        }
        let key = self.pending.open(id, OnSuccess::Nothing, Era::Stateless).map_err(|id| (id, Self::overloaded()))?;
        // From here on the service may report changes.
        let has_room = self.subscriptions.expect(key.number, Topic::Resource, &filter.resource_subscriptions)
            && self.subscriptions.expect(key.number, Topic::Task, &filter.task_ids);
        if !has_room {
            self.subscriptions.expect_nothing(key.number);
            self.pending.close(&key);
            return Err((key.id, self.subscriptions.full()));
        }
        self.listeners.0.push(Listener { key: key.clone(), lists: [false; List::ALL.len()], is_listening: false });
        Ok(key)
    }

    /// A request begins to listen to this part of the changes that it has requested. Returns the acknowledgement, which
    /// precedes all notifications.
    ///
    /// # Errors
    /// When there is no room; answer the request with it. Also when the request was answered or cancelled before.
    pub fn begin_listening(&mut self, key: &RequestKey, filter: &SubscriptionFilter) -> Result<Message, ErrorObject> {
        let Some(listener) = self.listeners.0.iter_mut().find(|listener| listener.key == *key) else {
            return Err(ErrorObject::internal("the request no longer listens"));
        };
        let names = [(Topic::Resource, &*filter.resource_subscriptions), (Topic::Task, &*filter.task_ids)];
        let missed = self.subscriptions.listen(key.number, names).ok_or_else(|| self.subscriptions.full())?;
        self.missed.extend(missed);
        listener.is_listening = true;
        listener.lists = List::ALL.map(|list| match list {
            List::Tools => filter.tools_list_changed,
            List::Resources => filter.resources_list_changed,
            List::Prompts => filter.prompts_list_changed,
        });
        let acknowledged = JsonObject::new()
            .with("_meta", subscription(&key.id))
            .with("notifications", RawJson::of(filter).expect("a filter has string keys only"));
        Ok(Message::notification(method::SUBSCRIPTION_ACKNOWLEDGED, acknowledged.into()))
    }

    /// True if a request listens for changes of this list.
    pub fn has_listeners(&self, list: List) -> bool {
        self.listeners.0.iter().any(|listener| listener.lists[list as usize])
    }

    /// The notifications of listening requests about a changed list, with their ids.
    pub fn list_notices(&self, list: List) -> Vec<(RequestId, Message)> {
        let notified = self.listeners.0.iter().filter(|listener| listener.lists[list as usize]);
        notified
            .map(|Listener { key, .. }| {
                let params = JsonObject::new().with("_meta", subscription(&key.id));
                (key.id.clone(), Message::notification(list.changed(), params.into()))
            })
            .collect()
    }

    /// The notifications of a changed resource, or of a task in this state; a task that no longer exists has none. Each
    /// has the id of the request that listens, and the notification of the session has none. `None`: no request
    /// listens, or an earlier notification is not written.
    pub fn update_notices(
        &self,
        topic: Topic,
        name: &str,
        task: Option<&TaskView>,
    ) -> Option<Vec<(Option<RequestId>, Message)>> {
        let wanted = self.subscriptions.sending(topic, name)?;
        if topic == Topic::Task && task.is_none() {
            return Some(Vec::new());
        }
        let notice = |meta: Option<RawJson>| {
            let with_meta =
                |params| meta.into_iter().fold(params, |params: JsonObject, meta| params.with("_meta", meta));
            let (method, params) = match task {
                None => (method::RESOURCE_UPDATED, with_meta(JsonObject::new()).with("uri", RawJson::text(name))),
                Some(task) => (method::TASK_CHANGED, with_meta(encode::task_notice(task, self.stateless.identity()))),
            };
            Message::notification(method, params.into())
        };
        let of_session = wanted.session.then(|| (None, notice(None)));
        let listeners = self.listeners.0.iter().filter(|listener| wanted.listeners.contains(&listener.key.number));
        let listening = listeners.map(|listener| {
            let id = &listener.key.id;
            (Some(id.clone()), notice(Some(subscription(id))))
        });
        Some(of_session.into_iter().chain(listening).collect())
    }

    /// The notification that precedes the end of a listening request on a connection that many requests share (MCP
    /// 2026-07-28, basic/utilities/cancellation).
    pub fn listening_cancelled(id: &RequestId) -> Message {
        Message::notification(method::CANCELLED, JsonObject::new().with("requestId", id.to_raw()).into())
    }

    /// Ends all listening requests. Returns their answers, with their ids.
    pub fn end_listening(&mut self) -> Vec<(RequestId, Message)> {
        let mut answers = Vec::new();
        let (listening, rest): (Vec<_>, _) =
            std::mem::take(&mut self.listeners.0).into_iter().partition(|listener| listener.is_listening);
        // A request that has not begun to listen is answered like any other.
        self.listeners.0 = rest;
        for Listener { key, .. } in listening {
            self.subscriptions.forget(key.number);
            if self.pending.close(&key).is_none() {
                continue;
            }
            let meta =
                meta::with_member(Some(&subscription(&key.id)), meta::SERVER_INFO, &self.stateless.identity().info);
            let result = JsonBuf::object().text("resultType", "complete").raw("_meta", &meta).finish();
            answers.push((key.id.clone(), Message::result(key.id, result)));
        }
        answers
    }

    /// A request was cancelled or answered; it listens no longer.
    pub(super) fn stop_listening(&mut self, number: u64) {
        if let Some(index) = self.listeners.0.iter().position(|listener| listener.key.number == number) {
            self.listeners.0.swap_remove(index);
            self.subscriptions.forget(number);
        }
    }
}

/// The `_meta` with the id of the listening request that a notification belongs to.
fn subscription(id: &RequestId) -> RawJson {
    JsonBuf::object().raw(meta::SUBSCRIPTION_ID, &id.to_raw()).finish().into_raw()
}
