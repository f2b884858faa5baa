//! Three `pmcp` with one store behind a haproxy, while servers are killed and suspended, and the store restarts, loses its
//! data or is silent.
//!
//! Each call that is answered has run once and shows all its steps, no call runs twice, each other call fails as
//! retryable, and a session is in one place at a time.

mod by_hand;
mod disturbances;
mod exchange;
mod ledger;
mod official;
mod with_library;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use protomcp_conformance::{Balancer, Redis, Sandbox, Web, tier};
use protomcp_testing::holds_in_time;
use tokio::runtime::Runtime;

use crate::chaos::moments::rounds;
use crate::replica_chaos::disturbances::Parts;
use crate::replica_chaos::ledger::{Calls, Ledger};
use crate::replica_chaos::official::Official;

/// The clients of each kind in each tier: by hand with and without a session, with the library in both eras, and the official
/// ones. More of them would keep two slow processors busy before anything is disturbed.
const BY_HAND: (usize, usize) = (16, 50);
const WITH_LIBRARY: (usize, usize) = (14, 40);
const OFFICIAL: (usize, usize) = (8, 30);

/// The disturbances: ten minutes of them in the long tier, a minute otherwise.
const DISTURBANCES: (u64, u64) = (12, 120);

/// The steps of a call, each with a report of progress.
const STEPS: u64 = 3;

/// The pause of a client between two calls.
const PAUSE: Duration = Duration::from_millis(500);

#[test]
fn nothing_is_lost_or_doubled_while_parts_fail() {
    rounds("replicas", 1, |random| {
        let (mut redis, (socket, address)) = (Redis::start(), Balancer::socket());
        let noted = redis.sandbox().write("ledger", "");
        let start = |redis: &Redis, port: u16| {
            let sandbox = Sandbox::new();
            sandbox.copy("sdk/steps.py");
            let launch = Balancer::server(&address, redis, &sandbox, "steps.py", port);
            Web::launch(sandbox.clone(), launch.arg("--sdk").arg("bundled").env("LEDGER", &noted))
        };
        let mut servers = [(); 3].map(|()| start(&redis, 0));
        let _balancer = Balancer::start(redis.sandbox(), socket, &servers);
        let (ledger, runtime) = (Arc::new(Ledger::default()), Runtime::new().expect("a runtime starts"));
        let go_on = |names: &[String]| {
            let (before, mut waiting) = (ledger.answers(), Vec::new());
            let all_go_on = || {
                let now = ledger.answers();
                let goes_on = |client: &String| now.get(client) > before.get(client);
                waiting = names.iter().filter(|client| !goes_on(client)).collect();
                waiting.is_empty()
            };
            assert!(
                holds_in_time(all_go_on),
                "no call is answered of {:#?}; {}",
                ledger.latest(&waiting),
                ledger.summary()
            );
        };
        // They start alone: it takes seconds of a processor, of which the other clients would leave them little.
        let official = [
            Official::python(&address, count(OFFICIAL), &ledger),
            Official::typescript(redis.sandbox(), &address, count(OFFICIAL), &ledger),
        ];
        let mut names = names([("python", OFFICIAL), ("typescript", OFFICIAL)]);
        go_on(&names);
        let mut clients = Vec::new();
        for number in 0..count(BY_HAND) {
            let calls = |kind: &str| Calls::new(format!("{kind}-{number}"), &ledger);
            clients.push(runtime.spawn(by_hand::in_sessions(address.clone(), calls("session"))));
            clients.push(runtime.spawn(by_hand::without_session(address.clone(), calls("stateless"))));
        }
        for number in 0..count(WITH_LIBRARY) {
            let calls = Calls::new(format!("library-{number}"), &ledger);
            clients.push(runtime.spawn(with_library::work(address.clone(), calls, number % 2 == 0)));
        }
        names.extend(self::names([("session", BY_HAND), ("stateless", BY_HAND), ("library", WITH_LIBRARY)]));
        go_on(&names);
        let mut parts = Parts { redis: &mut redis, servers: &mut servers, start: &start };
        parts.disturb(tier(DISTURBANCES.0, DISTURBANCES.1), random, &ledger);
        go_on(&names);
        ledger.is_over.store(true, Ordering::SeqCst);
        for client in clients {
            runtime.block_on(client).expect("a client does not panic");
        }
        for official in official {
            official.end();
        }
        ledger.check(&noted);
    });
}

/// The number of clients in this tier.
fn count((short, long): (usize, usize)) -> usize {
    tier(short, long)
}

/// The names of the clients of these kinds.
fn names<const N: usize>(kinds: [(&str, (usize, usize)); N]) -> Vec<String> {
    let names = |(kind, of): (&str, _)| (0..count(of)).map(|number| format!("{kind}-{number}")).collect::<Vec<_>>();
    kinds.into_iter().flat_map(names).collect()
}
