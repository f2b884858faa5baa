//! The task between a process and its owner. It carries messages; [`Lifecycle`] decides.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use crate::backlog::Backlog;
use crate::event::{Event, Stream};
use crate::exit::{Exit, Status};
use crate::launch::{Launched, Reports};
use crate::leash::Leash;
use crate::lifecycle::{Effect, Input, Lifecycle, Notice};
use crate::output::Output;
use crate::policy::StopPolicy;
use crate::tail::Tail;

/// What the owner asks for; each includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ask {
    Run,
    Stop,
    Kill,
}

/// Events in the owner's channel. Small, because what waits for room in it waits in the [`Backlog`].
const CHANNEL: usize = 32;

/// How long after the end of the process its outputs are read for more, if something else holds them open.
const DRAIN: Duration = Duration::from_millis(200);

/// How much is still read after that time, if more is there already: as much as a pipe can hold.
const DRAIN_BYTES: usize = 1024 * 1024;

/// Starts the task for a process that has just been executed.
pub(crate) fn start(
    launched: Launched,
    policy: StopPolicy,
    asked: watch::Receiver<Ask>,
    now: Instant,
) -> io::Result<(Arc<Leash>, mpsc::Receiver<Event>)> {
    let Launched { pid, leash, reports, stdout, stderr } = launched;
    let leash = Arc::new(leash);
    let (sender, events) = mpsc::channel(CHANNEL);
    let mut lifecycle = Lifecycle::new(policy);
    lifecycle.handle(now, Input::Start);
    let mut driver = Driver {
        started: now,
        lifecycle,
        leash: leash.clone(),
        stdout: Output::new(Stream::Stdout, ChildStdout::from_std(stdout)?),
        stderr: Output::new(Stream::Stderr, ChildStderr::from_std(stderr)?),
        scribe: Scribe { pid, backlog: Backlog::default(), tail: Tail::default() },
        end: None,
    };
    driver.tell(Input::Spawned);
    tokio::spawn(driver.run(reports, asked, sender));
    Ok((leash, events))
}

struct Driver {
    started: Instant,
    lifecycle: Lifecycle,
    leash: Arc<Leash>,
    stdout: Output<ChildStdout>,
    stderr: Output<ChildStderr>,
    scribe: Scribe,
    end: Option<End>,
}

#[derive(Debug, Clone, Copy)]
struct End {
    status: Status,
    at: Instant,
}

impl Driver {
    async fn run(mut self, mut reports: Reports, mut asked: watch::Receiver<Ask>, events: mpsc::Sender<Event>) {
        let mut owned = true;
        while self.end.is_none() {
            let deadline = self.lifecycle.deadline();
            tokio::select! {
                sent = self.scribe.deliver(&events) => self.scribe.heed(sent),
                changed = asked.changed(), if owned => match changed {
                    Ok(()) => {
                        let ask = *asked.borrow_and_update();
                        self.obey(ask);
                    }
                    // Dropped, and everything was killed by that.
                    Err(_) => {
                        owned = false;
                        self.obey(Ask::Kill);
                    }
                },
                ended = reports.ended() => self.mark_end(ended),
                () = at(deadline) => self.tell(Input::Elapsed),
                read = self.stdout.read() => { self.scribe.write(&mut self.stdout, read); }
                read = self.stderr.read() => { self.scribe.write(&mut self.stderr, read); }
            }
            self.scribe.give_way().await;
        }
        self.drain(&mut reports, &events).await;
        self.farewell();
        let Self { mut scribe, leash, .. } = self;
        while !scribe.backlog.is_empty() {
            let sent = scribe.deliver(&events).await;
            scribe.heed(sent);
        }
        drop(events);
        reports.closed().await;
        while !leash.reap() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Reads what was written before the end, and gives what came from the process a moment to be gone.
    async fn drain(&mut self, reports: &mut Reports, events: &mpsc::Sender<Event>) {
        let deadline = Some(Instant::now() + DRAIN);
        let mut gone = false;
        while !(self.stdout.has_ended() && self.stderr.has_ended() && gone) {
            tokio::select! {
                sent = self.scribe.deliver(events) => self.scribe.heed(sent),
                () = reports.closed(), if !gone => gone = true,
                read = self.stdout.read() => { self.scribe.write(&mut self.stdout, read); }
                read = self.stderr.read() => { self.scribe.write(&mut self.stderr, read); }
                () = at(deadline) => break,
            }
            self.scribe.give_way().await;
        }
        read_rest(&mut self.stdout, &mut self.scribe).await;
        read_rest(&mut self.stderr, &mut self.scribe).await;
    }

    fn obey(&mut self, ask: Ask) {
        match ask {
            Ask::Run => {}
            Ask::Stop => self.tell(Input::Stop { now: false }),
            Ask::Kill => self.tell(Input::Stop { now: true }),
        }
    }

    fn mark_end(&mut self, ended: io::Result<Status>) {
        let status = ended.unwrap_or_else(|error| {
            tracing::warn!(pid = self.scribe.pid, %error, "the end of a process was not reported");
            self.leash.sweep();
            Status::Unknown
        });
        self.tell(Input::Exited(status));
    }

    fn tell(&mut self, input: Input) {
        let now = Instant::now();
        for effect in self.lifecycle.handle(now, input) {
            match effect {
                // A driver is only made for a process that runs.
                Effect::Spawn | Effect::Announce(Notice::SpawnFailed(_)) => {}
                Effect::CloseLink => self.scribe.backlog.push(Event::CloseLink),
                Effect::Terminate => self.leash.terminate(),
                Effect::Kill => self.leash.kill(),
                Effect::Announce(Notice::Started) => self.scribe.backlog.push(Event::Started { pid: self.scribe.pid }),
                Effect::Announce(Notice::Exited(status)) => self.end = Some(End { status, at: now }),
            }
        }
    }

    fn farewell(&mut self) {
        let Some(End { status, at }) = self.end else { return };
        let stderr_tail = std::mem::take(&mut self.scribe.tail).into_lines();
        let uptime = at.saturating_duration_since(self.started);
        self.scribe.backlog.push(Event::Exited(Exit { status, stderr_tail, uptime }));
    }
}

/// Writes down what the process says, and passes it on.
struct Scribe {
    pid: u32,
    backlog: Backlog,
    tail: Tail,
}

impl Scribe {
    fn write<R: AsyncRead + Unpin>(&mut self, output: &mut Output<R>, read: io::Result<usize>) -> usize {
        let stream = output.stream();
        output.take(read, |line| self.note(stream, line))
    }

    fn note(&mut self, stream: Stream, line: String) {
        if stream == Stream::Stderr {
            self.tail.push(&line);
        }
        self.backlog.push_line(stream, line);
    }

    /// Hands on the next event when the owner has room for it. Never returns while there is none. Cancel-safe.
    async fn deliver(&mut self, events: &mpsc::Sender<Event>) -> Result<(), mpsc::error::SendError<()>> {
        if self.backlog.is_empty() {
            return std::future::pending().await;
        }
        let room = events.reserve().await?;
        if let Some(event) = self.backlog.pop() {
            room.send(event);
        }
        Ok(())
    }

    fn heed(&mut self, sent: Result<(), mpsc::error::SendError<()>>) {
        if sent.is_err() {
            self.backlog.close();
        }
    }

    /// Lets the owner run before its lines are left out for want of a turn.
    async fn give_way(&self) {
        if self.backlog.is_crowded() {
            tokio::task::yield_now().await;
        }
    }
}

/// Reads what is there already, without waiting for more.
async fn read_rest<R: AsyncRead + Unpin>(output: &mut Output<R>, scribe: &mut Scribe) {
    let mut total = 0;
    while total < DRAIN_BYTES && !output.has_ended() {
        // Not subject to the runtime's budget, which would make a full pipe look empty.
        let read = tokio::task::unconstrained(async {
            tokio::select! {
                biased;
                read = output.read() => Some(read),
                () = std::future::ready(()) => None,
            }
        });
        match read.await {
            Some(read) => total += scribe.write(output, read),
            None => break,
        }
    }
    let stream = output.stream();
    output.finish(|line| scribe.note(stream, line));
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
