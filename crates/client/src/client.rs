//! A client: its identity, its handlers, and the sessions that it opens.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use protomcp_session::{ClientLimits, CloseReason, Mode, Pings, ServerQuestion};
use protomcp_transport::Transport;
use protomcp_types::{
    ClientCapabilities, CreateMessage, CreateMessageResult, Elicit, ElicitResult, ErrorObject, Implementation, Level,
    Notification, ProtocolVersion, RawJson, Root,
};
use tower_layer::Layer;

use crate::driver;
use crate::erased_service::LayeredService;
use crate::handlers::{Handler, ListChanged, LogMessage, Observe, ObserveRefused};
use crate::reconnection::Reconnection;
use crate::registry::Registry;
use crate::request::{ClientRequest, RequestService};
use crate::roots;
use crate::session::{ClientSession, ServerContext};
use crate::settings::Settings;

/// Opens sessions with servers. Cloning is cheap: clones share the roots and the sessions, and each has its own
/// settings.
///
/// The capabilities that servers see follow from the handlers that are set when a session opens.
#[derive(Debug, Clone)]
pub struct Client {
    settings: Arc<Settings>,
    registry: Arc<Registry>,
}

impl Client {
    /// A client without handlers.
    #[must_use]
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self::with_implementation(Implementation::new(name, version))
    }

    /// A client with a title, a description or icons.
    #[must_use]
    pub fn with_implementation(implementation: Implementation) -> Self {
        Self { settings: Arc::new(Settings::new(implementation)), registry: Arc::default() }
    }

    fn change(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }

    /// Chooses the eras of MCP that sessions may use; [`Mode::Auto`] by default.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        self.change(|settings| settings.mode = mode)
    }

    /// Sets the revision that a handshake asks for, 2025-11-25 by default. The server may choose another one. A revision
    /// without a handshake means [`Mode::Stateless`].
    #[must_use]
    pub fn version(self, version: ProtocolVersion) -> Self {
        self.change(|settings| {
            if version.is_stateful() {
                settings.version = version;
            } else {
                settings.mode = Mode::Stateless;
            }
        })
    }

    /// Sets bounds and times.
    #[must_use]
    pub fn limits(self, limits: ClientLimits) -> Self {
        self.change(|settings| settings.limits = limits)
    }

    /// Sets the time for which a request may be without an answer and without progress.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.change(|settings| settings.limits.timeout = timeout)
    }

    /// Sets the time for which a handler may take to answer a server; five minutes by default, because a person may have
    /// to.
    #[must_use]
    pub fn answer_timeout(self, timeout: Duration) -> Self {
        self.change(|settings| settings.answer_timeout = timeout)
    }

    /// Sends a ping after each such time of silence, and gives a connection up after `misses` pings without any word of
    /// the server. Only in revisions that have `ping`.
    #[must_use]
    pub fn keep_alive(self, every: Duration, misses: u32) -> Self {
        self.change(|settings| settings.limits.keep_alive = Some(Pings { every, misses }))
    }

    /// Asks for log messages from this level on, in revisions where each request does. Otherwise the server chooses the
    /// level until [`ClientSession::set_level`].
    #[must_use]
    pub fn log_level(self, level: Level) -> Self {
        self.change(|settings| settings.log_level = Some(level))
    }

    /// Adds capabilities in addition to those that follow from the handlers, such as experimental ones.
    #[must_use]
    pub fn capabilities(self, capabilities: &ClientCapabilities) -> Self {
        self.change(|settings| settings.capabilities = std::mem::take(&mut settings.capabilities).and(capabilities))
    }

    /// Wraps every request of the sessions that are opened from here on in a layer of tower; the layer that is added last
    /// comes first. Layers can delay, change, repeat and answer requests, also those that the cache answers. All sessions
    /// share them, with their limits. An error of another type than [`RequestError`](crate::RequestError) becomes
    /// [`RequestError::Layer`](crate::RequestError::Layer).
    ///
    /// Messages that the connection sends by itself pass no layer: the opening, pings, subscriptions without a session,
    /// later rounds of a request, polls of its task, the list that repairs a header mismatch, and notifications.
    ///
    /// ```
    /// use protomcp_client::{Client, ClientRequest, RequestService};
    /// use tower::{ServiceBuilder, layer::layer_fn};
    ///
    /// let client = Client::new("host", "1.0").layer(ServiceBuilder::new().concurrency_limit(8)).layer(layer_fn(
    ///     |inner: RequestService| {
    ///         ServiceBuilder::new()
    ///             .map_request(|call: ClientRequest| {
    ///                 println!("{} to server {}", call.request.method(), call.session().id());
    ///                 call
    ///             })
    ///             .service(inner)
    ///     },
    /// ));
    /// # drop(client);
    /// ```
    #[must_use]
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<RequestService>,
        L::Service: LayeredService<ClientRequest>,
    {
        self.change(|settings| settings.service = std::mem::take(&mut settings.service).layered(&layer))
    }

    /// Answers `elicitation/create` for forms. Defaults of the form that the content of an accepted answer leaves out
    /// are filled in. An error refuses the request.
    ///
    /// ```
    /// use protomcp_client::Client;
    /// use protomcp_types::{ElicitAction, ElicitResult, RawJson};
    ///
    /// let client = Client::new("host", "1.0").on_elicit(|form, _server| async move {
    ///     println!("{}", form.message);
    ///     Ok(ElicitResult { action: ElicitAction::Accept, content: Some(RawJson::EMPTY_OBJECT), meta: None })
    /// });
    /// ```
    #[must_use]
    pub fn on_elicit<F>(self, handler: impl Fn(Elicit, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.change(|settings| settings.handlers.elicit = Some(Handler::new(handler)))
    }

    /// Like [`Client::on_elicit`], also for web pages ([`ElicitWay::Url`](protomcp_types::ElicitWay::Url)). The handler
    /// shows the user the full URL, and opens it only with consent.
    #[must_use]
    pub fn on_elicit_with_urls<F>(self, handler: impl Fn(Elicit, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<ElicitResult, ErrorObject>> + Send + 'static,
    {
        self.on_elicit(handler).change(|settings| settings.handlers.opens_urls = true)
    }

    /// Answers `sampling/createMessage` without tools. An error refuses the request.
    #[must_use]
    pub fn on_sample<F>(self, handler: impl Fn(CreateMessage, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.change(|settings| settings.handlers.sample = Some(Handler::new(handler)))
    }

    /// Like [`Client::on_sample`], also with tools.
    #[must_use]
    pub fn on_sample_with_tools<F>(
        self,
        handler: impl Fn(CreateMessage, ServerContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<CreateMessageResult, ErrorObject>> + Send + 'static,
    {
        self.on_sample(handler).change(|settings| settings.handlers.samples_with_tools = true)
    }

    /// Answers every request of servers unread, instead of the handlers for each kind. For proxies; the kinds that the
    /// client answers are declared with [`Client::capabilities`]. An error refuses the request.
    #[must_use]
    pub fn on_question<F>(self, handler: impl Fn(ServerQuestion, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<RawJson, ErrorObject>> + Send + 'static,
    {
        self.change(|settings| settings.handlers.question = Some(Handler::new(handler)))
    }

    /// Calls `observe` with every notification that concerns no request, before the handlers for it: on the task of the
    /// connection, in order with the answers and the progress of requests. It must not block.
    #[must_use]
    pub fn observe_notifications(
        self,
        observe: impl Fn(&Notification, &ServerContext) + Send + Sync + 'static,
    ) -> Self {
        self.change(|settings| settings.handlers.observe = Some(Observe::new(observe)))
    }

    /// Calls `observe` with the method of every request of a server that gets an error because this client does not declare
    /// the capability for it: some servers ask nevertheless. On the task of the connection; it must not block.
    #[must_use]
    pub fn observe_refused_questions(self, observe: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.change(|settings| settings.handlers.refused = Some(ObserveRefused::new(observe)))
    }

    /// Gets the log messages of servers, in order.
    #[must_use]
    pub fn on_log<F>(self, handler: impl Fn(LogMessage, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.change(|settings| settings.handlers.log = Some(Handler::new(handler)))
    }

    /// Is called when a list of a server has changed. Several changes may be one call.
    #[must_use]
    pub fn on_list_changed<F>(self, handler: impl Fn(ListChanged, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.change(|settings| settings.handlers.list_changed = Some(Handler::new(handler)))
    }

    /// Is called with the URI when a resource has changed that a session has subscribed to. Several changes may be one
    /// call.
    #[must_use]
    pub fn on_resource_updated<F>(self, handler: impl Fn(String, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.change(|settings| settings.handlers.resource_updated = Some(Handler::new(handler)))
    }

    /// Gets every notification that no other handler is for, in order.
    #[must_use]
    pub fn on_notification<F>(self, handler: impl Fn(Notification, ServerContext) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.change(|settings| settings.handlers.notification = Some(Handler::new(handler)))
    }

    /// Offers roots to servers, possibly none at first. [`Client::add_root`] does so as well.
    #[must_use]
    pub fn with_roots(self, places: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.registry.roots.offer();
        for place in places {
            self.add_root(place);
        }
        self
    }

    /// Adds a root and tells all sessions. A plain path becomes a `file:` URI. Sessions that were opened before the
    /// first root do not offer any.
    pub fn add_root(&self, place: impl AsRef<str>) {
        self.add_named_root(Root { uri: roots::uri(place.as_ref()), name: None, meta: None });
    }

    /// Adds a root with a name, or replaces the one with the same URI, and tells all sessions.
    pub fn add_named_root(&self, root: Root) {
        if self.registry.roots.add(root) {
            self.registry.roots_changed();
        }
    }

    /// Offers these roots in place of all others, and tells all sessions once if something has changed. A plain path becomes
    /// a `file:` URI. Sessions that were opened before the first root do not offer any.
    pub fn set_roots(&self, all: impl IntoIterator<Item = Root>) {
        let all = all.into_iter().map(|root| Root { uri: roots::uri(&root.uri), ..root }).collect();
        if self.registry.roots.set(all) {
            self.registry.roots_changed();
        }
    }

    /// Removes a root and tells all sessions. False if it was not there.
    pub fn remove_root(&self, place: impl AsRef<str>) -> bool {
        let was_there = self.registry.roots.remove(&roots::uri(place.as_ref()));
        if was_there {
            self.registry.roots_changed();
        }
        was_there
    }

    /// The roots in order.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.registry.roots.list()
    }

    /// Opens a session: finds out the era of the server, and shakes hands where there is a handshake. Dropping the future
    /// closes the connection.
    ///
    /// # Errors
    /// If the server refuses, does not answer in time, or speaks no common revision; and if the transport fails.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub async fn connect(&self, transport: impl Transport) -> Result<ClientSession, CloseReason> {
        self.connect_with(transport, Reconnection::Never).await
    }

    pub(crate) async fn connect_with<T: Transport>(
        &self,
        transport: T,
        reconnection: Reconnection<T::Source, T::Sink>,
    ) -> Result<ClientSession, CloseReason> {
        driver::connect(Arc::clone(&self.settings), Arc::clone(&self.registry), transport, reconnection).await
    }

    #[cfg(feature = "command")]
    pub(crate) fn chosen_mode(&self) -> Mode {
        self.settings.mode
    }
}
