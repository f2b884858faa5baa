//! Servers instead of a tool file: a URL, a command, or a file that names several.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use protomcp_gateway::{GatewayLimits, Mode, Sharing};
use protomcp_http_client::Tls;
use protomcp_server::Limits;
use protomcp_server::layer::tools::ToolPolicy;
use protomcp_watch::Watch;

use crate::args::choices::EraChoice;
#[cfg(any(feature = "playground", feature = "trace"))]
use crate::args::client::both;
use crate::args::client::headers;
use crate::args::client_certificate::ClientCertificate;
use crate::args::oauth_client::{OAuthClientFlags, check_sign_in};
use crate::args::shown_url::shown;
#[cfg(any(feature = "playground", feature = "trace"))]
use crate::args::tool::ToolFlags;
use crate::args::tool::{LimitFlags, to_usize};
use crate::args::upstream_config::{self, CommandProtocol, Entry, Location, StdioCommand};
use crate::exit::Failure;
use crate::served_file::ServedFile;

/// The heading of these flags in the help.
const HEADING: &str = "Servers";

/// The longest time of a request to a server, if calls have less.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(3600);

/// The time for a server to be connected: a command may have to download, and a user to sign in.
const OPEN_TIMEOUT: Duration = Duration::from_secs(600);

/// The tools that clients may see and call.
#[derive(Debug, Args)]
pub(super) struct PolicyFlags {
    /// Serve only these tools of the servers, by the names that clients see; separated by commas, or repeated
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "block_tools")]
    allow_tools: Vec<String>,

    /// Serve all tools of the servers but these
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    block_tools: Vec<String>,
}

impl PolicyFlags {
    /// The policy; `None` without a flag.
    pub(super) fn policy(&self) -> Option<ToolPolicy> {
        let trimmed = |names: &[String]| names.iter().map(|name| name.trim().to_owned()).collect::<Vec<_>>();
        match (self.allow_tools.as_slice(), self.block_tools.as_slice()) {
            ([], []) => None,
            ([], blocked) => Some(ToolPolicy::block(trimmed(blocked))),
            (allowed, _) => Some(ToolPolicy::allow(trimmed(allowed))),
        }
    }
}

/// The protocol of a command.
#[derive(Debug, Args)]
pub(super) struct ProtocolFlag {
    /// Protocol of the command: json, or proto for proto-mcp (JSON-RPC if it does not answer) [default: json]
    #[arg(long, value_name = "PROTOCOL")]
    upstream_protocol: Option<CommandProtocol>,
}

impl ProtocolFlag {
    pub(super) fn is_given(&self) -> bool {
        self.upstream_protocol.is_some()
    }

    pub(super) fn chosen(&self) -> CommandProtocol {
        self.upstream_protocol.unwrap_or_default()
    }
}

/// The sessions with servers.
#[derive(Debug, Clone, Copy, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct SessionFlags {
    /// Sessions with a server: one for each client, or one that all share. A command has a process for each [default:
    /// client for a URL, shared for a command]
    #[arg(long, value_name = "SCOPE")]
    upstream_sessions: Option<Scope>,

    /// Era of MCP in which servers are spoken to [default: the era of the client that calls, where a server has both]
    #[arg(long, value_name = "ERA")]
    upstream_era: Option<EraChoice>,
}

impl SessionFlags {
    /// The first flag that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let era = self.upstream_era.map(|_| "--upstream-era");
        self.upstream_sessions.map(|_| "--upstream-sessions").or(era)
    }
}

/// Servers instead of a tool file.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct UpstreamFlags {
    /// Serve the MCP server at this URL instead of a tool file: http, https, or proto, grpc or ws for proto-mcp
    #[arg(long, value_name = "URL")]
    upstream: Option<String>,

    /// A header of each request to the URL of --upstream, as "name: value"; may be repeated. ${NAME} is an environment
    /// variable
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    #[command(flatten)]
    certificate: ClientCertificate,

    #[command(flatten)]
    oauth: OAuthClientFlags,

    /// Serve the MCP servers of this JSON file, which has the mcpServers of a host; with several servers, the names of
    /// tools begin with the server's name and "_"
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    sessions: SessionFlags,

    #[command(flatten)]
    policy: PolicyFlags,

    #[command(flatten)]
    protocol: ProtocolFlag,

    /// Serve the MCP server that this command runs on its standard input and output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The clients that share a session with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scope {
    /// Each client has its own session
    Client,
    /// All clients share one
    Shared,
}

/// The servers behind the gateway.
#[derive(Debug)]
pub(crate) struct Upstreams {
    pub(crate) entries: Vec<Entry>,
    sessions: SessionFlags,
    pub(crate) limits: GatewayLimits,
    pub(crate) server_limits: Limits,
    /// The files that reload the servers.
    pub(crate) watches: Vec<Watch>,
    /// The tools that clients may see and call; `None`: all.
    pub(crate) policy: Option<ToolPolicy>,
    /// The TLS of connections to the server at --upstream.
    pub(crate) tls: Tls,
    /// The file that is served as a command.
    pub(crate) file: Option<ServedFile>,
}

impl UpstreamFlags {
    /// True if a flag or a command names a server.
    pub(super) fn names_server(&self) -> bool {
        self.upstream.is_some() || self.config.is_some() || !self.command.is_empty()
    }

    /// True if a command after `--` is the server.
    pub(super) fn has_command(&self) -> bool {
        !self.command.is_empty()
    }

    /// Serves this command, as if it stood after `--`.
    pub(super) fn serve_command(&mut self, words: Vec<OsString>) {
        self.command = words;
    }

    /// The words of the command after `--`.
    #[cfg(feature = "playground")]
    pub(super) fn command_words(&self) -> &[OsString] {
        &self.command
    }

    /// Serves the server at a URL that stands in the place of the tool file, as if --upstream named it.
    #[cfg(any(feature = "playground", feature = "trace"))]
    pub(super) fn take_url(&mut self, tool: &mut ToolFlags) -> Result<(), Failure> {
        let is_url = |path: &PathBuf| path.to_str().is_some_and(|text| text.contains("://")) && !path.exists();
        let Some(file) = tool.file.take_if(|path| is_url(path)) else { return Ok(()) };
        let url = file.to_string_lossy().into_owned();
        if self.names_server() {
            return Err(both(&shown(&url)));
        }
        self.upstream = Some(url);
        Ok(())
    }

    /// The servers that the flags name; `None` if they name none. `variable` looks up the environment.
    pub(super) fn servers(
        self,
        limits: &LimitFlags,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Upstreams>, Failure> {
        let given = [self.config.is_some(), self.upstream.is_some(), !self.command.is_empty()];
        if given.into_iter().filter(|is_given| *is_given).count() > 1 {
            return Err(Failure::usage("name one of --upstream, --config and a command after --"));
        }
        if self.protocol.is_given() && self.command.is_empty() {
            return Err(Failure::usage("--upstream-protocol is for a command after --"));
        }
        if !self.headers.is_empty() && self.upstream.is_none() {
            return Err(Failure::usage("--header is for servers at a URL: --upstream URL"));
        }
        self.certificate.check(self.upstream.as_deref())?;
        let client = self.oauth.client(&variable)?;
        if client.is_some() && self.upstream.is_none() {
            return Err(Failure::usage(
                "--client-id is for --upstream; in --config a server has \"oauth\": {\"clientId\": …}",
            ));
        }
        let mut entries = match &self.config {
            Some(path) => upstream_config::read(path, &variable)?,
            None => Vec::new(),
        };
        if let Some(url) = &self.upstream {
            let headers = headers(&self.headers, &variable)?;
            if client.is_some() {
                check_sign_in(url, &headers)?;
            }
            let name = shown(url);
            let location = Location::of_url(url.clone(), headers, client);
            let location = location.and_then(|location| location.check().map(|()| location));
            let location = location.map_err(|why| Failure::usage(format!("invalid --upstream \"{name}\": {why}")))?;
            entries.push(Entry { name, location });
        }
        entries.extend(command(self.command, self.protocol.chosen()));
        let policy = self.policy.policy();
        if entries.is_empty() {
            return match (policy, self.sessions.given()) {
                (Some(_), _) => Err(Failure::usage(
                    "--allow-tools and --block-tools are for the tools of MCP servers, as in: pmcp run --block-tools NAME -- COMMAND",
                )),
                (None, Some(flag)) => Err(Failure::usage(format!(
                    "{flag} is for MCP servers: --upstream URL, --config FILE or a command after --"
                ))),
                (None, None) => Ok(None),
            };
        }
        let tls = self.certificate.tls()?;
        Ok(Some(Upstreams { policy, tls, ..Upstreams::new(entries, self.sessions, limits) }))
    }
}

/// The server that a command starts; `None` without words.
fn command(words: Vec<OsString>, protocol: CommandProtocol) -> Option<Entry> {
    let mut words = words.into_iter();
    let program = words.next()?;
    let name = program.to_string_lossy().into_owned();
    let (environment, directory) = (Vec::new(), None);
    let command = StdioCommand { program, arguments: words.collect(), environment, directory, protocol };
    let location = Location::Command(command);
    Some(Entry { name, location })
}

impl Upstreams {
    fn new(entries: Vec<Entry>, sessions: SessionFlags, limits: &LimitFlags) -> Self {
        let gateway = GatewayLimits {
            timeout: limits.call_timeout,
            total_timeout: TOTAL_TIMEOUT.max(limits.call_timeout),
            open_timeout: limits.connect_timeout.unwrap_or(OPEN_TIMEOUT),
            max_retiring: to_usize(limits.max_retiring),
            ..GatewayLimits::default()
        };
        let server_limits = limits.server_limits();
        let (watches, policy, tls, file) = (Vec::new(), None, Tls::default(), None);
        Self { entries, sessions, limits: gateway, server_limits, watches, policy, tls, file }
    }

    /// The server that a command starts.
    pub(super) fn of_command(
        words: Vec<OsString>,
        protocol: CommandProtocol,
        sessions: SessionFlags,
        limits: &LimitFlags,
    ) -> Self {
        Self::new(command(words, protocol).into_iter().collect(), sessions, limits)
    }

    /// Reloads the servers when these files change, and serves only some of their tools.
    pub(super) fn watching(self, watches: Vec<Watch>, policy: Option<ToolPolicy>) -> Self {
        Self { watches, policy, ..self }
    }

    /// For a file that is served as a command.
    pub(super) fn of_file(self, file: Option<ServedFile>) -> Self {
        Self { file, ..self }
    }

    /// The only server, if it is a command whose messages clients could see as they are.
    #[cfg(feature = "trace")]
    pub(crate) fn plain_command(&self) -> Option<&StdioCommand> {
        let is_plain = self.policy.is_none() && self.sessions.given().is_none() && self.file.is_none();
        match &self.entries[..] {
            [Entry { location: Location::Command(command), .. }] if command.protocol == CommandProtocol::Json => {
                Some(command).filter(|_| is_plain)
            }
            _ => None,
        }
    }

    /// The servers in words, for the log.
    pub(crate) fn names(&self) -> String {
        self.entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// The eras of the sessions with servers.
    pub(crate) fn mode(&self) -> Mode {
        self.sessions.upstream_era.map_or(Mode::Auto, EraChoice::mode)
    }

    /// The clients that share a session with a server.
    pub(crate) fn sharing(&self, entry: &Entry) -> Sharing {
        match self.sessions.upstream_sessions {
            Some(Scope::Client) => Sharing::PerSession,
            Some(Scope::Shared) => Sharing::Shared,
            None if entry.is_command() => Sharing::Shared,
            None => Sharing::PerSession,
        }
    }
}
