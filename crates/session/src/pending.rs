//! The requests of the client that have no answer yet.

use std::collections::HashMap;

use protomcp_types::RequestId;

/// One request that was accepted. Its number is never used twice in a session, so that a cancelled request and a later
/// one with the same id cannot be confused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// Counts the requests of a session.
    pub number: u64,
    /// The id that the client chose.
    pub id: RequestId,
}

/// The effect of the success of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OnSuccess {
    /// Nothing.
    Nothing,
    /// Keeps the subscription to this URI.
    Subscribe(String),
    /// Forgets the subscription to this URI.
    Unsubscribe(String),
}

/// The revisions that a request belongs to, which determine the shape of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// A revision with a handshake.
    Stateful,
    /// The revision without one.
    Stateless,
}

/// The number of a stateless request among the attempts of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The first one.
    First,
    /// A repetition that carries answers of the client, or state that it was given. The answer depends on them, so it
    /// must not be cached.
    Retry,
}

/// The facts about a request that is answered.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) then: OnSuccess,
    pub(crate) era: Era,
}

#[derive(Debug)]
struct Open {
    number: u64,
    then: OnSuccess,
    era: Era,
}

#[derive(Debug)]
pub(crate) struct Pending {
    open: HashMap<RequestId, Open>,
    next: u64,
    max: usize,
}

impl Pending {
    pub(crate) fn new(max: usize) -> Self {
        Self { open: HashMap::new(), next: 1, max }
    }

    /// Adds a request. Returns its id as the error if there is no room.
    pub(crate) fn open(&mut self, id: RequestId, then: OnSuccess, era: Era) -> Result<RequestKey, RequestId> {
        self.open_with(0, id, then, era)
    }

    /// Adds a request that has room for this many beyond the others.
    pub(crate) fn open_with(
        &mut self,
        more: usize,
        id: RequestId,
        then: OnSuccess,
        era: Era,
    ) -> Result<RequestKey, RequestId> {
        if self.open.len() >= self.max.saturating_add(more) {
            return Err(id);
        }
        let number = self.next;
        self.next += 1;
        self.open.insert(id.clone(), Open { number, then, era });
        Ok(RequestKey { number, id })
    }

    /// Closes a request; `None`: it was no longer open.
    pub(crate) fn close(&mut self, key: &RequestKey) -> Option<Closed> {
        if !self.contains(key) {
            return None;
        }
        self.open.remove(&key.id).map(|open| Closed { then: open.then, era: open.era })
    }

    /// Closes a request that the peer has cancelled. Returns the effect that it no longer has, too.
    pub(crate) fn cancel(&mut self, id: &RequestId) -> Option<(RequestKey, OnSuccess)> {
        self.open.remove_entry(id).map(|(id, open)| (RequestKey { number: open.number, id }, open.then))
    }

    pub(crate) fn contains(&self, key: &RequestKey) -> bool {
        self.open.get(&key.id).is_some_and(|open| open.number == key.number)
    }

    pub(crate) fn has(&self, id: &RequestId) -> bool {
        self.open.contains_key(id)
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = RequestKey> + '_ {
        self.open.iter().map(|(id, open)| RequestKey { number: open.number, id: id.clone() })
    }
}
