//! Applies the effects of the core: one task, which decides nothing itself.

pub(crate) mod first_start;
pub(crate) mod handover;
pub(crate) mod inbox;
pub(crate) mod launcher;
mod list_request;
pub(crate) mod message;
mod process_facts;
pub(crate) mod progress;
pub(crate) mod watching;
pub(crate) mod worker_label;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use protomcp_envelope::ActiveToolsResponse;
use protomcp_link::Link;
use protomcp_server::{Audience, ServerHandle, SessionNotice};
use protomcp_types::{Level, RawJson};
use tokio::sync::{SetOnce, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::catalog::published::Published;
use crate::catalog::resources_and_prompts::Kind;
use crate::clock::now;
use crate::core::Core;
use crate::core::io::{Effect, Input};
use crate::diagnostics::failure::Failure;
use crate::diagnostics::report::Report;
use crate::diagnostics::start_error::StartError;
use crate::dispatcher::Dispatcher;
use crate::driver::first_start::FirstStart;
use crate::driver::handover::Handover;
use crate::driver::inbox::Inbox;
use crate::driver::launcher::{Launcher, Started, logs_lines};
use crate::driver::list_request::{RENEWAL_TIMEOUT, ask};
use crate::driver::message::{Attachment, Message, NewProcess};
use crate::driver::process_facts::ProcessFacts;
use crate::driver::progress::Progress;
use crate::from_tool::questions::{Question, Questions};
use crate::generation::Generation;
use crate::metrics::Metrics;
use crate::process::middleware::MiddlewareChain;
use crate::process::running_calls::Calls;
use crate::process::sdk;
use crate::process::tool_process::ToolProcess;
use crate::status::{self, ShownTools};

/// The most messages that wait. A sender waits while the queue is full, so the link of a process that floods it is read
/// no faster than its events are handled.
pub(crate) const INPUTS: usize = 256;

/// The parts of a bridge that its driver shares with the requests of clients, and with those that reload it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) snapshot: Arc<Published>,
    pub(crate) sessions: ServerHandle,
    pub(crate) sender: mpsc::Sender<Message>,
    pub(crate) progress: Progress,
}

/// The loop and its state.
pub(crate) struct Driver {
    core: Core,
    dispatcher: Arc<Dispatcher>,
    metrics: Arc<Metrics>,
    snapshot: Arc<Published>,
    sessions: ServerHandle,
    questions: Questions,
    launcher: Arc<Launcher>,
    sender: mpsc::Sender<Message>,
    inbox: Inbox,
    processes: HashMap<Generation, Arc<ToolProcess>>,
    /// Starts, link readers and awaited ends; aborted when the loop ends, which kills a starting process.
    tasks: JoinSet<()>,
    start: Start,
    /// Receives the outcome of the first start.
    first: Option<First>,
    progress: Progress,
    shown: ShownTools,
}

/// The start under way, or the last one.
#[derive(Default)]
struct Start {
    /// Stops it.
    superseded: CancellationToken,
    /// It waits for the state of the process in service.
    successor: Option<oneshot::Sender<Option<Link>>>,
    /// The reason of the last failure.
    error: Option<StartError>,
}

/// The receivers of the outcome of the first start.
pub(crate) struct First {
    /// Requests of clients, with the text for them.
    pub(crate) requests: Arc<SetOnce<Result<(), String>>>,
    /// The owner of the bridge.
    pub(crate) owner: oneshot::Sender<Result<(), StartError>>,
}

impl First {
    fn answer(self, outcome: Result<(), StartError>, one_owner: bool) {
        let text = match &outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(format!("failed to start tool process: {}", error.cause().text(one_owner))),
        };
        // They may have been let in before, to empty lists.
        let _before = self.requests.set(text);
        // The receiver is dropped if the owner does not need the outcome.
        let _gone = self.owner.send(outcome);
    }
}

impl Driver {
    pub(crate) fn new(core: Core, shared: Shared, launcher: Launcher, inbox: Inbox, first: First) -> Self {
        let Shared { dispatcher, metrics, snapshot, sessions, sender, progress } = shared;
        Self {
            core,
            questions: Questions::new(Arc::clone(&dispatcher), sessions.clone()),
            dispatcher,
            metrics,
            shown: ShownTools::new(snapshot.load_full()),
            snapshot,
            sessions,
            launcher: Arc::new(launcher),
            sender,
            inbox,
            processes: HashMap::new(),
            tasks: JoinSet::new(),
            start: Start::default(),
            first: Some(first),
            progress,
        }
    }

    /// Runs after the first start of the first worker of a pool; see [`run`](Self::run). If the bridge ends because of that start, requests
    /// get its reason.
    pub(crate) async fn run_after(mut self, first: FirstStart, effects: Vec<Effect>) {
        let begun = tokio::select! {
            begun = first.wait() => begun,
            () = self.inbox.stop.cancelled() => Err("the bridge is shutting down".into()),
        };
        match (begun, self.first.take()) {
            (Err(why), Some(first)) => {
                // It is set once, here.
                let _set = first.requests.set(Err(why));
                self.shut_down().await;
            }
            (_, first) => {
                self.first = first;
                self.run(effects).await;
            }
        }
    }

    /// Runs until it is stopped, or the first start fails. Stops every process (close, SIGTERM, SIGKILL) before it
    /// returns.
    pub(crate) async fn run(mut self, effects: Vec<Effect>) {
        // The first effects start the first process.
        let _continue = self.apply_all(effects);
        while let Some(message) = self.inbox.next(self.core.deadline()).await {
            // Frees the tasks that have ended.
            while self.tasks.try_join_next().is_some() {}
            let is_from_process = matches!(message.input, Input::Link(..) | Input::Catalogued(..));
            if self.handle(message).is_break() {
                break;
            }
            if is_from_process {
                // A process may send lists without end. Each one takes time, and the other tasks run in between.
                tokio::task::yield_now().await;
            }
        }
        self.shut_down().await;
    }

    fn handle(&mut self, message: Message) -> ControlFlow<()> {
        let Message { input, attached } = message;
        let mut done = None;
        match attached {
            Attachment::None => {}
            Attachment::Process(new) => self.register(*new),
            Attachment::Successor(sender) => self.start.successor = Some(sender),
            Attachment::StartError(error) => self.start.error = Some(error),
            Attachment::Acknowledge(sender) => done = Some(sender),
        }
        let facts = ProcessFacts { dispatcher: &self.dispatcher, processes: &self.processes, sessions: &self.sessions };
        let effects = self.core.handle(now(), input, &facts);
        let flow = self.apply_all(effects);
        if self.launcher.shows_lists() {
            self.shown.show(&self.snapshot.load());
        }
        self.progress.publish(self.core.is_settled());
        if let Some(done) = done {
            // The client may have given up.
            let _gone = done.send(());
        }
        flow
    }

    fn apply_all(&mut self, effects: Vec<Effect>) -> ControlFlow<()> {
        effects.into_iter().try_for_each(|effect| self.apply(effect))
    }

    fn apply(&mut self, effect: Effect) -> ControlFlow<()> {
        match effect {
            Effect::Start(generation) => self.start(generation),
            // There is one start at a time.
            Effect::GiveUp(generation) => {
                tracing::debug!(%generation, "stopping the start under way");
                self.start.superseded.cancel();
            }
            Effect::HandOver { from } => self.hand_over(from),
            Effect::RequestReload(generation) => self.with(generation, |process| process.link().reload()),
            Effect::AwaitIdle(generation) => self.dispatcher.await_idle(generation),
            Effect::Hold => self.dispatcher.hold(),
            Effect::ReleaseTo(generation) => self.dispatcher.release_to(generation),
            Effect::Refuse(why) => self.dispatcher.refuse(&why),
            Effect::Interrupt(generation) => self.with(generation, |process| process.link().interrupt()),
            Effect::Stop(generation) => self.with(generation, ToolProcess::stop),
            Effect::Abort(generation) => self.with(generation, ToolProcess::abort),
            Effect::Publish(snapshot) => self.snapshot.store(snapshot),
            Effect::ToolsChanged(audience) => self.announce(ServerHandle::tools_changed, audience),
            Effect::ResourcesChanged(audience) => self.announce(ServerHandle::resources_changed, audience),
            Effect::PromptsChanged(audience) => self.announce(ServerHandle::prompts_changed, audience),
            Effect::RequestList(generation, kind) => self.ask_catalog(generation, kind),
            Effect::Remove(generation) => self.remove(generation),
            Effect::FirstStarted => self.answer_first(Ok(())),
            Effect::FirstMissing => {
                if let Some(first) = &self.first {
                    first.requests.set(Ok(())).expect("it is told once");
                }
            }
            Effect::FirstStartFailed => {
                let error = self.start.error.take().expect("a failed start comes with its error");
                self.answer_first(Err(error));
                return ControlFlow::Break(());
            }
            Effect::Reply { generation, id, active } => {
                let reply = ActiveToolsResponse { tool_names: active };
                self.with(generation, |process| process.link().reply(id, reply));
            }
            Effect::ReplyToTwoReaders(generation) => {
                self.with(generation, |process| process.link().work_around_two_readers());
            }
            Effect::AddMiddleware(generation, middleware) => {
                self.with(generation, |process| process.intercept(&middleware));
            }
            Effect::SetMiddleware(generation, middleware) => {
                self.with(generation, |process| process.set_chain(MiddlewareChain::new(middleware)));
            }
            Effect::Ask(generation, question) => self.ask(generation, question),
            Effect::Log { generation, message, for_call } => {
                self.launcher.tap.log(generation, &message, &for_call);
            }
            Effect::SendBridgeInfo(generation) => {
                self.with(generation, |process| process.link().reply("", sdk::bridge_info()));
            }
            Effect::AnsweredLate(generation, id) => self.dispatcher.answered_late(generation, &id),
            Effect::ResourceUpdated(uri) => self.sessions.resource_updated(&uri),
            Effect::ElicitationComplete(id) => self.questions.elicitation_complete(&id),
            Effect::Report(report) => self.report(&report),
            Effect::ReportCalls(generations) => self.name_calls(&generations),
        }
        ControlFlow::Continue(())
    }

    /// Notifies clients that a list has changed, if they see the lists of this process.
    fn announce(&self, notify: impl FnOnce(&ServerHandle, Audience), audience: Audience) {
        if self.launcher.shows_lists() {
            notify(&self.sessions, audience);
        }
    }

    fn answer_first(&mut self, outcome: Result<(), StartError>) {
        if let Some(first) = self.first.take() {
            first.answer(outcome, self.sessions.sole_owner().is_some());
        }
    }

    fn ask_catalog(&mut self, generation: Generation, kind: Kind) {
        let Some(process) = self.processes.get(&generation) else { return };
        let (link, sender) = (process.link().clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let answer = ask(&link, kind, RENEWAL_TIMEOUT).await;
            if let Some(Err(error)) = &answer {
                tracing::debug!(%generation, ?kind, %error, "the list stays as it was");
            }
            let listed = answer.and_then(Result::ok);
            let _ended = sender.send(Input::Catalogued(generation, kind, listed).into()).await;
        });
    }

    fn start(&mut self, generation: Generation) {
        let (launcher, sender) = (Arc::clone(&self.launcher), self.sender.clone());
        self.start.superseded = CancellationToken::new();
        let superseded = self.start.superseded.clone();
        let is_expected = self.processes.values().any(|process| process.sdk().hands_over);
        let handover = Handover::new(generation, is_expected, launcher.worker(), sender.clone());
        self.tasks.spawn(async move {
            let message = match launcher.start(&superseded, &handover).await {
                Ok(Started { process, registered }) => Message {
                    input: Input::Started(generation, registered),
                    attached: Attachment::Process(Box::new(process)),
                },
                Err(error) => Message {
                    input: match error {
                        StartError::Socket(_) | StartError::Spawn(_) | StartError::Lend(_) | StartError::Skills(_) => {
                            Input::CannotStart(generation, error.cause())
                        }
                        _ => Input::StartFailed(generation, error.cause()),
                    },
                    attached: Attachment::StartError(error),
                },
            };
            // The loop has ended; dropping the message kills the process.
            let _ended = sender.send(message).await;
        });
    }

    /// The start under way takes over the state of this process, or of none.
    fn hand_over(&mut self, from: Option<Generation>) {
        let link = from.and_then(|from| self.processes.get(&from)).map(|process| process.link().clone());
        if let Some(successor) = self.start.successor.take() {
            // The start has ended.
            let _ended = successor.send(link);
        }
    }

    /// Adds a started process to those in service.
    fn register(&mut self, new: NewProcess) {
        let NewProcess { process, mut events, mut pending } = new;
        let process = Arc::new(process);
        let generation = process.generation();
        self.dispatcher.add(Arc::clone(&process));
        self.processes.insert(generation, Arc::clone(&process));
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            while let Some(answer) = pending.join_next().await {
                // A closed link answers nothing; its end is a separate input.
                let Ok(Ok(listed)) = answer else { return };
                let _ended = sender.send(Input::Catalogued(generation, listed.kind(), Some(listed)).into()).await;
            }
        });
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            while let Some(event) = events.recv().await {
                if sender.send(Input::Link(generation, event).into()).await.is_err() {
                    return;
                }
            }
            // The link has ended: the exit of the process is the last input.
            if let Some(exit) = process.ended().await {
                let _ended = sender.send(Input::Exited(generation, exit).into()).await;
            }
        });
    }

    fn with(&self, generation: Generation, act: impl FnOnce(&ToolProcess)) {
        if let Some(process) = self.processes.get(&generation) {
            act(process);
        }
    }

    fn name_calls(&mut self, generations: &[Generation]) {
        let processes = generations.iter().filter_map(|generation| self.processes.get(generation));
        let calls = processes.flat_map(|process| process.running().list(now())).collect();
        self.report(&Report::WaitsForCalls { calls: Calls::new(calls) });
    }

    fn report(&mut self, report: &Report) {
        self.metrics.report(report);
        self.progress.report(report);
        status::report(report);
        match report {
            Report::NotStarted { why } | Report::ReloadFailed { why } => self.snapshot.set_unstarted(Some(why.clone())),
            Report::Reloaded { .. } | Report::Restarted { .. } => self.snapshot.set_unstarted(None),
            _ => {}
        }
        let level = report.level();
        let text = self.launcher.named(&report.for_log(logs_lines()));
        match level {
            Level::Debug => tracing::debug!("{text}"),
            Level::Info | Level::Notice => tracing::info!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
            Level::Error | Level::Critical | Level::Alert | Level::Emergency => tracing::error!("{text}"),
        }
        let owner = self.sessions.sole_owner();
        if let Some(text) = report.for_clients(owner.is_some()).map(|text| self.launcher.named(&text)) {
            let audience = owner.map_or(Audience::Everyone, Audience::Owner);
            // Other servers have their own processes.
            let data = RawJson::text(&text);
            self.sessions.deliver(&audience, SessionNotice::Log { level, logger: Some("pmcp"), data: &data });
        }
    }

    /// Sends a request of the process to a client, in its own task.
    fn ask(&mut self, generation: Generation, question: Question) {
        let Some(process) = self.processes.get(&generation).cloned() else { return };
        if let Some(work) = self.questions.take(process, question) {
            self.tasks.spawn(work);
        }
    }

    fn remove(&mut self, generation: Generation) {
        self.dispatcher.remove(generation);
        self.processes.remove(&generation);
    }

    /// Ends the waits of requests, also of later ones: no process will follow.
    fn close(&mut self) {
        if let Some(first) = self.first.take() {
            // They may have been let in before, to empty lists.
            let _before = first.requests.set(Err(Failure::ShuttingDown.to_string()));
        }
        self.dispatcher.close();
        self.snapshot.close();
    }

    /// Stops all processes concurrently (close, SIGTERM, SIGKILL) and waits for each. The end of a start is awaited,
    /// too; it removes its socket and its process.
    async fn shut_down(mut self) {
        self.close();
        self.tasks.abort_all();
        for process in self.processes.values() {
            process.shut_down();
        }
        for process in self.processes.values() {
            process.ended().await;
        }
        self.tasks.shutdown().await;
    }
}

/// The servers of the bridge may outlive it, and their dispatcher has the processes, too.
impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
        self.processes.values().for_each(|process| process.kill());
    }
}
