//! The measurements of alice, and the promises to her.
//!
//! Each of her operations has its answer within the time that a client gives it, whatever the other user does, and the
//! server stays within its bytes. How long the answers take depends on the machine, which also carries out the attack: that
//! is written to a table.

use std::fmt::Write as _;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use crate::carrier::Carrier;

const MIB: u64 = 1 << 20;
/// The time of an operation: half of the default time of a request of a client.
const DEADLINE: Duration = Duration::from_secs(30);

/// An operation of alice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// A page of the tools.
    List,
    /// A call that is answered immediately.
    Call,
    /// A new connection, until its first list.
    Arrive,
}

impl Op {
    pub(crate) const ALL: [Self; 3] = [Self::List, Self::Call, Self::Arrive];
}

/// The results of alice's work.
#[derive(Debug, Default)]
pub(crate) struct Work {
    took: Vec<(Op, Duration)>,
    /// The first operation without a result, which ends the work.
    pub(crate) failure: Option<(Op, String)>,
}

impl Work {
    /// Measures one operation.
    pub(crate) async fn measure<T>(&mut self, op: Op, operation: impl Future<Output = Result<T, String>>) -> Option<T> {
        let start = Instant::now();
        let outcome = tokio::time::timeout(DEADLINE, operation).await;
        match outcome.unwrap_or_else(|_| Err("no answer".to_owned())) {
            Ok(result) => {
                self.took.push((op, start.elapsed()));
                Some(result)
            }
            Err(why) => {
                self.failure.get_or_insert((op, why));
                None
            }
        }
    }
}

/// Her observations, and the cost of the attack.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) carrier: Carrier,
    /// True if the attack finished.
    pub(crate) ended: bool,
    /// The growth of the process in bytes since before the attack.
    pub(crate) grown: u64,
    pub(crate) work: Work,
}

impl Report {
    /// Each operation of hers had its answer in time, and the server has grown by at most this many bytes.
    #[track_caller]
    pub(crate) fn holds(&self, bound: u64) {
        self.keep();
        let Self { carrier, ended, grown, work } = self;
        assert!(work.failure.is_none(), "{carrier:?}: alice was not served: {:?}\n{}", work.failure, self.table());
        assert!(*ended, "{carrier:?}: the attack did not finish");
        assert!(*grown <= bound, "{carrier:?}: {} MiB more, of {} MiB", grown / MIB, bound / MIB);
    }

    /// Writes the table to a file next to the programs, named after the test.
    fn keep(&self) {
        let program = env::current_exe().expect("a test is a program");
        let folder =
            program.ancestors().nth(2).expect("a profile's folder has a folder for programs").join("neighbours");
        let name = thread::current().name().unwrap_or("main").replace("::", "-");
        let name = format!("proto-{}-{name}.md", self.carrier.transport());
        // It is for readers who want more than the failure.
        let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name), self.table()));
    }

    fn table(&self) -> String {
        let mut text = String::from(
            "| under attack | count | p50, ms | p99, ms | max, ms |\n| --- | ---: | ---: | ---: | ---: |\n",
        );
        for op in Op::ALL {
            let mut took: Vec<_> = self.work.took.iter().filter(|(of, _)| *of == op).map(|(_, took)| *took).collect();
            took.sort_unstable();
            if took.is_empty() {
                continue;
            }
            let [p50, p99, max] =
                [50, 99, 100].map(|percent| took[(took.len() - 1) * percent / 100].as_secs_f64() * 1000.0);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "| {op:?} | {} | {p50:.1} | {p99:.1} | {max:.1} |", took.len());
        }
        let _ = writeln!(text, "\nmemory: {} MiB more at the peak", self.grown / MIB);
        text
    }
}
