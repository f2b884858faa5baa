//! Processes and sessions, step by step.

use super::*;
use crate::records::lease::{Lease, LeaseTerms};
use crate::records::node::NodeId;

const TTL: Duration = Duration::from_secs(10);
const KEEP: Duration = Duration::from_secs(60);

/// A table with leases of the processes a and b. Seconds are counted from their registration.
struct Stage {
    table: LeaseTable,
    start: Instant,
    a: LeaseName,
    b: LeaseName,
}

impl Stage {
    fn new() -> Self {
        let (start, a, b) = (Instant::now(), name("a"), name("b"));
        let mut table = LeaseTable::new(2, KEEP);
        assert!(table.register(&a, TTL, start) && table.register(&b, 9 * TTL, start));
        Self { table, start, a, b }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.start + Duration::from_secs(seconds)
    }

    fn open(&mut self, session: &str, seconds: u64) -> Claim {
        self.table.open(session, &self.a.clone(), self.at(seconds))
    }

    /// The claim of the process b.
    fn claim(&mut self, session: &str, seconds: u64) -> Claim {
        self.table.claim(session, &self.b.clone(), self.at(seconds))
    }
}

/// The first lease of a process.
fn name(node: &str) -> LeaseName {
    LeaseName::first(NodeId::new(node))
}

fn granted(token: u64) -> Claim {
    Claim::Granted(FencingToken::new(token), None)
}

#[test]
fn a_name_is_used_once_and_a_lease_renewed_in_time() {
    let mut stage = Stage::new();
    let (a, again) = (stage.a.clone(), stage.a.clone());
    assert!(!stage.table.register(&again, TTL, stage.at(1)), "it is live");
    assert!(stage.table.renew(&a, TTL, stage.at(9)));
    assert!(stage.table.renew(&a, TTL, stage.at(18)), "until 19");
    assert!(!stage.table.renew(&a, TTL, stage.at(28)), "it has run out");
    assert!(!stage.table.register(&again, TTL, stage.at(29)), "it is dead");
    assert!(!stage.table.renew(&name("c"), TTL, stage.at(1)), "it has not registered");
    stage.table.resign(&stage.b, stage.at(30));
    assert!(!stage.table.renew(&stage.b, TTL, stage.at(30)));
}

#[test]
fn a_lease_is_live_until_it_runs_out_or_is_given_back() {
    let mut stage = Stage::new();
    let live = |stage: &Stage, seconds| {
        let mut live = stage.table.live(stage.at(seconds));
        live.sort_unstable();
        live
    };
    let (a, b) = (stage.a.clone(), stage.b.clone());
    assert_eq!(live(&stage, 9), [a, b.clone()]);
    assert_eq!(live(&stage, 10), std::slice::from_ref(&b));
    stage.table.resign(&b, stage.at(11));
    assert!(live(&stage, 11).is_empty());
}

#[test]
fn a_session_is_free_when_the_lease_of_its_holder_has_run_out() {
    let mut stage = Stage::new();
    assert_eq!(stage.claim("s", 0), Claim::Unknown);
    assert_eq!(stage.open("s", 0), granted(1));
    assert_eq!(stage.claim("s", 9), Claim::Held(stage.a.clone()));
    assert_eq!(stage.claim("s", 10), granted(2));
    assert_eq!(stage.claim("s", 11), granted(3), "an answer was lost");
    let c = name("c");
    assert!(stage.table.register(&c, TTL, stage.at(11)));
    assert_eq!(stage.table.claim("s", &c, stage.at(11)), Claim::Held(stage.b.clone()));
    assert_eq!(stage.table.open("s", &c, stage.at(12)), Claim::Held(stage.b.clone()), "it is open already");
}

#[test]
fn a_released_session_is_free_immediately() {
    let mut stage = Stage::new();
    assert_eq!(stage.open("s", 0), granted(1));
    assert!(stage.table.release("s", FencingToken::FIRST, stage.at(1)));
    assert_eq!(stage.claim("s", 1), granted(2));
    assert!(!stage.table.release("s", FencingToken::FIRST, stage.at(2)), "another process has it");
    assert!(!stage.table.close("s", FencingToken::FIRST));
    assert!(stage.table.close("s", FencingToken::new(2)) && !stage.table.close("s", FencingToken::new(2)));
    assert_eq!(stage.claim("s", 3), Claim::Unknown);
}

#[test]
fn all_sessions_of_a_process_that_resigns_are_free() {
    let mut stage = Stage::new();
    assert_eq!((stage.open("s", 0), stage.open("t", 0)), (granted(1), granted(1)));
    stage.table.resign(&stage.a, stage.at(1));
    assert_eq!((stage.claim("s", 1), stage.claim("t", 1)), (granted(2), granted(2)));
}

#[test]
fn sessions_without_a_holder_make_room_after_their_time() {
    let mut stage = Stage::new();
    assert_eq!((stage.open("s", 0), stage.open("t", 0)), (granted(1), granted(1)));
    assert_eq!(stage.claim("t", 10), granted(2));
    let b = stage.b.clone();
    assert_eq!(stage.table.open("u", &b, stage.at(69)), Claim::Full, "the lease ended at 10");
    assert_eq!(stage.table.open("u", &b, stage.at(70)), granted(1));
    assert_eq!(stage.claim("s", 70), Claim::Unknown);
    assert_eq!(stage.claim("t", 70), granted(3), "its process is live");
    assert!(stage.table.register(&stage.a, TTL, stage.at(70)), "its name is forgotten as well");
}

#[test]
fn a_session_is_unknown_after_its_time_in_a_table_with_room() {
    let mut stage = Stage::new();
    assert_eq!(stage.open("s", 0), granted(1));
    assert!(stage.table.release("s", FencingToken::FIRST, stage.at(1)));
    assert_eq!(stage.claim("s", 61), Claim::Unknown);
}

#[test]
fn a_process_without_a_lease_that_runs_gets_no_session() {
    let mut stage = Stage::new();
    let a = stage.a.clone();
    assert_eq!(stage.table.open("s", &name("c"), stage.at(0)), Claim::LeaseOver, "it has not registered");
    assert_eq!(stage.open("s", 0), granted(1));
    assert_eq!(stage.table.claim("s", &name("c"), stage.at(0)), Claim::LeaseOver);
    assert_eq!(stage.table.claim("s", &a, stage.at(9)), granted(2));
    assert_eq!(stage.table.claim("s", &a, stage.at(10)), Claim::LeaseOver, "its session is free");
    assert_eq!(stage.open("t", 10), Claim::LeaseOver);
    assert_eq!(stage.claim("s", 10), granted(3));
}

#[test]
fn the_number_of_leases_is_bounded() {
    let (mut table, now) = (LeaseTable::new(1, KEEP), Instant::now());
    let lease = |number: usize| name(&number.to_string());
    assert!((0..MAX_LEASES).all(|number| table.register(&lease(number), TTL, now)));
    assert!(!table.register(&lease(MAX_LEASES), TTL, now + TTL), "dead ones are remembered");
    assert!(table.announce(&lease(0), "http://a.example/", now));
    assert!(table.register(&lease(MAX_LEASES), TTL, now + TTL + KEEP));
    assert!(table.addresses.is_empty(), "they are forgotten with their leases");
}

#[test]
fn times_count_as_a_year_at_most() {
    let (mut table, now, a, b) = (LeaseTable::new(1, Duration::MAX), Instant::now(), name("a"), name("b"));
    assert!(table.register(&a, Duration::MAX, now) && table.register(&b, TTL, now + LONGEST));
    assert_eq!(table.open("s", &a, now), granted(1));
    assert!(!table.renew(&a, Duration::MAX, now + LONGEST), "its year is over");
    assert!(table.renew(&b, Duration::MAX, now + LONGEST));
    assert_eq!(table.claim("s", &b, now + LONGEST), granted(2));
    assert!(table.release("s", FencingToken::new(2), now + LONGEST));
    assert_eq!(table.claim("s", &b, now + LONGEST + LONGEST - TTL), granted(3));
}

/// The clock of a process may lag behind the clock of the store by a tenth, not by more.
#[test]
fn a_lease_ends_first_in_its_process_if_its_clock_is_good() {
    for (percent, is_held) in [(110, false), (100, false), (90, false), (89, true)] {
        let mut stage = Stage::new();
        let lease = Lease::granted(LeaseTerms::new(TTL), stage.start);
        assert_eq!(stage.open("s", 0), granted(1));
        assert_eq!(stage.claim("s", 10), granted(2));
        assert_eq!(lease.is_held(stage.start + TTL * percent / 100), is_held, "{percent} %");
    }
}

#[test]
fn the_next_holder_gets_the_latest_state() {
    use protomcp_session::{ClientInfo, SessionState};
    use protomcp_types::{ClientCapabilities, Implementation, Level, ProtocolVersion};
    let snapshot = |level| {
        let client = ClientInfo {
            version: ProtocolVersion::V2025_11_25,
            implementation: Implementation::new("host", "1"),
            capabilities: ClientCapabilities::default(),
        };
        let state = SessionState { client: client.into(), level, subscriptions: Vec::new(), selection: None };
        SessionSnapshot { state, principal: None, address: None, scopes: Vec::new() }
    };
    let mut stage = Stage::new();
    assert_eq!(stage.open("s", 0), granted(1));
    let first = FencingToken::FIRST;
    for level in [Level::Debug, Level::Error] {
        assert!(stage.table.save("s", first, &snapshot(level)));
    }
    let second = FencingToken::new(2);
    let claim = stage.claim("s", 11);
    assert_eq!(claim, Claim::Granted(second, Some(Box::new(snapshot(Level::Error)))));
    assert!(!stage.table.save("s", first, &snapshot(Level::Debug)), "it has another holder");
    assert_eq!(stage.claim("s", 12), Claim::Granted(second.successor(), Some(Box::new(snapshot(Level::Error)))));
    assert!(!stage.table.save("t", first, &snapshot(Level::Debug)), "it is not open");
}
