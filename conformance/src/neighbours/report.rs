//! What alice saw, and what she was promised.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::Duration;

use crate::neighbours::alice::{Op, Work};
use crate::neighbours::client::Front;
use crate::programs::build_folder;

/// How long 99 of 100 answers take at most, whatever others do, if they wait for no handler.
pub const PROMISE: Duration = Duration::from_millis(50);
/// How long any answer takes.
pub const WORST: Duration = Duration::from_millis(200);
/// Times are tested with this margin, because the machine that tests is busy with the attack itself, and with others.
pub const MARGIN: u32 = 10;

/// One thing that she did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) front: Front,
    pub(super) op: Op,
    pub(super) under_attack: bool,
    /// When it began, since she did.
    pub(super) at: Duration,
    pub(super) took: Duration,
}

/// What alice saw, and what it cost.
#[derive(Debug)]
pub struct Report {
    pub(super) work: Work,
    /// What she wanted to do.
    pub(super) wanted: Vec<(Front, Op)>,
    /// Whether the attack came to its end.
    pub(super) ended: bool,
    /// How long a handler of another may keep a place that she needs.
    pub(super) turn: Duration,
    /// How many bytes more than before the attack the process has held.
    pub grown: u64,
}

/// How long things took.
struct Quantiles {
    count: usize,
    p50: Duration,
    p99: Duration,
    max: Duration,
}

impl Report {
    /// What the attack had to see, it saw.
    #[track_caller]
    pub fn ends(&self) -> &Self {
        assert!(self.ended, "the attack waits for something\n{}", self.table());
        self
    }

    /// She was served as promised: nothing failed, everything was tried, and nothing took too long.
    #[track_caller]
    pub fn serves(&self) -> &Self {
        self.serves_except(|_, _| false)
    }

    /// The same, but these may fail.
    #[track_caller]
    pub fn serves_except(&self, may_fail: impl Fn(Op, &str) -> bool) -> &Self {
        let failures: Vec<_> =
            self.work.failures.iter().filter(|(_, op, _, why)| !may_fail(*op, why)).take(5).collect();
        assert!(failures.is_empty(), "alice was not served: {failures:#?}\n{}", self.table());
        let Quantiles { p99, max, .. } = self.excess();
        let is_kept = p99 <= PROMISE * MARGIN && max <= WORST * MARGIN;
        assert!(is_kept, "alice waited {p99:?} (p99) and {max:?} (max)\n{}", self.table());
        let groups = self.groups();
        let missing: Vec<_> =
            self.wanted.iter().filter(|(front, op)| !groups.contains_key(&(*front, *op, true))).collect();
        assert!(missing.is_empty(), "alice could not do this: {missing:?}\n{}", self.table());
        self
    }

    /// The process has grown by no more than this.
    #[track_caller]
    pub fn grows_at_most(&self, bytes: u64) -> &Self {
        let mib = |bytes: u64| bytes >> 20;
        assert!(self.grown <= bytes, "{} MiB more, of {} MiB", mib(self.grown), mib(bytes));
        self
    }

    /// She read nothing that was mallory's.
    #[track_caller]
    pub fn keeps_the_secret(&self) -> &Self {
        assert!(
            self.work.leaks.is_empty(),
            "alice has read {} times what is mallory's: {:#?}",
            self.work.leaks.len(),
            self.work.leaks.first()
        );
        self
    }

    /// Writes the table beside the programs, under the name of the test.
    pub(super) fn keep(&self) {
        let folder = build_folder().join("neighbours");
        let name = thread::current().name().unwrap_or("main").replace("::", "-");
        // It is for people who want to know more than that it failed.
        let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name + ".md"), self.table()));
    }

    /// All of it as a table.
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

    /// How long answers took beyond the time of a handler that they may have had to wait for.
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
        // Without any, nothing took long; it is seen elsewhere that there is none.
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1))).copied();
        let at = |percent| at(percent).unwrap_or_default();
        Self { count: times.len(), p50: at(50), p99: at(99), max: at(100) }
    }
}
