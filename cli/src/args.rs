//! The command line: parses the arguments to options, or to an error that names the correct usage.
//!
//! The grammar is that of the older Go program, and more forgiving: flags come before or after the file, and every flag
//! accepts its value after `=`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use protomcp_bridge::ToolFile;
use protomcp_transport::lines::MAX_LINE;

use crate::exit::Failure;

mod address;
mod choices;
mod client;
mod client_certificate;
mod dev;
mod duration;
mod exposure;
mod http;
mod oauth;
mod registry;
pub(crate) mod schema;
mod tcp;
mod tls;
mod tool;
mod upstream;
mod upstream_config;
mod values;

pub(crate) use address::{Address, Carrier, Encryption};
pub(crate) use client::{CallOptions, ListKind, ListOptions, ServerFlags, Target};
pub(crate) use http::{HttpOptions, Place, Protocols};
pub(crate) use registry::{Registry, RegistryFlags};
pub(crate) use tcp::TcpOptions;
pub(crate) use tls::TlsFiles;
pub(crate) use tool::ToolFlags;
use upstream::UpstreamFlags;
pub(crate) use upstream::{Upstreams, shown};
pub(crate) use upstream_config::{CommandProtocol, Location, StdioCommand};
use values::size;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const USAGE: &str = "usage: pmcp <dev|run|list|call> <file> [flags]\n       pmcp dev [flags] -- <command>\n       pmcp run [flags] --upstream <url> | --config <file> | -- <command>\n       pmcp schema <to-proto|to-json|resolve|cache> ...\n\nTry 'pmcp help'.";

/// Tools in any language, for any MCP host.
///
/// pmcp runs a tool file, or stands in front of MCP servers, and serves their tools to a host such as Claude Desktop or
/// Cursor. Put it into the host's configuration: command `pmcp`, arguments `dev` and the path of your file.
#[derive(Debug, Parser)]
#[command(name = "pmcp", disable_version_flag = true, disable_help_subcommand = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
}

const EXAMPLES: &str = "\
Examples:
  pmcp dev tools.py                     serve tools.py and reload it after each save
  pmcp run server.js --call-timeout 30s serve without watching; calls time out after 30 seconds
  pmcp dev tools.py --hot-reload swap   start the new version while the old one finishes
  pmcp run tools.py --transport http    serve any number of clients on http://localhost:8080/mcp
  pmcp list tools.py                    print the tools of tools.py, or of any MCP server
  pmcp call tools.py add a=2 b=3        call a tool
  pmcp dev -- uv run server.py          reload any MCP server after each save, in the same session
  pmcp run -- npx -y some-server        serve another MCP server, in every revision of MCP
  pmcp run --upstream https://example.com/mcp
                                        serve a remote server to a host that knows only stdio
  pmcp run --upstream proto://localhost:8080
                                        serve a server of proto-mcp to any host of MCP
  pmcp run --config servers.json --transport http
                                        serve all servers of a host's mcpServers as one, on one port

A tool file is any program that uses a protomcp SDK:

  from protomcp import tool

  @tool(\"Add two numbers\")
  def add(a: int, b: int) -> int:
      return a + b

Python files need the SDK (pip install protomcp) in the Python that runs them: the one that PROTOMCP_PYTHON
names, uv's in a project with a pyproject.toml, otherwise python3. JavaScript and TypeScript run with node and
npx tsx, or with the program in PROTOMCP_NODE; --runtime sets the program for any file.

Exit codes: 0 success, 1 failure, 2 an error in the command line or in a file it names.";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve a tool file, or any MCP server, and reload it when it changes
    Dev(dev::Dev),
    /// Serve a tool file (SIGHUP reloads it) or MCP servers
    Run(Run),
    /// Print the tools of a tool file or an MCP server
    List(client::List),
    /// Call a tool of a tool file or an MCP server
    Call(client::Call),
    /// Convert schemas of tools between JSON Schema and protobuf, and look them up in schema registries
    Schema(schema::SchemaOptions),
    /// Print the version
    Version,
    /// Print help for pmcp or for one command
    Help {
        /// The command to explain
        command: Option<String>,
    },
}

/// The transport between client and bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One client, on standard input and output.
    Stdio,
    /// Any number of clients, over Streamable HTTP.
    Http,
    /// Like `Http`, and over the transport of MCP 2024-11-05 as well.
    Sse,
    /// As `Http`, and of its protocols gRPC alone.
    Grpc,
    /// The port of `Http` with WebSocket alone.
    WebSocket,
    /// Any number of clients, in proto-mcp or in lines of JSON.
    Tcp,
}

#[derive(Debug, Args)]
struct Run {
    #[command(flatten)]
    serve: Serve,

    #[command(flatten)]
    upstream: UpstreamFlags,
}

#[derive(Debug, Args)]
struct Serve {
    /// Transport to clients: stdio; http for Streamable HTTP and, on the same port, proto-mcp over gRPC and WebSocket; sse
    /// for these and the older HTTP+SSE; grpc or ws for one of them alone; tcp for proto-mcp and, without --auth and
    /// --oauth-issuer, JSON-RPC in lines. On stdio clients may speak proto-mcp, too
    #[arg(long, value_name = "KIND", default_value = "stdio", value_parser = transport)]
    transport: Transport,

    #[command(flatten)]
    tool: ToolFlags,

    /// Longest line from a client on stdio or tcp [default: 64M]; over HTTP use --max-body
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_line: Option<u64>,

    #[command(flatten)]
    http: http::Http,
}

/// The parsed command line.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// Print this on stdout and exit.
    Print(String),
    /// Serve a tool file.
    Serve(Box<Options>),
    /// Print a list of a server.
    List(Box<ListOptions>),
    /// Call a tool of a server.
    Call(Box<CallOptions>),
    /// Convert or look up schemas.
    Schema(Box<schema::SchemaOptions>),
}

/// The options of `dev` and `run`.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) source: Source,
    pub(crate) tool: ToolFlags,
    pub(crate) endpoint: Endpoint,
}

/// The tools to serve.
#[derive(Debug)]
pub(crate) enum Source {
    /// Those of a tool file.
    File {
        path: PathBuf,
        /// Reload it when it changes.
        watch: bool,
    },
    /// Those of MCP servers.
    Servers {
        servers: Box<Upstreams>,
        /// Flags on the command line that only matter to tool files.
        idle: Vec<String>,
    },
}

/// The transport with its options.
#[derive(Debug)]
pub(crate) enum Endpoint {
    Stdio(StdioOptions),
    Http(Box<HttpOptions>),
    Tcp(Box<TcpOptions>),
}

/// Standard input and output.
#[derive(Debug)]
pub(crate) struct StdioOptions {
    /// The longest line, in bytes.
    pub(crate) max_line: usize,
    /// Network flags on the command line, which have no effect on stdio.
    pub(crate) idle: Vec<String>,
}

/// Parses the command line, the program's name included.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, Failure> {
    let words = with_values(words);
    match words.get(1).and_then(|word| word.to_str()) {
        None if words.len() < 2 => return Err(Failure::usage(USAGE)),
        Some("-v" | "-V" | "--version") => return Ok(version()),
        _ => {}
    }
    let mut grammar = Cli::command();
    let read = grammar.try_get_matches_from_mut(words).and_then(|matches| {
        let is_network = |flag: &Arg| flag.get_help_heading().is_some_and(|heading| http::HEADINGS.contains(&heading));
        let is_tool = |flag: &Arg| flag.get_long().is_some_and(|name| tool::TOOL_FILES_ONLY.contains(&name));
        let used = (flags_used(&grammar, &matches, is_network), flags_used(&grammar, &matches, is_tool));
        Cli::from_arg_matches(&matches).map(|cli| (cli, used))
    });
    let (cli, (network_flags, tool_flags)) = match read {
        Ok(read) => read,
        Err(error) => return refuse(&error),
    };
    match cli {
        Cli { command: Verb::Dev(mut dev) } => {
            let source = dev.source(&tool_flags)?;
            dev.serve.options(source, &network_flags)
        }
        Cli { command: Verb::Run(Run { serve, upstream }) } => {
            let source = match upstream.servers(&serve.tool.limits, variable)? {
                Some(_) if serve.tool.file.is_some() => {
                    return Err(Failure::usage("name either a tool file or servers, not both"));
                }
                Some(servers) => Source::Servers { servers: Box::new(servers), idle: tool_flags },
                None => serve.file(false)?,
            };
            serve.options(source, &network_flags)
        }
        Cli { command: Verb::List(list) } => list.options().map(|options| Parsed::List(Box::new(options))),
        Cli { command: Verb::Call(call) } => call.options().map(|options| Parsed::Call(Box::new(options))),
        Cli { command: Verb::Schema(options) } => Ok(Parsed::Schema(Box::new(options))),
        Cli { command: Verb::Version } => Ok(version()),
        Cli { command: Verb::Help { command } } => help(command.as_deref()),
    }
}

/// Attaches a word such as `-1s` to the flag before it. No flag begins like that, so it must be a value, and the error
/// should name the value.
fn with_values(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let is_negative =
        |word: &str| word.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let mut all: Vec<OsString> = Vec::new();
    let mut words = words.into_iter();
    for word in words.by_ref() {
        if word == "--" {
            // The rest is a command of its own.
            all.push(word);
            break;
        }
        match all.last_mut() {
            Some(flag)
                if word.to_str().is_some_and(is_negative)
                    && flag.to_str().is_some_and(|flag| flag.starts_with("--") && !flag.contains('=')) =>
            {
                flag.push("=");
                flag.push(&word);
            }
            _ => all.push(word),
        }
    }
    all.extend(words);
    all
}

/// The flags of a kind on the command line.
fn flags_used(grammar: &Command, matches: &ArgMatches, is_kind: impl Fn(&Arg) -> bool) -> Vec<String> {
    let Some((verb, matches)) = matches.subcommand() else { return Vec::new() };
    let flags = grammar.find_subcommand(verb).into_iter().flat_map(Command::get_arguments);
    let used = flags
        .filter(|flag| is_kind(flag) && matches.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine));
    used.filter_map(Arg::get_long).map(|name| format!("--{name}")).collect()
}

fn version() -> Parsed {
    Parsed::Print(format!("pmcp version {VERSION}\n"))
}

fn help(command: Option<&str>) -> Result<Parsed, Failure> {
    let mut all = Cli::command();
    let Some(name) = command else { return Ok(Parsed::Print(all.render_long_help().to_string())) };
    match all.find_subcommand_mut(name) {
        Some(command) => {
            Ok(Parsed::Print(command.clone().bin_name(format!("pmcp {name}")).render_long_help().to_string()))
        }
        None => Err(unknown_command(name)),
    }
}

fn unknown_command(name: &str) -> Failure {
    Failure::usage(format!("unknown command \"{name}\"\n{USAGE}"))
}

/// The usage of the command that an error is about.
fn usage(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    match usage.trim_start_matches("Usage: ") {
        "" => USAGE.to_owned(),
        top if top.starts_with("pmcp <") => USAGE.to_owned(),
        usage => format!("usage: {usage}"),
    }
}

/// Translates an error of the parser; help is not an error.
fn refuse(error: &clap::Error) -> Result<Parsed, Failure> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let argument = || context(ContextKind::InvalidArg);
    // The parser shows a flag with its value's name.
    let flag = || {
        let shown = argument();
        match shown.strip_prefix(['<', '[']).and_then(|name| name.strip_suffix(['>', ']'])) {
            Some(name) => name.to_lowercase(),
            None => shown.split_whitespace().next().unwrap_or_default().replace('[', "<").replace(']', ">"),
        }
    };
    match error.kind() {
        ErrorKind::DisplayHelp => Ok(Parsed::Print(error.render().to_string())),
        ErrorKind::UnknownArgument if argument().starts_with('-') => {
            let hint = match context(ContextKind::SuggestedArg) {
                suggestion if suggestion.is_empty() => String::new(),
                suggestion => format!("; did you mean {suggestion}?"),
            };
            Err(Failure::usage(format!("unknown flag \"{}\"{hint}", flag())))
        }
        ErrorKind::UnknownArgument => Err(Failure::usage(format!("unexpected argument \"{}\"", argument()))),
        ErrorKind::InvalidSubcommand => {
            let name = context(ContextKind::InvalidSubcommand);
            Err(Failure::usage(format!("unknown command \"{name}\"\n{}", usage(error))))
        }
        ErrorKind::MissingSubcommand => Err(Failure::usage(usage(error))),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::usage(format!("missing command\n{}", error.render())))
        }
        ErrorKind::MissingRequiredArgument => Err(Failure::usage(format!("missing {}\n{}", argument(), usage(error)))),
        ErrorKind::InvalidValue
            if context(ContextKind::InvalidValue).is_empty() && argument().starts_with(['<', '[']) =>
        {
            Err(Failure::usage(format!("the {} is empty", flag())))
        }
        ErrorKind::InvalidValue if context(ContextKind::InvalidValue).is_empty() => {
            Err(Failure::usage(format!("flag \"{}\" needs a value", flag())))
        }
        ErrorKind::InvalidValue => {
            let valid = context(ContextKind::ValidValue);
            Err(Failure::usage(format!(
                "invalid {} \"{}\": must be one of {valid}",
                flag(),
                context(ContextKind::InvalidValue)
            )))
        }
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            Err(Failure::usage(format!("invalid {} \"{}\": {why}", flag(), context(ContextKind::InvalidValue))))
        }
        _ => Err(Failure::usage(error.render().to_string().trim_start_matches("error: ").trim_end().to_owned())),
    }
}

impl Serve {
    /// The tool file as the source of tools.
    fn file(&self, watch: bool) -> Result<Source, Failure> {
        let Some(path) = self.tool.file.clone() else {
            return Err(Failure::usage(format!("missing file argument\n{USAGE}")));
        };
        if !path.exists() {
            return Err(Failure::usage(format!("file not found: {}", path.display())));
        }
        if !ToolFile::new(&path).is_runnable() {
            return Err(Failure::usage(format!("{} is a directory; name the tool file in it", path.display())));
        }
        Ok(Source::File { path, watch })
    }

    /// The options; `network_flags` are the network flags on the command line.
    fn options(self, source: Source, network_flags: &[String]) -> Result<Parsed, Failure> {
        if self.tool.lazy_tools().is_some() && matches!(self.transport, Transport::Grpc | Transport::WebSocket) {
            return Err(Failure::usage("--lazy-tools has no effect on grpc and ws: clients of proto-mcp see the list"));
        }
        let is_http = !matches!(self.transport, Transport::Stdio | Transport::Tcp);
        if self.max_line.is_some() && is_http {
            return Err(Failure::usage("--max-line applies to stdio and tcp; over HTTP use --max-body"));
        }
        let max_line = self.max_line.map_or(MAX_LINE, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let socket_directory =
            self.tool.socket.as_deref().and_then(Path::parent).filter(|path| !path.as_os_str().is_empty());
        if let Some(directory) = socket_directory.filter(|directory| !directory.is_dir()) {
            return Err(Failure::usage(format!("invalid --socket: there is no directory {}", directory.display())));
        }
        let endpoint = match self.transport {
            Transport::Stdio => Endpoint::Stdio(StdioOptions { max_line, idle: self.http.idle(network_flags)? }),
            Transport::Tcp => Endpoint::Tcp(Box::new(self.http.tcp(max_line, network_flags, variable)?)),
            Transport::Http => Endpoint::Http(Box::new(self.http.options(Protocols::Current, variable)?)),
            Transport::Sse => Endpoint::Http(Box::new(self.http.options(Protocols::WithHttpSse, variable)?)),
            Transport::Grpc => {
                Endpoint::Http(Box::new(self.http.options(Protocols::Grpc.check(network_flags)?, variable)?))
            }
            Transport::WebSocket => {
                Endpoint::Http(Box::new(self.http.options(Protocols::WebSocket.check(network_flags)?, variable)?))
            }
        };
        Ok(Parsed::Serve(Box::new(Options { source, tool: self.tool, endpoint })))
    }
}

fn transport(text: &str) -> Result<Transport, String> {
    match text {
        "stdio" => Ok(Transport::Stdio),
        "http" => Ok(Transport::Http),
        "sse" => Ok(Transport::Sse),
        "grpc" => Ok(Transport::Grpc),
        "tcp" => Ok(Transport::Tcp),
        "ws" => Ok(Transport::WebSocket),
        _ => Err("unknown transport; use stdio, http, sse, grpc, ws or tcp".into()),
    }
}

/// An environment variable; a value that is not UTF-8 is ignored.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests;
