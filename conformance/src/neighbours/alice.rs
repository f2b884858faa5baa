//! A user who works steadily and measures every answer.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::neighbours::client::{Client, Failure, Front};
use crate::neighbours::heard::Heard;
use crate::neighbours::report::Sample;
use crate::neighbours::user::User;
use protomcp_testing::{patience, tier};

/// All fronts.
pub const FRONTS: [Front; 3] = [Front::Session, Front::Stateless, Front::Sse];

/// The time after which an answer counts as missing, in addition to the time that it may wait for a handler. The long tier
/// has the machine to itself.
fn too_late() -> Duration {
    tier(patience(), Duration::from_secs(5))
}

/// The time after an attack, unless an operation has not succeeded until then.
const AFTER: Duration = Duration::from_secs(5);
/// The pause between two operations. In the short tier other tests need the processors, and nothing is measured.
fn pause() -> Duration {
    tier(Duration::from_millis(20), Duration::from_millis(2))
}

/// One round in this many includes the expensive operations: a replay, a new session, a notification.
const EVERY: usize = 8;
/// The number of rounds after an attack, so that the end of a short attack is covered as well.
const ROUNDS_AFTER: usize = EVERY;

/// The operations of alice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// `ping`, or `server/discover` where `ping` does not exist.
    Ping,
    /// `tools/list`.
    List,
    /// A call of a tool that answers immediately.
    Call,
    /// A broken stream is resumed.
    Replay,
    /// A new connection, until the first answer.
    Arrive,
    /// A change of the tool list, until its notification is read.
    Notice,
    /// The stream that she listens on.
    Listen,
}

/// The phase of a scenario.
#[derive(Debug, Clone, Default)]
pub(super) struct Phase {
    now: Arc<AtomicU8>,
    /// The number of fronts on which she works.
    begun: Arc<AtomicUsize>,
}

/// Before the attack.
pub(super) const IDLE: u8 = 0;
/// During the attack.
pub(super) const ATTACK: u8 = 1;
/// After the attack.
pub(super) const OVER: u8 = 2;

impl Phase {
    pub(super) fn set(&self, phase: u8) {
        self.now.store(phase, Ordering::Release);
    }

    /// True if she works on every front.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire) == FRONTS.len()
    }

    pub(super) fn get(&self) -> u8 {
        self.now.load(Ordering::Acquire)
    }
}

/// The results of her work.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) samples: Vec<Sample>,
    pub(super) failures: Vec<(Front, Op, bool, String)>,
    pub(super) leaks: Vec<String>,
}

/// Works on every front until the attack is over.
pub(super) fn work(user: &User, skipped: &[Op], turn: Duration, phase: &Phase) -> Work {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut fronts = JoinSet::new();
        for front in FRONTS {
            fronts.spawn(Alice::new(user, front, skipped, turn, phase).work());
        }
        let mut all = Work::default();
        while let Some(work) = fronts.join_next().await {
            let work = work.expect("she does not panic");
            all.samples.extend(work.samples);
            all.failures.extend(work.failures);
            all.leaks.extend(work.leaks);
        }
        all
    })
}

/// The operations that she tries, on each front.
pub(super) fn wanted(skipped: &[Op]) -> Vec<(Front, Op)> {
    let ops = [Op::Ping, Op::List, Op::Call, Op::Replay, Op::Arrive, Op::Notice];
    let all = FRONTS.into_iter().flat_map(|front| ops.map(|op| (front, op)));
    all.filter(|(front, op)| *op != Op::Replay || *front == Front::Session)
        .filter(|(_, op)| !skipped.contains(op))
        .collect()
}

struct Alice {
    user: User,
    front: Front,
    skipped: Vec<Op>,
    /// The time after which an answer counts as missing.
    patience: Duration,
    phase: Phase,
    heard: Heard,
    /// The start of her work.
    begun: Instant,
    /// True if her connection has failed, or may still bring the answer to a request that she gave up.
    is_lost: bool,
    /// True if she was not served. In the short tier that ends her work, because every wait for an answer is a long one.
    has_given_up: bool,
    /// The operations that have succeeded since the attack began.
    succeeded: BTreeSet<Op>,
    /// The number of streams that ended while she listened.
    ended: Arc<AtomicUsize>,
    work: Work,
}

impl Alice {
    fn new(user: &User, front: Front, skipped: &[Op], turn: Duration, phase: &Phase) -> Self {
        let (user, skipped, phase) = (user.clone(), skipped.to_vec(), phase.clone());
        let (heard, ended) = (Heard::default(), Arc::default());
        let begun = Instant::now();
        let patience = too_late() + turn;
        let (is_lost, has_given_up, succeeded, work) = (false, false, BTreeSet::new(), Work::default());
        Self { user, front, skipped, patience, phase, heard, begun, is_lost, has_given_up, succeeded, ended, work }
    }

    async fn work(mut self) -> Work {
        let begun = tokio::time::timeout(too_late(), self.begin()).await;
        let (mut client, mut before) = begun.expect("she is served before the attack");
        self.phase.begun.fetch_add(1, Ordering::Release);
        let (mut left, mut round, mut over) = (ROUNDS_AFTER, 0, None);
        while left > 0 && !self.has_given_up && over.is_none_or(|over| self.goes_on_after(over)) {
            if self.phase.get() == OVER {
                left -= 1;
                over.get_or_insert_with(Instant::now);
            }
            self.round(&mut client, round).await;
            round += 1;
        }
        if let Some((left, event)) = &mut before
            && !self.has_given_up
        {
            let resumed = limited(self.patience, left.resume(event)).await;
            self.note(Op::Replay, Instant::now(), resumed);
        }
        if self.ended.load(Ordering::Relaxed) > 0 {
            self.work.failures.push((self.front, Op::Listen, true, "her stream was ended".to_owned()));
        }
        self.work.leaks = self.heard.leaks();
        self.work
    }

    /// True if the attack has ended a moment ago, or before everything has succeeded once. What fails is tried again.
    fn goes_on_after(&self, over: Instant) -> bool {
        over.elapsed() < AFTER || !wanted(&self.skipped).iter().all(|(_, op)| self.has_succeeded(*op))
    }

    fn has_succeeded(&self, op: Op) -> bool {
        self.succeeded.contains(&op) || !self.wants(op)
    }

    /// Opens her session, and listens. In a second session she starts a call that she resumes at the end.
    async fn begin(&mut self) -> (Client, Option<(Client, String)>) {
        let mut client = self.open().await;
        self.listen(&mut client).await;
        if self.front != Front::Stateless {
            client.ask("logging/setLevel", json!({"level": "debug"})).await.unwrap_or_else(|why| panic!("{why}"));
        }
        if !self.wants(Op::Replay) {
            return (client, None);
        }
        let mut left = self.open().await;
        let event = left.cut_call().await.unwrap_or_else(|why| panic!("{why}"));
        (client, Some((left, event)))
    }

    /// Opens a session. A server whose store is late asks for another attempt.
    async fn open(&self) -> Client {
        let begun = Instant::now();
        loop {
            match Client::open(&self.user, self.front, &self.heard).await {
                Err(Failure::Status(503, _)) if begun.elapsed() < patience() => tokio::time::sleep(pause()).await,
                opened => return opened.unwrap_or_else(|why| panic!("{why}")),
            }
        }
    }

    async fn listen(&mut self, client: &mut Client) {
        let (phase, ended) = (self.phase.clone(), Arc::clone(&self.ended));
        let ended = move || {
            if phase.get() != OVER {
                ended.fetch_add(1, Ordering::Relaxed);
            }
        };
        if let Err(why) = limited(self.patience, client.listen(ended)).await {
            self.note(Op::Listen, Instant::now(), Err(why));
        }
    }

    async fn round(&mut self, client: &mut Client, round: usize) {
        let ping = if self.front == Front::Stateless { "server/discover" } else { "ping" };
        self.recover(client).await;
        for op in [Op::Ping, Op::List, Op::Call] {
            if !self.wants(op) {
                continue;
            }
            let start = Instant::now();
            let done = limited(self.patience, async {
                match op {
                    Op::Ping => client.ask(ping, json!({})).await.map(drop),
                    Op::List => client.ask("tools/list", json!({})).await.map(drop),
                    _ => same(&client.call("echo", json!({"text": "alice"})).await?, "alice"),
                }
            });
            let done = done.await;
            self.note(op, start, done);
            tokio::time::sleep(pause()).await;
        }
        self.recover(client).await;
        if round % EVERY != EVERY - 1 {
            return;
        }
        if self.wants(Op::Replay)
            && let Some(event) = self.measured_cut(client).await
        {
            let start = Instant::now();
            let resumed = limited(self.patience, client.resume(&event)).await;
            self.note(Op::Replay, start, resumed);
        }
        if self.wants(Op::Arrive) {
            self.arrive().await;
        }
        if self.wants(Op::Notice) {
            let seen = self.heard.notices();
            let start = Instant::now();
            let heard = self.heard.clone();
            let told = limited(self.patience, async {
                client.call("change", json!({})).await?;
                while heard.notices() == seen {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                Ok(())
            });
            let told = told.await;
            self.note(Op::Notice, start, told);
        }
    }

    /// Connects again, if the connection may be closed or a late answer would be taken for the next one.
    async fn recover(&mut self, client: &mut Client) {
        if !self.is_lost || self.has_given_up {
            return;
        }
        match tokio::time::timeout(self.patience, Client::open(&self.user, self.front, &self.heard)).await {
            Ok(Ok(fresh)) => {
                *client = fresh;
                self.is_lost = false;
                self.listen(client).await;
            }
            // She tries it again.
            Ok(Err(_)) => {}
            Err(_) => self.has_given_up = tier(true, false),
        }
    }

    async fn measured_cut(&mut self, client: &mut Client) -> Option<String> {
        let cut = match tokio::time::timeout(self.patience, client.cut_call()).await {
            Ok(cut) => cut,
            Err(_) => Err(Failure::Timeout),
        };
        match cut {
            Ok(event) => Some(event),
            Err(why) => {
                self.note(Op::Replay, Instant::now(), Err(why));
                None
            }
        }
    }

    /// Connects like a new client.
    async fn arrive(&mut self) {
        let start = Instant::now();
        let arrived = limited(self.patience, async {
            let mut client = Client::open(&self.user, self.front, &self.heard).await?;
            client.ask("tools/list", json!({})).await?;
            client.close().await
        });
        let arrived = arrived.await;
        self.note(Op::Arrive, start, arrived);
    }

    fn wants(&self, op: Op) -> bool {
        !self.has_given_up && wanted(&self.skipped).contains(&(self.front, op))
    }

    fn note(&mut self, op: Op, start: Instant, done: Result<(), Failure>) {
        let under_attack = self.phase.get() != IDLE;
        if under_attack && done.is_ok() {
            self.succeeded.insert(op);
        }
        match done {
            Ok(()) => self.work.samples.push(Sample {
                front: self.front,
                op,
                under_attack,
                at: start - self.begun,
                took: start.elapsed(),
            }),
            Err(why) => {
                // An arrival has its own connection.
                self.is_lost |= op != Op::Arrive && matches!(why, Failure::Connection(_) | Failure::Timeout);
                self.has_given_up |= tier(matches!(why, Failure::Timeout), false);
                self.work.failures.push((self.front, op, under_attack, why.to_string()));
            }
        }
    }
}

async fn limited<T>(patience: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::time::timeout(patience, work).await.unwrap_or(Err(Failure::Timeout))
}

fn same(text: &str, wanted: &str) -> Result<(), Failure> {
    if text == wanted { Ok(()) } else { Err(Failure::Error(json!(text))) }
}
