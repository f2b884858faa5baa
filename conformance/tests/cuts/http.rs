//! Servers over HTTP behind a relay: cuts of one connection, after which the server can be reached again, and of all of
//! them, as when its process is killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::Mode;
use protomcp_conformance::{cut_server, serve_talker, tier};
use protomcp_http::Listener;
use protomcp_http_client::{HttpTransport, Limits};
use tokio::runtime::Runtime;

use crate::cuts::call::{Call, Cutter, Moment, Outcome};
use crate::cuts::relay::{Cut, How, Relay, Scope};
use crate::cuts::sweep::{Direction, offsets, sweep};

/// Bytes between two cuts in the short tier.
const STRIDE: usize = 11;

/// The deadline of calls whose connection is cut while the server goes on: an answer or a question may be lost.
const LOST: Duration = Duration::from_secs(1);

/// A server in this process, in its own runtime.
struct Site {
    runtime: Runtime,
    address: SocketAddr,
}

impl Site {
    fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime starts");
        let address = runtime.block_on(async {
            let listener = Listener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
            let address = listener.local_addr().expect("it is bound");
            tokio::spawn(serve_talker(listener));
            address
        });
        Self { runtime, address }
    }

    fn relay(&self, cut: Option<Cut>) -> Relay {
        Relay::start(self.runtime.handle(), self.address, cut, None)
    }
}

/// Makes a call over a relay.
fn run(relay: &Relay, path: &str, call: &Call) -> Outcome {
    let limits = Limits::default()
        .with_max_reconnects(2)
        .with_reconnect_delay(Duration::from_millis(20))
        .with_end_timeout(Duration::from_secs(1));
    let url = format!("http://{}{path}", relay.address);
    let transport = HttpTransport::new(&url).expect("it is a URL").limits(limits).without_proxy();
    call.make(|client| async move { client.connect(transport).await })
}

/// Cuts the connections of a call at every point.
fn cut_everywhere(path: &str, call: &Call) {
    let site = Site::new();
    let whole = site.relay(None);
    assert_eq!(run(&whole, path, call), Outcome::Answered);
    let ways = [
        (How::Fin, Scope::Server),
        (How::Reset, Scope::Connection),
        (How::Reset, Scope::Server),
        (How::Fin, Scope::Connection),
    ];
    let mut points = Vec::new();
    for direction in [Direction::Up, Direction::Down] {
        let (total, ends) = whole.traffic(direction);
        for (index, after) in offsets(total, &ends, STRIDE).into_iter().enumerate() {
            let turn = index % ways.len();
            let ways = tier(&ways[turn..=turn], &ways[..]);
            points.extend(ways.iter().map(|&(how, scope)| Cut { direction, after, how, scope }));
        }
    }
    let counts = sweep(&points, |cut| {
        let relay = site.relay(Some(*cut));
        match cut.scope {
            Scope::Server => {
                let outcome = run(&relay, path, call);
                assert_ne!(outcome, Outcome::TimedOut, "a server that is gone is not a matter of deadlines");
                outcome
            }
            Scope::Connection => run(&relay, path, &call.clone().within(LOST)),
        }
    });
    let count = |kind: &str| counts.get(kind).copied().unwrap_or_default();
    assert!(count("not opened") > 5 && count("failed") > 5, "{counts:?}");
    // With others running, each of them may have been too late, on a busy machine.
    let is_answered = |cut: &Cut| run(&site.relay(Some(*cut)), path, call) == Outcome::Answered;
    assert!(count("answered") > 0 || points.iter().rev().take(20).any(is_answered), "{counts:?}");
}

#[test]
fn json_in_a_session_may_be_cut_at_any_byte() {
    cut_everywhere("/mcp", &Call::new(Mode::Stateful, "brief"));
}

#[test]
fn json_without_a_session_may_be_cut_at_any_byte() {
    cut_everywhere("/mcp", &Call::new(Mode::Stateless, "brief"));
}

#[test]
fn events_in_a_session_may_be_cut_at_any_byte() {
    cut_everywhere("/mcp", &Call::new(Mode::Stateful, "talk"));
}

#[test]
fn events_without_a_session_may_be_cut_at_any_byte() {
    cut_everywhere("/mcp", &Call::new(Mode::Stateless, "talk"));
}

#[test]
fn the_older_transport_may_be_cut_at_any_byte() {
    cut_everywhere("/sse", &Call::new(Mode::Stateful, "talk"));
}

#[test]
fn a_server_may_be_gone_while_its_client_works() {
    let site = Site::new();
    for (path, mode) in [("/mcp", Mode::Stateful), ("/mcp", Mode::Stateless), ("/sse", Mode::Stateful)] {
        for moment in [Moment::Progress, Moment::Question] {
            for how in [How::Fin, How::Reset] {
                let relay = site.relay(None);
                let call = Call::new(mode, "talk");
                // Without a session no request is open while the user is asked, so only the deadline ends the call.
                let waits = mode == Mode::Stateless && matches!(moment(Arc::new(|| ())), Moment::Question(_));
                let call = if waits { call.within(LOST) } else { call };
                let outcome = run(&relay, path, &call.at(moment(relay.cutter(how))));
                match outcome {
                    Outcome::TimedOut => assert!(waits),
                    Outcome::Failed(_) => assert!(!waits),
                    other => panic!("{path} {mode:?}: {other:?}"),
                }
            }
        }
    }
}

/// A server in its own process.
struct Process {
    child: Mutex<Child>,
    address: SocketAddr,
}

impl Process {
    fn start() -> Self {
        let mut command = Command::new(cut_server());
        command.arg("--http").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server starts");
        let mut line = String::new();
        let stderr = child.stderr.take().expect("it was piped");
        BufReader::new(stderr).read_line(&mut line).expect("the server tells its address");
        Self { child: Mutex::new(child), address: line.trim().parse().expect("it is an address") }
    }

    fn kill(&self) {
        let mut child = self.child.lock().expect("nothing panics with it");
        child.kill().expect("it is not reaped");
        child.wait().expect("it ends");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// SIGKILL at each byte that ends a piece, and between them.
#[test]
fn a_server_may_be_killed_anywhere() {
    let runtime = Runtime::new().expect("a runtime starts");
    for (path, mode) in [("/mcp", Mode::Stateful), ("/mcp", Mode::Stateless), ("/sse", Mode::Stateful)] {
        let call = Call::new(mode, "talk");
        let server = Process::start();
        let whole = Relay::start(runtime.handle(), server.address, None, None);
        assert_eq!(run(&whole, path, &call), Outcome::Answered);
        let points: Vec<_> = [Direction::Up, Direction::Down]
            .into_iter()
            .flat_map(|direction| {
                let ends = whole.traffic(direction).1;
                ends.into_iter().flat_map(move |end| [end / 2, end - 1, end]).map(move |after| (direction, after))
            })
            .collect();
        let counts = sweep(&points, |&(direction, after)| {
            let server = Arc::new(Process::start());
            let victim = Arc::clone(&server);
            let kill: Cutter = Arc::new(move || victim.kill());
            let cut = Cut { direction, after, how: How::Fin, scope: Scope::Server };
            let relay = Relay::start(runtime.handle(), server.address, Some(cut), Some(kill));
            let outcome = run(&relay, path, &call);
            assert_ne!(outcome, Outcome::TimedOut);
            outcome
        });
        assert!(counts["not opened"] > 1 && counts["failed"] > 1, "{counts:?}");
    }
}
