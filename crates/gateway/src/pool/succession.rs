//! The sessions of the next version of a server, and their way into service: all of them together.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use protomcp_client::WeakClientSession;
use protomcp_server::{Audience, ServerHandle, SessionId};

use crate::era::Era;
use crate::pool::eras::SharedSessions;
use crate::pool::{Pool, lock};
use crate::upstream_session::UpstreamSession;

/// The sessions that are opened at the same time, each of which may be a process that starts.
const CONCURRENT_OPENS: usize = 4;

/// The sessions that can replace the sessions of a pool.
#[derive(Debug)]
pub(crate) struct Successors {
    shared: SharedSessions,
    sessions: HashMap<SessionId, Arc<UpstreamSession>>,
}

impl Pool {
    /// Opens a session with the next version of the server for each that is open. The first one shows that the version
    /// works; one of another client that cannot be opened then is opened again when it is needed. Dropping the future
    /// ends those that are open.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) async fn prepare(self: Arc<Self>) -> Result<Successors, String> {
        let (shared, era) = self.next(&self.shared());
        shared.prepare(era).await?;
        let other = lock(&self.shared).other.clone().filter(|session| session.open_session().is_some());
        let open: Vec<_> = {
            let sessions = self.lock();
            let open = sessions.iter().filter(|(_, session)| session.open_session().is_some());
            let open = open.map(|(client, session)| (Some(*client), self.next(session)));
            open.chain(other.map(|session| (None, self.next(&session)))).collect()
        };
        let opening = open.into_iter().map(|(client, (session, era))| async move {
            if let Err(cause) = session.prepare(era).await {
                tracing::warn!(cause, "a session of one client is not open in the new version yet");
            }
            (client, session)
        });
        let mut sessions: HashMap<_, _> =
            futures_util::stream::iter(opening).buffer_unordered(CONCURRENT_OPENS).collect().await;
        let other = sessions.remove(&None);
        let sessions = sessions.into_iter().filter_map(|(client, session)| Some((client?, session))).collect();
        match shared.open_session() {
            Some(_) => Ok(Successors { shared: SharedSessions { main: shared, other }, sessions }),
            None => Err("it has ended as soon as it was connected".into()),
        }
    }

    /// A session that can take the place of this one, and the era of this one if it is open.
    fn next(&self, session: &UpstreamSession) -> (Arc<UpstreamSession>, Option<Era>) {
        let era = session.open_session().map(|open| Era::of_server(&open.server()));
        (session.successor(&self.gateway), era)
    }

    /// Sends all requests to the next version from here on, and tells clients. Returns the connections of the version
    /// before, each of which ends with its last request.
    pub(crate) fn replace(&self, mut next: Successors) -> Vec<WeakClientSession> {
        let before = if self.is_closed.load(Ordering::SeqCst) { Vec::new() } else { self.swap(&mut next) };
        let mut retired = lock(&self.retired);
        retired.retain(|connection| connection.upgrade().is_some());
        retired.extend(before.iter().cloned());
        drop(retired);
        self.reach.works();
        self.environment.lists_changed(&Audience::Everyone);
        before
    }

    fn swap(&self, next: &mut Successors) -> Vec<WeakClientSession> {
        let mut before = Vec::new();
        {
            let mut shared = lock(&self.shared);
            before.extend(shared.main.replace(&next.shared.main));
            shared.main = Arc::clone(&next.shared.main);
            if let Some(other) = &mut shared.other {
                let next = next.shared.other.take().unwrap_or_else(|| other.successor(&self.gateway));
                before.extend(other.replace(&next));
                *other = next;
            }
        }
        for (client, session) in self.lock().iter_mut() {
            let next = next.sessions.remove(client).unwrap_or_else(|| session.successor(&self.gateway));
            before.extend(session.replace(&next));
            *session = next;
        }
        // Those in use end with their calls.
        let leases = self.take_leases();
        before.extend(leases.iter().filter_map(|session| Some(session.open_session()?.downgrade())));
        before
    }

    /// True if requests can be sent to the server.
    pub(crate) fn is_up(&self) -> bool {
        let is_open = |session: &Arc<UpstreamSession>| session.open_session().is_some();
        lock(&self.shared).all().any(is_open) || self.lock().values().any(is_open)
    }

    /// Logs a message of the gateway about the server, and sends it to all clients: to a single owner in full.
    pub(crate) fn report(&self, text: &str, for_clients: &str, level: protomcp_types::Level) {
        let server = self.reach.upstream.name();
        match level {
            protomcp_types::Level::Error => tracing::error!("{text}"),
            _ => tracing::info!("{text}"),
        }
        // Other processes may have clients of other owners.
        let (audience, text) = match self.environment.clients().and_then(ServerHandle::sole_owner) {
            Some(owner) => (Audience::Owner(owner), text),
            None => (Audience::Everyone, for_clients),
        };
        self.environment.log(&audience, level, &format!("server \"{server}\": {text}"));
    }
}
