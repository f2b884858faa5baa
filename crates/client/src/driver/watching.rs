//! Subscriptions of a session: to resources, and without a handshake also to changes of lists.

use std::collections::{BTreeSet, HashMap};

use protomcp_session::{CallId, CloseReason, OutgoingCall, RequestError, ServerRequest, ServerView};
use protomcp_transport::{Sink, Source};
use protomcp_types::{
    JsonObject, Level, MAX_SUBSCRIBED_URI, Method, Notification, Params, RawJson, SetLevel, Subscribe,
    SubscriptionFilter, Unsubscribe, code, method,
};
use tokio::sync::oneshot;

use crate::cache::Kind;
use crate::command::{Subscribed, Watched};
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
    /// Requests for subscriptions with a session, by resource.
    requests: HashMap<String, Requests>,
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
    done: oneshot::Sender<Watched>,
}

/// The requests for one subscription.
#[derive(Debug, Default)]
struct Requests {
    count: usize,
    /// The outcome of one that has ended is not known.
    may_be_made: bool,
}

impl Waiting {
    pub(super) fn new(uri: String, is_wanted: bool, done: oneshot::Sender<Watched>) -> Self {
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
            requests: HashMap::new(),
            renewals: HashMap::new(),
        }
    }

    /// Answers a caller. A resource that is not watched after all is forgotten. True if that is because the caller has gone.
    fn answer(&mut self, waiting: Waiting, answer: Result<(), RequestError>) -> bool {
        let Waiting { uri, is_new, done, .. } = waiting;
        let is_refused = answer.is_err();
        let is_lost = done.send(answer.map(|()| is_new)).is_err();
        if is_new && (is_refused || is_lost) {
            self.uris.remove(&uri);
        }
        is_new && is_lost
    }

    /// Forgets callers that are gone, and the resources that only they want to watch. True if there are any of these.
    fn forget_gone(&mut self) -> bool {
        let before = self.uris.len();
        let is_gone = |waiting: &Waiting| waiting.is_wanted && waiting.done.is_closed();
        let (gone, mut left): (Vec<_>, Vec<_>) = std::mem::take(&mut self.waiting).into_iter().partition(is_gone);
        for Waiting { uri, .. } in gone.into_iter().filter(|waiting| waiting.is_new) {
            match left.iter_mut().find(|waiting| waiting.is_wanted && waiting.uri == uri) {
                // It begins with another caller.
                Some(other) => other.is_new = true,
                None => _ = self.uris.remove(&uri),
            }
        }
        self.waiting = left;
        self.uris.len() < before
    }

    /// A subscription with a session is about to be requested.
    pub(super) fn subscribing(&mut self, uri: String) {
        self.requests.entry(uri).or_default().count += 1;
    }

    /// A subscription with a session has ended.
    pub(super) fn unsubscribed(&mut self, uri: &str) {
        self.uris.remove(uri);
    }

    /// Takes the outcome of a request for a subscription. True if the server may have one that is not wanted.
    fn requested(&mut self, uri: &str, outcome: Subscribed) -> bool {
        if outcome == Subscribed::Done && self.uris.len() < MAX_WATCHED {
            self.uris.insert(uri.to_owned());
        }
        let Some(requests) = self.requests.get_mut(uri) else { return false };
        requests.count = requests.count.saturating_sub(1);
        requests.may_be_made |= outcome == Subscribed::Unknown;
        if requests.count > 0 {
            return false;
        }
        let may_be_made = self.requests.remove(uri).is_some_and(|requests| requests.may_be_made);
        may_be_made && !self.uris.contains(uri)
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
            self.watching.answer(waiting, Err(RequestError::Closed(reason)));
            return;
        }
        let (uri, uris) = (&waiting.uri, &mut self.watching.uris);
        let refusal = if !waiting.is_wanted {
            None
        } else if uri.len() > MAX_SUBSCRIBED_URI {
            Some("the URI is too long for a subscription")
        } else if uris.len() >= MAX_WATCHED && !uris.contains(uri) {
            Some("too many subscriptions")
        } else {
            None
        };
        if let Some(why) = refusal {
            self.watching.answer(waiting, Err(RequestError::NotAvailable(why)));
            return;
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
            self.shared.cache().invalidate(&Kind::ALL);
        }
        let mut has_gone = self.watching.forget_gone();
        for waiting in std::mem::take(&mut self.watching.waiting) {
            let answer = match outcome {
                _ if !waiting.is_wanted => Ok(()),
                Ok(honoured) if honoured.resource_subscriptions.contains(&waiting.uri) => Ok(()),
                Ok(_) => Err(RequestError::NotAvailable("the server does not honour the subscription")),
                Err(error) => Err(error.clone()),
            };
            has_gone |= self.watching.answer(waiting, answer);
        }
        if has_gone && outcome.is_ok() {
            self.listen_anew();
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
        // Renewals of the session before, if some have no answer.
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

    /// Callers that wait for an acknowledgement are gone.
    pub(super) fn unwatched(&mut self) {
        if self.watching.forget_gone() {
            self.listen_anew();
        }
    }

    /// Asks for what is wanted now.
    fn listen_anew(&mut self) {
        if self.connection.server().is_some_and(|server| !server.is_stateful()) {
            self.connection.listen(now(), self.watching.filter());
        }
    }

    /// Remembers a subscription of a session with a handshake, or ends one whose caller does not know of it.
    pub(super) fn subscribed(&mut self, uri: &str, outcome: Subscribed) {
        let is_unwanted = self.watching.requested(uri, outcome);
        if is_unwanted && self.connection.server().is_some_and(|server| server.is_stateful()) {
            let request = ServerRequest::Unsubscribe(Unsubscribe::new(uri));
            let call = OutgoingCall::new(request.method().to_owned(), request.into_params());
            self.connection.call(now(), self.shared.next_call(), call);
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
