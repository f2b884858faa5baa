//! The open sessions by number, and the owners of sessions and of open requests without a session.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use crate::call::session_queue::SessionQueue;
use crate::records::session_notice::Audience;
use protomcp_fair::Owner;
use protomcp_session::SessionId;

/// One open session.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub(super) owner: Owner,
    pub(super) queue: Arc<SessionQueue>,
}

/// All open sessions.
#[derive(Debug, Default)]
pub(super) struct OpenSessions {
    sessions: HashMap<SessionId, OpenSession>,
    /// The number of sessions and requests of each owner that has any.
    owners: HashMap<Owner, usize>,
}

impl OpenSessions {
    pub(super) fn insert(&mut self, id: SessionId, session: OpenSession) {
        self.enter(session.owner.clone());
        self.sessions.insert(id, session);
    }

    pub(super) fn remove(&mut self, id: SessionId) -> Option<OpenSession> {
        let session = self.sessions.remove(&id)?;
        self.leave(session.owner.clone());
        Some(session)
    }

    /// Visits the sessions of an audience.
    pub(super) fn each(&self, audience: &Audience, visit: impl Fn(&SessionQueue)) {
        match audience {
            Audience::Everyone => self.sessions.values().for_each(|session| visit(&session.queue)),
            Audience::Owner(owner) => {
                let theirs = self.sessions.values().filter(|session| session.owner == *owner);
                theirs.for_each(|session| visit(&session.queue));
            }
            Audience::Session(id) => {
                if let Some(session) = self.get(*id) {
                    visit(&session.queue);
                }
            }
        }
    }

    /// A request without a session begins.
    pub(super) fn enter(&mut self, owner: Owner) {
        *self.owners.entry(owner).or_default() += 1;
    }

    /// A request without a session has ended.
    pub(super) fn leave(&mut self, owner: Owner) {
        if let Entry::Occupied(mut count) = self.owners.entry(owner) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    pub(super) fn get(&self, id: SessionId) -> Option<&OpenSession> {
        self.sessions.get(&id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (SessionId, &OpenSession)> {
        self.sessions.iter().map(|(id, session)| (*id, session))
    }

    pub(super) fn count(&self) -> usize {
        self.sessions.len()
    }

    /// The only session, if no other owner is there.
    pub(super) fn sole_session(&self) -> Option<SessionId> {
        self.sole_owner()?;
        let mut sessions = self.sessions.keys();
        sessions.next().filter(|_| sessions.next().is_none()).copied()
    }

    /// The owner of all sessions and requests, if there is exactly one.
    pub(super) fn sole_owner(&self) -> Option<&Owner> {
        let mut owners = self.owners.keys();
        owners.next().filter(|_| owners.next().is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sole_owner_owns_all_sessions() {
        let mut open = OpenSessions::default();
        let owner = |name: &str| Owner::Principal(name.into());
        let session = |name| OpenSession { owner: owner(name), queue: SessionQueue::closed() };
        assert_eq!(open.sole_owner(), None);
        open.insert(SessionId::new(1), session("ann"));
        open.insert(SessionId::new(2), session("ann"));
        assert_eq!(open.sole_owner(), Some(&owner("ann")));
        open.insert(SessionId::new(3), session("bob"));
        assert_eq!(open.sole_owner(), None);
        open.remove(SessionId::new(1));
        assert_eq!(open.sole_owner(), None, "a session of each is left");
        assert_eq!(open.sole_session(), None);
        open.remove(SessionId::new(2));
        assert_eq!(open.sole_session(), Some(SessionId::new(3)));
        open.enter(owner("ann"));
        assert_eq!(open.sole_session(), None, "a request of another owner is open");
        open.leave(owner("ann"));
        open.remove(SessionId::new(2));
        open.remove(SessionId::new(2));
        assert_eq!(open.sole_owner(), Some(&owner("bob")));
        open.remove(SessionId::new(3));
        assert!(open.sole_owner().is_none() && open.owners.is_empty() && open.count() == 0);
    }
}
