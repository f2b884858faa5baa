//! The task between a process and its owner. It carries messages; [`Lifecycle`] decides.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use crate::event::{Event, Stream};
use crate::exit::{Exit, Status};
use crate::launch::{Launched, Reports};
use crate::leash::Leash;
use crate::lifecycle::{Effect, Input, Lifecycle, Notice};
use crate::output::Output;
use crate::policy::StopPolicy;
use crate::scribe::Scribe;

/// What the owner asks for; each includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ask {
    Run,
    Stop,
    Kill,
}

/// Events in the owner's channel. Small, because what waits for room in it waits in the backlog.
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
        scribe: Scribe::default(),
        pid,
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
    pid: u32,
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
            let (deadline, held) = (self.lifecycle.deadline(), self.scribe.held());
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
                () = at(held) => self.scribe.release(),
                read = self.stdout.read(), if held.is_none() => { self.scribe.write(&mut self.stdout, read); }
                read = self.stderr.read(), if held.is_none() => { self.scribe.write(&mut self.stderr, read); }
            }
            self.scribe.pace();
        }
        self.drain(&mut reports, &events).await;
        self.farewell();
        let Self { mut scribe, leash, .. } = self;
        while !scribe.has_told_all() {
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
            let held = self.scribe.held();
            tokio::select! {
                sent = self.scribe.deliver(events) => self.scribe.heed(sent),
                () = reports.closed(), if !gone => gone = true,
                () = at(held) => self.scribe.release(),
                read = self.stdout.read(), if held.is_none() => { self.scribe.write(&mut self.stdout, read); }
                read = self.stderr.read(), if held.is_none() => { self.scribe.write(&mut self.stderr, read); }
                () = at(deadline) => break,
            }
            self.scribe.pace();
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
            tracing::warn!(pid = self.pid, %error, "the end of a process was not reported");
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
                Effect::CloseLink => self.scribe.tell(Event::CloseLink),
                Effect::Terminate => self.leash.terminate(),
                Effect::Kill => self.leash.kill(),
                Effect::Announce(Notice::Started) => self.scribe.tell(Event::Started { pid: self.pid }),
                Effect::Announce(Notice::Exited(status)) => self.end = Some(End { status, at: now }),
            }
        }
    }

    fn farewell(&mut self) {
        let Some(End { status, at }) = self.end else { return };
        let stderr_tail = self.scribe.take_tail();
        let uptime = at.saturating_duration_since(self.started);
        self.scribe.tell(Event::Exited(Exit { status, stderr_tail, uptime }));
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
