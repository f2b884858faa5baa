//! Starts one generation: socket, process, connection, state of the one before, handshake, first tool list control,
//! first requests.
//!
//! The steps run in order, each with one kind of failure. After a failure all started parts are gone.

use std::mem;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use protomcp_lend::LendError;
use protomcp_link::{
    CallError, Config, Endpoint, Event, Handshake, HandshakeError, Link, default_socket_path, drive_filtered,
};
use protomcp_supervisor::{Command, Exit, Prepared, Process, StopPolicy, Stream};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::catalog::published::START_TIMEOUT;
use crate::catalog::registration::Registration;
use crate::catalog::resources_and_prompts::{Kind, Listed};
use crate::compat::registration_settle::REGISTRATION_SETTLE;
use crate::compat::socket_readers::SocketReaders;
use crate::diagnostics::start_error::StartError;
use crate::driver::handover::Handover;
use crate::driver::list_request::ask;
use crate::driver::message::{NewProcess, PendingLists};
use crate::driver::worker_label::WorkerLabel;
use crate::from_tool::inline_events::EventTap;
use crate::from_tool::list_control::{self, PendingRegistration};
use crate::generation::Generation;
use crate::launch::{Fallback, Launch, Lent};
use crate::process::middleware::MiddlewareChain;
use crate::process::sdk::SdkFeatures;
use crate::process::tool_process::{Child, Connection, ToolProcess};
use crate::skill_folders::SkillFolders;

/// The time for the exit of a process whose link closed, so that the error can name it.
const EXIT_WAIT: Duration = Duration::from_millis(250);
/// The time for a process to announce itself, when the one before may have a state for it. SDKs do so first of all.
const ANNOUNCEMENT: Duration = Duration::from_secs(5);
/// The time for a process to register after the state of the one before: calls wait for it.
const REGISTER_LIMIT: Duration = Duration::from_secs(5);
/// The name of the variable with the socket's path for the SDK (docs/envelope.md, "Start of a process").
const SOCKET_VARIABLE: &str = "PROTOMCP_SOCKET";

/// The settings of the tool process.
#[derive(Debug, Clone)]
pub(crate) struct ProcessSettings {
    pub(crate) launch: Launch,
    /// The prefix of each line that the process prints.
    pub(crate) name: String,
    /// The most concurrent calls; `None` for the number that the process announces, or the usual one.
    pub(crate) concurrency: Option<usize>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) link: Config,
    pub(crate) stop: StopPolicy,
    /// Its number, from 1 on, if it is one of several.
    pub(crate) worker: Option<usize>,
    /// Clients see its lists.
    pub(crate) shows_lists: bool,
    /// The folders of skills that the process names.
    pub(crate) skills: SkillFolders,
}

/// Starts processes with these settings.
#[derive(Debug)]
pub(crate) struct Launcher {
    settings: ProcessSettings,
    /// True once the fallback was needed; it is then used from the start.
    fell_back: AtomicBool,
    /// The last line of the log about the origin of the SDK.
    origin: Mutex<&'static str>,
    pub(crate) tap: EventTap,
}

/// A process that takes calls.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) process: NewProcess,
    pub(crate) registered: Registration,
}

/// A process that has connected and registered.
struct Connected {
    connection: Connection,
    events: mpsc::Receiver<Event>,
    pending: PendingLists,
    registered: Registration,
}

impl Launcher {
    pub(crate) fn new(settings: ProcessSettings, tap: EventTap) -> Self {
        Self { settings, fell_back: AtomicBool::new(false), origin: Mutex::default(), tap }
    }

    /// A text about the process, with the number of the worker.
    pub(crate) fn named(&self, text: &str) -> String {
        format!("{}{text}", self.worker())
    }

    /// The label of the worker.
    pub(crate) fn worker(&self) -> WorkerLabel {
        WorkerLabel(self.settings.worker)
    }

    /// True if clients see the lists of the process.
    pub(crate) fn shows_lists(&self) -> bool {
        self.settings.shows_lists
    }

    /// Starts the process and waits until it takes calls, or until it is `superseded`. All parts of it are gone after
    /// an error. A program that was found for the file and fails is named in the log.
    pub(crate) async fn start(
        &self,
        superseded: &CancellationToken,
        handover: &Handover,
    ) -> Result<Started, StartError> {
        let outcome = self.attempts(superseded, handover).await;
        let Err(StartError::Spawn(_) | StartError::Exited(_) | StartError::NoSdk { .. }) = &outcome else {
            return outcome;
        };
        if let Some(note) = &self.settings.launch.note {
            tracing::warn!("{note}");
        }
        outcome
    }

    async fn attempts(&self, superseded: &CancellationToken, handover: &Handover) -> Result<Started, StartError> {
        let Launch { command, fallback, .. } = &self.settings.launch;
        let Some(Fallback { command: second, reason }) = fallback else {
            return self.attempt(command, superseded, handover).await;
        };
        if self.fell_back.load(Ordering::Relaxed) {
            return self.attempt(second, superseded, handover).await;
        }
        match self.attempt(command, superseded, handover).await {
            Err(StartError::Exited(exit)) if reason.holds(&exit) => {
                tracing::info!("{}", reason.text());
                let started = self.attempt(second, superseded, handover).await;
                self.fell_back.store(started.is_ok(), Ordering::Relaxed);
                started
            }
            outcome => outcome,
        }
    }

    async fn attempt(
        &self,
        command: &Command,
        superseded: &CancellationToken,
        handover: &Handover,
    ) -> Result<Started, StartError> {
        let (socket, generation) = (&self.settings.socket, handover.generation());
        let path = match socket {
            Some(path) => path.clone(),
            None => default_socket_path()?,
        };
        let (command, lent) = self.lend(command).await?;
        let command = command.env_socket(SOCKET_VARIABLE, &path);
        // The guardian, which removes the socket file in the worst case, starts before the file exists.
        let prepared = Process::prepare(&command).await?;
        let endpoint = if socket.is_some() { Endpoint::bind(&path)? } else { Endpoint::bind_private(&path)? };
        let child = self.start_process(prepared, generation).await?;
        let joined = tokio::select! {
            biased;
            joined = self.join(endpoint, &child.exit, handover) => joined,
            () = superseded.cancelled() => Err(StartError::Superseded),
        };
        let Connected { connection, events, pending, registered } = match joined {
            Ok(joined) => joined,
            Err(error) => {
                // The next process must not start while this one runs.
                child.process.kill();
                ended(&child.exit).await;
                return Err(match error {
                    StartError::Exited(exit) => match lent.remedy(&exit.stderr_tail) {
                        Some(remedy) => StartError::NoSdk { exit, remedy },
                        None => StartError::Exited(exit),
                    },
                    error => error,
                });
            }
        };
        if !self.settings.launch.lending.is_none() {
            self.note_origin(lent.origin(&connection.sdk));
        }
        let chain = MiddlewareChain::new(registered.middleware.clone());
        let concurrency = self.settings.concurrency.or(connection.sdk.calls);
        let concurrency = concurrency.unwrap_or(self.settings.launch.concurrency);
        let process = ToolProcess::new(generation, child, connection, concurrency, chain);
        Ok(Started { process: NewProcess { process, events, pending }, registered })
    }

    /// Logs the origin of the SDK, unless it is the same as for the process before.
    fn note_origin(&self, origin: &'static str) {
        let before = mem::replace(&mut *self.origin.lock().unwrap_or_else(PoisonError::into_inner), origin);
        if before != origin {
            tracing::info!("{}", self.named(origin));
        }
    }

    /// The command with an SDK, if it may borrow one.
    async fn lend(&self, command: &Command) -> Result<(Command, Lent), StartError> {
        if self.settings.launch.lending.is_none() {
            return Ok((command.clone(), Lent::No));
        }
        let Launch { lending, connect_timeout, .. } = &self.settings.launch;
        let (lending, command) = (lending.clone(), command.clone());
        // A folder on another machine may not answer.
        let lent = tokio::task::spawn_blocking(move || lending.apply(command));
        match tokio::time::timeout(*connect_timeout, lent).await {
            Ok(Ok(lent)) => Ok(lent?),
            Ok(Err(_)) | Err(_) => Err(LendError::TimedOut.into()),
        }
    }

    /// Waits until the process has connected and registered.
    async fn join(
        &self,
        endpoint: Endpoint,
        exit: &watch::Receiver<Option<Exit>>,
        handover: &Handover,
    ) -> Result<Connected, StartError> {
        let Launch { connect_timeout, python, .. } = self.settings.launch;
        let stream = tokio::select! {
            accepted = endpoint.accept() => accepted.map_err(StartError::Accept)?,
            exit = ended(exit) => return Err(StartError::Exited(exit)),
            () = tokio::time::sleep(connect_timeout) => return Err(StartError::NotConnected(connect_timeout)),
        };
        let peer = stream.peer_process();
        let readers = if python { SocketReaders::PerhapsTwo(peer) } else { SocketReaders::One };
        let (tap, generation) = (self.tap.clone(), handover.generation());
        let config = Config { requests_list: !handover.is_expected(), ..self.settings.link.clone() };
        let (link, mut events) = drive_filtered(stream, config, move |event| tap.filter(generation, event));
        let mut pending = PendingLists::new();
        let (mut registered, sdk) = match register(&link, &mut events, &mut pending, handover).await {
            Ok(registered) => registered,
            // The link closes a moment before the exit is known; the exit is the better reason.
            Err(error @ (StartError::Disconnected | StartError::DisconnectedTakingOver)) => {
                let exit = tokio::time::timeout(EXIT_WAIT, ended(exit)).await;
                return Err(match (exit, error) {
                    (Ok(exit), StartError::DisconnectedTakingOver) => StartError::ExitedTakingOver(exit),
                    (Ok(exit), _) => StartError::ExitedRegistering(exit),
                    (Err(_), error) => error,
                });
            }
            Err(error) => return Err(error),
        };
        // All workers run the same file.
        if self.settings.worker.is_none_or(|number| number == 1) {
            let named = mem::take(&mut registered.skill_folders);
            self.settings.skills.pass_on(&named, peer).await.map_err(StartError::Skills)?;
        }
        // A process that announces itself reads its socket on one thread.
        let readers = if sdk.announced { SocketReaders::One } else { readers };
        let connection = Connection { link, readers, sdk };
        Ok(Connected { connection, events, pending, registered })
    }

    async fn start_process(&self, prepared: Prepared<'_>, generation: Generation) -> Result<Child, StartError> {
        let (process, events) = prepared.start(self.settings.stop).await?;
        let (sender, exit) = watch::channel(None);
        tokio::spawn(follow(events, sender, generation, self.settings.name.clone()));
        Ok(Child { process, exit })
    }
}

/// True if the log has the lines that a process prints on standard error.
pub(crate) fn logs_lines() -> bool {
    tracing::enabled!(target: "tool::stderr", tracing::Level::INFO)
}

/// Reads the events of a process until its end: lines are logged, the exit is kept.
async fn follow(
    mut events: mpsc::Receiver<protomcp_supervisor::Event>,
    exit: watch::Sender<Option<Exit>>,
    generation: Generation,
    name: String,
) {
    use protomcp_supervisor::Event;
    while let Some(event) = events.recv().await {
        match event {
            Event::Started { pid } => tracing::debug!(%generation, pid, "the tool process runs"),
            // The output of a tool is for its author: the log level never hides it, and it never goes to our stdout.
            Event::Line { stream: Stream::Stdout, text } => tracing::info!(target: "tool::stdout", "[{name}] {text}"),
            Event::Line { stream: Stream::Stderr, text } => tracing::info!(target: "tool::stderr", "[{name}] {text}"),
            Event::CloseLink => {}
            Event::Exited(end) => {
                tracing::debug!(%generation, "the tool process {end}");
                exit.send_replace(Some(end));
            }
        }
    }
}

async fn ended(exit: &watch::Receiver<Option<Exit>>) -> Exit {
    let ended = exit.clone().wait_for(Option::is_some).await.ok().and_then(|exit| exit.clone());
    match ended {
        Some(exit) => exit,
        // The follower ends only after it has reported the exit.
        None => std::future::pending().await,
    }
}

/// The state of the process before, the handshake, the tool list control right after it, and the lists other than
/// tools.
async fn register(
    link: &Link,
    events: &mut mpsc::Receiver<Event>,
    open: &mut PendingLists,
    handover: &Handover,
) -> Result<(Registration, SdkFeatures), StartError> {
    let mut draft = PendingRegistration::default();
    let Handshake { tools, mut middleware, .. } = shake_hands(link, events, &mut draft, handover).await?;
    draft.begin_with(tools.as_deref().unwrap_or_default());
    let mut catalog = Vec::new();
    for kind in Kind::ALL {
        let link = link.clone();
        open.spawn(async move {
            match ask(&link, kind, START_TIMEOUT).await {
                Some(Err(CallError::Closed(reason))) => Err(reason),
                Some(Ok(listed)) => Ok(listed),
                // An SDK that does not know the request is silent.
                Some(Err(_)) | None => Ok(Listed::none(kind)),
            }
        });
    }
    let settled = tokio::time::sleep(REGISTRATION_SETTLE);
    tokio::pin!(settled);
    while !open.is_empty() {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Some(Event::Closed(_)) | None => return Err(StartError::Disconnected),
                Some(event) => list_control::answer_early(link, event, &mut draft),
            },
            Some(answer) = open.join_next() => match answer {
                Ok(Ok(listed)) => catalog.push(listed),
                Ok(Err(_)) => return Err(StartError::Disconnected),
                Err(error) => tracing::error!("a question to the tool process was lost: {error}"),
            },
            () = &mut settled => break,
        }
    }
    // Events from before the answers are ahead of them in the queue.
    while let Ok(event) = events.try_recv() {
        list_control::answer_early(link, event, &mut draft);
    }
    let tools = draft.relisted.take().or(tools);
    middleware.append(&mut draft.late);
    let (sdk, renewed) = (draft.sdk, mem::take(&mut draft.renewed));
    let skill_folders = mem::take(&mut draft.skill_folders);
    let registered = Registration {
        tools: tools.map(Into::into),
        middleware,
        early: draft.into_commands(),
        catalog,
        renewed,
        skill_folders,
        in_place: false,
        structured: sdk.structured,
    };
    Ok((registered, sdk))
}

/// The handshake, after the state of the process before, if there may be one.
async fn shake_hands(
    link: &Link,
    events: &mut mpsc::Receiver<Event>,
    draft: &mut PendingRegistration,
    handover: &Handover,
) -> Result<Handshake, StartError> {
    if !handover.is_expected() {
        return registered(link, events, draft).await;
    }
    let calls_wait = take_over(link, events, draft, handover).await?;
    link.begin();
    if !calls_wait {
        return registered(link, events, draft).await;
    }
    let registered = tokio::time::timeout(REGISTER_LIMIT, registered(link, events, draft));
    registered.await.map_err(|_| StartError::Handshake(HandshakeError::TimedOut(REGISTER_LIMIT)))?
}

/// The events of a process until it has registered.
async fn registered(
    link: &Link,
    events: &mut mpsc::Receiver<Event>,
    draft: &mut PendingRegistration,
) -> Result<Handshake, StartError> {
    loop {
        match events.recv().await {
            Some(Event::Ready(handshake)) => return Ok(handshake),
            Some(Event::HandshakeFailed(error)) => return Err(StartError::Handshake(error)),
            Some(Event::Closed(_)) | None => return Err(StartError::Disconnected),
            Some(event) => list_control::answer_early(link, event, draft),
        }
        // A process that sends messages without a pause while it starts delays no other task.
        tokio::task::yield_now().await;
    }
}

/// Takes over the state of the process before. Returns false if the new one does not announce that it can.
async fn take_over(
    link: &Link,
    events: &mut mpsc::Receiver<Event>,
    draft: &mut PendingRegistration,
    handover: &Handover,
) -> Result<bool, StartError> {
    let announced = tokio::time::timeout(ANNOUNCEMENT, announcement(link, events, draft));
    // A process that does not announce itself is silent until it gets the request for its list.
    if !announced.await.unwrap_or(Ok(false))? {
        tracing::info!("the new version has no function that takes over the state of the version before");
        return Ok(false);
    }
    let mut taking_over = pin!(handover.carry_out(link));
    loop {
        tokio::select! {
            biased;
            event = events.recv() => match event {
                Some(Event::Closed(_)) | None => return Err(StartError::DisconnectedTakingOver),
                Some(event) => list_control::answer_early(link, event, draft),
            },
            taken_over = &mut taking_over => return taken_over.map(|()| true),
        }
    }
}

/// The events of a process until it has announced itself. Returns true if it takes over states.
async fn announcement(
    link: &Link,
    events: &mut mpsc::Receiver<Event>,
    draft: &mut PendingRegistration,
) -> Result<bool, StartError> {
    while !draft.sdk.announced {
        match events.recv().await {
            Some(Event::Closed(_)) | None => return Err(StartError::Disconnected),
            Some(event) => list_control::answer_early(link, event, draft),
        }
    }
    Ok(draft.sdk.hands_over)
}
