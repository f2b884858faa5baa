//! The flags of `pmcp record`, `pmcp replay` and `pmcp mock`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::args::choices::Sdk;
use crate::args::client::{Target, both, headers, no_server};
use crate::args::client_certificate::ClientCertificate;
use crate::args::oauth_client::OAuthClientFlags;
use crate::args::options::Options;
use crate::args::serve::{Run, Transport};
use crate::args::values::call_time;
use crate::exit::Failure;
use crate::log::{LogFlags, LogLevel};

/// Record the messages between a host and a server
#[derive(Debug, Args)]
#[command(after_help = RECORD)]
pub(super) struct Record {
    /// The file for the trace. If it exists, the next one is used: bug-2.jsonl after bug.jsonl
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Also replace the values of members with this name; may be repeated. Passwords, tokens and keys are replaced anyway
    #[arg(long = "redact", value_name = "NAME")]
    names: Vec<String>,

    /// Also replace texts that match this regular expression; may be repeated
    #[arg(long = "redact-pattern", value_name = "REGEX")]
    patterns: Vec<String>,

    #[command(flatten)]
    run: Run,
}

/// Send recorded messages to a server again, and compare its answers
#[derive(Debug, Args)]
#[command(after_help = REPLAY)]
pub(super) struct Replay {
    /// The trace
    trace: PathBuf,

    /// A tool file, or the URL of an MCP server; neither with a command after --
    target: Option<String>,

    /// Compare every value and every notification, instead of the shape of the answers
    #[arg(long)]
    strict: bool,

    /// A value that may differ, by its JSON pointer in a message, such as /result/structuredContent/time; may be repeated
    #[arg(long = "ignore", value_name = "POINTER", value_parser = pointer)]
    ignored: Vec<String>,

    /// Time for each answer, such as 300ms, 90s or 1m30s
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = call_time)]
    timeout: Duration,

    #[command(flatten)]
    server: TracedServer,
}

/// Answer a host as a recorded server did
#[derive(Debug, Args)]
#[command(after_help = MOCK)]
pub(crate) struct MockOptions {
    /// The trace
    pub(crate) trace: PathBuf,

    /// Level of the log on stderr
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(crate) log_level: LogLevel,

    #[command(flatten)]
    pub(crate) log: LogFlags,
}

/// Print a trace as a scenario of pmcp test
#[derive(Debug, Args)]
#[command(after_help = SCENARIO)]
pub(crate) struct ScenarioSource {
    /// The trace
    pub(crate) trace: PathBuf,
}

/// The server of a trace.
#[derive(Debug, Args)]
struct TracedServer {
    /// A header of each request to a URL, as "name: value"; may be repeated. ${NAME} is an environment variable
    #[arg(long = "header", value_name = "HEADER")]
    headers: Vec<String>,

    #[command(flatten)]
    certificate: ClientCertificate,

    #[command(flatten)]
    oauth: OAuthClientFlags,

    /// Run the tool file with this program instead of the one for its extension
    #[arg(long, value_name = "PROGRAM")]
    runtime: Option<OsString>,

    /// SDK of a Python, JavaScript or TypeScript file [default: auto]
    #[arg(long, value_name = "SOURCE")]
    sdk: Option<Sdk>,

    /// Level of the log on stderr
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,

    #[command(flatten)]
    log: LogFlags,

    /// A command that starts an MCP server, after --
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const RECORD: &str = "\
Examples:
  pmcp record tools.py --to bug.jsonl                serve tools.py on stdio, and keep what is said
  pmcp record tools.py --to bug.jsonl --transport http
                                                     the same for clients over Streamable HTTP
  pmcp record --to bug.jsonl -- npx -y some-server   any MCP server
  pmcp record https://example.com/mcp --to bug.jsonl a server at a URL, to which you sign in if it asks

The trace of a tool file has its own wire, too. A host that starts this command with a command after -- sees that server \
itself, unless a flag changes its tools. docs/traces.md describes the file, and what is replaced in it.";

const REPLAY: &str = "\
Examples:
  pmcp replay bug.jsonl tools.py            the same requests; answers must have the same shape
  pmcp replay bug.jsonl tools.py --strict   and the same values
  pmcp replay bug.jsonl --strict --ignore /result/structuredContent/time -- npx -y some-server

The exit code is 1 if something differs.";

const MOCK: &str = "\
Examples:
  pmcp mock bug.jsonl   answer a host on stdio as the recorded server did";

const SCENARIO: &str = "\
Examples:
  pmcp scenario bug.jsonl > bug.yaml   the recorded requests, with the recorded answers as expectations
  pmcp test tools.py run bug.yaml      passes as long as the tools behave as recorded

What was redacted may differ. Edit the file as any other scenario: docs/scenarios.md describes it.";

/// The options of `pmcp record`.
#[derive(Debug)]
pub(crate) struct RecordOptions {
    pub(crate) serve: Options,
    pub(crate) to: PathBuf,
    pub(crate) names: Vec<String>,
    pub(crate) patterns: Vec<String>,
}

/// The options of `pmcp replay`.
#[derive(Debug)]
pub(crate) struct ReplayOptions {
    pub(crate) trace: PathBuf,
    pub(crate) target: Target,
    pub(crate) strict: bool,
    pub(crate) ignored: Vec<String>,
    pub(crate) timeout: Duration,
    pub(crate) log_level: LogLevel,
    pub(crate) log: LogFlags,
}

impl Record {
    /// The options; `tool_flags` and `network_flags` are those flags on the command line.
    pub(super) fn options(self, tool_flags: &[String], network_flags: &[String]) -> Result<RecordOptions, Failure> {
        let Self { to, names, patterns, mut run } = self;
        run.take_url()?;
        if !matches!(run.serve.transport, Transport::Stdio | Transport::Http) {
            return Err(Failure::usage("a trace has messages of JSON-RPC: use --transport stdio or http"));
        }
        Ok(RecordOptions { serve: run.options(tool_flags, network_flags)?, to, names, patterns })
    }
}

impl Replay {
    pub(super) fn options(self) -> Result<ReplayOptions, Failure> {
        let Self { trace, target, strict, ignored, timeout, server } = self;
        let (log_level, log) = (server.log_level, server.log);
        Ok(ReplayOptions { trace, target: server.target(target, "replay")?, strict, ignored, timeout, log_level, log })
    }
}

impl TracedServer {
    fn target(mut self, word: Option<String>, verb: &str) -> Result<Target, Failure> {
        match (word, std::mem::take(&mut self.command)) {
            (Some(word), command) if command.is_empty() => match Target::of(&word)? {
                Target::Proto(_) => {
                    Err(Failure::usage("a trace has messages of JSON-RPC: name a URL with http or https"))
                }
                Target::File(_) | Target::Command(_) if self.is_for_url() => Err(no_url()),
                Target::File(path) => with_flags(path, self.runtime, self.sdk),
                Target::Url(_) | Target::Command(_) if self.runtime.is_some() || self.sdk.is_some() => {
                    Err(Failure::usage("--runtime and --sdk are for tool files"))
                }
                Target::Url(url) => self.with_url_flags(url),
                target => Ok(target),
            },
            (Some(word), _) => Err(both(&word)),
            (None, command) if command.is_empty() => Err(no_server(verb)),
            (None, _) if self.runtime.is_some() || self.sdk.is_some() => {
                Err(Failure::usage("--runtime and --sdk are for tool files"))
            }
            (None, _) if self.is_for_url() => Err(no_url()),
            (None, command) => Ok(Target::Command(command)),
        }
    }

    /// True if a flag is for servers at a URL.
    fn is_for_url(&self) -> bool {
        !self.headers.is_empty() || self.oauth.is_given() || self.certificate.is_given()
    }

    /// The server at a URL; with flags the command of this program that serves it with them. Variables in headers are
    /// filled in there.
    fn with_url_flags(&self, url: String) -> Result<Target, Failure> {
        headers(&self.headers, &|name: &str| std::env::var(name).ok())?;
        self.certificate.check(Some(&url))?;
        let headers = self.headers.iter().map(|header| OsString::from(format!("--header={header}")));
        let flags: Vec<OsString> = headers.chain(self.oauth.words()).chain(self.certificate.words()).collect();
        if flags.is_empty() {
            return Ok(Target::Url(url));
        }
        Ok(Target::Command([own()?, "run".into(), "--upstream".into(), url.into()].into_iter().chain(flags).collect()))
    }
}

/// The tool file; with flags the command of this program that serves it with them.
fn with_flags(path: PathBuf, runtime: Option<OsString>, sdk: Option<Sdk>) -> Result<Target, Failure> {
    let sdk = sdk.and_then(|sdk| sdk.to_possible_value()).map(|sdk| sdk.get_name().into());
    let given = [("--runtime", runtime), ("--sdk", sdk)];
    let flags: Vec<OsString> =
        given.into_iter().filter_map(|(flag, value)| Some([flag.into(), value?])).flatten().collect();
    if flags.is_empty() {
        return Ok(Target::File(path));
    }
    Ok(Target::Command([own()?, "run".into(), path.into()].into_iter().chain(flags).collect()))
}

/// The path of this program.
fn own() -> Result<OsString, Failure> {
    let own = std::env::current_exe().map_err(|error| Failure::failed(format!("this program has no path: {error}")))?;
    Ok(own.into())
}

fn no_url() -> Failure {
    Failure::usage("--header is for servers at a URL, and so are --client-id and --client-cert")
}

fn pointer(text: &str) -> Result<String, String> {
    if text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("expected a JSON pointer, such as /result/content".into())
    }
}
