//! Servers in the process of the client.

use std::sync::Arc;

use protomcp_client::Mode;
use protomcp_conformance::talker;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::cuts::call::{Call, Moment, Outcome};
use crate::cuts::messages::relay;
use crate::cuts::sweep::{Direction, sweep};

/// Makes a call over a relay that is cut. The server and the relay run in their own runtime: a server keeps a call that
/// waits for the answers of its client for a while, because a client without a session may return.
fn run(
    servers: &Runtime,
    call: &Call,
    cut: Option<(Direction, usize)>,
    gone: watch::Receiver<bool>,
) -> (Outcome, [usize; 2]) {
    let (ours, theirs, relaying) = relay(cut, gone);
    servers.spawn(async move { talker().serve(theirs).await });
    let relaying = servers.spawn(relaying);
    let outcome = call.make(|client| async move { client.connect(ours).await });
    (outcome, servers.block_on(relaying).expect("the relay does not panic"))
}

#[test]
fn a_connection_in_memory_may_end_at_any_message() {
    let servers = Runtime::new().expect("a runtime starts");
    for mode in [Mode::Auto, Mode::Stateful] {
        let call = Call::new(mode, "talk");
        let (_stay, stay) = watch::channel(false);
        let (outcome, [up, down]) = run(&servers, &call, None, stay.clone());
        assert_eq!(outcome, Outcome::Answered);
        let points: Vec<_> = [(Direction::Up, up), (Direction::Down, down)]
            .into_iter()
            .flat_map(|(direction, total)| (0..=total).map(move |at| (direction, at)))
            .collect();
        let counts = sweep(&points, |point| {
            let (outcome, _) = run(&servers, &call, Some(*point), stay.clone());
            assert_ne!(outcome, Outcome::TimedOut);
            outcome
        });
        assert!(counts["not opened"] > 1 && counts["failed"] > 1, "{counts:?}");
    }
}

#[test]
fn a_connection_in_memory_may_end_while_its_client_works() {
    let servers = Runtime::new().expect("a runtime starts");
    for mode in [Mode::Auto, Mode::Stateful] {
        for moment in [Moment::Progress, Moment::Question] {
            let (go, gone) = watch::channel(false);
            let call = Call::new(mode, "talk").at(moment(Arc::new(move || go.send_modify(|gone| *gone = true))));
            let (outcome, _) = run(&servers, &call, None, gone);
            assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        }
    }
}
