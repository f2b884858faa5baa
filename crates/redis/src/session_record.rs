//! A session as a claimant has read it, and the decision about the claim.
//!
//! A claim reads the session, then the leases that run, and then changes the session if it is as it was read. A holder
//! without a lease at that time had one before, and a lease that is over is never renewed: it stays without one. So the
//! three steps have the effect of one, although the leases may be in another server of a cluster. In the other order, a
//! holder whose lease began in between would count as dead.

use protomcp_server::{LeaseName, NodeId};

/// The record of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionRecord {
    /// The name of the holder's lease; empty: the session was released.
    pub(crate) holder: String,
    pub(crate) token: String,
    /// Counts the states that were saved.
    pub(crate) version: String,
    /// The sealed state.
    pub(crate) state: Option<Vec<u8>>,
}

/// The fields of a record, as the store has them.
pub(crate) type Fields = (Option<String>, Option<String>, Option<String>, Option<Vec<u8>>);

/// The decision about a claim.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The claimant has no lease.
    LeaseOver,
    Unknown,
    Held(LeaseName),
    /// The session is free, or the claimant's.
    Free(SessionRecord),
}

impl SessionRecord {
    /// `None`: there is no such session.
    pub(crate) fn of((holder, token, version, state): Fields) -> Option<Self> {
        Some(Self { holder: holder?, token: token?, version: version?, state })
    }
}

/// Decides about a claim of a process with this lease. `live` was read after the record.
pub(crate) fn decide(lease: &LeaseName, live: &[LeaseName], record: Option<SessionRecord>) -> Decision {
    if !live.contains(lease) {
        return Decision::LeaseOver;
    }
    let Some(record) = record else { return Decision::Unknown };
    match lease_name(&record.holder).filter(|holder| holder != lease && live.contains(holder)) {
        Some(holder) => Decision::Held(holder),
        None => Decision::Free(record),
    }
}

/// The lease with this name.
pub(crate) fn lease_name(text: &str) -> Option<LeaseName> {
    let (node, number) = text.rsplit_once('.')?;
    Some(LeaseName { node: NodeId::new(node), number: number.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(text: &str) -> LeaseName {
        lease_name(text).expect("it is the name of a lease")
    }

    #[test]
    fn a_session_is_free_without_a_holder_whose_lease_runs() {
        let live = [lease("a.1"), lease("b.2")];
        let record = |holder: &str| {
            let text = |text: &str| Some(text.to_owned());
            SessionRecord::of((text(holder), text("7"), text("0"), None))
        };
        let free = |holder| Decision::Free(record(holder).expect("it is whole"));
        for (claimant, record, expected) in [
            ("b.1", record("a.1"), Decision::LeaseOver),
            ("b.1", None, Decision::LeaseOver),
            ("b.2", None, Decision::Unknown),
            ("b.2", record("a.1"), Decision::Held(lease("a.1"))),
            ("a.1", record("a.1"), free("a.1")),
            ("b.2", record("a.2"), free("a.2")),
            ("b.2", record("b.1"), free("b.1")),
            ("b.2", record(""), free("")),
        ] {
            assert_eq!(decide(&lease(claimant), &live, record.clone()), expected, "{claimant} {record:?}");
        }
    }

    #[test]
    fn names_of_leases_are_read_as_they_are_written() {
        for name in ["a.1", "tools-1.example.18446744073709551615", ".3"] {
            assert_eq!(lease(name).to_string(), name);
        }
        for text in ["", "a", "a.", "a.x", "a.-1"] {
            assert_eq!(lease_name(text), None, "{text}");
        }
    }
}
