//! The lease of a process, in made-up time: a store that goes away and comes back, and processes that end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::{
    Claim, FencingToken, LeaseKeeper, LeaseName, LeaseStore, LeaseTerms, MemoryLeases, NodeId, SessionSnapshot,
    StoreAnswer, StoreError,
};
use protomcp_testing::{Log, run_paused};
use tokio::time::{Instant, sleep};

/// A store that can be out of reach: then it does not answer, or refuses immediately.
#[derive(Debug)]
struct Store {
    leases: MemoryLeases,
    is_silent: AtomicBool,
    is_closed: AtomicBool,
    /// The times at which it was asked for a lease.
    asked: Mutex<Vec<Instant>>,
}

impl Store {
    fn new() -> Arc<Self> {
        let leases = MemoryLeases::new(10, Duration::from_secs(3600));
        let (is_silent, is_closed) = (AtomicBool::new(false), AtomicBool::new(false));
        Arc::new(Self { leases, is_silent, is_closed, asked: Mutex::default() })
    }

    /// The answer, if a request reaches the store.
    fn reach<'a, T: Send + 'a>(&'a self, request: impl FnOnce() -> StoreAnswer<'a, T>) -> StoreAnswer<'a, T> {
        if self.is_silent.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        if self.is_closed.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::Unavailable) });
        }
        request()
    }
}

impl LeaseStore for Store {
    fn register<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        self.asked.lock().unwrap().push(Instant::now());
        self.reach(|| self.leases.register(lease, ttl))
    }

    fn renew<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        self.asked.lock().unwrap().push(Instant::now());
        self.reach(|| self.leases.renew(lease, ttl))
    }

    fn announce<'a>(&'a self, lease: &'a LeaseName, address: &'a str) -> StoreAnswer<'a, bool> {
        self.reach(|| self.leases.announce(lease, address))
    }

    fn address<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>> {
        self.reach(|| self.leases.address(lease))
    }

    fn resign<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, ()> {
        self.reach(|| self.leases.resign(lease))
    }

    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>> {
        self.reach(|| self.leases.live())
    }

    fn open<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        self.reach(|| self.leases.open(session, lease))
    }

    fn claim<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        self.reach(|| self.leases.claim(session, lease))
    }

    fn save<'a>(
        &'a self,
        session: &'a str,
        token: FencingToken,
        snapshot: &'a SessionSnapshot,
    ) -> StoreAnswer<'a, bool> {
        self.reach(|| self.leases.save(session, token, snapshot))
    }

    fn release<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        self.reach(|| self.leases.release(session, token))
    }

    fn close<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        self.reach(|| self.leases.close(session, token))
    }
}

/// The process a with a lease of ten seconds.
fn keeper(store: &Arc<Store>) -> LeaseKeeper {
    LeaseKeeper::start(Arc::clone(store) as Arc<dyn LeaseStore>, NodeId::new("a"), LeaseTerms::default())
}

async fn seconds(count: u64) {
    sleep(Duration::from_secs(count)).await;
}

/// True if the process holds the lease with this number.
fn holds(keeper: &LeaseKeeper, number: u64) -> bool {
    keeper.holder() == Some(LeaseName { node: NodeId::new("a"), number })
}

#[test]
fn a_lease_is_held_as_long_as_the_store_answers() {
    run_paused(async {
        let store = Store::new();
        let keeper = keeper(&store);
        assert_eq!(keeper.holder(), None, "the store has not answered");
        assert_eq!(keeper.held().await.to_string(), "a.1");
        for _ in 0..100 {
            seconds(1).await;
            assert!(holds(&keeper, 1));
        }
    });
}

#[test]
fn a_store_that_comes_back_in_time_keeps_the_lease() {
    run_paused(async {
        for is_silent in [true, false] {
            let store = Store::new();
            let away = if is_silent { &store.is_silent } else { &store.is_closed };
            let keeper = keeper(&store);
            keeper.held().await;
            for _ in 0..10 {
                away.store(true, Ordering::Relaxed);
                seconds(4).await;
                assert!(holds(&keeper, 1));
                away.store(false, Ordering::Relaxed);
                seconds(2).await;
            }
            assert!(holds(&keeper, 1), "renewed after each time");
        }
    });
}

#[test]
fn a_lease_that_is_lost_is_lost_here_first() {
    run_paused(async {
        for is_silent in [true, false] {
            let store = Store::new();
            let away = if is_silent { &store.is_silent } else { &store.is_closed };
            let (keeper, b) = (keeper(&store), LeaseName::first(NodeId::new("b")));
            let a = keeper.held().await;
            assert_eq!(store.leases.open("s", &a).await, Ok(Claim::Granted(FencingToken::FIRST, None)));
            assert_eq!(store.leases.register(&b, Duration::from_secs(600)).await, Ok(true));

            away.store(true, Ordering::Relaxed);
            while keeper.holder().is_some() {
                assert_eq!(store.leases.claim("s", &b).await, Ok(Claim::Held(a.clone())));
                sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(store.leases.claim("s", &b).await, Ok(Claim::Held(a.clone())), "the store counts longer");
            seconds(10).await;
            let second = FencingToken::FIRST.successor();
            assert_eq!(store.leases.claim("s", &b).await, Ok(Claim::Granted(second, None)));

            assert_eq!(keeper.holder(), None);
            away.store(false, Ordering::Relaxed);
            let again = keeper.held().await;
            assert!(again.node == a.node && again.number > a.number, "{again}");
            assert_eq!(store.leases.claim("s", &again).await, Ok(Claim::Held(b)));
        }
    });
}

/// Milliseconds between the attempts of an outage, at least and at most.
const WAITS: [(u128, u128); 5] = [(50, 100), (100, 200), (200, 400), (400, 800), (500, 1_000)];

#[test]
fn a_store_that_is_away_is_asked_less_and_less_often() {
    run_paused(async {
        let (log, store) = (Log::capture(), Store::new());
        let lines = |text: &str| log.text().matches(text).count();
        store.is_closed.store(true, Ordering::Relaxed);
        let keeper = keeper(&store);
        for outage in 1..=2 {
            seconds(20).await;
            assert_eq!((lines("does not answer, and is asked again"), lines("is back")), (outage, outage - 1));
            let asked = std::mem::take(&mut *store.asked.lock().unwrap());
            let waits = asked.windows(2).map(|pair| (pair[1] - pair[0]).as_millis());
            let limits = WAITS.into_iter().chain(std::iter::repeat(WAITS[4]));
            // The ninth may be the first after the end of the lease.
            for (number, (wait, (least, most))) in waits.zip(limits).take(8).enumerate() {
                // A timer has a precision of one millisecond.
                assert!((least..=most + 2).contains(&wait), "outage {outage}, wait {number}: {wait} ms");
            }
            assert!(asked.len() > 18, "it is asked every second");

            store.is_closed.store(false, Ordering::Relaxed);
            keeper.held().await;
            seconds(30).await;
            assert_eq!(lines("is back"), outage);
            // The lease is lost, and another one is not granted.
            store.is_closed.store(true, Ordering::Relaxed);
            let renewal = store.asked.lock().unwrap().len();
            while store.asked.lock().unwrap().len() == renewal {
                sleep(Duration::from_millis(1)).await;
            }
            store.asked.lock().unwrap().drain(..renewal);
        }
    });
}

#[test]
fn a_store_that_grants_no_lease_is_logged_once() {
    run_paused(async {
        let (log, store) = (Log::capture(), Store::new());
        for number in 1..=20 {
            let name = LeaseName { node: NodeId::new("a"), number };
            assert_eq!(store.leases.register(&name, Duration::from_secs(600)).await, Ok(true));
        }
        assert_eq!(keeper(&store).held().await.number, 21);
        assert_eq!(log.text().matches("the store grants no lease").count(), 1);
        let asked = store.asked.lock().unwrap().clone();
        assert!(asked[20] - asked[0] > Duration::from_secs(8), "it waits between the names");
    });
}

#[test]
fn a_lease_that_the_store_does_not_renew_is_replaced() {
    run_paused(async {
        let store = Store::new();
        let keeper = keeper(&store);
        let name = keeper.held().await;
        assert_eq!(store.leases.resign(&name).await, Ok(()));
        seconds(4).await;
        assert!(holds(&keeper, 2));
    });
}

#[test]
fn a_name_in_use_is_passed_over() {
    run_paused(async {
        let store = Store::new();
        assert_eq!(
            store.leases.register(&LeaseName::first(NodeId::new("a")), Duration::from_secs(600)).await,
            Ok(true)
        );
        assert_eq!(keeper(&store).held().await.number, 2);
    });
}

#[test]
fn sessions_of_a_process_that_ends_are_free() {
    run_paused(async {
        for is_dropped in [false, true] {
            let store = Store::new();
            let (keeper, b) = (keeper(&store), LeaseName::first(NodeId::new("b")));
            let a = keeper.held().await;
            assert_eq!(store.leases.open("s", &a).await, Ok(Claim::Granted(FencingToken::FIRST, None)));
            if is_dropped {
                drop(keeper);
                // The task runs while the test waits.
                sleep(Duration::from_millis(1)).await;
            } else {
                keeper.resign().await;
            }
            assert_eq!(store.leases.register(&b, Duration::from_secs(600)).await, Ok(true));
            let second = FencingToken::FIRST.successor();
            assert_eq!(store.leases.claim("s", &b).await, Ok(Claim::Granted(second, None)), "{is_dropped}");
        }
    });
}

#[test]
fn a_process_ends_without_its_store() {
    run_paused(async {
        let store = Store::new();
        let keeper = keeper(&store);
        keeper.held().await;
        store.is_silent.store(true, Ordering::Relaxed);
        let began = Instant::now();
        keeper.resign().await;
        assert!(began.elapsed() <= Duration::from_secs(1));
    });
}

#[test]
fn sessions_under_a_lease_notice_its_end() {
    run_paused(async {
        let store = Store::new();
        let keeper = keeper(&store);
        assert!(keeper.lease().is_none(), "the store has not answered");
        let name = keeper.held().await;
        let first = keeper.lease().unwrap();
        assert!(first.name() == &name && first.is_held());
        let begun = Instant::now();
        seconds(20).await;
        assert!(first.is_held() && !first.over().is_cancelled(), "it is renewed");
        store.is_silent.store(true, Ordering::Relaxed);
        first.over().cancelled().await;
        assert!(!first.is_held() && keeper.lease().is_none() && begun.elapsed() > Duration::from_secs(20));
        assert_eq!(keeper.answer(keeper.store().live()).await, Err(StoreError::Unavailable), "it has its limit");
        store.is_silent.store(false, Ordering::Relaxed);
        assert!(keeper.held().await > name);
        let second = keeper.lease().unwrap();
        assert!(second.is_held() && !first.is_held() && second.name() != first.name());
        assert!(!second.over().is_cancelled());
        drop(keeper);
        second.over().cancelled().await;
        assert!(!second.is_held());
    });
}

#[test]
fn each_lease_has_the_address_of_the_process() {
    run_paused(async {
        let store = Store::new();
        let leases = Arc::clone(&store) as Arc<dyn LeaseStore>;
        let (node, url) = (NodeId::new("a"), "http://192.0.2.1:8080/");
        let keeper = LeaseKeeper::start_at(leases, node, LeaseTerms::default(), url);
        let first = keeper.held().await;
        assert_eq!(store.leases.address(&first).await.unwrap().as_deref(), Some(url));
        store.is_closed.store(true, Ordering::Relaxed);
        seconds(20).await;
        assert_eq!(keeper.holder(), None);
        store.is_closed.store(false, Ordering::Relaxed);
        let second = keeper.held().await;
        assert!(second > first);
        assert_eq!(store.leases.address(&first).await, Ok(None), "it has run out");
        assert_eq!(store.leases.address(&second).await.unwrap().as_deref(), Some(url));
    });
}
