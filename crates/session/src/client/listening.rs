//! Subscriptions without a session (MCP 2026-07-28, basic/utilities/subscriptions). What is wanted changes over time,
//! so a new stream replaces the old one: no notification is lost in between.

use std::time::Instant;

use protomcp_types::{
    JsonBuf, JsonObject, Kind, Listen, Method, Notification, Params, RawJson, RequestId, SubscriptionFilter, meta,
    method,
};

use crate::client::ClientConnection;
use crate::client::error::RequestError;
use crate::client::event::ClientEvent;
use crate::client::exchange::{Draft, Purpose};
use crate::client::failure::Failure;
use crate::client::listen_state::{LONGEST_PAUSE, NextStream, OpenStream};

impl ClientConnection {
    /// Asks a stateless server for these notifications and no others. [`ClientEvent::Listening`] follows.
    pub fn listen(&mut self, now: Instant, wanted: SubscriptionFilter) {
        let is_stateless = self.phase.server().is_some_and(|server| !server.is_stateful());
        if !is_stateless {
            let why = RequestError::NotAvailable("the revision of the connection has no subscription streams");
            self.events.push_back(ClientEvent::Listening(Err(why)));
            return;
        }
        self.listening.wanted = wanted;
        self.listening.failures = 0;
        self.listening.retry = None;
        self.relisten(now);
    }

    /// Listens to these after a long pause, unless a stream does already. For what is still wanted when
    /// [`ClientEvent::Listening`] was a failure.
    pub fn listen_later(&mut self, now: Instant, wanted: SubscriptionFilter) {
        let is_stateless = self.phase.server().is_some_and(|server| !server.is_stateful());
        if !is_stateless {
            return;
        }
        let is_open = self.listening.open.as_ref().is_some_and(|open| open.filter == wanted);
        let is_enough = is_open || self.listening.next.is_some() || wanted == SubscriptionFilter::default();
        self.listening.wanted = wanted;
        if is_enough {
            return;
        }
        // Changes until then are not notified.
        self.listening.has_gap |= self.listening.open.is_none();
        self.listening.retry = Some(now + LONGEST_PAUSE);
    }

    fn relisten(&mut self, now: Instant) {
        let wanted = self.listening.wanted.clone();
        if let Some(next) = self.listening.next.take() {
            self.end_stream(next.request);
        }
        if let Some(open) = self.listening.open.take_if(|_| wanted == SubscriptionFilter::default()) {
            self.end_stream(open.request);
        }
        if wanted == SubscriptionFilter::default() {
            self.events.push_back(ClientEvent::Listening(Ok(wanted)));
            return;
        }
        // A resource that the server has not honoured may exist since.
        if let Some(open) = self.listening.open.as_ref().filter(|open| open.filter == wanted && open.has_resources()) {
            self.events.push_back(ClientEvent::Listening(Ok(open.honoured.clone())));
            return;
        }
        let params = Params::of(&Listen { notifications: wanted.clone() }).expect("a filter is an object");
        let request = self.send(Draft::new(Purpose::Listen, Listen::NAME, params));
        let until = now + self.config.limits.timeout;
        self.listening.next = Some(NextStream { request, filter: wanted, until });
    }

    fn end_stream(&mut self, request: u64) {
        if self.exchanges.forget(request) {
            self.withdraw(request);
        }
    }

    pub(super) fn acknowledged(&mut self, now: Instant, notification: &Notification) {
        let request = subscription(notification);
        let Some(next) = self.listening.next.take_if(|next| Some(next.request) == request) else {
            self.events.push_back(ClientEvent::Ignored("acknowledges no subscription"));
            return;
        };
        let NextStream { request, filter, .. } = next;
        let Some(honoured) = notification.params.member("notifications").and_then(honoured) else {
            self.end_stream(request);
            let error = RequestError::InvalidAnswer("the acknowledgement cannot be read".to_owned());
            self.events.push_back(ClientEvent::Listening(Err(error)));
            return;
        };
        self.events.push_back(ClientEvent::Listening(Ok(honoured.clone())));
        if std::mem::take(&mut self.listening.has_gap) {
            self.events.extend(changes(&honoured).map(ClientEvent::Notification));
        }
        let open = OpenStream { request, filter, honoured, since: now, has_delivered: false };
        if let Some(before) = self.listening.open.replace(open) {
            self.end_stream(before.request);
        }
    }

    /// The server has ended a stream, or has refused one.
    pub(super) fn listen_ended(&mut self, now: Instant, request: u64, outcome: Result<JsonBuf, Failure>) {
        let open = self.listening.open.take_if(|open| open.request == request);
        let next = self.listening.next.take_if(|next| next.request == request);
        if open.is_none() && next.is_none() {
            return;
        }
        let error = match outcome {
            Ok(_) => RequestError::NotAvailable("the server has ended the subscription"),
            Err(failure) => RequestError::from(failure),
        };
        let may_retry = match &error {
            RequestError::NotAvailable(_) => true,
            RequestError::Unanswered { why, .. } => why.is_passing(),
            _ => false,
        };
        if open.is_some() {
            self.listening.has_gap = true;
            self.events.push_back(ClientEvent::ListeningLost);
        }
        self.listen_again(now, open.as_ref(), error, may_retry);
    }

    /// Listens again after a pause, unless that has no prospect.
    fn listen_again(&mut self, now: Instant, open: Option<&OpenStream>, error: RequestError, may_retry: bool) {
        let pause = self.listening.pause(now, open).filter(|_| may_retry);
        match pause {
            Some(pause) => self.listening.retry = Some(now + pause),
            None => self.events.push_back(ClientEvent::Listening(Err(error))),
        }
    }

    pub(super) fn listening_time(&mut self, now: Instant) {
        if let Some(next) = self.listening.next.take_if(|next| next.until <= now) {
            self.end_stream(next.request);
            let error = RequestError::TimedOut(self.config.limits.timeout);
            // No caller waits for a stream that replaces one which has ended.
            self.listen_again(now, None, error, self.listening.has_gap);
        }
        if self.listening.retry.take_if(|at| *at <= now).is_some() {
            self.relisten(now);
        }
    }

    /// True for a notification of a stream that this side has closed. Any other shows that its stream works.
    pub(super) fn is_late(&mut self, notification: &Notification) -> bool {
        let Some(request) = subscription(notification) else { return false };
        if let Some(open) = self.listening.open.as_mut().filter(|open| open.request == request) {
            open.has_delivered = true;
        }
        !self.listening.has(request)
    }
}

/// Reads the part of a filter that a server honours. Some servers write absent members as `null`.
fn honoured(raw: &RawJson) -> Option<SubscriptionFilter> {
    let mut members = JsonObject::new();
    for (name, value) in JsonObject::from_raw(raw).ok()?.iter().filter(|(_, value)| value.kind() != Kind::Null) {
        members.insert(name.to_owned(), value.clone());
    }
    members.to().ok()
}

/// Everything that may have changed while there was no stream.
fn changes(honoured: &SubscriptionFilter) -> impl Iterator<Item = Notification> {
    let lists = [
        (method::TOOLS_CHANGED, honoured.tools_list_changed),
        (method::PROMPTS_CHANGED, honoured.prompts_list_changed),
        (method::RESOURCES_CHANGED, honoured.resources_list_changed),
    ];
    let lists = lists.into_iter().filter(|(_, is_honoured)| *is_honoured);
    let lists = lists.map(|(method, _)| Notification { method: method.into(), params: Params::Absent });
    let resources = honoured.resource_subscriptions.iter().map(|uri| Notification {
        method: method::RESOURCE_UPDATED.into(),
        params: JsonObject::new().with("uri", RawJson::text(uri)).into(),
    });
    lists.chain(resources)
}

/// The id of the stream that a notification belongs to.
fn subscription(notification: &Notification) -> Option<u64> {
    let members = JsonObject::from_raw(notification.params.member("_meta")?).ok()?;
    let id = RequestId::from_raw(members.member(meta::SUBSCRIPTION_ID)?)?;
    u64::try_from(id.as_integer()?).ok()
}
