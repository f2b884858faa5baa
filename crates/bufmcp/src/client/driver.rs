//! The task of a client's conversation: it owns the stream and the clock.

use std::collections::HashMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use protomcp_fair::{LeftOut, LogRate};
use protomcp_session::CallerKey;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::unconstrained;

use crate::client::config::BinaryClientConfig;
use crate::client::error::{BinaryCallError, BinaryCloseReason};
use crate::client::session::{BinaryClientEvent, BinaryClientSession};
use crate::client::status::{Changed, Status};
use crate::frame::Decoder;
use crate::message::mcp_message::Payload;
use crate::message::{CallLog, ResourceUpdated};
use crate::report::CallReport;
use crate::stream::{BATCH, Incoming, Outgoing, now, until};

/// A command of a handle.
pub(super) enum Command {
    /// Send a request.
    Call(Box<NewRequest>),
    /// A caller is gone.
    Forget,
    /// Pass log messages that belong to no call to this function.
    OnLog(OnLog),
    /// Pass the URIs of changed resources to this function.
    OnUpdate(OnUpdate),
    /// End the conversation.
    Close,
}

/// A request of a handle.
pub(super) struct NewRequest {
    pub(super) request: Payload,
    pub(super) timeout: Option<Duration>,
    pub(super) caller: Arc<CallerKey>,
    pub(super) on_report: Option<OnReport>,
    pub(super) done: Answer,
}

/// A function for log messages that belong to no call.
pub(super) type OnLog = Box<dyn FnMut(CallLog) + Send>;

/// A function for the URIs of changed resources.
pub(super) type OnUpdate = Box<dyn FnMut(String) + Send>;

/// A function for the reports of a call.
pub(super) type OnReport = Box<dyn FnMut(CallReport) + Send>;

type Answer = oneshot::Sender<Result<Payload, BinaryCallError>>;

/// The caller of a request.
struct Waiting {
    done: Answer,
    on_report: Option<OnReport>,
}

/// One conversation.
pub(super) struct Driver {
    session: BinaryClientSession,
    commands: mpsc::UnboundedReceiver<Command>,
    waiting: HashMap<u64, Waiting>,
    on_log: Option<OnLog>,
    on_update: Option<OnUpdate>,
    status: watch::Sender<Status>,
    changes: watch::Sender<Changed>,
    incoming: Incoming,
    outgoing: Outgoing,
    dropped_log: LogRate,
}

enum Event {
    Read(io::Result<usize>),
    Written(io::Result<()>),
    Command(Option<Command>),
    Time,
}

impl Driver {
    pub(super) fn new(
        config: BinaryClientConfig,
        commands: mpsc::UnboundedReceiver<Command>,
        status: watch::Sender<Status>,
        changes: watch::Sender<Changed>,
    ) -> Self {
        Self {
            incoming: Incoming::new(Decoder::new(config.frames.clone())),
            session: BinaryClientSession::new(config, now()),
            commands,
            waiting: HashMap::new(),
            on_log: None,
            on_update: None,
            status,
            changes,
            outgoing: Outgoing::default(),
            dropped_log: LogRate::default(),
        }
    }

    pub(super) async fn run<R, W>(mut self, mut reader: R, mut writer: W)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let mut events = 0;
        self.pump();
        while !self.session.is_closed() {
            let event = self.wait(&mut reader, &mut writer).await;
            events += 1;
            self.handle(event);
            self.pump();
            if events >= BATCH {
                events = 0;
                self.poll_starved(&mut reader, &mut writer);
            }
        }
        // The server may be gone by now.
        drop(tokio::time::timeout(CLOSE_TIMEOUT, writer.shutdown()).await);
    }

    /// Waits for the next event. It writes when nothing else is ready, so that a burst of requests is one write.
    async fn wait(&mut self, reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) -> Event {
        let deadline = self.session.poll_timeout();
        let has_output = !self.outgoing.is_done();
        tokio::select! {
            biased;
            command = self.commands.recv() => Event::Command(command),
            read = self.incoming.read(reader) => Event::Read(read),
            written = self.outgoing.write(writer), if has_output => Event::Written(written),
            () = until(deadline) => Event::Time,
        }
    }

    /// Polls everything that a flood of frames and requests would delay.
    fn poll_starved(&mut self, reader: &mut (impl AsyncRead + Unpin), writer: &mut (impl AsyncWrite + Unpin)) {
        // The flood may have used up the steps that the runtime gives a task before it yields.
        if let Some(read) = unconstrained(self.incoming.read(reader)).now_or_never() {
            self.handle(Event::Read(read));
            self.pump();
        }
        if !self.outgoing.is_done()
            && let Some(written) = unconstrained(self.outgoing.write(writer)).now_or_never()
        {
            self.handle(Event::Written(written));
        }
        if self.session.poll_timeout().is_some_and(|deadline| deadline <= now()) {
            self.handle(Event::Time);
        }
        self.pump();
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Read(Ok(0)) => self.session.close(if self.incoming.undecoded() == 0 {
                BinaryCloseReason::ByServer
            } else {
                BinaryCloseReason::Truncated
            }),
            Event::Read(Ok(_)) => self.decode(),
            Event::Read(Err(error)) | Event::Written(Err(error)) => {
                self.session.close(BinaryCloseReason::Failed(error.to_string()));
            }
            Event::Written(Ok(())) => {}
            Event::Command(Some(Command::Call(call))) => {
                let NewRequest { request, timeout, caller, on_report, done } = *call;
                let id = self.session.call_for(&caller, now(), request, timeout);
                self.waiting.insert(id, Waiting { done, on_report });
            }
            Event::Command(Some(Command::Forget)) => self.forget(),
            Event::Command(Some(Command::OnLog(on_log))) => self.on_log = Some(on_log),
            Event::Command(Some(Command::OnUpdate(on_update))) => self.on_update = Some(on_update),
            Event::Command(Some(Command::Close) | None) => self.session.close(BinaryCloseReason::Requested),
            Event::Time => self.session.handle_timeout(now()),
        }
    }

    fn decode(&mut self) {
        loop {
            match self.incoming.decode() {
                Ok(None) => return,
                Ok(Some(frame)) => self.session.receive(now(), frame),
                Err(error) => return self.session.close(BinaryCloseReason::TooLarge(error)),
            }
        }
    }

    /// Cancels requests whose callers are gone.
    fn forget(&mut self) {
        let session = &mut self.session;
        self.waiting.retain(|id, Waiting { done, .. }| {
            if done.is_closed() {
                session.cancel(*id);
            }
            !done.is_closed()
        });
    }

    /// Carries out what the machine has decided.
    fn pump(&mut self) {
        while let Some(event) = self.session.poll_event() {
            match event {
                BinaryClientEvent::Opened(server) => drop(self.status.send(Status::Open(server))),
                BinaryClientEvent::Report(id, report) => {
                    if let Some(Waiting { on_report: Some(on_report), .. }) = self.waiting.get_mut(&id) {
                        pass(on_report, report);
                    }
                }
                BinaryClientEvent::Log(log) => {
                    if let Some(on_log) = &mut self.on_log {
                        pass(on_log, log);
                    }
                }
                BinaryClientEvent::Answer(id, outcome) => {
                    if let Some(Waiting { done, .. }) = self.waiting.remove(&id) {
                        // The caller may be gone.
                        drop(done.send(outcome));
                    }
                }
                BinaryClientEvent::ListChanged(changed) => self.changes.send_modify(|changes| changes.add(changed)),
                BinaryClientEvent::ResourceUpdated(ResourceUpdated { uri }) => {
                    if let Some(on_update) = &mut self.on_update {
                        pass(on_update, uri);
                    }
                }
                BinaryClientEvent::Reported(fault) => {
                    tracing::warn!(code = fault.code, "the server reports: {}", fault.message);
                }
                BinaryClientEvent::Dropped(unreadable) => {
                    if let Some(LeftOut(left_out)) = self.dropped_log.permit(now()) {
                        let (number, error) = (unreadable.payload, unreadable.fault().message);
                        tracing::warn!(left_out, number, error, "a report of the server cannot be read and is dropped");
                    }
                }
                BinaryClientEvent::Closed(reason) => drop(self.status.send(Status::Closed(reason))),
            }
        }
        // Frames that the server does not read stay in the session, which then takes no more requests.
        self.outgoing.fill(|| self.session.poll_transmit());
    }
}

/// Calls a function of the program. Its panic ends neither the conversation nor the calls of others.
fn pass<T>(mut to: impl FnMut(T), report: T) {
    if catch_unwind(AssertUnwindSafe(|| to(report))).is_err() {
        tracing::error!("a function for the reports of a server panicked");
    }
}

/// The time in which the end of the output must be written.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
