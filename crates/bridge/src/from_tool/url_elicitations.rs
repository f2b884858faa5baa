//! Web pages to which users of hosts were sent, so that their host can be told when that is done.
//!
//! A process names a page by an id of its own, often when the call that sent the user there is long over. Only the host that
//! was asked is told, and ids that nobody was asked with mean nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::SessionId;

/// Elicitations that are remembered; the oldest are forgotten first, and nobody is told of their end.
const MAX_ELICITATIONS: usize = 1024;
/// The longest id that is remembered, in bytes.
const ID_MAX: usize = 1024;

/// The session of each elicitation. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(crate) struct UrlElicitations(Arc<Mutex<VecDeque<(String, SessionId)>>>);

impl UrlElicitations {
    /// The user of this session is sent to a page.
    pub(crate) fn opened(&self, id: &str, session: SessionId) {
        // Without a session there is nobody who could be told (MCP 2026-07-28 has no such notice).
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

    /// What was to be done there is done. Says whom to tell, once.
    pub(crate) fn done(&self, id: &str) -> Option<SessionId> {
        let mut pages = self.lock();
        let place = pages.iter().position(|(known, _)| known == id)?;
        pages.remove(place).map(|(_, session)| session)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, SessionId)>> {
        // Nothing in here can panic half-way through a change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_asked_last_is_told_once_and_nobody_else() {
        let (pages, session) = (UrlElicitations::default(), SessionId::new);
        pages.opened("a", session(1));
        pages.opened("a", session(2));
        pages.opened("b", SessionId::STATELESS);
        pages.opened(&"c".repeat(ID_MAX + 1), session(1));
        let told = ["a", "a", "b", "nobody", &"c".repeat(ID_MAX + 1)].map(|id| pages.done(id));
        assert_eq!(told, [Some(session(2)), None, None, None, None]);
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
