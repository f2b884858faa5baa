//! The flags of the tool process, and the bridge that they describe.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use protomcp_bridge::{Bridge, Builder, Setting, ToolFile};
use protomcp_check::{HostLayer, HostSelection};
#[cfg(feature = "upstream")]
use protomcp_server::Limits;
use protomcp_server::layer::lazy_tools::LazyTools;
use protomcp_watch::Watch;

use crate::args::admission::AdmissionFlags;
use crate::args::choices::{HotReload, OutputSchema, Sdk, ToolList, ValidateArgs};
use crate::args::features::lacking;
use crate::args::identity::IdentityFlags;
#[cfg(feature = "proto-mcp")]
use crate::args::proto::ProtoFlags;
use crate::args::refusal::USAGE;
#[cfg(feature = "proto-mcp")]
use crate::args::registry::RegistryFlags;
use crate::args::report::hosts;
use crate::args::shown_url::shown;
use crate::args::skills::{SKILLS, SkillFlags};
use crate::args::values::{call_time, patience, size, time};
use crate::args::workers::WorkerFlags;
use crate::exit::Failure;
use crate::lending;
use crate::log::{LogFlags, LogLevel};
#[cfg(feature = "upstream")]
use crate::served_file::ServedFile;

/// Flags that only matter to tool files.
pub(super) const TOOL_FILES_ONLY: [&str; 21] = [
    "hot-reload",
    "validate-args",
    "output-schema",
    "tool-list",
    "runtime",
    "sdk",
    "socket",
    "poll",
    "queue-timeout",
    "max-concurrent-calls",
    "max-frame",
    "max-result",
    "max-retiring",
    "workers",
    "worker-affinity",
    "name",
    "server-version",
    "instructions",
    "website",
    "icon",
    SKILLS,
];

/// The flags among them that matter to other servers, too, if their files are watched.
pub(super) const FOR_WATCHED_FILES: [&str; 2] = ["poll", "max-retiring"];

/// A file that is an MCP server with another SDK.
#[cfg(feature = "upstream")]
#[derive(Debug)]
pub(super) struct FileServer {
    /// The command that serves it.
    pub(super) words: Vec<OsString>,
    pub(super) file: ServedFile,
}

/// A tool file, and the treatment of its process.
#[derive(Debug, Args)]
pub(crate) struct ToolFlags {
    /// The tool file: .py, .ts, .js, .go, .rs, an executable, or the directory of a Cargo project
    pub(super) file: Option<PathBuf>,

    /// Reload mode after a save
    #[arg(long, value_name = "MODE", default_value = "graceful")]
    pub(super) hot_reload: HotReload,

    #[command(flatten)]
    pub(crate) limits: LimitFlags,

    /// Treatment of arguments that do not match a tool's input schema [default: reject if the tool announces that its
    /// schemas hold, otherwise warn]
    #[arg(long, value_name = "POLICY")]
    pub(super) validate_args: Option<ValidateArgs>,

    /// When to advertise output schemas, which strict clients enforce
    #[arg(long, value_name = "WHEN", default_value = "proven")]
    pub(super) output_schema: OutputSchema,

    /// Sessions that see the change when a tool enables or disables tools
    #[arg(long, value_name = "SCOPE", default_value = "session")]
    pub(super) tool_list: ToolList,

    /// Run the file with this program instead of the one for its extension
    #[arg(long, value_name = "PROGRAM")]
    pub(super) runtime: Option<OsString>,

    /// SDK of a Python, JavaScript or TypeScript file
    #[arg(long, value_name = "SOURCE", default_value = "auto")]
    pub(super) sdk: Sdk,

    #[command(flatten)]
    pub(super) workers: WorkerFlags,

    #[command(flatten)]
    pub(super) watching: WatchFlags,

    #[command(flatten)]
    view: ViewFlags,

    #[cfg(feature = "proto-mcp")]
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,

    /// Level of the log on stderr; output of the tool is always shown
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LogLevel,

    #[command(flatten)]
    pub(crate) log: LogFlags,

    /// Log a line for each request when it is answered, at every level: method, name, outcome, duration, session and
    /// subject, without arguments
    #[arg(long)]
    pub(crate) access_log: bool,
}

/// The way in which saves are noticed.
#[derive(Debug, Args)]
pub(super) struct WatchFlags {
    /// Poll for changes at this interval instead of using system notifications (dev only)
    #[arg(long, value_name = "DURATION", value_parser = time)]
    pub(super) poll: Option<Duration>,

    /// Paths that are watched in addition to the file.
    #[arg(skip)]
    pub(super) also: Vec<PathBuf>,

    /// The status is lines of the log, not a view.
    #[arg(skip)]
    pub(super) no_view: bool,
}

/// The view that hosts have of the server.
#[derive(Debug, Args)]
struct ViewFlags {
    /// Show hosts three tools in place of the list: search_tools, describe_tools and call_tool. Saves tokens if there are
    /// many tools; clients of proto-mcp still see the list
    #[arg(long)]
    lazy_tools: bool,

    /// Adapt the names and schemas of tools to these hosts, such as claude,cursor or openai; calls are mapped back.
    /// `pmcp validate --for` shows what they would refuse
    #[arg(long = "for", value_name = "HOSTS", value_parser = hosts)]
    hosts: Vec<HostSelection>,

    #[command(flatten)]
    identity: IdentityFlags,

    #[command(flatten)]
    skills: SkillFlags,
}

/// Times and sizes.
#[derive(Debug, Args)]
pub(crate) struct LimitFlags {
    /// Timeout of one call, such as 300ms, 90s or 1m30s; 0 means 5m
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = call_time)]
    pub(crate) call_timeout: Duration,

    /// Longest wait of a call for its turn, or for a process that reloads or restarts
    #[arg(long, value_name = "DURATION", default_value = "15m", value_parser = time)]
    pub(super) queue_timeout: Duration,

    /// Time for running calls to finish at shutdown
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = time)]
    pub(crate) drain_timeout: Duration,

    /// Ping idle clients this often and close sessions that do not answer; over HTTP this needs an open GET stream
    /// [default: never]
    #[arg(long, value_name = "DURATION", value_parser = time)]
    pub(super) ping_interval: Option<Duration>,

    /// Timeout for the tool process to connect [default: 30s; 10m if it may have to compile or download]
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    pub(super) connect_timeout: Option<Duration>,

    /// Concurrent calls of the tool process [default: as it announces; otherwise 1 for .py, .ts and .js, 256 for
    /// others]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_concurrent_calls: Option<u32>,

    /// Largest message to or from the tool process, in bytes or with K, M, G
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size)]
    pub(super) max_frame: u64,

    /// Largest result after reassembly and decompression
    #[arg(long, value_name = "SIZE", default_value = "256M", value_parser = size)]
    pub(super) max_result: u64,

    /// Most unanswered requests per session
    #[arg(long, value_name = "N", default_value = "1024", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_pending: u32,

    #[command(flatten)]
    pub(crate) admission: AdmissionFlags,

    #[cfg(feature = "proto-mcp")]
    #[command(flatten)]
    pub(crate) proto: ProtoFlags,

    /// Most old processes that finish their calls at the same time; further reloads wait
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) max_retiring: u32,
}

impl ToolFlags {
    /// True if the status may be a view.
    pub(crate) fn wants_view(&self) -> bool {
        !self.watching.no_view
    }

    /// The settings of lazy discovery, if hosts see three tools.
    pub(crate) fn lazy_tools(&self) -> Option<LazyTools> {
        self.view.lazy_tools.then(LazyTools::default)
    }

    /// The folders of skills; `None` in front of other servers.
    pub(crate) fn skill_folders(&self) -> Option<&[PathBuf]> {
        self.file.is_some().then_some(self.view.skills.folders.as_slice())
    }

    /// The interval at which the folders of skills are polled, if their saves are noticed at all.
    pub(crate) fn watched_skills(&self) -> Option<Option<Duration>> {
        self.view.skills.is_watched.then_some(self.watching.poll)
    }

    /// Notices saves of skills.
    pub(super) fn watch_skills(&mut self) {
        self.view.skills.is_watched = true;
    }

    /// The path of the tool file.
    pub(super) fn path(&self) -> Result<PathBuf, Failure> {
        let Some(path) = self.file.clone() else {
            return Err(Failure::usage(format!("missing file argument\n{USAGE}")));
        };
        if let Some(failure) = url_as_file(&path) {
            return Err(failure);
        }
        if !path.exists() {
            return Err(Failure::usage(format!("file not found: {}", path.display())));
        }
        if !ToolFile::new(&path).is_runnable() {
            return Err(Failure::usage(format!("{} is a directory; name the tool file in it", path.display())));
        }
        Ok(path)
    }

    /// Refuses a file that is a server with another SDK.
    #[cfg(not(feature = "upstream"))]
    pub(super) fn check_sdk(&self, path: &Path) -> Result<(), Failure> {
        let file = self.runtime.iter().fold(ToolFile::new(path), ToolFile::runtime);
        match server_words(&file) {
            Some(_) => lacking("servers in place of a tool file", "upstream"),
            None => Ok(()),
        }
    }

    /// The server that the file is, if it is one with another SDK: then it is no longer a tool file.
    #[cfg(feature = "upstream")]
    pub(super) fn take_server(&mut self) -> Option<FileServer> {
        let path = self.file.take()?;
        let file = self.runtime.iter().fold(ToolFile::new(&path), ToolFile::runtime);
        let Some(words) = server_words(&file) else {
            self.file = Some(path);
            return None;
        };
        let file = ServedFile::new(&path, &words);
        Some(FileServer { words, file })
    }

    /// True if clients do not see the tools as the server has them, or each request is a line in the log.
    #[cfg(feature = "trace")]
    pub(crate) fn changes_tools(&self) -> bool {
        self.has_hosts() || self.view.lazy_tools || self.access_log
    }

    /// True if definitions are adapted to hosts.
    pub(super) fn has_hosts(&self) -> bool {
        !self.view.hosts.is_empty()
    }

    /// The layer that adapts definitions to hosts.
    pub(crate) fn host_layer(&self) -> HostLayer {
        let hosts = self.view.hosts.iter().cloned().fold(HostSelection::default(), HostSelection::and);
        let stem = self.file.as_ref().and_then(|file| file.file_stem());
        HostLayer::new(&hosts, stem.map_or_else(|| "protomcp".into(), |stem| stem.to_string_lossy().into_owned()))
    }

    /// The bridge to the tool file.
    pub(crate) fn bridge(&self, path: &Path, watch: bool) -> Builder {
        let mut file = ToolFile::new(path).lend(lending::lender(self.sdk));
        if let Some(runtime) = &self.runtime {
            file = file.runtime(runtime);
        }
        let mut builder = Bridge::tool_file(&file)
            .reload_mode(self.hot_reload.into())
            .output_schemas(self.output_schema.into())
            .tool_lists(self.tool_list.into())
            .setting_names(flag);
        if let Some(policy) = self.validate_args {
            builder = builder.validate_arguments(policy.into());
        }
        if watch {
            let polled = |watch: Watch| match self.watching.poll {
                Some(pause) => watch.poll_every(pause),
                None => watch,
            };
            for directory in self.watching.also.iter().filter(|path| path.is_dir()) {
                let shown = directory.display();
                tracing::info!("watching the source files below {shown}; a data file there needs its own --watch");
            }
            builder = builder.watch_with_pages(polled(file.watch())).wait_for_fix();
            let others = file.watch_target().into_iter().chain(self.watching.also.iter().map(Watch::path));
            builder = others.map(polled).fold(builder, Builder::watch);
        }
        self.workers.apply(self.limits.apply(self.view.identity.apply(builder)))
    }
}

/// The mistake of a URL where a tool file is expected; `None` for other paths.
pub(crate) fn url_as_file(path: &Path) -> Option<Failure> {
    let url = path.to_str().filter(|text| text.contains("://") && !path.exists())?;
    if !cfg!(feature = "upstream") {
        return lacking::<()>("servers at a URL", "upstream").err();
    }
    // Without its credentials.
    let url = shown(url);
    Some(Failure::usage(format!("a server at a URL is named by --upstream, as in: pmcp run --upstream {url}")))
}

/// The command of a file that is an MCP server with another SDK.
pub(crate) fn server_words(file: &ToolFile) -> Option<Vec<OsString>> {
    let command = file.server_command()?;
    Some([command.program().to_owned()].into_iter().chain(command.arguments().iter().cloned()).collect())
}

impl LimitFlags {
    /// The interval of pings; zero stands for none.
    pub(super) fn ping_interval(&self) -> Option<Duration> {
        self.ping_interval.filter(|interval| !interval.is_zero())
    }

    /// The most unanswered requests of a session.
    pub(crate) fn max_pending(&self) -> usize {
        to_usize(self.max_pending)
    }

    /// The bounds of the sessions of clients, without a tool process.
    #[cfg(feature = "upstream")]
    pub(super) fn server_limits(&self) -> Limits {
        Limits {
            drain_timeout: self.drain_timeout,
            ping_interval: self.ping_interval(),
            max_pending: self.max_pending(),
            ..Limits::default()
        }
    }

    fn apply(&self, builder: Builder) -> Builder {
        let mut builder = builder
            .call_timeout(self.call_timeout)
            .queue_timeout(self.queue_timeout)
            .drain_timeout(self.drain_timeout)
            .max_frame(usize::try_from(self.max_frame).unwrap_or(usize::MAX))
            .max_result(self.max_result)
            .max_pending(self.max_pending())
            .max_retiring(to_usize(self.max_retiring));
        if let Some(timeout) = self.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        if let Some(interval) = self.ping_interval() {
            builder = builder.ping_interval(interval);
        }
        if let Some(calls) = self.max_concurrent_calls {
            builder = builder.max_concurrent_calls(to_usize(calls));
        }
        builder
    }
}

fn flag(setting: Setting) -> &'static str {
    match setting {
        Setting::CallTimeout => "--call-timeout",
        Setting::MaxResult => "--max-result",
        Setting::MaxFrame => "--max-frame",
        other => other.name(),
    }
}

pub(super) fn to_usize(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
