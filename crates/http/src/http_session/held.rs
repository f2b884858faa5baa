//! A session that other processes can take over.

use std::sync::{Arc, MutexGuard, OnceLock};
use std::task::Waker;

use protomcp_auth::Scopes;
use protomcp_server::StoreError;
use protomcp_types::{ProtocolVersion, RequestId};

use super::{HttpSession, SessionKind, State, cancellation};
use crate::caller::Caller;
use crate::config::Config;
use crate::holding::Holding;
use crate::session_log::SessionLog;
use crate::streams::StreamRef;
use crate::streams::stream_id::first_of;

/// The part of a session that a process takes over from another one.
#[derive(Debug)]
pub(crate) struct Continued {
    pub(crate) version: ProtocolVersion,
    /// The scopes that requests have needed.
    pub(crate) scopes: Scopes,
    /// The number of the next event of the standalone stream, if it has begun.
    pub(crate) standalone: Option<u64>,
}

impl HttpSession {
    /// A session that other processes can take over. `continued`: it was taken over from another process.
    pub(crate) fn held(
        holding: Arc<Holding>,
        log: SessionLog,
        caller: &Caller,
        config: &Config,
        continued: Option<Continued>,
    ) -> Arc<Self> {
        let mut session = Self::of(SessionKind::Stateful, log, caller, config);
        if let Some(Continued { version, scopes, standalone }) = continued {
            session.version = OnceLock::from(version);
            session.needs(&scopes);
            session.state().streams.restore(first_of(holding.token().get()), standalone);
        }
        session.holding = Some(holding);
        Arc::new(session)
    }

    /// True if this process may serve the session.
    pub(crate) fn is_here(&self) -> bool {
        self.holding.as_ref().is_none_or(|holding| holding.is_held())
    }

    /// Waits until other processes can take the session over with its latest state.
    ///
    /// # Errors
    /// [`StoreError::Fenced`]: another process may serve the session.
    pub(crate) async fn saved(&self) -> Result<(), StoreError> {
        match &self.holding {
            Some(holding) if holding.is_saving() => holding.saved().await,
            Some(_) | None => Ok(()),
        }
    }

    /// Another process may serve the session: it ends here, and its record and its log stay. Open requests are
    /// cancelled, and their answers are dropped.
    pub(crate) fn lose(&self) {
        self.lost(self.state());
    }

    /// Ends the session here, as [`HttpSession::lose`] does. Returns the requests whose answers the stream of this
    /// connection has not brought, and brings no more.
    pub(crate) fn lose_stream(&self, stream_ref: StreamRef) -> Vec<RequestId> {
        let mut state = self.state();
        let left = state.streams.take_undelivered(stream_ref);
        self.lost(state);
        left
    }

    fn lost(&self, mut state: MutexGuard<'_, State>) {
        if state.is_lost {
            return;
        }
        let cancelled: Vec<_> = state.streams.unanswered_requests().map(cancellation).collect();
        state.inbox = cancelled.into();
        (state.ended, state.is_lost) = (true, true);
        let (wakers, reader) = (state.streams.lose(), state.reader.take());
        drop(state);
        tracing::debug!("a session ends here: another process may serve it");
        if let Some(holding) = &self.holding {
            holding.lost().cancel();
        }
        self.inbox_slots.close();
        wakers.into_iter().chain(reader).for_each(Waker::wake);
    }

    /// No client knows the session, which is over.
    pub(crate) fn forget(&self) {
        // Its task forgets a session that was not lost.
        if let Some(holding) = self.holding.as_ref().filter(|_| self.is_lost()) {
            holding.close();
        }
    }

    /// True if another process can take the session up.
    pub(crate) fn is_shared(&self) -> bool {
        self.holding.is_some()
    }

    /// True if the session has ended here because another process may serve it.
    pub(crate) fn is_lost(&self) -> bool {
        self.state().is_lost
    }
}
