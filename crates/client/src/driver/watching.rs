//! Subscriptions of a session: to resources, and without a handshake also to changes of lists.

use std::collections::{BTreeSet, HashMap};

use protomcp_session::{CallId, CloseReason, OutgoingCall, RequestError, ServerRequest, ServerView};
use protomcp_transport::{Sink, Source};
use protomcp_types::{
    JsonObject, Level, MAX_SUBSCRIBED_URI, Method, Notification, Params, RawJson, SetLevel, Subscribe,
    SubscriptionFilter, code, method,
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
    /// Requests that repeat in a new session what the lost one was asked for.
    renewals: HashMap<CallId, Renewal>,
}

/// A caller that waits until the server has acknowledged a change.
#[derive(Debug)]
pub(super) struct Waiting {
    uri: String,
    is_wanted: bool,
    /// The resource was not watched before.
    is_new: bool,
    done: oneshot::Sender<Result<(), RequestError>>,
}

impl Waiting {
    pub(super) fn new(uri: String, is_wanted: bool, done: oneshot::Sender<Result<(), RequestError>>) -> Self {
        Self { uri, is_wanted, is_new: false, done }
    }
}

/// A subscription or a log level in a new session.
#[derive(Debug, Clone)]
struct Renewal {
    what: Renewed,
    /// It has failed once.
    is_retry: bool,
}

#[derive(Debug, Clone)]
enum Renewed {
    Resource(String),
    Level(Level),
}

impl Watching {
    pub(super) fn new(handlers: &Handlers) -> Self {
        Self {
            wants_lists: handlers.list_changed.is_some() || handlers.observe.is_some(),
            lists: SubscriptionFilter::default(),
            uris: BTreeSet::new(),
            level: None,
            waiting: Vec::new(),
            renewals: HashMap::new(),
        }
    }

    /// Answers a caller. A resource that is not watched after all is forgotten.
    fn answer(&mut self, waiting: Waiting, answer: Result<(), RequestError>) {
        if answer.is_err() && waiting.is_new {
            self.uris.remove(&waiting.uri);
        }
        // A caller that has gone needs no answer.
        drop(waiting.done.send(answer));
    }

    fn filter(&self) -> SubscriptionFilter {
        SubscriptionFilter { resource_subscriptions: self.uris.iter().cloned().collect(), ..self.lists.clone() }
    }
}

impl<Q: Source, K: Sink> Driver<Q, K> {
    /// Notes the lists whose changes a handler wants and the server announces.
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
    }

    /// Asks a stateless server for everything that is wanted, if that is anything.
    pub(super) fn listen(&mut self, server: &ServerView) {
        let filter = self.watching.filter();
        if !server.is_stateful() && (filter != SubscriptionFilter::default() || !self.watching.waiting.is_empty()) {
            self.connection.listen(now(), filter);
        }
    }

    pub(super) fn watch(&mut self, mut waiting: Waiting) {
        if let Some(reason) = self.connection.closed().cloned() {
            return self.watching.answer(waiting, Err(RequestError::Closed(reason)));
        }
        let (uri, uris) = (&waiting.uri, &mut self.watching.uris);
        let refusal = match waiting.is_wanted {
            true if uri.len() > MAX_SUBSCRIBED_URI => Some("the URI is too long for a subscription"),
            true if uris.len() >= MAX_WATCHED && !uris.contains(uri) => Some("too many subscriptions"),
            _ => None,
        };
        if let Some(why) = refusal {
            return self.watching.answer(waiting, Err(RequestError::NotAvailable(why)));
        }
        if waiting.is_wanted {
            waiting.is_new = uris.insert(uri.clone());
        } else {
            uris.remove(uri);
        }
        self.watching.waiting.push(waiting);
        // While there is no connection the caller waits for the next one.
        if self.connection.server().is_some() {
            self.connection.listen(now(), self.watching.filter());
        }
    }

    /// The server has acknowledged or refused a subscription.
    pub(super) fn listening(&mut self, outcome: &Result<SubscriptionFilter, RequestError>) {
        if let Err(error) = outcome {
            tracing::warn!(%error, "the server does not send notifications of changes");
        }
        for waiting in std::mem::take(&mut self.watching.waiting) {
            let answer = match outcome {
                _ if !waiting.is_wanted => Ok(()),
                Ok(honoured) if honoured.resource_subscriptions.contains(&waiting.uri) => Ok(()),
                Ok(_) => Err(RequestError::NotAvailable("the server does not honour the subscription")),
                Err(error) => Err(error.clone()),
            };
            self.watching.answer(waiting, answer);
        }
        // A server without subscriptions has none later.
        let is_final = |error: &RequestError| matches!(error, RequestError::Refused(error) if error.code == code::METHOD_NOT_FOUND);
        if outcome.as_ref().is_err_and(|error| !is_final(error)) {
            self.connection.listen_later(now(), self.watching.filter());
        }
    }

    /// Asks a new session for everything that the old one was asked for, and announces that lists and resources may
    /// differ.
    pub(super) fn restore(&mut self, server: &ServerView) {
        tracing::info!(version = %server.version, "the session was lost, and a new one has begun");
        // Those of the session before, if some have no answer.
        self.watching.renewals.clear();
        if server.is_stateful() {
            let resources = self.watching.uris.iter().cloned().map(Renewed::Resource);
            let renewals: Vec<_> = resources.chain(self.watching.level.map(Renewed::Level)).collect();
            for what in renewals {
                self.renew(Renewal { what, is_retry: false });
            }
        } else {
            self.listen(server);
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
        for uri in self.watching.uris.clone() {
            let params = JsonObject::new().with("uri", RawJson::text(&uri)).into();
            self.notification(Notification { method: method::RESOURCE_UPDATED.into(), params });
        }
    }

    fn renew(&mut self, renewal: Renewal) {
        let request = match renewal.what.clone() {
            Renewed::Resource(uri) => ServerRequest::Subscribe(Subscribe::new(uri)),
            Renewed::Level(level) => ServerRequest::Other {
                method: SetLevel::NAME.into(),
                params: Params::of(&SetLevel { level }).unwrap_or_default(),
            },
        };
        let method = request.method().to_owned();
        let id = self.shared.next_call();
        self.watching.renewals.insert(id, renewal);
        // There are no more of them than resources that are watched.
        self.connection.call_beyond_limit(now(), id, OutgoingCall::new(method, request.into_params()));
    }

    /// A request without a caller has ended. A renewal that fails is repeated once, if that may help.
    pub(super) fn renewed(&mut self, call: CallId, error: Option<RequestError>) {
        let Some(Renewal { what, is_retry }) = self.watching.renewals.remove(&call) else { return };
        // A subscription may have ended, and the next session is asked again.
        let is_wanted = match &what {
            Renewed::Resource(uri) => self.watching.uris.contains(uri),
            Renewed::Level(level) => self.watching.level == Some(*level),
        };
        let error = error.filter(|error| is_wanted && !matches!(error, RequestError::Closed(_)));
        match error {
            None => {}
            Some(error) if error.is_retryable() && !is_retry => self.renew(Renewal { what, is_retry: true }),
            Some(error) => {
                tracing::warn!(%error, ?what, "the new session does not have what the lost one had");
                if let Renewed::Resource(uri) = what {
                    self.watching.uris.remove(&uri);
                }
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
        for waiting in std::mem::take(&mut self.watching.waiting) {
            self.watching.answer(waiting, Err(RequestError::Closed(reason.clone())));
        }
    }
}

/// The resources that one session may watch.
const MAX_WATCHED: usize = 1024;
