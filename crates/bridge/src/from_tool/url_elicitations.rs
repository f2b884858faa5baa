//! URL elicitations and their sessions, so that the client is notified when one is complete.
//!
//! A process names an elicitation by its own id, often long after the call that began it. Only the session that was
//! asked is notified; unknown ids are ignored.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::SessionId;

/// The most elicitations that are kept. The oldest are dropped first, and their completion is not sent.
const MAX_ELICITATIONS: usize = 1024;
/// The longest id that is kept, in bytes.
const ID_MAX: usize = 1024;

/// The session of each elicitation. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct UrlElicitations(Arc<Mutex<VecDeque<(String, SessionId)>>>);

impl UrlElicitations {
    /// Records that the user of this session was sent to a page.
    pub(crate) fn opened(&self, id: &str, session: SessionId) {
        // MCP 2026-07-28 has no notification for stateless requests.
        if session == SessionId::STATELESS || id.len() > ID_MAX {
            return;
        }
        let mut pages = self.lock();
        pages.retain(|(known, _)| known != id);
        if pages.len() == MAX_ELICITATIONS {
            pages.pop_front();
        }
        pages.push_back((id.to_owned(), session));
    }

    /// Removes a completed elicitation and returns its session.
    pub(crate) fn done(&self, id: &str) -> Option<SessionId> {
        let mut pages = self.lock();
        let place = pages.iter().position(|(known, _)| known == id)?;
        pages.remove(place).map(|(_, session)| session)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, SessionId)>> {
        // No panic can happen half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_session_asked_is_notified_and_once() {
        let (pages, session) = (UrlElicitations::default(), SessionId::new);
        pages.opened("a", session(1));
        pages.opened("a", session(2));
        pages.opened("b", SessionId::STATELESS);
        pages.opened(&"c".repeat(ID_MAX + 1), session(1));
        let notified = ["a", "a", "b", "unknown", &"c".repeat(ID_MAX + 1)].map(|id| pages.done(id));
        assert_eq!(notified, [Some(session(2)), None, None, None, None]);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let (pages, session) = (UrlElicitations::default(), SessionId::new(1));
        for page in 0..=MAX_ELICITATIONS {
            pages.opened(&page.to_string(), session);
        }
        assert_eq!([pages.done("0"), pages.done("1")], [None, Some(session)]);
    }
}
