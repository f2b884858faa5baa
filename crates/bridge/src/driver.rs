//! Carries out what the core decides: one task, no decisions of its own.

pub(crate) mod inbox;
pub(crate) mod launcher;
mod list_request;
pub(crate) mod watching;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use protomcp_link::{Event, Notice, Phase};
use protomcp_proto::{ActiveToolsResponse, Msg};
use protomcp_server::{Audience, Sessions};
use protomcp_types::{Level, RawJson};
use tokio::sync::{SetOnce, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::Kind;
use crate::catalog::snapshot::Snapshot;
use crate::clock::now;
use crate::core::Core;
use crate::core::io::{Effect, Input};
use crate::diagnostics::report::Report;
use crate::diagnostics::start_error::StartError;
use crate::dispatcher::Dispatcher;
use crate::driver::inbox::Inbox;
use crate::driver::launcher::{Launcher, Open, Started};
use crate::driver::list_request::{RENEWAL_TIMEOUT, ask};
use crate::from_tool::list_control;
use crate::from_tool::questions::{Asked, Question, Questions};
use crate::generation::Generation;
use crate::metrics::Metrics;
use crate::process::middleware::MiddlewareChain;
use crate::process::running_calls::Calls;
use crate::process::sdk;
use crate::process::tool_process::ToolProcess;

/// Inputs that may wait. Whoever sends one waits when it is full, so a process that floods its link is read no faster
/// than it is understood.
pub(crate) const INPUTS: usize = 256;

/// What reaches the loop.
#[derive(Debug)]
pub(crate) enum Sent {
    Input(Input),
    /// This process had no call in flight a moment ago.
    Idle(Generation),
    /// The sender waits until the effects are in force.
    Acknowledged(Input, oneshot::Sender<()>),
    /// A start has ended one way or the other.
    Start(Generation, Result<Box<Started>, StartError>),
    /// A process in service sent this.
    Link(Generation, Event),
}

/// The loop and what it works on.
pub(crate) struct Driver {
    pub(crate) core: Core,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(crate) sessions: Sessions,
    pub(crate) questions: Questions,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) sender: mpsc::Sender<Sent>,
    pub(crate) inbox: Inbox,
    pub(crate) processes: HashMap<Generation, Arc<ToolProcess>>,
    /// Starts, link readers and waits for ends; aborted when the loop ends, which kills what was starting.
    pub(crate) tasks: JoinSet<()>,
    /// Ends the start under way, or the last one.
    pub(crate) superseded: CancellationToken,
    /// The author knows that handlers of this SDK do not see the list; once is enough.
    pub(crate) told_of_readers: bool,
    /// Takes the outcome of the first start.
    pub(crate) first: Option<First>,
}

/// Who waits for the first start.
pub(crate) struct First {
    /// Requests of hosts: the text is for them.
    pub(crate) requests: Arc<SetOnce<Result<(), String>>>,
    /// The owner of the bridge.
    pub(crate) owner: oneshot::Sender<Result<(), StartError>>,
}

impl First {
    fn tell(self, outcome: Result<(), StartError>, one_owner: bool) {
        let text = match &outcome {
            Ok(()) => Ok(()),
            Err(error) => Err(format!("failed to start tool process: {}", error.cause().text(one_owner))),
        };
        self.requests.set(text).expect("there is one first start");
        // An owner who does not want to know has dropped the receiver.
        let _gone = self.owner.send(outcome);
    }
}

impl Driver {
    /// Runs until it is stopped, or the first start fails; then every process is led out by the ladder before it returns.
    pub(crate) async fn run(mut self, effects: Vec<Effect>) {
        self.apply(effects);
        while let Some(sent) = self.inbox.next(self.core.deadline()).await {
            // What a task that has ended leaves behind is taken here: nothing waits for it.
            while self.tasks.try_join_next().is_some() {}
            let sent = match sent {
                Sent::Start(generation, Err(error)) if self.first.is_some() && !self.core.has_given_up(generation) => {
                    self.first.take().expect("it was there").tell(Err(error), self.sessions.sole_owner().is_some());
                    break;
                }
                sent => sent,
            };
            let is_from_process = matches!(sent, Sent::Link(..) | Sent::Input(Input::Catalogued(..)));
            let (input, done) = self.understand(sent);
            if let Some(input) = input {
                let ended = if let Input::Exited(generation, _) = &input { Some(*generation) } else { None };
                let effects = self.core.handle(now(), input);
                self.apply(effects);
                // Only now: until the effects were in force, calls were still let through to it.
                if let Some(ended) = ended {
                    self.remove(ended);
                }
                if !self.processes.is_empty()
                    && let Some(first) = self.first.take()
                {
                    first.tell(Ok(()), true);
                }
            }
            if let Some(done) = done {
                // A host that gave up meanwhile does not wait any more.
                let _gone = done.send(());
            }
            if is_from_process {
                // A process may send lists without end. Each takes its time, and everyone else has a turn in between.
                tokio::task::yield_now().await;
            }
        }
        self.shut_down().await;
    }

    fn understand(&mut self, sent: Sent) -> (Option<Input>, Option<oneshot::Sender<()>>) {
        match sent {
            Sent::Input(input) => (Some(input), None),
            // Calls may have gone to it once more before they went elsewhere; then it is said again when they have ended.
            Sent::Idle(generation) => (self.dispatcher.is_idle(generation).then_some(Input::Idle(generation)), None),
            Sent::Acknowledged(input, done) => (Some(input), Some(done)),
            Sent::Start(generation, Ok(started)) => {
                let Started { process, registered, events, open } = *started;
                self.register(process, events, open);
                (Some(Input::Started(generation, registered)), None)
            }
            Sent::Start(generation, Err(error)) => (Some(Input::StartFailed(generation, error.cause())), None),
            Sent::Link(generation, event) => (self.read(generation, event), None),
        }
    }

    /// What an event of a link means.
    fn read(&mut self, generation: Generation, event: Event) -> Option<Input> {
        let process = self.processes.get(&generation)?;
        match event {
            Event::Ready(handshake) if handshake.phase == Phase::Reload => {
                process.set_chain(MiddlewareChain::new(handshake.middleware.clone()));
                let registered = Registration {
                    tools: handshake.tools,
                    middleware: handshake.middleware,
                    in_place: process.sdk().reloads_in_place,
                    structured: process.sdk().structured,
                    ..Registration::default()
                };
                Some(Input::Reloaded(generation, registered))
            }
            Event::ReloadFailed(protomcp_link::ReloadError::Refused(why)) => {
                Some(Input::NotReloaded(generation, Some(why)))
            }
            Event::ReloadFailed(_) => Some(Input::NotReloaded(generation, None)),
            Event::Listed(tools) => Some(Input::Listed(generation, tools)),
            Event::Request { id, message, for_call } => match Asked::read(message) {
                Ok(asked) => {
                    let process = Arc::clone(process);
                    self.ask(process, Question { id, for_call, asked });
                    None
                }
                Err(message) => {
                    let session = self.dispatcher.list_scope(generation, &for_call);
                    list_control::command(message).map(|command| Input::Control {
                        generation,
                        session,
                        command,
                        reply: Some(id),
                    })
                }
            },
            // Said before it was in service, and understood after it.
            Event::Notification { message: Msg::Log(message), for_call } => {
                self.launcher.tap.log(generation, &message, &for_call);
                None
            }
            Event::LateMiddleware(middleware) => {
                // It may have been read before the process was known to the dispatcher.
                process.intercept(&middleware);
                Some(Input::Intercepts(generation, middleware))
            }
            Event::Notification { message: Msg::SdkInfo(_), .. } => {
                tracing::debug!(%generation, "the process announces itself too late for it to count");
                process.link().reply("", sdk::bridge_info());
                None
            }
            Event::Noticed(Notice::LateAnswer { id, kind }) => {
                if kind != "progress" {
                    self.dispatcher.answered_late(generation, &id);
                }
                tracing::debug!(%generation, id, kind, "an answer came too late");
                None
            }
            Event::Noticed(Notice::Undecoded { reason, count }) => {
                list_control::refused(&reason, count);
                None
            }
            Event::Notification { message: Msg::ResourceChanged(changed), .. } => {
                self.sessions.resource_updated(&changed.uri);
                None
            }
            Event::Notification { message: Msg::ElicitationComplete(page), .. } => {
                self.questions.page_is_done(&page.elicitation_id);
                None
            }
            Event::Notification {
                message: message @ (Msg::ResourceListChanged(_) | Msg::PromptListChanged(_)),
                ..
            } => Some(Input::Renewed(generation, list_control::renewed(&message))),
            // A link that is lost takes its process with it; the end of the process is what counts.
            Event::Closed(reason) => {
                tracing::debug!(%generation, %reason, "the link closed");
                process.stop();
                None
            }
            other => {
                tracing::debug!(%generation, event = ?other, "no effect");
                None
            }
        }
    }

    fn apply(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Start(generation) => self.start(generation),
                // There is one start at a time.
                Effect::GiveUp(generation) => {
                    tracing::debug!(%generation, "ending what is still starting");
                    self.superseded.cancel();
                }
                Effect::AskReload(generation) => self.with(generation, |process| process.link().reload()),
                Effect::AwaitIdle(generation) => self.dispatcher.await_idle(generation),
                Effect::Hold => self.dispatcher.hold(),
                Effect::ReleaseTo(generation) => self.dispatcher.release_to(generation),
                Effect::Refuse(why) => self.dispatcher.refuse(&why),
                Effect::Interrupt(generation) => self.with(generation, |process| process.link().interrupt()),
                Effect::Stop(generation) => self.with(generation, ToolProcess::stop),
                Effect::Abort(generation) => self.with(generation, ToolProcess::abort),
                Effect::Publish(snapshot) => self.snapshot.store(snapshot),
                Effect::ToolsChanged(audience) => self.sessions.tools_changed(audience),
                Effect::ResourcesChanged(audience) => self.sessions.resources_changed(audience),
                Effect::PromptsChanged(audience) => self.sessions.prompts_changed(audience),
                Effect::AskCatalog(generation, kind) => self.ask_catalog(generation, kind),
                Effect::Reply { generation, id, active } => self.answer_control(generation, id, active),
                Effect::Report(report) => self.report(&report),
                Effect::NameCalls(generations) => self.name_calls(&generations),
            }
        }
    }

    fn answer_control(&mut self, generation: Generation, id: String, active: Vec<String>) {
        let Some(process) = self.processes.get(&generation) else { return };
        if self.dispatcher.is_busy(generation) && process.readers().are_two() {
            process.link().work_around_two_readers();
            if !std::mem::replace(&mut self.told_of_readers, true) {
                tracing::warn!(
                    "this version of the Python SDK cannot receive the list of active tools inside a handler: the change is \
                     made, and the handler's own copy of the list is empty"
                );
            }
        } else {
            process.link().reply(id, ActiveToolsResponse { tool_names: active });
        }
    }

    fn ask_catalog(&mut self, generation: Generation, kind: Kind) {
        let Some(process) = self.processes.get(&generation) else { return };
        let (link, sender) = (process.link().clone(), self.sender.clone());
        self.tasks.spawn(async move {
            let answer = ask(&link, kind, RENEWAL_TIMEOUT).await;
            if let Err(error) = &answer {
                tracing::debug!(%generation, ?kind, %error, "the list stays as it was");
            }
            let _ended = sender.send(Sent::Input(Input::Catalogued(generation, kind, answer.ok()))).await;
        });
    }

    fn start(&mut self, generation: Generation) {
        let (launcher, sender) = (Arc::clone(&self.launcher), self.sender.clone());
        self.superseded = CancellationToken::new();
        let superseded = self.superseded.clone();
        self.tasks.spawn(async move {
            let outcome = launcher.start(generation, &superseded).await.map(Box::new);
            // The loop has ended; dropping the outcome kills the process.
            let _ended = sender.send(Sent::Start(generation, outcome)).await;
        });
    }

    /// Makes a started process one of those in service.
    fn register(&mut self, process: ToolProcess, mut events: mpsc::Receiver<Event>, mut open: Open) {
        let process = Arc::new(process);
        let generation = process.generation();
        self.dispatcher.add(Arc::clone(&process));
        self.processes.insert(generation, Arc::clone(&process));
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            while let Some(answer) = open.join_next().await {
                // A link that has closed answers nothing more, and its end is told elsewhere.
                let Ok(Ok(listed)) = answer else { return };
                let input = Input::Catalogued(generation, listed.kind(), Some(listed));
                let _ended = sender.send(Sent::Input(input)).await;
            }
        });
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            while let Some(event) = events.recv().await {
                if sender.send(Sent::Link(generation, event)).await.is_err() {
                    return;
                }
            }
            // Nothing more can be told through the link: what remains to be known is how the process ends.
            if let Some(exit) = process.ended().await {
                let _ended = sender.send(Sent::Input(Input::Exited(generation, exit))).await;
            }
        });
    }

    fn with(&self, generation: Generation, act: impl FnOnce(&ToolProcess)) {
        if let Some(process) = self.processes.get(&generation) {
            act(process);
        }
    }

    fn name_calls(&self, generations: &[Generation]) {
        let processes = generations.iter().filter_map(|generation| self.processes.get(generation));
        let calls = processes.flat_map(|process| process.running().list(now())).collect();
        self.report(&Report::WaitsForCalls { calls: Calls::new(calls) });
    }

    fn report(&self, report: &Report) {
        self.metrics.report(report);
        let level = report.level();
        let text = report.to_string();
        match level {
            Level::Debug => tracing::debug!("{text}"),
            Level::Info | Level::Notice => tracing::info!("{text}"),
            Level::Warning => tracing::warn!("{text}"),
            Level::Error | Level::Critical | Level::Alert | Level::Emergency => tracing::error!("{text}"),
        }
        let owner = self.sessions.sole_owner();
        if let Some(text) = report.for_clients(owner.is_some()) {
            let audience = owner.map_or(Audience::Everyone, Audience::Owner);
            self.sessions.log(audience, level, Some("pmcp"), &RawJson::text(&text));
        }
    }

    /// Puts a question of the process to a host, beside everything else.
    fn ask(&mut self, process: Arc<ToolProcess>, question: Question) {
        if let Some(place) = self.questions.admit(&process, &question) {
            self.tasks.spawn(self.questions.clone().ask(process, question, place));
        }
    }

    fn remove(&mut self, generation: Generation) {
        self.dispatcher.remove(generation);
        self.processes.remove(&generation);
    }

    /// Links close, then the ladder; all at once, and each waited for. So is the end of a start, which takes its socket
    /// and its process with it.
    async fn shut_down(mut self) {
        self.dispatcher.close();
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
