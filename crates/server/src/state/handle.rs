//! The open sessions of a server, seen from outside: who is there, and what is to be told or asked.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use protomcp_types::{ClientMethod, JsonBuf, Level, Params};
use tokio_util::sync::CancellationToken;

use crate::call::ask::Ask;
use crate::call::context::Context;
use crate::call::kept_tasks::{KeptTasks, NewTask, PendingTask, TaskCall};
use crate::call::mrtr::task::TaskNotifier;
use crate::call::parked::ParkedCalls;
use crate::call::session_queue::SessionQueue;
use crate::records::live_leases::LiveLeases;
use crate::records::node::NodeId;
use crate::records::stores::Stores;
use crate::records::task_store::MemoryTaskStore;
use crate::records::task_update::TaskUpdate;
use crate::records::task_writer::TaskWriter;
use crate::state::descriptions::Descriptions;
use crate::state::open_sessions::{OpenSession, OpenSessions};
use crate::state::resource_listeners::ResourceListeners;
use protomcp_fair::{Budget, Owner};
use protomcp_session::{
    AskError, Extensions, KnownMeta, Limits, RequestStateKeys, ServerInfo, SessionId, SessionView, Stateless,
    StatelessMeta, TaskState,
};

/// The open sessions of a server, and what can be told to them. Cloning is cheap.
///
/// It exists before the server does, so that a service can hold it.
#[derive(Clone)]
pub struct ServerHandle(pub(super) Arc<ServerState>);

pub(super) struct ServerState {
    pub(super) descriptions: Descriptions,
    known_meta: KnownMeta,
    pub(super) limits: Limits,
    open: Mutex<OpenSessions>,
    last: AtomicU64,
    shutdown: CancellationToken,
    /// Stateless calls whose client has been asked something.
    pub(super) parked: ParkedCalls<Context>,
    pub(super) tasks: Arc<KeptTasks>,
    switches: Switches,
    /// True if a task ends those that wait for too long.
    pub(super) is_swept: AtomicBool,
    /// Resources that requests listen to.
    resource_listeners: Arc<ResourceListeners>,
    keys: RequestStateKeys,
    pub(super) stores: Stores,
    budgets: Budgets,
}

/// The amounts that callers share.
#[derive(Debug)]
struct Budgets {
    /// Bytes of requests without an answer.
    inbound: Budget,
    /// Bytes of messages that are not sent.
    outbound: Budget,
    /// Requests without a session that listen.
    listeners: Budget,
}

/// Set while the server runs, and never back.
#[derive(Debug, Default)]
struct Switches {
    /// True if tasks of other processes are not served.
    has_own_tasks_only: AtomicBool,
    /// True if each request is a line of the access log.
    logs_access: AtomicBool,
}

/// An open request without a session.
pub(crate) struct OpenRequest {
    /// Stands for the request where others have their session.
    pub(crate) id: SessionId,
    sessions: ServerHandle,
    owner: Owner,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.sessions.open().leave(self.owner.clone());
    }
}

/// Tasks that begin at the same time, over those that a full store keeps.
const SPARE_TASKS: usize = 64;

/// The most requests without a session that listen for changes.
const MAX_LISTENERS: usize = 10_000;

/// Writes one task to the store, and notifies those who listen for it.
struct TaskKeeper {
    state: Weak<ServerState>,
    writer: TaskWriter,
}

impl ServerState {
    /// True if other processes answer requests about the tasks of this one.
    pub(super) fn are_tasks_shared(&self) -> bool {
        self.stores.tasks.is_some() && !self.switches.has_own_tasks_only.load(Ordering::Relaxed)
    }
}

impl ServerHandle {
    /// None yet.
    #[must_use]
    pub fn new(info: ServerInfo, limits: Limits) -> Self {
        Self::with_state_keys(info, limits, RequestStateKeys::random())
    }

    /// None yet. States that clients keep for handlers ([`Context::input_required`](crate::Context::input_required))
    /// are signed with these keys, which other processes may have as well.
    #[must_use]
    pub fn with_state_keys(info: ServerInfo, limits: Limits, keys: RequestStateKeys) -> Self {
        Self::with_stores(info, limits, keys, Stores::default())
    }

    /// Like [`ServerHandle::with_state_keys`], with stores that other processes may share. Its sessions get the notices
    /// of other processes from the bus of these stores ([`NoticeBus`](crate::NoticeBus)).
    #[must_use]
    pub fn with_stores(info: ServerInfo, limits: Limits, keys: RequestStateKeys, stores: Stores) -> Self {
        let tasks = stores.tasks.clone().unwrap_or_else(|| Arc::new(MemoryTaskStore::new(&limits.tasks)));
        let state = Arc::new(ServerState {
            descriptions: Descriptions::new(info),
            known_meta: KnownMeta::default(),
            limits,
            parked: ParkedCalls::new(limits.max_parked),
            tasks: Arc::new(KeptTasks::new(&stores, tasks, 2 * limits.tasks.max + SPARE_TASKS)),
            switches: Switches::default(),
            is_swept: AtomicBool::new(false),
            resource_listeners: Arc::new(ResourceListeners::new(Arc::clone(&stores.listeners))),
            keys,
            stores,
            budgets: Budgets {
                inbound: Budget::new(limits.max_inbound_bytes),
                outbound: Budget::new(limits.max_outbound_bytes),
                // A budget keeps its last slot.
                listeners: Budget::new(MAX_LISTENERS + 1),
            },
            open: Mutex::default(),
            last: AtomicU64::new(0),
            shutdown: CancellationToken::new(),
        });
        let receiver: Weak<ServerState> = Arc::downgrade(&state);
        state.stores.notices.subscribe(receiver);
        Self(state)
    }

    /// The description that the server gives of itself to clients with a session.
    #[must_use]
    pub fn info(&self) -> &Arc<ServerInfo> {
        self.0.descriptions.stateful()
    }

    /// The name of this process in the stores.
    #[must_use]
    pub fn node(&self) -> &NodeId {
        &self.0.stores.node
    }

    /// The limits of each session.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Bytes of requests that clients have sent and that are not answered yet ([`Limits::max_inbound_bytes`]).
    #[must_use]
    pub fn inbound_budget(&self) -> &Budget {
        &self.0.budgets.inbound
    }

    /// Bytes of messages that wait to be sent to clients ([`Limits::max_outbound_bytes`]).
    #[must_use]
    pub fn outbound_budget(&self) -> &Budget {
        &self.0.budgets.outbound
    }

    /// A slot for each request without a session that listens.
    pub(crate) fn listener_budget(&self) -> &Budget {
        &self.0.budgets.listeners
    }

    /// The number of open sessions.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open().count()
    }

    /// The owner of everything that is open, sessions and requests without one; `None` when nothing is open, or several
    /// owners are there. What one caller may have caused is for others only while all of them are one owner.
    #[must_use]
    pub fn sole_owner(&self) -> Option<Owner> {
        self.open().sole_owner().cloned()
    }

    /// The only open session; `None` if there are none, several, or requests of another owner.
    #[must_use]
    pub fn sole_session(&self) -> Option<SessionId> {
        self.open().sole_session()
    }

    /// The open sessions whose clients have introduced themselves, oldest first, with what each client can do.
    #[must_use]
    pub fn views(&self) -> Vec<SessionView> {
        let view = |(id, session): (SessionId, &OpenSession)| view(id, session);
        let mut views: Vec<_> = self.open().iter().filter_map(view).collect();
        views.sort_unstable_by_key(|view| view.id);
        views
    }

    /// Asks the client of one session something that belongs to no call; see [`Ask`]. It also fails before the
    /// handshake is complete.
    ///
    /// # Panics
    /// When the parameters do not serialize as an object.
    pub fn ask<M: ClientMethod>(&self, session: SessionId, params: &M::Params) -> Ask<M> {
        let queue = self.open().get(session).map(|session| Arc::clone(&session.queue)).ok_or(AskError::Gone);
        Ask::in_session(queue, params, self.limits().ask_timeout)
    }

    /// One of [`ServerHandle::views`].
    #[must_use]
    pub fn view(&self, session: SessionId) -> Option<SessionView> {
        view(session, self.open().get(session)?)
    }

    /// True if some client of this process wants log messages of this level. It may change its mind at any time.
    #[must_use]
    pub fn wants(&self, level: Level) -> bool {
        self.open().iter().any(|(_, session)| session.queue.wants(level))
    }

    /// Ends all sessions politely, and those that are yet to come. See [`Server::serve`](crate::Server::serve).
    pub fn shutdown(&self) {
        self.0.shutdown.cancel();
    }

    /// Cancelling this token is [`ServerHandle::shutdown`].
    #[must_use]
    pub fn shutdown_token(&self) -> CancellationToken {
        self.0.shutdown.clone()
    }

    /// True if [`ServerHandle::shutdown`] was called.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        self.0.shutdown.is_cancelled()
    }

    /// Waits until no call runs as a task without a session.
    ///
    /// After [`ServerHandle::shutdown`] these calls have [`Limits::drain_timeout`] if the tasks are in a store of
    /// [`Stores::with_tasks`], where other processes can read the results, and serve them. Otherwise no client would read
    /// them, and the tasks fail immediately.
    pub async fn tasks_ended(&self) {
        self.0.tasks.stateless_ended().await;
    }

    /// Parks a call; see [`ParkedCalls::park`](crate::call::parked::ParkedCalls::park).
    pub(crate) fn park(&self, call: Context, now: Instant, until: Instant) -> Option<u128> {
        let owner = call.caller().owner.clone();
        let number = self.0.parked.park(call, owner, now, until)?;
        self.sweep();
        Some(number)
    }

    /// Reserves a task; see [`KeptTasks::begin`](crate::call::kept_tasks::KeptTasks::begin).
    pub(crate) fn keep_task<T>(
        &self,
        task: NewTask,
        now: Instant,
        make: impl FnOnce(&TaskState, TaskWriter) -> (T, TaskCall),
    ) -> Option<PendingTask<T>> {
        let pending = self.0.tasks.begin(task, now, make)?;
        self.sweep();
        Some(pending)
    }

    pub(crate) fn parked(&self) -> &ParkedCalls<Context> {
        &self.0.parked
    }

    /// The leases of the processes of this server, if they are known.
    pub(crate) fn leases(&self) -> Option<&Arc<LiveLeases>> {
        self.0.stores.leases.as_ref()
    }

    /// Knowledge of the transport about the request without a session that goes on as this task. A transport that lets
    /// requests in by more than their principal compares it with the requests that are about the task.
    #[must_use]
    pub fn task_extensions(&self, id: &str) -> Option<Extensions> {
        let now = tokio::time::Instant::now().into_std();
        self.0.tasks.known(id, now)
    }

    /// Serves no tasks of other processes: a transport that compares [`ServerHandle::task_extensions`] with requests
    /// calls this, because only the process that has begun a task knows them.
    pub fn serve_own_tasks_only(&self) {
        self.0.switches.has_own_tasks_only.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_own_tasks_only(&self) -> bool {
        self.0.switches.has_own_tasks_only.load(Ordering::Relaxed)
    }

    /// Writes a line for each request from now on, when it is answered: an event of `tracing` at the level info, with the
    /// target [`ACCESS_TARGET`](crate::ACCESS_TARGET). Its fields are `method`; `name`, of a tool or a prompt, or the
    /// scheme of a resource; `outcome`, and `code` if that is an error; `ms`; `session`, or `connection` of a request
    /// without a session; and `subject`, if the caller is authenticated. It has neither arguments nor secrets.
    pub fn log_access(&self) {
        self.0.switches.logs_access.store(true, Ordering::Relaxed);
    }

    /// True if there is an access log; see [`ServerHandle::log_access`].
    #[must_use]
    pub fn logs_access(&self) -> bool {
        self.0.switches.logs_access.load(Ordering::Relaxed)
    }

    pub(crate) fn tasks(&self) -> &Arc<KeptTasks> {
        &self.0.tasks
    }

    pub(crate) fn resource_listeners(&self) -> &Arc<ResourceListeners> {
        &self.0.resource_listeners
    }

    pub(crate) fn task_notifier(&self, writer: TaskWriter) -> Arc<dyn TaskNotifier> {
        Arc::new(TaskKeeper { state: Arc::downgrade(&self.0), writer })
    }

    pub(crate) fn keys(&self) -> &RequestStateKeys {
        &self.0.keys
    }

    pub(crate) fn join(&self, owner: Owner, queue: &Arc<SessionQueue>) -> SessionId {
        let id = SessionId::new(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        self.open().insert(id, OpenSession { owner, queue: Arc::clone(queue) });
        id
    }

    pub(crate) fn leave(&self, id: SessionId) {
        // It is dropped without the lock.
        let _removed = self.open().remove(id);
    }

    /// Counts a request without a session for its owner, until it is dropped.
    pub(crate) fn enter(&self, owner: Owner) -> OpenRequest {
        let id = SessionId::new(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        self.open().enter(owner.clone());
        OpenRequest { id, sessions: self.clone(), owner }
    }

    /// The `_meta` of a request, for [`Server::answer`](crate::Server::answer). A text that clients repeat is read once.
    #[must_use]
    pub fn meta_of(&self, params: &Params) -> Arc<StatelessMeta> {
        self.0.known_meta.of(params)
    }

    pub(crate) fn stateless(&self) -> Arc<Stateless> {
        self.0.descriptions.stateless()
    }

    fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.0.open()
    }
}

impl ServerState {
    pub(super) fn open(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session whose client has introduced itself.
fn view(id: SessionId, session: &OpenSession) -> Option<SessionView> {
    let client = Arc::clone(session.queue.client()?);
    Some(SessionView { id, owner: session.owner.clone(), client })
}

impl TaskNotifier for TaskKeeper {
    fn write(&self, task: &TaskState, questions: Option<JsonBuf>) {
        self.writer.write(task, questions);
    }

    fn end(&self, task: &TaskState, size: usize) -> bool {
        let (is_kept, evicted) = match self.writer.end(task, size) {
            TaskUpdate::Kept { evicted } => (true, evicted),
            TaskUpdate::NoRoom { evicted } => (false, evicted),
        };
        if let Some(state) = self.state.upgrade() {
            if is_kept {
                state.tasks.ended(task.id());
            }
            state.tasks.evict(&evicted);
        }
        is_kept
    }

    fn changed(&self, id: &str) {
        if let Some(state) = self.state.upgrade() {
            ServerHandle(state).task_changed(id);
        }
    }
}

impl fmt::Debug for TaskKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskKeeper").finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerHandle").field("info", self.info()).field("open", &self.count()).finish_non_exhaustive()
    }
}
