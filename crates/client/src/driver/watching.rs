//! Subscriptions of a session: to resources, and without a handshake also to changes of lists.

use std::collections::BTreeSet;

use protomcp_session::{CloseReason, OutgoingCall, RequestError, ServerRequest, ServerView};
use protomcp_transport::{Sink, Source};
use protomcp_types::{
    Level, MAX_SUBSCRIBED_URI, Method, Notification, Params, SetLevel, Subscribe, SubscriptionFilter, method,
};
use tokio::sync::oneshot;

use crate::driver::{Driver, now};
use crate::handlers::Handlers;

/// The notifications that are wanted of a stateless server.
#[derive(Debug)]
pub(super) struct Watching {
    wants_lists: bool,
    lists: SubscriptionFilter,
    uris: BTreeSet<String>,
    level: Option<Level>,
    waiting: Vec<Waiting>,
}

/// A caller that waits until the server has acknowledged a change.
#[derive(Debug)]
struct Waiting {
    uri: String,
    is_wanted: bool,
    done: oneshot::Sender<Result<(), RequestError>>,
}

impl Watching {
    pub(super) fn new(handlers: &Handlers) -> Self {
        Self {
            wants_lists: handlers.list_changed.is_some() || handlers.observe.is_some(),
            lists: SubscriptionFilter::default(),
            uris: BTreeSet::new(),
            level: None,
            waiting: Vec::new(),
        }
    }

    fn filter(&self) -> SubscriptionFilter {
        SubscriptionFilter { resource_subscriptions: self.uris.iter().cloned().collect(), ..self.lists.clone() }
    }
}

impl<Q: Source, K: Sink> Driver<Q, K> {
    /// Listens for changes of the lists that a handler wants and the server announces.
    pub(super) fn watch_lists(&mut self, server: &ServerView) {
        let Some(capabilities) = server.capabilities.as_ref().filter(|_| self.watching.wants_lists) else { return };
        if server.is_stateful() {
            return;
        }
        self.watching.lists = SubscriptionFilter {
            tools_list_changed: capabilities.tools.is_some_and(|can| can.list_changed),
            prompts_list_changed: capabilities.prompts.is_some_and(|can| can.list_changed),
            resources_list_changed: capabilities.resources.is_some_and(|can| can.list_changed),
            ..SubscriptionFilter::default()
        };
        if self.watching.lists != SubscriptionFilter::default() {
            self.connection.listen(now(), self.watching.filter());
        }
    }

    pub(super) fn watch(&mut self, uri: String, is_wanted: bool, done: oneshot::Sender<Result<(), RequestError>>) {
        let uris = &mut self.watching.uris;
        let refusal = match is_wanted {
            true if uri.len() > MAX_SUBSCRIBED_URI => Some("the URI is too long for a subscription"),
            true if uris.len() >= MAX_WATCHED && !uris.contains(&uri) => Some("too many subscriptions"),
            _ => None,
        };
        if let Some(why) = refusal {
            // A caller that has gone needs no answer.
            drop(done.send(Err(RequestError::NotAvailable(why))));
            return;
        }
        if is_wanted {
            uris.insert(uri.clone());
        } else {
            uris.remove(&uri);
        }
        self.watching.waiting.push(Waiting { uri, is_wanted, done });
        self.connection.listen(now(), self.watching.filter());
    }

    /// The server has acknowledged or refused a subscription.
    pub(super) fn listening(&mut self, outcome: &Result<SubscriptionFilter, RequestError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, "the server does not send notifications of changes");
        }
        for Waiting { uri, is_wanted, done } in std::mem::take(&mut self.watching.waiting) {
            let answer = match outcome {
                _ if !is_wanted => Ok(()),
                Ok(honoured) if honoured.resource_subscriptions.contains(&uri) => Ok(()),
                Ok(_) => Err(RequestError::NotAvailable("the server does not honour the subscription")),
                Err(error) => Err(error.clone()),
            };
            if answer.is_err() {
                self.watching.uris.remove(&uri);
            }
            drop(done.send(answer));
        }
    }

    /// Asks a new session for everything that the old one was asked for, and announces that its lists may differ.
    pub(super) fn restore(&mut self, server: &ServerView) {
        tracing::info!(version = %server.version, "the session was lost, and a new one has begun");
        if server.is_stateful() {
            let subscriptions = self.watching.uris.iter().cloned();
            let subscriptions = subscriptions.map(|uri| ServerRequest::Subscribe(Subscribe::new(uri)));
            let level = self.watching.level.map(|level| ServerRequest::Other {
                method: SetLevel::NAME.into(),
                params: Params::of(&SetLevel { level }).unwrap_or_default(),
            });
            for request in subscriptions.chain(level).collect::<Vec<_>>() {
                let method = request.method().to_owned();
                let call = OutgoingCall::new(method, request.into_params());
                // The answer concerns no caller.
                self.connection.call(now(), self.shared.next_call(), call);
            }
        } else if self.watching.filter() != SubscriptionFilter::default() {
            self.connection.listen(now(), self.watching.filter());
        }
        let capabilities = server.capabilities.clone().unwrap_or_default();
        for (method, is_there) in [
            (method::TOOLS_CHANGED, capabilities.tools.is_some()),
            (method::PROMPTS_CHANGED, capabilities.prompts.is_some()),
            (method::RESOURCES_CHANGED, capabilities.resources.is_some()),
        ] {
            if is_there {
                self.notification(Notification { method: method.into(), params: Params::Absent });
            }
        }
    }

    /// Remembers a subscription of a session with a handshake.
    pub(super) fn subscribed(&mut self, uri: String, is_wanted: bool) {
        if is_wanted && self.watching.uris.len() < MAX_WATCHED {
            self.watching.uris.insert(uri);
        } else {
            self.watching.uris.remove(&uri);
        }
    }

    pub(super) fn set_level(&mut self, level: Level) {
        self.watching.level = Some(level);
        self.connection.set_log_level(Some(level));
    }

    pub(super) fn stop_watching(&mut self, reason: &CloseReason) {
        for Waiting { done, .. } in std::mem::take(&mut self.watching.waiting) {
            drop(done.send(Err(RequestError::Closed(reason.clone()))));
        }
    }
}

/// The resources that one session may watch.
const MAX_WATCHED: usize = 1024;
