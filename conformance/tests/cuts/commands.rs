//! Servers as child processes, which kill themselves or close their streams at their own byte.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use protomcp_client::StopPolicy;
use protomcp_client::{Client, ClientSession, CloseReason, Command, CommandTransport, Guardian, Mode, SpawnedError};
use protomcp_conformance::{cut_server, living, patience};
use rustix::process::{Pid, Signal, kill_process};

use crate::cuts::call::{Call, Moment, Outcome};
use crate::cuts::sweep::{Direction, offsets, sweep};

/// Bytes between two cuts in the short tier.
const STRIDE: usize = 23;

/// The server with these arguments; its processes carry their own mark.
struct Child {
    transport: CommandTransport,
    mark: String,
    said: Arc<Mutex<Vec<String>>>,
}

impl Child {
    fn new(arguments: &[&str]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let mark = format!("cut-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Without a guardian: a test program has no main function that could be one.
        let command = Command::new(cut_server()).args(arguments).env("PMCP_TEST_MARKER", &mark);
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let quick = Duration::from_millis(50);
        let transport = CommandTransport::new(command.guardian(Guardian::None))
            .stop(StopPolicy { close: quick, terminate: quick, kill: patience() })
            .on_stderr(move |line| heard.lock().expect("nothing panics with it").push(line.to_owned()));
        Self { transport, mark, said }
    }

    async fn connect(&self, client: Client) -> Result<ClientSession, CloseReason> {
        client.spawn_transport(self.transport.clone()).await.map_err(|error| match error {
            SpawnedError::Connect(reason) => reason,
            error => panic!("the server does not start: {error}"),
        })
    }

    /// Makes a call, and checks that no process is left.
    fn run(&self, call: &Call) -> Outcome {
        let outcome = call.make(|client| self.connect(client));
        let until = Instant::now() + patience();
        while !living(&self.mark).is_empty() {
            assert!(Instant::now() < until, "processes are left after {outcome:?}: {:?}", living(&self.mark));
            std::thread::sleep(Duration::from_millis(2));
        }
        outcome
    }

    fn kill(&self) {
        for process in living(&self.mark) {
            let pid = Pid::from_raw(process.pid.cast_signed()).expect("a process has an id");
            // It may have ended.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The bytes in both directions of a call that is not cut.
fn totals(call: &Call) -> [usize; 2] {
    let child = Child::new(&[]);
    assert_eq!(child.run(call), Outcome::Answered);
    let said = child.said.lock().expect("nothing panics with it");
    let counts = said.iter().flat_map(|line| line.split(' ')).map(|count| count.parse().expect("a number"));
    counts.collect::<Vec<_>>().try_into().expect("two numbers")
}

#[test]
fn a_process_may_end_at_any_byte() {
    for mode in [Mode::Auto, Mode::Stateful] {
        let call = Call::new(mode, "talk");
        let [up, down] = totals(&call);
        let mut points = Vec::new();
        for (direction, total) in [(Direction::Up, up), (Direction::Down, down)] {
            for (index, at) in offsets(total, &[], STRIDE).into_iter().enumerate() {
                let ways = ["kill", "close"];
                let ways = protomcp_conformance::tier(&ways[index % 2..=index % 2], &ways[..]);
                points.extend(ways.iter().map(|way| (direction, at, *way)));
            }
        }
        let counts = sweep(&points, |(direction, at, way)| {
            let word = if *direction == Direction::Up { "read" } else { "written" };
            let outcome = Child::new(&[word, &at.to_string(), way]).run(&call);
            assert_ne!(outcome, Outcome::TimedOut, "the end of a process is not a matter of deadlines");
            outcome
        });
        assert!(counts["not opened"] > 5 && counts["failed"] > 5, "{counts:?}");
    }
}

#[test]
fn a_process_may_be_killed_while_its_client_works() {
    for mode in [Mode::Auto, Mode::Stateful] {
        for moment in [Moment::Progress, Moment::Question] {
            let child = Arc::new(Child::new(&[]));
            let victim = Arc::clone(&child);
            let outcome = child.run(&Call::new(mode, "talk").at(moment(Arc::new(move || victim.kill()))));
            // Without a session no request is open while the user is asked, but the end of the process is the same.
            assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        }
    }
}
