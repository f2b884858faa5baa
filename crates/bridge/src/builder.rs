//! The configuration of a bridge, with safe defaults.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use protomcp_link::Config;
use protomcp_server::{Limits, Server, ServerHandle, ServerInfo, TaskLimits, Tasks};
use protomcp_supervisor::{Command, Guardian, StopPolicy};
use protomcp_types::ServerCapabilities;
use protomcp_watch::Watch;
use tokio::sync::{SetOnce, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::bridge::Bridge;
use crate::call::{Calls, LONGEST_TASK};
use crate::catalog::arguments::ArgumentPolicy;
use crate::catalog::tool::SchemaPolicy;
use crate::clock::now;
use crate::core::io::ReloadMode;
use crate::core::list::{List, ToolLists};
use crate::core::{self, Core, FirstVersion};
use crate::diagnostics::setting::{Setting, SettingNames};
use crate::diagnostics::start_error::StartError;
use crate::dispatcher::{Dispatcher, QueueLimits};
use crate::driver::inbox::Inbox;
use crate::driver::launcher::{Launcher, ProcessSettings};
use crate::driver::watching::watch_files;
use crate::driver::{Driver, First, INPUTS, Shared};
use crate::exposition::BridgeMetrics;
use crate::from_tool::inline_events::EventTap;
use crate::handler::Backend;
use crate::metrics::Metrics;
use crate::tool_file::{Launch, ToolFile};

/// The most calls that wait for the tool process, of all sessions together.
const MAX_WAITING: usize = 4096;
/// The time that each may wait for its turn: three calls of the default length.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// The time of a handler whose call was given up, while it keeps others from running.
const HANDLER_GRACE: Duration = Duration::from_secs(10);
/// The most processes of earlier versions that finish their calls at the same time.
const MAX_RETIRING: usize = 4;
/// Concurrent calls of a command of unknown kind.
const CONCURRENCY: usize = 256;

/// Describes a bridge; [`start`](Self::start) makes it one.
#[derive(Debug)]
pub struct Builder {
    process: ProcessSettings,
    watch: Option<Watch>,
    first: FirstVersion,
    mode: ReloadMode,
    schemas: SchemaPolicy,
    lists: ToolLists,
    arguments: Option<ArgumentPolicy>,
    settings: SettingNames,
    call_timeout: Duration,
    queue_timeout: Duration,
    max_retiring: usize,
    limits: Limits,
    info: ServerInfo,
}

impl Builder {
    /// A bridge to the tools of a file, run by the program that its extension suggests.
    pub fn tool_file(file: &ToolFile) -> Self {
        let name = file.path().file_name().map_or_else(|| "tool".into(), |name| name.to_string_lossy().into_owned());
        Self::new(file.launch(), name)
    }

    /// A bridge to the tools of a command.
    pub fn command(command: Command) -> Self {
        let name = command.program().to_string_lossy().into_owned();
        let connect_timeout = Duration::from_secs(30);
        Self::new(Launch { command, bootstrap: None, connect_timeout, concurrency: CONCURRENCY, python: false }, name)
    }

    fn new(launch: Launch, name: String) -> Self {
        Self {
            process: ProcessSettings {
                launch,
                name,
                concurrency: None,
                socket: None,
                link: Config::default(),
                stop: StopPolicy::default(),
            },
            watch: None,
            first: FirstVersion::Required,
            mode: ReloadMode::default(),
            schemas: SchemaPolicy::default(),
            lists: ToolLists::default(),
            arguments: None,
            settings: Setting::name,
            call_timeout: Duration::from_secs(300),
            queue_timeout: QUEUE_TIMEOUT,
            max_retiring: MAX_RETIRING,
            limits: Limits {
                drain_timeout: Duration::from_secs(5),
                tasks: TaskLimits { max_ttl: LONGEST_TASK, ..TaskLimits::default() },
                ..Limits::default()
            },
            info: ServerInfo::new("protomcp", env!("CARGO_PKG_VERSION")),
        }
    }

    /// Reloads when these files change. Without it only [`Bridge::reload`] does.
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Continues if the first version does not start: the lists are empty, the log and the clients are told the reason,
    /// and the next change starts it anew. By default the bridge ends ([`RunError::Start`](crate::RunError::Start)), and
    /// it always does if there is no program or no socket.
    #[must_use]
    pub fn wait_for_fix(mut self) -> Self {
        self.first = FirstVersion::Awaited;
        self
    }

    /// Sets the way in which a change takes effect. Default [`ReloadMode::Graceful`].
    #[must_use]
    pub fn reload_mode(mut self, mode: ReloadMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the scope of a tool that shows or hides tools. Default [`ToolLists::PerSession`]. Requests without a
    /// session change no list (MCP 2026-07-28, server/tools).
    #[must_use]
    pub fn tool_lists(mut self, lists: ToolLists) -> Self {
        self.lists = lists;
        self
    }

    /// Sets when output schemas are advertised. Default [`SchemaPolicy::Proven`].
    #[must_use]
    pub fn output_schemas(mut self, policy: SchemaPolicy) -> Self {
        self.schemas = policy;
        self
    }

    /// Sets the treatment of arguments that do not match the input schema of their tool. Default
    /// [`ArgumentPolicy::Reject`] for a process that announces `validated-arguments`, [`ArgumentPolicy::Warn`] for
    /// others.
    #[must_use]
    pub fn validate_arguments(mut self, policy: ArgumentPolicy) -> Self {
        self.arguments = Some(policy);
        self
    }

    /// Limits the time of one call, from its turn on, with the middleware around it and the task it may become. Default
    /// 5 minutes.
    ///
    /// The handler of a cancelled call may continue in a process that runs one handler at a time; it gets the same time
    /// again before the next call is sent.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// Limits the time that a call waits for its turn, and for a process that is reloading or restarting. Then it
    /// fails, as retryable. Default 15 minutes.
    #[must_use]
    pub fn queue_timeout(mut self, timeout: Duration) -> Self {
        self.queue_timeout = timeout;
        self
    }

    /// Limits the time of calls after a client has disconnected or the bridge is shut down. Default 5 s.
    #[must_use]
    pub fn drain_timeout(mut self, timeout: Duration) -> Self {
        self.limits.drain_timeout = timeout;
        self
    }

    /// Pings clients that were silent for this long, and closes the sessions of those that do not answer for 30 s.
    /// Default: never.
    #[must_use]
    pub fn ping_interval(mut self, interval: Duration) -> Self {
        self.limits.ping_interval = Some(interval);
        self
    }

    /// Sets the number of concurrent calls. By default the process announces it; otherwise it is 1 for files of
    /// scripting languages, whose published SDKs run one handler at a time and can lose a second call, and 256 for all
    /// others.
    #[must_use]
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.process.concurrency = Some(calls.max(1));
        self
    }

    /// Limits the time that a started process has to connect. Default 30 s; 10 minutes for programs that may compile or
    /// download first.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.process.launch.connect_timeout = timeout;
        self
    }

    /// Listens on this path instead of an unguessable one.
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.process.socket = Some(path.into());
        self
    }

    /// Sets the guardian, which kills every process that would outlive the bridge. See [`Guardian`] for the default.
    #[must_use]
    pub fn guardian(self, guardian: Guardian) -> Self {
        self.each_command(move |command| command.guardian(guardian.clone()))
    }

    /// Sets the largest envelope from and to the tool process, in bytes. Default 64 MiB. A call whose arguments exceed
    /// it fails with `ARGUMENTS_TOO_LARGE` without being sent.
    #[must_use]
    pub fn max_frame(mut self, bytes: usize) -> Self {
        self.process.link.limits.max_frame = bytes;
        self
    }

    /// Sets the largest result after reassembly and inflation, in bytes. Default 256 MiB.
    #[must_use]
    pub fn max_result(mut self, bytes: u64) -> Self {
        self.process.link.limits.max_payload = bytes;
        self
    }

    /// Sets the most unanswered requests of one session. A further one is answered with −32603 at once. Default 1024.
    #[must_use]
    pub fn max_pending(mut self, requests: usize) -> Self {
        self.limits.max_pending = requests.max(1);
        self
    }

    /// Sets the most processes of earlier versions that finish their calls at the same time, at least one. At the limit
    /// the next reload waits for one of them, and the log names its calls. Default 4.
    #[must_use]
    pub fn max_retiring(mut self, processes: usize) -> Self {
        self.max_retiring = processes.max(1);
        self
    }

    /// Sets the times between the steps in which processes are stopped.
    #[must_use]
    pub fn stop_policy(mut self, policy: StopPolicy) -> Self {
        self.process.stop = policy;
        self
    }

    /// Sets a variable in the environment of the tool process, which otherwise inherits that of this one.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.each_command(|command| command.env(name.clone(), value.clone()))
    }

    /// Sets the description that the bridge gives of itself. Default: `protomcp` and the version of this crate. Its
    /// capabilities are always those of a bridge.
    #[must_use]
    pub fn info(mut self, info: ServerInfo) -> Self {
        self.info = info;
        self
    }

    /// Names settings in suggestions, as the flags of a command for example. Default [`Setting::name`].
    #[must_use]
    pub fn setting_names(mut self, names: fn(Setting) -> &'static str) -> Self {
        self.settings = names;
        self
    }

    fn each_command(mut self, change: impl Fn(Command) -> Command) -> Self {
        let launch = &mut self.process.launch;
        launch.command = change(launch.command.clone());
        launch.bootstrap = launch.bootstrap.take().map(change);
        self
    }

    /// Starts the tool process and waits until it takes calls.
    ///
    /// # Errors
    /// See [`StartError`]; nothing is left running.
    pub async fn start(self) -> Result<Bridge, StartError> {
        let (bridge, starting) = self.launch();
        match starting.wait().await {
            Ok(()) => Ok(bridge),
            Err(error) => {
                bridge.shutdown().await;
                Err(error)
            }
        }
    }

    /// Starts the tool process without waiting for it. Clients can be served at once: the handshake is answered, and
    /// requests that need the tools wait for them. Must be called inside a tokio runtime with I/O and timers.
    pub fn launch(self) -> (Bridge, Starting) {
        // A later save may come too late for the process, and before the first scan of the watcher.
        let since = SystemTime::now();
        let core_limits = core::Limits { call_timeout: self.call_timeout, max_retiring: self.max_retiring };
        let (core, effects) = Core::new(now(), self.mode, List::new(self.schemas, self.lists), core_limits, self.first);
        let info = self.info.with_capabilities(capabilities());
        let sessions = ServerHandle::new(info.clone(), self.limits);
        let metrics = Arc::new(Metrics::default());
        let waits = QueueLimits {
            capacity: MAX_WAITING,
            turn: self.queue_timeout,
            handler: self.call_timeout,
            grace: HANDLER_GRACE,
        };
        let (dispatcher, loads) = Dispatcher::new(waits, Arc::clone(&metrics), sessions.clone());
        let (sender, inputs) = mpsc::channel(INPUTS);
        // A session ends once, and its end cannot wait.
        let (ended, closed) = mpsc::unbounded_channel();
        let (owner, outcome) = oneshot::channel();
        let (stop, requests) = (CancellationToken::new(), Arc::new(SetOnce::new()));
        let shared = Shared { dispatcher, metrics, snapshot: Arc::default(), sessions, sender };

        let calls = Calls {
            dispatcher: Arc::clone(&shared.dispatcher),
            inputs: shared.sender.clone(),
            timeout: self.call_timeout,
            arguments: self.arguments,
            settings: self.settings,
            metrics: Arc::clone(&shared.metrics),
        };
        let backend = Backend {
            info,
            snapshot: Arc::clone(&shared.snapshot),
            calls: Arc::new(calls),
            tasks: Tasks::new(shared.sessions.clone()),
            started: Arc::clone(&requests),
            ended,
        };
        // A call of the bridge only waits for the tool process, so it needs no task of its own.
        let server = Server::with_sessions(shared.sessions.clone(), backend).inline_calls();
        let exposition = BridgeMetrics {
            metrics: Arc::clone(&shared.metrics),
            dispatcher: Arc::clone(&shared.dispatcher),
            traffic: Arc::clone(&self.process.link.byte_counters),
        };
        let tap = EventTap::new(Arc::clone(&shared.dispatcher), shared.sessions.clone());
        let launcher = Launcher::new(self.process, tap);
        let inbox = Inbox { stop: stop.clone(), loads, closed, inputs };
        let (inputs, availability) = (shared.sender.clone(), shared.dispatcher.availability());
        let driver = Driver::new(core, shared, launcher, inbox, First { requests, owner });
        let run = tokio::spawn(driver.run(effects));
        let watcher = self.watch.map(|watch| tokio::spawn(watch_files(watch.since(since), inputs.clone())));
        (Bridge { server, metrics: exposition, availability, inputs, stop, run, watcher }, Starting(outcome))
    }
}

/// All capabilities that a tool file may need: they are declared once, and the next reload may add the entries.
fn capabilities() -> ServerCapabilities {
    let capabilities = ServerCapabilities::default().with_tools().with_resources();
    capabilities.with_tasks().with_task_extension().with_prompts().with_completions().with_logging()
}

/// The running first start of a tool process.
#[derive(Debug)]
pub struct Starting(oneshot::Receiver<Result<(), StartError>>);

impl Starting {
    /// Waits until the process takes calls or has failed.
    ///
    /// # Errors
    /// See [`StartError`]; the process is gone, and requests of clients are answered with an error.
    pub async fn wait(mut self) -> Result<(), StartError> {
        match (&mut self.0).await {
            Ok(outcome) => outcome,
            // The bridge was shut down: nothing starts, and there is no failure to report.
            Err(_) => std::future::pending().await,
        }
    }
}
