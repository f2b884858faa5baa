//! The session with the server that the command line names.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use protomcp_bridge::{Bridge, RegisteredTool, ToolFile};
use protomcp_check::Trace;
use protomcp_check::scenario::{Questions, Scenario};
use protomcp_client::{
    Client, ClientLimits, ClientSession, CloseReason, Command, CommandTransport, Mode, SpawnedError,
};
use protomcp_transport::{Transport, memory};

use crate::advice::with_advice;
use crate::args::choices::EraChoice;
use crate::args::client::{Answer, ServerFlags, Target};
#[cfg(feature = "upstream")]
use crate::args::shown_url::shown;
use crate::args::tool::server_words;
use crate::client::answers::Answers;
use crate::client::file_skills::{FileSkills, Named};
use crate::client::form;
use crate::client::refusal::Asking;
#[cfg(feature = "upstream")]
use crate::client::remote_connection;
use crate::exit::Failure;
use crate::lending;
use crate::served_file::ServedFile;
use crate::waiting;

/// The time for a server to end its session.
const CLOSE: Duration = Duration::from_secs(5);

/// The longest time of a request if progress prolongs it.
pub(super) const TOTAL: Duration = Duration::from_secs(3600);

/// The time for a server to be connected.
const OPEN: Duration = Duration::from_secs(30);

/// A client, and the trace of its messages if they are recorded.
pub(super) struct Caller {
    client: Client,
    trace: Option<Trace>,
}

impl Caller {
    pub(super) async fn connect(&self, transport: impl Transport) -> Result<ClientSession, CloseReason> {
        match &self.trace {
            Some(trace) => self.client.connect(trace.tap(transport)).await,
            None => self.client.connect(transport).await,
        }
    }
}

/// A session, and the bridge of the tool file at its other end.
pub(super) struct Connection {
    pub(super) session: ClientSession,
    bridge: Option<Bridge>,
    skills: FileSkills,
    answers: Answers,
}

impl Connection {
    /// Opens a session with the server.
    pub(super) async fn open(target: Target, flags: &ServerFlags) -> Result<Self, Failure> {
        Self::open_in(Mode::Auto, target, flags, Answers::default()).await
    }

    /// Like [`Connection::open`], for calls. Some servers that have both eras can ask in sessions only, so a user who can be
    /// asked has one, and one who has given `answers`.
    pub(super) async fn open_to_call(target: Target, flags: &ServerFlags, answers: &[Answer]) -> Result<Self, Failure> {
        let answers = Answers::new(answers.to_vec());
        let is_asked = !answers.is_empty() || form::has_terminal();
        Self::open_in(if is_asked { Mode::StatefulFirst } else { Mode::Auto }, target, flags, answers).await
    }

    /// Opens a session in these eras, unless the user has chosen one.
    async fn open_in(eras: Mode, target: Target, flags: &ServerFlags, answers: Answers) -> Result<Self, Failure> {
        let (target, file) = checked(target, flags)?;
        // A tool file has the same abilities in both eras.
        let eras = if matches!(target, Target::File(_)) { Mode::Auto } else { eras };
        let client = client(Client::new("pmcp", env!("CARGO_PKG_VERSION")).mode(eras), &target, flags, &answers);
        let connection = Self::open_shown(Caller { client, trace: None }, target, flags).await;
        Ok(Self { answers, ..connection.map_err(|failure| explained(failure, file.as_ref()))? })
    }

    /// Opens a session whose messages are recorded. Tool files get a client with a session, which sees changes of lists.
    /// `scenario` answers questions of the server in place of a person.
    pub(super) async fn open_for_test(
        target: Target,
        flags: &ServerFlags,
        trace: &Trace,
        scenario: Option<(&Scenario, &Questions)>,
    ) -> Result<Self, Failure> {
        let (target, file) = checked(target, flags)?;
        // The name that the older Go program has used.
        let client = Client::new("protomcp-test-engine", "1.0.0");
        let client = if matches!(target, Target::File(_)) { client.mode(Mode::Stateful) } else { client };
        let client = self::client(client, &target, flags, &Answers::default());
        let client = match scenario {
            Some((scenario, questions)) => {
                scenario.client(client, questions).map_err(|error| Failure::usage(error.to_string()))?
            }
            None => client,
        };
        let connection = Self::open_shown(Caller { client, trace: Some(trace.clone()) }, target, flags).await;
        connection.map_err(|failure| explained(failure, file.as_ref()))
    }

    /// A person sees that a server takes its time.
    async fn open_shown(caller: Caller, target: Target, flags: &ServerFlags) -> Result<Self, Failure> {
        let what = match &target {
            Target::File(path) => format!("starting {}", path.display()),
            #[cfg(feature = "upstream")]
            Target::Url(url) => format!("connecting to {}", shown(url)),
            #[cfg(feature = "upstream")]
            Target::Proto(server) => format!("connecting to {}", shown(&server.url)),
            Target::Command(words) => {
                format!("starting {}", words.first().map(|word| word.to_string_lossy()).unwrap_or_default())
            }
        };
        if flags.log.is_quiet() {
            waiting::give_way();
        }
        waiting::shown(&what, Self::open_as(caller, target, flags)).await
    }

    async fn open_as(caller: Caller, target: Target, flags: &ServerFlags) -> Result<Self, Failure> {
        let session = match target {
            Target::File(file) => return to_file(&caller, &file, flags).await,
            #[cfg(feature = "upstream")]
            Target::Url(url) => remote_connection::to_url(&caller, &url, flags).await?,
            #[cfg(feature = "upstream")]
            Target::Proto(server) => remote_connection::to_proto(&caller, &server, flags).await?,
            Target::Command(words) => to_command(&caller, &words).await?,
        };
        Ok(Self { session, bridge: None, skills: FileSkills::default(), answers: Answers::default() })
    }

    /// The ways in which the server can ask its user.
    pub(super) fn asking(&self) -> Asking {
        let is_stateless = self.bridge.is_none() && !self.session.server().is_stateful();
        Asking { is_possible: !self.answers.is_empty() || form::has_terminal(), is_stateless }
    }

    /// The tools that the process of a tool file has registered; `None` for other servers.
    pub(super) fn registered_tools(&self) -> Option<Vec<RegisteredTool>> {
        self.bridge.as_ref().map(Bridge::registered_tools)
    }

    /// The folders of skills that a tool file names; `None` for other servers.
    pub(super) fn named_skills(&self) -> Option<Named> {
        self.bridge.as_ref().map(|_| self.skills.named())
    }

    /// Ends the session, and the process behind it.
    pub(super) async fn close(self) {
        self.answers.warn_of_unused();
        self.session.close(CLOSE).await;
        if let Some(bridge) = self.bridge {
            bridge.shutdown().await;
        }
    }
}

/// The server that the flags are for. A file that is an MCP server with another SDK is a command.
fn checked(target: Target, flags: &ServerFlags) -> Result<(Target, Option<ServedFile>), Failure> {
    // A header that is none is an error for any server.
    #[cfg(feature = "upstream")]
    flags.headers(|name| std::env::var(name).ok())?;
    flags.check(&target)?;
    let Target::File(path) = &target else { return Ok((target, None)) };
    let file = flags.runtime.iter().fold(ToolFile::new(path), ToolFile::runtime);
    let Some(words) = server_words(&file) else { return Ok((target, None)) };
    let served = ServedFile::new(path, &words);
    tracing::info!("{}", served.note());
    Ok((Target::Command(words), Some(served)))
}

/// The failure of the command of a file, with the way out.
fn explained(failure: Failure, file: Option<&ServedFile>) -> Failure {
    match file {
        Some(file) => failure.map(|text| file.explain(text)),
        None => failure,
    }
}

/// A client that asks its user on the terminal, if there is one. With `answers` it answers forms by itself.
fn client(client: Client, target: &Target, flags: &ServerFlags, answers: &Answers) -> Client {
    let limits = ClientLimits {
        open_timeout: open_timeout(target, flags.timeout),
        timeout: flags.timeout,
        total_timeout: flags.timeout.max(TOTAL),
        ..ClientLimits::default()
    };
    let client = flags.era.map(EraChoice::mode).into_iter().fold(client.limits(limits), Client::mode);
    match answers.clone() {
        answers if !answers.is_empty() => {
            client.on_elicit(move |question, _| std::future::ready(answers.fill_in(&question)))
        }
        _ if form::has_terminal() => client.on_elicit_with_urls(|question, _| form::answer(question)),
        _ => client.observe_refused_questions(form::refused),
    }
}

/// The time for a server to be connected, which has no more than its answer.
fn open_timeout(target: &Target, timeout: Duration) -> Duration {
    match target {
        #[cfg(feature = "upstream")]
        Target::Url(_) => remote_connection::open_timeout(timeout),
        #[cfg(feature = "upstream")]
        Target::Proto(_) => OPEN.min(timeout),
        Target::File(_) | Target::Command(_) => OPEN.min(timeout),
    }
}

async fn to_file(caller: &Caller, path: &Path, flags: &ServerFlags) -> Result<Connection, Failure> {
    let mut file = ToolFile::new(path).lend(lending::lender(flags.sdk.unwrap_or_default()));
    if let Some(runtime) = &flags.runtime {
        file = file.runtime(runtime);
    }
    let skills = FileSkills::default();
    let named = skills.clone();
    let bridge = Bridge::tool_file(&file)
        .max_connect_timeout(flags.timeout)
        .skill_folders(move |folders| named.clone().serve(folders))
        .start()
        .await
        .map_err(|error| Failure::from(&error))?;
    let (near, far) = memory::pair();
    let server = skills.skills().serve(bridge.server());
    tokio::spawn(async move { server.serve(far).await });
    match caller.connect(near).await {
        Ok(session) => Ok(Connection { session, bridge: Some(bridge), skills, answers: Answers::default() }),
        Err(error) => {
            bridge.shutdown().await;
            Err(cannot_connect(&path.display().to_string(), error))
        }
    }
}

async fn to_command(caller: &Caller, words: &[OsString]) -> Result<ClientSession, Failure> {
    let (program, arguments) = words.split_first().expect("the command line names a program");
    let command = arguments.iter().fold(Command::new(program), Command::arg);
    let name = program.to_string_lossy().into_owned();
    let shown = name.clone();
    let transport = CommandTransport::new(command).on_stderr(move |line| tracing::info!("{shown}: {line}"));
    let session = match &caller.trace {
        None => caller.client.spawn_transport(transport).await,
        Some(trace) => match transport.spawn().await {
            Ok(running) => caller.client.connect(trace.tap(running)).await.map_err(SpawnedError::Connect),
            Err(error) => Err(SpawnedError::Spawn(error)),
        },
    };
    session.map_err(|error| match error {
        SpawnedError::Spawn(spawn) => Failure::from(&spawn),
        error => cannot_connect(&name, error),
    })
}

pub(super) fn cannot_connect(server: &str, error: impl std::fmt::Display) -> Failure {
    Failure::failed(with_advice(&format!("cannot connect to {server}: {error}")))
}
