//! The stores of a server: what it keeps where other processes can reach it.

use std::sync::Arc;

use crate::records::lease_store::LeaseStore;
use crate::records::listener_store::{ListenerStore, MemoryListeners};
use crate::records::live_leases::LiveLeases;
use crate::records::node::NodeId;
use crate::records::notice_bus::{LocalNotices, NoticeBus};
use crate::records::task_store::TaskStore;

/// The stores of a server. By default all of them are in the memory of this process, and no other process sees them.
///
/// Several processes that serve the same clients share their own stores, and also the keys that sign states
/// ([`RequestStateKeys::from_file`](crate::RequestStateKeys::from_file)). Calls, connections and the receivers of
/// answers stay in the process that began them: a state says which process that is.
///
/// ```
/// use std::sync::Arc;
///
/// use protomcp_server::{Limits, LocalNotices, NodeId, RequestStateKeys, ServerHandle, ServerInfo, Stores};
///
/// let stores = Stores::new(NodeId::new("a-1")).with_notices(Arc::new(LocalNotices));
/// let keys = RequestStateKeys::shared([[7; 32]]);
/// let handle = ServerHandle::with_stores(ServerInfo::new("greeter", "1.0"), Limits::default(), keys, stores);
/// assert_eq!(handle.node().as_str(), "a-1");
/// ```
#[derive(Debug, Clone)]
pub struct Stores {
    pub(crate) node: NodeId,
    pub(crate) notices: Arc<dyn NoticeBus>,
    pub(crate) listeners: Arc<dyn ListenerStore>,
    /// `None`: the other processes are not known.
    pub(crate) leases: Option<Arc<LiveLeases>>,
    /// `None`: in memory, with the limits of the server.
    pub(crate) tasks: Option<Arc<dyn TaskStore>>,
}

impl Stores {
    /// Local stores of the process with this name.
    #[must_use]
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            notices: Arc::new(LocalNotices),
            listeners: Arc::new(MemoryListeners::default()),
            leases: None,
            tasks: None,
        }
    }

    /// Sets the bus that carries notices to the sessions of other processes: changes of lists, resources and tasks, and
    /// log messages.
    #[must_use]
    pub fn with_notices(mut self, notices: Arc<dyn NoticeBus>) -> Self {
        self.notices = notices;
        self
    }

    /// Sets the store of tasks. By default it is a [`MemoryTaskStore`](crate::MemoryTaskStore) with the limits of the
    /// server.
    #[must_use]
    pub fn with_tasks(mut self, tasks: Arc<dyn TaskStore>) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Sets the leases of the processes, each under its name in the stores. A retry of a call that another process has
    /// parked is refused with the name of that process then, for a router in front of them, or because it has ended. A
    /// task that runs in a process that has ended is a failed one, with the error `REPLICA_GONE`, which is retryable.
    /// The store is asked for the processes once in a second at most.
    #[must_use]
    pub fn with_leases(mut self, leases: Arc<dyn LeaseStore>) -> Self {
        self.leases = Some(Arc::new(LiveLeases::new(leases, self.node.clone())));
        self
    }

    /// Sets the counts of the requests that listen to resources.
    #[must_use]
    pub fn with_listeners(mut self, listeners: Arc<dyn ListenerStore>) -> Self {
        self.listeners = listeners;
        self
    }
}

/// Local stores of a process with a random name.
impl Default for Stores {
    fn default() -> Self {
        Self::new(NodeId::random())
    }
}
