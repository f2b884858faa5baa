//! The task between a process and its owner. It carries messages; [`Lifecycle`] decides.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use crate::event::{Event, Stream};
use crate::exit::{Exit, Status};
use crate::kill_handle::KillHandle;
use crate::launch::{Launched, Reports};
use crate::lifecycle::{Effect, Input, Lifecycle, Notice};
use crate::output::Output;
use crate::output_collector::OutputCollector;
use crate::pipes::Pipes;
use crate::policy::StopPolicy;

/// The state that the owner asks for; each includes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DesiredState {
    Run,
    Stop,
    Kill,
}

/// The most events in the owner's channel. Small, because further events wait in the backlog.
const CHANNEL: usize = 32;

/// The time for which outputs are read after the end of the process, if another process holds them open.
const DRAIN: Duration = Duration::from_millis(200);

/// The most bytes that are read after that time: the capacity of a pipe.
const DRAIN_BYTES: usize = 1024 * 1024;

/// Starts the task for a process that has just been executed.
pub(crate) fn start(
    launched: Launched,
    policy: StopPolicy,
    desired: watch::Receiver<DesiredState>,
    now: Instant,
) -> io::Result<Running> {
    let Launched { pid, kill_handle, reports, stdin, stdout, stderr } = launched;
    let kill_handle = Arc::new(kill_handle);
    let (sender, events) = mpsc::channel(CHANNEL);
    let (captured, pipes) = match stdin {
        Some(stdin) => {
            let pipes = Pipes { stdin: Sender::from_owned_fd(stdin)?, stdout: Receiver::from_owned_fd(stdout.into())? };
            (Output::none(Stream::Stdout), Some(pipes))
        }
        None => (Output::new(Stream::Stdout, ChildStdout::from_std(stdout)?), None),
    };
    let mut lifecycle = Lifecycle::new(policy);
    lifecycle.handle(now, Input::Start);
    let mut driver = Driver {
        started: now,
        lifecycle,
        kill_handle: kill_handle.clone(),
        stdout: captured,
        stderr: Output::new(Stream::Stderr, ChildStderr::from_std(stderr)?),
        collector: OutputCollector::default(),
        pid,
        end: None,
    };
    driver.handle(Input::Spawned);
    tokio::spawn(driver.run(reports, desired, sender));
    Ok(Running { kill_handle, events, pipes })
}

/// The handles on a process and its driver.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) kill_handle: Arc<KillHandle>,
    pub(crate) events: mpsc::Receiver<Event>,
    pub(crate) pipes: Option<Pipes>,
}

struct Driver {
    started: Instant,
    lifecycle: Lifecycle,
    kill_handle: Arc<KillHandle>,
    stdout: Output<ChildStdout>,
    stderr: Output<ChildStderr>,
    collector: OutputCollector,
    pid: u32,
    end: Option<End>,
}

#[derive(Debug, Clone, Copy)]
struct End {
    status: Status,
    at: Instant,
}

impl Driver {
    async fn run(
        mut self,
        mut reports: Reports,
        mut desired: watch::Receiver<DesiredState>,
        events: mpsc::Sender<Event>,
    ) {
        let mut owned = true;
        while self.end.is_none() {
            let (deadline, paused) = (self.lifecycle.deadline(), self.collector.paused_until());
            tokio::select! {
                sent = self.collector.deliver(&events) => self.collector.on_sent(sent),
                changed = desired.changed(), if owned => match changed {
                    Ok(()) => {
                        let state = *desired.borrow_and_update();
                        self.apply(state);
                    }
                    // The owner was dropped, which killed everything.
                    Err(_) => {
                        owned = false;
                        self.apply(DesiredState::Kill);
                    }
                },
                ended = reports.ended() => self.mark_end(ended),
                () = at(deadline) => self.handle(Input::Elapsed),
                () = at(paused) => self.collector.resume(),
                read = self.stdout.read(), if paused.is_none() => { self.collector.collect(&mut self.stdout, read); }
                read = self.stderr.read(), if paused.is_none() => { self.collector.collect(&mut self.stderr, read); }
            }
            self.collector.throttle();
        }
        self.drain(&mut reports, &events).await;
        self.announce_exit();
        let Self { mut collector, kill_handle, .. } = self;
        while !collector.is_drained() {
            let sent = collector.deliver(&events).await;
            collector.on_sent(sent);
        }
        drop(events);
        reports.closed().await;
        while !kill_handle.reap() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Reads the output written before the end, and gives descendants a moment to end.
    async fn drain(&mut self, reports: &mut Reports, events: &mpsc::Sender<Event>) {
        let deadline = Some(Instant::now() + DRAIN);
        let mut gone = false;
        while !(self.stdout.has_ended() && self.stderr.has_ended() && gone) {
            let paused = self.collector.paused_until();
            tokio::select! {
                sent = self.collector.deliver(events) => self.collector.on_sent(sent),
                () = reports.closed(), if !gone => gone = true,
                () = at(paused) => self.collector.resume(),
                read = self.stdout.read(), if paused.is_none() => { self.collector.collect(&mut self.stdout, read); }
                read = self.stderr.read(), if paused.is_none() => { self.collector.collect(&mut self.stderr, read); }
                () = at(deadline) => break,
            }
            self.collector.throttle();
        }
        read_rest(&mut self.stdout, &mut self.collector).await;
        read_rest(&mut self.stderr, &mut self.collector).await;
    }

    fn apply(&mut self, state: DesiredState) {
        match state {
            DesiredState::Run => {}
            DesiredState::Stop => self.handle(Input::Stop { now: false }),
            DesiredState::Kill => self.handle(Input::Stop { now: true }),
        }
    }

    fn mark_end(&mut self, ended: io::Result<Status>) {
        let status = ended.unwrap_or_else(|error| {
            tracing::warn!(pid = self.pid, %error, "the end of a process was not reported");
            self.kill_handle.sweep();
            Status::Unknown
        });
        self.handle(Input::Exited(status));
    }

    fn handle(&mut self, input: Input) {
        let now = Instant::now();
        for effect in self.lifecycle.handle(now, input) {
            match effect {
                // A driver is created only for a running process.
                Effect::Spawn | Effect::Announce(Notice::SpawnFailed(_)) => {}
                Effect::CloseLink => self.collector.push(Event::CloseLink),
                Effect::Terminate => self.kill_handle.terminate(),
                Effect::Kill => self.kill_handle.kill(),
                Effect::Announce(Notice::Started) => self.collector.push(Event::Started { pid: self.pid }),
                Effect::Announce(Notice::Exited(status)) => self.end = Some(End { status, at: now }),
            }
        }
    }

    fn announce_exit(&mut self) {
        let Some(End { status, at }) = self.end else { return };
        let stderr_tail = self.collector.take_tail();
        let uptime = at.saturating_duration_since(self.started);
        self.collector.push(Event::Exited(Exit { status, stderr_tail, uptime }));
    }
}

/// Reads the available bytes without waiting for more.
async fn read_rest<R: AsyncRead + Unpin>(output: &mut Output<R>, collector: &mut OutputCollector) {
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
            Some(read) => total += collector.collect(output, read),
            None => break,
        }
    }
    let stream = output.stream();
    output.finish(|line| collector.push_line(stream, line));
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
