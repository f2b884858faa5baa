//! The measurements of alice, and the promises to her.
//!
//! Each of her operations has its answer, whatever the other user does. The time that it takes depends on the machine, which
//! also carries out the attack and other work: that is written to a table, and judged in the long tier.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::Duration;

use crate::neighbours::alice::{Op, Work};
use crate::neighbours::client::Front;
use crate::programs::build_folder;
use protomcp_testing::judged;

/// The 99th percentile of answers that wait for no handler, whatever other users do; judged in the long tier.
pub const PROMISE: Duration = Duration::from_millis(50);
/// The upper limit for any answer; judged in the long tier.
pub const WORST: Duration = Duration::from_millis(200);
/// The margin on times, because the machine also runs the attack and other work.
pub const MARGIN: u32 = 10;

/// One operation of alice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) front: Front,
    pub(super) op: Op,
    pub(super) under_attack: bool,
    /// Its start, relative to hers.
    pub(super) at: Duration,
    pub(super) took: Duration,
}

/// The operations of alice, and the cost of the attack.
#[derive(Debug)]
pub struct Report {
    pub(super) work: Work,
    /// The operations that she should have tried.
    pub(super) wanted: Vec<(Front, Op)>,
    /// True if the attack finished.
    pub(super) ended: bool,
    /// The time that another user's handler may occupy a slot that she needs.
    pub(super) turn: Duration,
    /// The growth of the process in bytes since before the attack.
    pub grown: u64,
}

/// Quantiles of the durations.
struct Quantiles {
    count: usize,
    p50: Duration,
    p99: Duration,
    max: Duration,
}

impl Report {
    /// The attack finished, and saw everything that it checks.
    #[track_caller]
    pub fn ends(&self) -> &Self {
        assert!(self.ended, "the attack did not finish\n{}", self.table());
        self
    }

    /// Alice was served: nothing failed, and everything was tried. In the long tier, nothing took too long either.
    #[track_caller]
    pub fn serves(&self) -> &Self {
        self.serves_except(|_, _| false)
    }

    /// The same, but these operations may fail.
    #[track_caller]
    pub fn serves_except(&self, may_fail: impl Fn(Op, &str) -> bool) -> &Self {
        let failures: Vec<_> =
            self.work.failures.iter().filter(|(_, op, _, why)| !may_fail(*op, why)).take(5).collect();
        assert!(failures.is_empty(), "alice was not served: {failures:#?}\n{}", self.table());
        let Quantiles { p99, max, .. } = self.excess();
        let is_kept = p99 <= judged(PROMISE * MARGIN) && max <= judged(WORST * MARGIN);
        assert!(is_kept, "alice waited {p99:?} (p99) and {max:?} (max)\n{}", self.table());
        let groups = self.groups();
        let missing: Vec<_> =
            self.wanted.iter().filter(|(front, op)| !groups.contains_key(&(*front, *op, true))).collect();
        assert!(missing.is_empty(), "alice could not do this: {missing:?}\n{}", self.table());
        self
    }

    /// The process has grown by at most this many bytes.
    #[track_caller]
    pub fn grows_at_most(&self, bytes: u64) -> &Self {
        let mib = |bytes: u64| bytes >> 20;
        assert!(self.grown <= bytes, "{} MiB more, of {} MiB", mib(self.grown), mib(bytes));
        self
    }

    /// Alice read nothing that belongs to mallory.
    #[track_caller]
    pub fn keeps_the_secret(&self) -> &Self {
        assert!(
            self.work.leaks.is_empty(),
            "alice has read mallory's data {} times: {:#?}",
            self.work.leaks.len(),
            self.work.leaks.first()
        );
        self
    }

    /// Writes the table to a file next to the programs, named after the test.
    pub(super) fn keep(&self) {
        let folder = build_folder().join("neighbours");
        let name = thread::current().name().unwrap_or("main").replace("::", "-");
        // It is for readers who want more than the failure.
        let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name + ".md"), self.table()));
    }

    /// The report as a table.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| front | what | | count | p50, ms | p99, ms | max, ms |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n",
        );
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        for ((front, op, under_attack), took) in self.groups() {
            let when = if under_attack { "attack" } else { "idle" };
            let Quantiles { count, p50, p99, max } = took;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {front:?} | {op:?} | {when} | {count} | {:.1} | {:.1} | {:.1} |",
                ms(p50),
                ms(p99),
                ms(max)
            );
        }
        let mut slowest: Vec<_> = self.work.samples.iter().collect();
        slowest.sort_by_key(|sample| std::cmp::Reverse(sample.took));
        for Sample { front, op, at, took, .. } in slowest.into_iter().take(5) {
            let _ = writeln!(text, "\n{front:?} {op:?} at {:.0} ms took {:.0} ms", ms(*at), ms(*took));
        }
        let _ = writeln!(
            text,
            "\nmemory: {} MiB more at the peak; {} failures",
            self.grown >> 20,
            self.work.failures.len()
        );
        text
    }

    /// The durations of answers beyond the time that a handler may have kept them waiting.
    fn excess(&self) -> Quantiles {
        let samples = self.work.samples.iter().filter(|sample| sample.under_attack);
        let excess = samples.map(|sample| match sample.op {
            Op::Ping | Op::List => sample.took,
            _ => sample.took.saturating_sub(self.turn),
        });
        Quantiles::of(excess.collect())
    }

    fn groups(&self) -> BTreeMap<(Front, Op, bool), Quantiles> {
        let mut groups: BTreeMap<_, Vec<Duration>> = BTreeMap::new();
        for sample in &self.work.samples {
            groups.entry((sample.front, sample.op, sample.under_attack)).or_default().push(sample.took);
        }
        groups.into_iter().map(|(key, times)| (key, Quantiles::of(times))).collect()
    }
}

impl Quantiles {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        // Without samples, nothing took long; another check requires samples.
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied();
        let at = |percent| at(percent).unwrap_or_default();
        Self { count: times.len(), p50: at(50), p99: at(99), max: at(100) }
    }
}
