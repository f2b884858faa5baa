//! The flags of the commands that use a server: `list` and `call`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use protomcp_bridge::ToolFile;

#[cfg(feature = "upstream")]
use crate::args::address::Address;
use crate::args::choices::{EraChoice, Sdk};
#[cfg(feature = "upstream")]
use crate::args::client_certificate::ClientCertificate;
#[cfg(not(feature = "upstream"))]
use crate::args::features::lacking;
#[cfg(feature = "upstream")]
use crate::args::oauth_client::{OAuthClientFlags, RegisteredClient};
#[cfg(feature = "upstream")]
use crate::args::registry::RegistryFlags;
#[cfg(feature = "upstream")]
use crate::args::shown_url::shown;
#[cfg(feature = "upstream")]
use crate::args::upstream_config::expand;
use crate::args::values::call_time;
#[cfg(feature = "upstream")]
use crate::args::values::http_url;
use crate::exit::Failure;
use crate::log::{LogFlags, LogLevel};
use crate::shell_word::shell_word;

/// The server that a command uses.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// A tool file, served by a bridge in this process.
    File(PathBuf),
    /// A server over HTTP.
    #[cfg(feature = "upstream")]
    Url(String),
    /// A server of proto-mcp.
    #[cfg(feature = "upstream")]
    Proto(Address),
    /// A server as a child process.
    Command(Vec<OsString>),
}

/// The way to the server.
#[derive(Debug, Args)]
pub(crate) struct ServerFlags {
    /// A header of each request to a URL, as "name: value"; may be repeated. ${NAME} is an environment variable
    #[cfg(feature = "upstream")]
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    /// Run the tool file with this program instead of the one for its extension
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) runtime: Option<OsString>,

    /// SDK of a Python, JavaScript or TypeScript file [default: auto]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) sdk: Option<Sdk>,

    /// Era of MCP in which the server is spoken to [default: stateless where the server has both; stateful for a call in a
    /// terminal, where the server may ask]
    #[arg(long, value_name = "ERA")]
    pub(crate) era: Option<EraChoice>,

    /// Timeout of the answer, such as 300ms, 90s or 1m30s; progress prolongs it. Connecting has no more time, either
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = call_time)]
    pub(crate) timeout: Duration,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    pub(crate) certificate: ClientCertificate,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    oauth: OAuthClientFlags,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    pub(crate) registry: RegistryFlags,

    /// Level of the log on stderr
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub(crate) log_level: LogLevel,

    #[command(flatten)]
    pub(crate) log: LogFlags,

    /// A command that is an MCP server on its standard input and output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[cfg(feature = "upstream")]
impl ServerFlags {
    /// The header fields of requests to a URL. `variable` looks up the environment.
    pub(crate) fn headers(&self, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<(String, String)>, Failure> {
        headers(&self.headers, &variable)
    }

    /// The OAuth client for a server at a URL. `variable` looks up the environment.
    pub(crate) fn oauth_client(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<RegisteredClient>, Failure> {
        self.oauth.client(variable)
    }

    /// Refuses flags for servers at a URL where they have no effect.
    fn check_remote(&self, target: &Target) -> Result<(), Failure> {
        self.registry.check()?;
        if !self.headers.is_empty() && matches!(target, Target::File(_) | Target::Command(_)) {
            return Err(Failure::usage("--header is for servers at a URL"));
        }
        if self.oauth.is_given() && !matches!(target, Target::Url(_)) {
            return Err(Failure::usage("--client-id is for servers at an http or https URL"));
        }
        self.certificate.check(match target {
            Target::Url(url) => Some(url),
            Target::Proto(server) => Some(&server.url),
            Target::File(_) | Target::Command(_) => None,
        })
    }
}

impl ServerFlags {
    /// Refuses flags without effect on this server.
    pub(crate) fn check(&self, target: &Target) -> Result<(), Failure> {
        if !matches!(target, Target::File(_)) {
            let given = [("--runtime", self.runtime.is_some()), ("--sdk", self.sdk.is_some())];
            if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
                return Err(Failure::usage(format!("{flag} is for tool files")));
            }
        }
        #[cfg(feature = "upstream")]
        self.check_remote(target)?;
        Ok(())
    }
}

/// A field of a form with its answer.
pub(crate) type Answer = (String, String);

/// Answers to the questions of a server.
#[derive(Debug, Args)]
pub(super) struct AnswerFlags {
    /// Answer the forms that the server asks its user to fill in, by the names of their fields; may be repeated. Without
    /// it, forms appear on the terminal
    #[arg(long = "answer", value_name = "KEY=VALUE", value_parser = answer)]
    pub(super) answers: Vec<Answer>,
}

fn answer(text: &str) -> Result<Answer, String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("expected KEY=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Print the tools of a tool file or an MCP server
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(super) struct List {
    /// A tool file, or the URL of an MCP server: http, https, ws, wss, grpc, grpcs, proto or protos; neither
    /// with a command after --
    target: Option<String>,

    /// The list to print
    #[arg(long, value_name = "KIND", default_value = "tools")]
    kind: ListKind,

    /// Print the skills: the same as --kind skills
    #[arg(long, conflicts_with = "kind")]
    skills: bool,

    /// Print the definitions as a JSON array
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    server: ServerFlags,
}

const LIST_EXAMPLES: &str = "\
Examples:
  pmcp list tools.py                              the tools of a tool file, with their arguments (? is optional)
  pmcp list https://example.com/mcp --json        the tools of a remote server, as JSON
  pmcp list --kind resources -- uvx some-server   the resources of a server that a command starts
  pmcp list --skills tools.py                     the names, URIs and descriptions of its skills";

/// Call a tool of a tool file or an MCP server
#[derive(Debug, Args)]
#[command(after_help = CALL_EXAMPLES, override_usage = "pmcp call [FLAGS] [TARGET] TOOL [ARGUMENTS] [-- COMMAND]")]
pub(super) struct Call {
    /// A tool file or a URL (neither with a command after --), the tool, and its arguments: name=value, or one JSON
    /// object; - reads the object from standard input
    #[arg(value_name = "[TARGET] TOOL [ARGUMENTS]")]
    words: Vec<String>,

    /// Print the whole result as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    answers: AnswerFlags,

    #[command(flatten)]
    server: ServerFlags,
}

const CALL_EXAMPLES: &str = "\
Examples:
  pmcp call tools.py add a=2 b=3                  a tool of a tool file
  pmcp call https://example.com/mcp search '{\"query\": \"mcp\"}' --json
  pmcp call get_time zone=UTC -- uvx mcp-server-time
  pmcp call files.py delete path=a.txt --answer really=true
                                                  a tool that asks its user, without a terminal

Values are JSON where they can be read as such, otherwise text: n=3 is a number, n='\"3\"' and name=Ada are text. \
Progress and questions appear on the terminal. The exit code is 1 if the tool reports an error.";

/// A list of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    /// Tools
    Tools,
    /// Resources
    Resources,
    /// Templates of resources
    Templates,
    /// Prompts
    Prompts,
    /// Skills
    Skills,
}

impl ListKind {
    /// In words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Resources => "resources",
            Self::Templates => "resource templates",
            Self::Prompts => "prompts",
            Self::Skills => "skills",
        }
    }
}

/// The options of `pmcp list`.
#[derive(Debug)]
pub(crate) struct ListOptions {
    pub(crate) target: Target,
    pub(crate) kind: ListKind,
    pub(crate) json: bool,
    pub(crate) server: ServerFlags,
}

/// The options of `pmcp call`.
#[derive(Debug)]
pub(crate) struct CallOptions {
    pub(crate) target: Target,
    pub(crate) tool: String,
    /// `name=value`, a JSON object, or `-`.
    pub(crate) arguments: Vec<String>,
    pub(crate) json: bool,
    pub(crate) answers: Vec<Answer>,
    pub(crate) server: ServerFlags,
}

impl List {
    pub(super) fn options(self) -> Result<ListOptions, Failure> {
        let Self { target, kind, skills, json, mut server } = self;
        let kind = if skills { ListKind::Skills } else { kind };
        let target = server.target(target, "list")?;
        Ok(ListOptions { target, kind, json, server })
    }
}

impl Call {
    pub(super) fn options(self) -> Result<CallOptions, Failure> {
        let Self { words, json, answers, mut server } = self;
        let mut words = words.into_iter();
        let target = server.first_target(&mut words, "call")?;
        let no_tool = || Failure::usage("missing tool name; `pmcp list` prints the names of the tools");
        let tool = words.next().ok_or_else(no_tool)?;
        Ok(CallOptions { target, tool, arguments: words.collect(), json, answers: answers.answers, server })
    }
}

impl ServerFlags {
    /// The server that a word or the command after `--` names. `verb`: the command of `pmcp`.
    pub(super) fn target(&mut self, word: Option<String>, verb: &str) -> Result<Target, Failure> {
        match (word, self.take_command()) {
            (Some(word), None) => Target::of(&word),
            (None, Some(command)) => Ok(Target::Command(command)),
            (Some(word), Some(_)) => Err(both(&word)),
            (None, None) => Err(no_server(verb)),
        }
    }

    /// The server that the command after `--` names, or the first word. `verb`: the command of `pmcp`.
    pub(super) fn first_target(
        &mut self,
        words: &mut impl Iterator<Item = String>,
        verb: &str,
    ) -> Result<Target, Failure> {
        match self.take_command() {
            Some(command) => Ok(Target::Command(command)),
            None => {
                let word = words.next().ok_or_else(|| no_server(verb))?;
                let is_missing = !word.contains("://") && !Path::new(&word).exists();
                let file = words.by_ref().take(usize::from(is_missing)).find(|next| Path::new(next).is_file());
                match file {
                    Some(file) => Err(server_is_first(verb, &file, &word)),
                    None => Target::of(&word),
                }
            }
        }
    }

    /// True if a command after `--` names the server.
    pub(super) fn has_command(&self) -> bool {
        !self.command.is_empty()
    }

    fn take_command(&mut self) -> Option<Vec<OsString>> {
        Some(std::mem::take(&mut self.command)).filter(|command| !command.is_empty())
    }
}

impl Target {
    pub(super) fn of(word: &str) -> Result<Self, Failure> {
        if word.contains("://") {
            return Self::of_url(word);
        }
        let path = Path::new(word);
        match path {
            path if path.is_dir() && !ToolFile::new(path).is_runnable() => {
                Err(Failure::usage(format!("{word} is a directory; name the tool file in it")))
            }
            path if path.exists() => Ok(Self::File(path.to_owned())),
            _ => Err(Failure::usage(format!("file not found: {word}; servers are named by a URL or by -- COMMAND"))),
        }
    }
}

#[cfg(feature = "upstream")]
impl Target {
    fn of_url(url: &str) -> Result<Self, Failure> {
        if let Some(url) = http_url(url) {
            return Ok(Self::Url(url));
        }
        if let Some(server) = Address::of(url) {
            let invalid = |why| Failure::usage(format!("invalid URL \"{}\": {why}", shown(url)));
            return server.map(Self::Proto).map_err(invalid);
        }
        let (scheme, _) = url.split_once("://").unwrap_or_default();
        let schemes = "use http, https, proto, protos, grpc, grpcs, ws or wss";
        Err(Failure::usage(format!("unsupported scheme \"{scheme}\": {schemes}")))
    }
}

#[cfg(not(feature = "upstream"))]
impl Target {
    fn of_url(_: &str) -> Result<Self, Failure> {
        lacking("servers at a URL", "upstream")
    }
}

pub(super) fn both(word: &str) -> Failure {
    Failure::usage(format!("both {word} and a command after -- name a server; leave one out"))
}

/// The second word is a file, and the first one is not.
fn server_is_first(verb: &str, file: &str, word: &str) -> Failure {
    let command = format!("pmcp {verb} {} {}", shell_word(file), shell_word(word));
    Failure::usage(format!("file not found: {word}; the server comes first: {command}"))
}

pub(super) fn no_server(verb: &str) -> Failure {
    Failure::usage(format!("missing server: name a tool file, a URL, or a command after --\n\nTry 'pmcp help {verb}'."))
}

/// Header fields, as `name: value`. An error names no value, which may be a secret.
#[cfg(feature = "upstream")]
pub(super) fn headers(
    given: &[String],
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, Failure> {
    let field = |text: &String| {
        let (name, value) = text.split_once(':').ok_or("expected \"name: value\"")?;
        Ok((name.trim().to_owned(), expand(value.trim(), variable)?))
    };
    let fields = given.iter().map(field).collect::<Result<_, String>>();
    fields.map_err(|why| Failure::usage(format!("invalid --header: {why}")))
}
