//! The sessions that watch the resources of one upstream session. Only the first and the last for each resource matter
//! to the server.

use std::collections::{BTreeMap, BTreeSet};

use protomcp_server::SessionId;

/// The sessions by resource. Requests without a session count as one, [`SessionId::STATELESS`].
#[derive(Debug, Default)]
pub(crate) struct Holders(BTreeMap<String, BTreeSet<SessionId>>);

impl Holders {
    /// A session begins to watch. True if it is the first.
    pub(crate) fn add(&mut self, uri: &str, session: SessionId) -> bool {
        let holders = self.0.entry(uri.to_owned()).or_default();
        holders.insert(session);
        holders.len() == 1
    }

    /// A session watches no longer. True if it was the last.
    pub(crate) fn remove(&mut self, uri: &str, session: SessionId) -> bool {
        let Some(holders) = self.0.get_mut(uri) else { return false };
        let was_there = holders.remove(&session);
        if holders.is_empty() {
            self.0.remove(uri);
            return was_there;
        }
        false
    }

    /// Removes a session, and returns the resources that it was the last to watch.
    pub(crate) fn leave(&mut self, session: SessionId) -> Vec<String> {
        let watched: Vec<_> =
            self.0.iter().filter(|(_, holders)| holders.contains(&session)).map(|(uri, _)| uri.clone()).collect();
        watched.into_iter().filter(|uri| self.remove(uri, session)).collect()
    }

    /// True if the session watches the resource.
    pub(crate) fn has(&self, uri: &str, session: SessionId) -> bool {
        self.0.get(uri).is_some_and(|holders| holders.contains(&session))
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
    fn the_first_and_the_last_count() {
        let (mut holders, one, two) = (Holders::default(), SessionId::new(1), SessionId::STATELESS);
        assert!(holders.add("a", one) && holders.add("b", one) && !holders.add("b", two));
        assert!(holders.has("b", two) && !holders.has("a", two));
        assert!(!holders.remove("a", two) && !holders.remove("c", one));
        assert_eq!(holders.leave(one), ["a"]);
        assert_eq!(holders.uris(), ["b"]);
        assert!(holders.remove("b", two) && holders.is_empty());
        assert!(holders.leave(one).is_empty());
    }
}
