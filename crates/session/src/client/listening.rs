//! Subscriptions without a session (MCP 2026-07-28, basic/utilities/subscriptions). What is wanted changes over time,
//! so a new stream replaces the old one: no notification is lost in between.

use std::time::Instant;

use protomcp_types::{JsonBuf, JsonObject, Listen, Method, Notification, Params, RequestId, SubscriptionFilter, meta};

use crate::client::ClientConnection;
use crate::client::error::RequestError;
use crate::client::event::ClientEvent;
use crate::client::exchange::{Draft, Purpose};
use crate::client::failure::Failure;
use crate::client::listen_state::{NextStream, OpenStream};
use crate::no_answer::NoAnswer;

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
        if let Some(open) = self.listening.open.as_ref().filter(|open| open.filter == wanted) {
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
        let honoured = notification.params.member("notifications").and_then(|raw| raw.to().ok());
        let (Some(next), Some(honoured)) =
            (self.listening.next.take_if(|next| Some(next.request) == request), honoured)
        else {
            self.events.push_back(ClientEvent::Ignored("acknowledges no subscription"));
            return;
        };
        let NextStream { request, filter, .. } = next;
        let open = OpenStream { request, filter, honoured, since: now };
        self.events.push_back(ClientEvent::Listening(Ok(open.honoured.clone())));
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
            RequestError::Unanswered { why, .. } => {
                matches!(why, NoAnswer::NotSent | NoAnswer::Connection | NoAnswer::Incomplete)
            }
            _ => false,
        };
        let pause = self.listening.pause(now, open.map(|open| open.since)).filter(|_| may_retry);
        match pause {
            Some(pause) => self.listening.retry = Some(now + pause),
            None => self.events.push_back(ClientEvent::Listening(Err(error))),
        }
    }

    pub(super) fn listening_time(&mut self, now: Instant) {
        if let Some(next) = self.listening.next.take_if(|next| next.until <= now) {
            self.end_stream(next.request);
            let error = RequestError::TimedOut(self.config.limits.timeout);
            self.events.push_back(ClientEvent::Listening(Err(error)));
        }
        if self.listening.retry.take_if(|at| *at <= now).is_some() {
            self.relisten(now);
        }
    }

    /// True for a notification of a stream that this side has closed.
    pub(super) fn is_late(&self, notification: &Notification) -> bool {
        subscription(notification).is_some_and(|request| !self.listening.has(request))
    }
}

/// The id of the stream that a notification belongs to.
fn subscription(notification: &Notification) -> Option<u64> {
    let members = JsonObject::from_raw(notification.params.member("_meta")?).ok()?;
    let id = RequestId::from_raw(members.member(meta::SUBSCRIPTION_ID)?)?;
    u64::try_from(id.as_integer()?).ok()
}
