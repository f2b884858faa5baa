//! The era of a session with a server that may have both.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use protomcp_client::ClientSession;

use crate::era::Era;
use crate::failure::Failure;
use crate::upstream_session::{UpstreamSession, Users, lock};

/// The era that a session is opened in, if the server has both, and the one that it had.
#[derive(Debug)]
pub(super) struct InEra {
    wanted: Era,
    /// The era in which it was opened last.
    found: Mutex<Option<Era>>,
    /// The session that is for all, in addition to this one for an era.
    main: Option<Arc<UpstreamSession>>,
    /// It could not be opened, and the one that is for all serves its clients.
    has_failed: AtomicBool,
}

impl InEra {
    pub(super) fn new(wanted: Era, main: Option<Arc<UpstreamSession>>) -> Self {
        Self { wanted, found: Mutex::default(), main, has_failed: AtomicBool::new(false) }
    }

    /// The users of a session without its own client.
    pub(super) fn users(&self) -> Users {
        match &self.main {
            Some(main) => Users::OtherEra(self.wanted, main.newest()),
            None => Users::All(self.wanted),
        }
    }

    pub(super) fn opened(&self, session: &ClientSession) {
        *lock(&self.found) = Some(Era::of_server(&session.server()));
    }
}

impl UpstreamSession {
    /// The era that it is opened in, if the server has both.
    pub(crate) fn era(&self) -> Era {
        self.in_era.wanted
    }

    /// The era in which it was opened last: the era of the server, if it is not the one that was wanted.
    pub(crate) fn found(&self) -> Option<Era> {
        *lock(&self.in_era.found)
    }

    /// True for a session in the other era with a server that lacks it, or that cannot be opened twice.
    pub(crate) fn is_missing(&self) -> bool {
        self.in_era.has_failed.load(Ordering::Acquire) || self.found().is_some_and(|found| found != self.era())
    }

    /// The session that is for all, if it is open where a second one next to it is not. If that never was, the server
    /// cannot run twice, and is not asked again; one that was lost comes back.
    pub(super) fn main_instead(&self, failure: &Failure) -> Option<Arc<Self>> {
        let main = self.in_era.main.as_ref()?.newest();
        main.open_session()?;
        if self.found().is_none() && !self.in_era.has_failed.swap(true, Ordering::AcqRel) {
            self.environment.has_one_era(&self.reach);
            let server = self.reach.upstream.name();
            tracing::warn!(
                server,
                "no second session for clients of the other era of MCP, which share the first one; --upstream-era chooses \
                 one era for all: {failure}"
            );
        }
        Some(main)
    }
}
