//! The leases of processes and the holders of sessions in memory, as a value.
//!
//! A session has no lease: it is free when the lease of its holder has run out. So the number of renewals depends on
//! the processes and not on the sessions. A lease that has run out is never renewed, and its name is not used again: a
//! process that was found dead stays dead, however late its requests arrive.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::records::claim::{Claim, FencingToken};
use crate::records::clock::LONGEST;
use crate::records::lease_name::LeaseName;
use crate::records::session_snapshot::SessionSnapshot;

/// The most leases: the ones that run, and the ones that are remembered.
const MAX_LEASES: usize = 1_024;

/// Leases and sessions. A time that is longer than a year counts as a year.
#[derive(Debug)]
pub(crate) struct LeaseTable {
    max_sessions: usize,
    /// The time for which a session without a holder is kept, and the name of a lease that has run out.
    keep: Duration,
    /// Leases by name, each with its end.
    leases: HashMap<LeaseName, Instant>,
    /// The addresses of the leases that have one.
    addresses: HashMap<LeaseName, Arc<str>>,
    sessions: HashMap<Box<str>, Holding>,
}

/// The latest holder of a session.
#[derive(Debug)]
struct Holding {
    token: FencingToken,
    holder: Holder,
    /// Its state, if a holder has saved it.
    snapshot: Option<Box<SessionSnapshot>>,
}

#[derive(Debug)]
enum Holder {
    Lease(LeaseName),
    /// Released at this time.
    Released(Instant),
}

impl LeaseTable {
    pub(crate) fn new(max_sessions: usize, keep: Duration) -> Self {
        let (leases, addresses, sessions) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { max_sessions, keep: keep.min(LONGEST), leases, addresses, sessions }
    }

    /// Grants a lease. `false`: its name has been used, or there are too many leases.
    pub(crate) fn register(&mut self, lease: &LeaseName, ttl: Duration, now: Instant) -> bool {
        self.forget(now);
        let is_new = self.leases.len() < MAX_LEASES && !self.leases.contains_key(lease);
        if is_new {
            self.leases.insert(lease.clone(), now + ttl.min(LONGEST));
        }
        is_new
    }

    /// Renews a lease. `false`: it has run out.
    pub(crate) fn renew(&mut self, lease: &LeaseName, ttl: Duration, now: Instant) -> bool {
        let until = self.leases.get_mut(lease).filter(|until| **until > now);
        until.map(|until| *until = now + ttl.min(LONGEST)).is_some()
    }

    /// Keeps the address of a process. `false`: the lease has run out.
    pub(crate) fn announce(&mut self, lease: &LeaseName, address: &str, now: Instant) -> bool {
        let runs = self.runs(lease, now);
        if runs {
            self.addresses.insert(lease.clone(), address.into());
        }
        runs
    }

    /// The address of a process whose lease runs, if it has announced one.
    pub(crate) fn address(&self, lease: &LeaseName, now: Instant) -> Option<Arc<str>> {
        self.addresses.get(lease).filter(|_| self.runs(lease, now)).cloned()
    }

    /// Ends a lease.
    pub(crate) fn resign(&mut self, lease: &LeaseName, now: Instant) {
        self.addresses.remove(lease);
        if let Some(until) = self.leases.get_mut(lease) {
            *until = now.min(*until);
        }
    }

    /// The leases that run.
    pub(crate) fn live(&self, now: Instant) -> Vec<LeaseName> {
        let live = self.leases.iter().filter(|(_, until)| **until > now);
        live.map(|(lease, _)| lease.clone()).collect()
    }

    /// Takes in a new session. One that is known is claimed: the answer to an earlier request was lost.
    pub(crate) fn open(&mut self, session: &str, lease: &LeaseName, now: Instant) -> Claim {
        if !self.runs(lease, now) {
            return Claim::LeaseOver;
        }
        if self.sessions.contains_key(session) {
            return self.claim(session, lease, now);
        }
        if self.sessions.len() >= self.max_sessions {
            self.forget(now);
        }
        if self.sessions.len() >= self.max_sessions {
            return Claim::Full;
        }
        let token = FencingToken::FIRST;
        self.sessions.insert(session.into(), Holding { token, holder: Holder::Lease(lease.clone()), snapshot: None });
        Claim::Granted(token, None)
    }

    /// Makes a process the holder of a session that is free, or that this process holds already.
    pub(crate) fn claim(&mut self, session: &str, lease: &LeaseName, now: Instant) -> Claim {
        if !self.runs(lease, now) {
            return Claim::LeaseOver;
        }
        let Some(holding) = self.sessions.get_mut(session) else { return Claim::Unknown };
        match free_since(&self.leases, holding, now) {
            Some(since) if now >= since + self.keep => {
                self.sessions.remove(session);
                return Claim::Unknown;
            }
            Some(_) => {}
            None => match &holding.holder {
                Holder::Lease(holder) if holder != lease => return Claim::Held(holder.clone()),
                Holder::Lease(_) | Holder::Released(_) => {}
            },
        }
        holding.token = holding.token.successor();
        holding.holder = Holder::Lease(lease.clone());
        Claim::Granted(holding.token, holding.snapshot.clone())
    }

    /// Keeps the state of a session. `false`: this token is not the latest.
    pub(crate) fn save(&mut self, session: &str, token: FencingToken, snapshot: &SessionSnapshot) -> bool {
        let holding = self.sessions.get_mut(session).filter(|holding| holding.token == token);
        holding.map(|holding| holding.snapshot = Some(Box::new(snapshot.clone()))).is_some()
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

    /// True if the store knows the lease, and it has not run out.
    fn runs(&self, lease: &LeaseName, now: Instant) -> bool {
        self.leases.get(lease).is_some_and(|until| *until > now)
    }

    /// Forgets the sessions that were without a holder for too long, then the names of leases that ran out before: no
    /// session names them.
    fn forget(&mut self, now: Instant) {
        let (leases, keep) = (&self.leases, self.keep);
        self.sessions.retain(|_, holding| free_since(leases, holding, now).is_none_or(|since| now < since + keep));
        self.leases.retain(|_, until| now < *until + keep);
        let leases = &self.leases;
        self.addresses.retain(|lease, _| leases.contains_key(lease));
    }
}

/// The time from which a session is without a holder; `None`: the lease of its holder runs.
fn free_since(leases: &HashMap<LeaseName, Instant>, holding: &Holding, now: Instant) -> Option<Instant> {
    match &holding.holder {
        Holder::Released(since) => Some(*since),
        Holder::Lease(lease) => leases.get(lease).copied().filter(|until| *until <= now),
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
