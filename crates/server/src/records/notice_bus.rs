//! Notices for the sessions of all processes that serve the same clients.
//!
//! The queues of sessions stay in the process that holds their connections. A [`NoticeBus`] carries notices from one
//! process to the sessions of the others. [`LocalNotices`], the default, is for a server of one process.

use std::fmt;
use std::sync::Weak;

use crate::records::session_notice::{Audience, SessionNotice};

/// The sessions of one server, as a [`NoticeBus`] knows them.
pub trait NoticeReceiver: Send + Sync + 'static {
    /// Sends a notice of another process to the sessions of this one alone. It does not block, and the sessions have
    /// bounded room: further notices replace equal ones, or are dropped.
    fn deliver(&self, audience: &Audience, notice: SessionNotice<'_>);
}

/// Carries notices to the sessions of other processes, and brings theirs.
///
/// A server calls both methods while it serves clients, so they must not block: a bus to another process needs a
/// queue, with a bound.
///
/// Notices may be lost: clients ask for lists, resources and tasks themselves. After a gap that a bus knows of it delivers
/// [`SessionNotice::Missed`]. A notice of a task reaches another process after the change that it is about is in the
/// [`TaskStore`](crate::TaskStore). [`NoticeRecord`] is the form of a notice in which another process reads it.
/// `contract::notice_bus` (feature `contract-tests`) checks a bus.
///
/// [`NoticeRecord`]: crate::NoticeRecord
pub trait NoticeBus: fmt::Debug + Send + Sync + 'static {
    /// Sends a notice to the sessions of other processes. The audience is everyone or an owner, because the ids of
    /// sessions are unique in one process only; the sessions of this process have the notice already, and do not get
    /// it from the bus.
    fn notify(&self, audience: Audience, notice: SessionNotice<'_>);

    /// Delivers the notices of other processes to this receiver from now on, until it is dropped. Each of several
    /// receivers gets all of them. [`ServerHandle::with_stores`](crate::ServerHandle::with_stores) subscribes its
    /// server; a bus keeps no server alive.
    fn subscribe(&self, receiver: Weak<dyn NoticeReceiver>);
}

/// The bus of a server that shares its clients with no other process.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalNotices;

impl NoticeBus for LocalNotices {
    fn notify(&self, _: Audience, _: SessionNotice<'_>) {}

    fn subscribe(&self, _: Weak<dyn NoticeReceiver>) {}
}
