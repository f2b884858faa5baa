//! Observers of sessions: they are notified of the beginning and end of each session, and of the notifications that
//! clients send.
//!
//! Events do not pass through layers on the way to an observer, so no layer can withhold them.

use std::sync::Arc;

use protomcp_types::{Level, Notification, RawJson};

use protomcp_session::{SessionId, SessionView};

/// Observes the sessions of a server. Register one with [`crate::Server::observe`]; a [`crate::Handler`] has its own
/// methods for this and needs no observer.
///
/// The methods run in the task of the session and must not block.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use protomcp_server::{SessionId, SessionObserver, SessionView};
///
/// /// Counts the open sessions.
/// #[derive(Default)]
/// struct Count(AtomicUsize);
///
/// impl SessionObserver for Count {
///     fn opened(&self, _: &SessionView) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
///
///     fn closed(&self, _: SessionId) {
///         self.0.fetch_sub(1, Ordering::Relaxed);
///     }
/// }
/// ```
pub trait SessionObserver: Send + Sync + 'static {
    /// A client has sent `initialize`. Called before it is answered.
    fn opened(&self, session: &SessionView) {
        let _ = session;
    }

    /// The tools that a session sees, if this observer selects them and the session differs from others: for another
    /// process that takes the session over. Called when the tools of this session alone have changed
    /// ([`ServerHandle::tools_changed`](crate::ServerHandle::tools_changed)), before the answer to the request that has
    /// changed them. The first observer that returns a selection decides.
    fn selection(&self, session: SessionId) -> Option<RawJson> {
        let _ = session;
        None
    }

    /// A session was taken over from another process: it is called instead of [`SessionObserver::opened`], which is its
    /// default. `selection` is the one that [`SessionObserver::selection`] has returned there last.
    fn restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        let _ = selection;
        self.opened(session);
    }

    /// A session that was opened or restored has ended. Called once, after all of its calls have ended or been cancelled.
    fn closed(&self, session: SessionId) {
        let _ = session;
    }

    /// The client has set another level for its log messages (`logging/setLevel`).
    fn log_level_set(&self, session: SessionId, level: Level) {
        let _ = (session, level);
    }

    /// The client has sent a notification that the session does not handle itself, such as
    /// `notifications/roots/list_changed`. Called in the order of the client's messages.
    fn notified(&self, session: SessionId, notification: &Notification) {
        let _ = (session, notification);
    }
}

/// The observers of a server, in the order in which they were registered. Cloning is cheap: each session has a clone.
#[derive(Clone, Default)]
pub(crate) struct Observers(Arc<Vec<Arc<dyn SessionObserver>>>);

impl Observers {
    pub(crate) fn add(&mut self, observer: Arc<dyn SessionObserver>) {
        Arc::make_mut(&mut self.0).push(observer);
    }

    pub(crate) fn opened(&self, session: &SessionView) {
        self.0.iter().for_each(|observer| observer.opened(session));
    }

    pub(crate) fn selection(&self, session: SessionId) -> Option<RawJson> {
        self.0.iter().find_map(|observer| observer.selection(session))
    }

    pub(crate) fn restored(&self, session: &SessionView, selection: Option<&RawJson>) {
        self.0.iter().for_each(|observer| observer.restored(session, selection));
    }

    pub(crate) fn closed(&self, session: SessionId) {
        self.0.iter().for_each(|observer| observer.closed(session));
    }

    pub(crate) fn log_level_set(&self, session: SessionId, level: Level) {
        self.0.iter().for_each(|observer| observer.log_level_set(session, level));
    }

    pub(crate) fn notified(&self, session: SessionId, notification: &Notification) {
        self.0.iter().for_each(|observer| observer.notified(session, notification));
    }
}
