//! The configuration of a bridge, with safe defaults.

mod assembly;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use protomcp_link::{Config, Tap};
use protomcp_server::{Limits, RequestStateKeys, ServerInfo, Stores, TaskLimits};
use protomcp_supervisor::{Command, Guardian, StopPolicy};
use protomcp_watch::Watch;
use tokio::sync::oneshot;

use crate::bridge::Bridge;
use crate::call::LONGEST_TASK;
use crate::catalog::arguments::ArgumentPolicy;
use crate::catalog::tool::SchemaPolicy;
use crate::core::FirstVersion;
use crate::core::io::ReloadMode;
use crate::core::list::ToolLists;
use crate::diagnostics::setting::{Setting, SettingNames};
use crate::diagnostics::start_error::StartError;
use crate::driver::launcher::ProcessSettings;
use crate::driver::watching::Watched;
use crate::launch::Launch;
use crate::pool::MAX_WORKERS;
use crate::pool::affinity::WorkerAffinity;
use crate::skill_folders::SkillFolders;
use crate::tool_file::ToolFile;

/// The most calls that wait for the tool process, of all sessions together.
const MAX_WAITING: usize = 4096;
/// The time that each may wait for its turn: three calls of the default length.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15 * 60);
/// The time of a handler whose call was given up, while it keeps others from running.
const HANDLER_GRACE: Duration = Duration::from_secs(10);
/// The most processes of earlier versions that finish their calls at the same time.
const MAX_RETIRING: usize = 4;

/// Describes a bridge; [`start`](Self::start) makes it one.
#[derive(Debug)]
pub struct Builder {
    process: ProcessSettings,
    watched: Vec<Watched>,
    first: FirstVersion,
    mode: ReloadMode,
    schemas: SchemaPolicy,
    lists: ToolLists,
    arguments: Option<ArgumentPolicy>,
    settings: SettingNames,
    call_timeout: Duration,
    queue_timeout: Duration,
    max_retiring: usize,
    pool: PoolSettings,
    limits: Limits,
    shared: SharedParts,
    info: ServerInfo,
}

/// The parts that other processes may have as well.
#[derive(Debug)]
struct SharedParts {
    state_keys: RequestStateKeys,
    stores: Stores,
}

/// The tool processes behind one list.
#[derive(Debug)]
struct PoolSettings {
    workers: usize,
    affinity: WorkerAffinity,
}

impl Builder {
    /// A bridge to the tools of a file, run by the program that its extension suggests.
    pub fn tool_file(file: &ToolFile) -> Self {
        let name = file.path().file_name().map_or_else(|| "tool".into(), |name| name.to_string_lossy().into_owned());
        let mut builder = Self::new(file.launch(), name);
        builder.process.skills = SkillFolders::of(file);
        builder
    }

    /// A bridge to the tools of the process that this command starts.
    pub fn command(command: Command) -> Self {
        let name = command.program().to_string_lossy().into_owned();
        Self::new(Launch::of(command, Duration::from_secs(30)), name)
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
                worker: None,
                shows_lists: true,
                skills: SkillFolders::default(),
            },
            watched: Vec::new(),
            first: FirstVersion::Required,
            mode: ReloadMode::default(),
            schemas: SchemaPolicy::default(),
            lists: ToolLists::default(),
            arguments: None,
            settings: Setting::name,
            call_timeout: Duration::from_secs(300),
            queue_timeout: QUEUE_TIMEOUT,
            max_retiring: MAX_RETIRING,
            pool: PoolSettings { workers: 1, affinity: WorkerAffinity::default() },
            limits: Limits {
                drain_timeout: Duration::from_secs(5),
                tasks: TaskLimits { max_ttl: LONGEST_TASK, ..TaskLimits::default() },
                ..Limits::default()
            },
            shared: SharedParts { state_keys: RequestStateKeys::random(), stores: Stores::default() },
            info: ServerInfo::new("protomcp", env!("CARGO_PKG_VERSION")),
        }
    }

    /// Reloads when these files change, in addition to those that are watched already. Without it only
    /// [`Bridge::reload`] does.
    #[must_use]
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watched.push(Watched::program(watch));
        self
    }

    /// Like [`watch`](Self::watch), and notifies the subscribers of the pages of apps when another HTML, CSS, SVG or script
    /// file in these directories changes. Such a change reloads nothing.
    #[must_use]
    pub fn watch_with_pages(mut self, watch: Watch) -> Self {
        self.watched.push(Watched::with_pages(watch));
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
    /// [`ArgumentPolicy::Decode`] for a tool that sets `checks_arguments`, otherwise [`ArgumentPolicy::Reject`] for a
    /// process that announces `validated-arguments`, and [`ArgumentPolicy::Warn`] for others. The policy that is set here
    /// holds for every tool.
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

    /// Limits that time where it is longer, also the default.
    #[must_use]
    pub fn max_connect_timeout(mut self, most: Duration) -> Self {
        let timeout = &mut self.process.launch.connect_timeout;
        *timeout = most.min(*timeout);
        self
    }

    /// Listens on this path instead of an unguessable one. Further [workers](Self::workers) append `.2`, `.3` and so on.
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

    /// Serves the skills in the folders that the tool process names (`SdkInfo.skill_folders`), relative ones to the folder
    /// of the tool file. `serve` gets them at each start of the process, before it takes calls: they replace the folders of
    /// the process before, and a process that names none has an empty list. Of several [workers](Self::workers) the first
    /// one counts. An error ends the start ([`StartError::Skills`]). By default the log says that they are not served.
    #[must_use]
    pub fn skill_folders<F>(mut self, serve: impl Fn(Vec<PathBuf>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<(), String>> + Send + 'static,
    {
        self.process.skills = self.process.skills.served_by(serve);
        self
    }

    /// Shows each message between the bridge and its tool processes to `tap`.
    #[must_use]
    pub fn tap(mut self, tap: Tap) -> Self {
        self.process.link.tap = Some(tap);
        self
    }

    /// Sets the most unanswered requests of one session. A further one is answered with −32603 immediately. Default
    /// 1024.
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

    /// Sets the number of processes, so that tools which run one at a time use more than one processor. Each is started,
    /// restarted and reloaded like a single one; they reload one after another. Default 1, at most 64.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.pool.workers = workers.clamp(1, MAX_WORKERS);
        self
    }

    /// Sets how calls find one of several processes. Default [`WorkerAffinity::Session`].
    #[must_use]
    pub fn worker_affinity(mut self, affinity: WorkerAffinity) -> Self {
        self.pool.affinity = affinity;
        self
    }

    /// Sets the times between the steps in which processes are stopped.
    #[must_use]
    pub fn stop_policy(mut self, policy: StopPolicy) -> Self {
        self.process.stop = policy;
        self
    }

    /// Sets a variable in the environment of the tool process, which otherwise inherits the environment of this one.
    #[must_use]
    pub fn env(self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let (name, value) = (name.into(), value.into());
        self.each_command(|command| command.env(name.clone(), value.clone()))
    }

    /// Sets the description that the bridge gives of itself. Default: `protomcp` and the version of this crate. Its
    /// capabilities are always a bridge's.
    #[must_use]
    pub fn info(mut self, info: ServerInfo) -> Self {
        self.info = info;
        self
    }

    /// Signs the states of requests with keys that other processes have as well ([`RequestStateKeys::from_file`]). Default:
    /// a key of this bridge alone.
    #[must_use]
    pub fn state_keys(mut self, keys: RequestStateKeys) -> Self {
        self.shared.state_keys = keys;
        self
    }

    /// Sets the stores that other processes may share, and the name of this process. Default: local ones, and a random
    /// name.
    #[must_use]
    pub fn stores(mut self, stores: Stores) -> Self {
        self.shared.stores = stores;
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
        if let Some(fallback) = &mut launch.fallback {
            fallback.command = change(fallback.command.clone());
        }
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
}

/// The running first start of the tool processes.
#[derive(Debug)]
pub struct Starting(Vec<oneshot::Receiver<Result<(), StartError>>>);

impl Starting {
    /// Waits until each process takes calls or one has failed.
    ///
    /// # Errors
    /// See [`StartError`]; the process is gone, and its requests of clients are answered with an error.
    pub async fn wait(mut self) -> Result<(), StartError> {
        for outcome in &mut self.0 {
            match outcome.await {
                Ok(outcome) => outcome?,
                // The bridge was shut down: nothing starts, and there is no failure to report.
                Err(_) => std::future::pending().await,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_compiles_has_time_within_the_limit() {
        let time = |path: &str, most: u64| {
            let builder = Bridge::tool_file(&ToolFile::new(path)).max_connect_timeout(Duration::from_secs(most));
            builder.process.launch.connect_timeout.as_secs()
        };
        assert_eq!((time("a.py", 300), time("a.go", 300), time("a.go", 3600)), (30, 300, 600));
        assert_eq!((time("a.py", 3), time("a.go", 3)), (3, 3));
    }
}
