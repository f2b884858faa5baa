//! The open sessions of all processes that serve the same clients.
//!
//! The queues of sessions stay in the process that holds their connections. A [`SessionDirectory`] knows which sessions
//! each process has open, and carries notices from one process to the sessions of the others. [`LocalSessions`], the
//! default, is for a server of one process.

use std::fmt;

use crate::records::node::NodeId;
use crate::records::session_notice::{Audience, SessionNotice};
use protomcp_fair::Owner;
use protomcp_session::SessionId;

/// An open session, or an open request that listens for changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    /// The process that holds it.
    pub node: NodeId,
    /// Its id in that process.
    pub id: SessionId,
    /// Whom it counts for.
    pub owner: Owner,
}

/// Knows the open sessions of several processes, and reaches the sessions of other processes.
///
/// A server calls all methods while it serves clients, so they must not block: a directory in another process needs a
/// queue. A notice that it receives from another process goes to the sessions of its process with
/// [`ServerHandle::deliver`](crate::ServerHandle::deliver).
///
/// Notices may be lost: clients ask for lists, resources and tasks themselves. A notice of a task reaches another
/// process after the change that it is about is in the [`TaskStore`](crate::TaskStore).
pub trait SessionDirectory: fmt::Debug + Send + Sync + 'static {
    /// A session of this process has begun.
    fn insert(&self, session: &SessionRecord);

    /// A session of this process has ended.
    fn remove(&self, session: &SessionRecord);

    /// Sends a notice to the sessions of other processes. The audience is everyone or an owner, because the ids of
    /// sessions are unique in one process only; the sessions of this process have the notice already.
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>);
}

/// The directory of a server that shares its sessions with no other process.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalSessions;

impl SessionDirectory for LocalSessions {
    fn insert(&self, _: &SessionRecord) {}

    fn remove(&self, _: &SessionRecord) {}

    fn notify(&self, _: Audience, _: SessionNotice<'_>) {}
}
