//! The sessions that watch the resources of one upstream session. Only the first and the last for each resource matter
//! to the server.

use std::collections::{BTreeMap, BTreeSet};

use protomcp_server::SessionId;

/// The sessions by resource. Requests without a session count as one, [`SessionId::STATELESS`].
#[derive(Debug, Default)]
pub(crate) struct Holders(BTreeMap<String, Watched>);

/// A resource that sessions watch.
#[derive(Debug, Default)]
struct Watched {
    sessions: BTreeSet<SessionId>,
    /// The server has agreed to announce changes.
    is_confirmed: bool,
}

impl Holders {
    /// A session begins to watch. True if the server has to be told: no earlier request has an answer.
    pub(crate) fn add(&mut self, uri: &str, session: SessionId) -> bool {
        let watched = self.0.entry(uri.to_owned()).or_default();
        watched.sessions.insert(session);
        !watched.is_confirmed
    }

    /// The server has agreed.
    pub(crate) fn confirm(&mut self, uri: &str) {
        if let Some(watched) = self.0.get_mut(uri) {
            watched.is_confirmed = true;
        }
    }

    /// A session watches no longer. True if it was the last.
    pub(crate) fn remove(&mut self, uri: &str, session: SessionId) -> bool {
        let Some(watched) = self.0.get_mut(uri) else { return false };
        let was_there = watched.sessions.remove(&session);
        if watched.sessions.is_empty() {
            self.0.remove(uri);
            return was_there;
        }
        false
    }

    /// Removes a session, and returns the resources that it was the last to watch.
    pub(crate) fn leave(&mut self, session: SessionId) -> Vec<String> {
        let is_watched = |watched: &Watched| watched.sessions.contains(&session);
        let uris: Vec<_> =
            self.0.iter().filter(|(_, watched)| is_watched(watched)).map(|(uri, _)| uri.clone()).collect();
        uris.into_iter().filter(|uri| self.remove(uri, session)).collect()
    }

    /// True if a session watches the resource.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.0.contains_key(uri)
    }

    /// All resources that are watched.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_told_until_it_agrees_and_of_the_last() {
        let (mut holders, one, two) = (Holders::default(), SessionId::new(1), SessionId::STATELESS);
        assert!(holders.add("a", one) && holders.add("b", one) && holders.add("b", two));
        holders.confirm("b");
        holders.confirm("c");
        assert!(holders.add("a", one) && !holders.add("b", two));
        assert!(holders.has("b") && !holders.has("c"));
        assert!(!holders.remove("a", two) && !holders.remove("c", one));
        assert_eq!(holders.leave(one), ["a"]);
        assert_eq!(holders.uris(), ["b"]);
        assert!(holders.remove("b", two) && holders.is_empty());
        assert!(holders.leave(one).is_empty());
        assert!(holders.add("b", one), "the next one asks again");
    }
}
