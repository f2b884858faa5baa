//! The leases of processes and the holders of sessions in memory, as a value.
//!
//! A session has no lease: it is free when the lease of its holder has run out. So the number of renewals depends on
//! the processes and not on the sessions. A lease that has run out is never renewed, and its name is not used again: a
//! process that was found dead stays dead, however late its requests arrive.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::records::claim::{Claim, FencingToken};
use crate::records::node::NodeId;

/// The most processes: live ones, and dead ones that are remembered.
const MAX_NODES: usize = 1_024;

/// Processes and sessions.
#[derive(Debug)]
pub(crate) struct LeaseTable {
    max_sessions: usize,
    /// The time for which a session without a holder is kept, and for which the name of a dead process is.
    keep: Duration,
    /// Processes by name, each with the end of its lease.
    nodes: HashMap<NodeId, Instant>,
    sessions: HashMap<Box<str>, Holding>,
}

/// The latest holder of a session.
#[derive(Debug)]
struct Holding {
    token: FencingToken,
    holder: Holder,
}

#[derive(Debug)]
enum Holder {
    Node(NodeId),
    /// Released at this time.
    Released(Instant),
}

impl LeaseTable {
    pub(crate) fn new(max_sessions: usize, keep: Duration) -> Self {
        Self { max_sessions, keep, nodes: HashMap::new(), sessions: HashMap::new() }
    }

    /// Grants a lease to a new process. `false`: its name has been used, or there are too many processes.
    pub(crate) fn register(&mut self, node: &NodeId, ttl: Duration, now: Instant) -> bool {
        self.forget(now);
        let is_new = self.nodes.len() < MAX_NODES && !self.nodes.contains_key(node);
        if is_new {
            self.nodes.insert(node.clone(), now + ttl);
        }
        is_new
    }

    /// Renews a lease. `false`: it has run out.
    pub(crate) fn renew(&mut self, node: &NodeId, ttl: Duration, now: Instant) -> bool {
        let until = self.nodes.get_mut(node).filter(|until| **until > now);
        until.map(|until| *until = now + ttl).is_some()
    }

    /// Ends a lease.
    pub(crate) fn resign(&mut self, node: &NodeId, now: Instant) {
        if let Some(until) = self.nodes.get_mut(node) {
            *until = now.min(*until);
        }
    }

    /// Takes in a new session. One that is known is claimed: the answer to an earlier request was lost.
    pub(crate) fn open(&mut self, session: &str, node: &NodeId, now: Instant) -> Claim {
        if self.sessions.contains_key(session) {
            return self.claim(session, node, now);
        }
        if self.sessions.len() >= self.max_sessions {
            self.forget(now);
        }
        if self.sessions.len() >= self.max_sessions {
            return Claim::Full;
        }
        let (token, holder) = (FencingToken::FIRST, self.holder(node, now));
        self.sessions.insert(session.into(), Holding { token, holder });
        Claim::Granted(token)
    }

    /// Makes a process the holder of a session that is free, or that this process holds already.
    pub(crate) fn claim(&mut self, session: &str, node: &NodeId, now: Instant) -> Claim {
        let next = self.holder(node, now);
        let Some(holding) = self.sessions.get_mut(session) else { return Claim::Unknown };
        match free_since(&self.nodes, holding, now) {
            Some(since) if now >= since + self.keep => {
                self.sessions.remove(session);
                return Claim::Unknown;
            }
            Some(_) => {}
            None => match &holding.holder {
                Holder::Node(holder) if holder != node => return Claim::Held(holder.clone()),
                Holder::Node(_) | Holder::Released(_) => {}
            },
        }
        holding.token = holding.token.successor();
        holding.holder = next;
        Claim::Granted(holding.token)
    }

    /// Frees a session. `false`: this token is not the latest.
    pub(crate) fn release(&mut self, session: &str, token: FencingToken, now: Instant) -> bool {
        let holding = self.sessions.get_mut(session).filter(|holding| holding.token == token);
        holding.map(|holding| holding.holder = Holder::Released(now)).is_some()
    }

    /// Forgets a session. `false`: this token is not the latest.
    pub(crate) fn close(&mut self, session: &str, token: FencingToken) -> bool {
        let is_latest = self.sessions.get(session).is_some_and(|holding| holding.token == token);
        if is_latest {
            self.sessions.remove(session);
        }
        is_latest
    }

    /// A process as the holder of a session. It holds nothing if it is not known; its session is free.
    fn holder(&self, node: &NodeId, now: Instant) -> Holder {
        if self.nodes.contains_key(node) { Holder::Node(node.clone()) } else { Holder::Released(now) }
    }

    /// Forgets the sessions that were without a holder for too long, then the names of processes that were dead for
    /// longer: no session names them.
    fn forget(&mut self, now: Instant) {
        let (nodes, keep) = (&self.nodes, self.keep);
        self.sessions.retain(|_, holding| free_since(nodes, holding, now).is_none_or(|since| now < since + keep));
        self.nodes.retain(|_, until| now < *until + keep);
    }
}

/// The time from which a session is without a holder; `None`: the lease of its holder runs.
fn free_since(nodes: &HashMap<NodeId, Instant>, holding: &Holding, now: Instant) -> Option<Instant> {
    match &holding.holder {
        Holder::Released(since) => Some(*since),
        Holder::Node(node) => nodes.get(node).copied().filter(|until| *until <= now),
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
