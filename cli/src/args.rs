//! The command line: parses the arguments to options, or to an error that names the correct usage.
//!
//! The grammar is the older Go program's, and more forgiving: flags come before or after the file, and every flag
//! accepts its value after `=`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;

use crate::exit::Failure;

#[cfg(feature = "upstream")]
pub(crate) mod address;
mod admission;
#[cfg(feature = "install")]
pub(crate) mod bundle;
pub(crate) mod choices;
pub(crate) mod client;
#[cfg(feature = "upstream")]
mod client_certificate;
mod config;
mod dev;
pub(crate) mod doctor;
mod duration;
mod environment;
#[cfg(feature = "http")]
mod exposure;
mod features;
#[cfg(feature = "upstream")]
mod file_flags;
#[cfg(feature = "install")]
mod for_hosts;
pub(crate) mod get;
mod grammar;
#[cfg(feature = "http")]
pub(crate) mod http;
mod identity;
pub(crate) mod init;
#[cfg(feature = "install")]
pub(crate) mod install;
#[cfg(feature = "http")]
mod oauth;
#[cfg(feature = "upstream")]
pub(crate) mod oauth_client;
pub(crate) mod options;
mod overview;
pub(crate) mod parsed;
#[cfg(feature = "playground")]
pub(crate) mod playground;
#[cfg(feature = "proto-mcp")]
pub(crate) mod proto;
mod reference;
mod refusal;
#[cfg(feature = "proto-mcp")]
pub(crate) mod registry;
pub(crate) mod report;
#[cfg(feature = "proto-mcp")]
pub(crate) mod schema;
mod serve;
#[cfg(feature = "http")]
mod sessions;
mod settings;
mod settings_file;
pub(crate) mod shown_url;
mod skills;
#[cfg(feature = "redis")]
pub(crate) mod store;
#[cfg(all(feature = "http", not(feature = "redis")))]
#[path = "args/store/none.rs"]
pub(crate) mod store;
#[cfg(feature = "proto-mcp")]
pub(crate) mod tcp;
pub(crate) mod test;
#[cfg(feature = "http")]
pub(crate) mod tls;
pub(crate) mod tool;
#[cfg(feature = "trace")]
pub(crate) mod trace;
#[cfg(feature = "upstream")]
pub(crate) mod upstream;
#[cfg(feature = "upstream")]
pub(crate) mod upstream_config;
pub(crate) mod validate;
mod values;
mod watched_paths;
mod words;
mod workers;

use crate::args::doctor::DoctorOptions;
use crate::args::environment::{variable, variables};
use crate::args::grammar::Grammar;
use crate::args::options::Options;
use crate::args::parsed::Parsed;
use crate::args::serve::Run;
#[cfg(feature = "trace")]
use crate::args::trace::MockOptions;
#[cfg(feature = "upstream")]
use file_flags::check_sdk;
use overview::OVERVIEW;
use refusal::refuse;
use settings::Settings;
use words::{flags_used, with_color, with_values};

const VERSION_LINE: &str = concat!("pmcp version ", env!("CARGO_PKG_VERSION"), "\n");
const NO_POLL: &str = "--poll is for pmcp dev: run and record do not watch files";

/// Tools in any language, for any MCP host.
///
/// pmcp runs a tool file, or stands in front of MCP servers, and serves their tools to a host such as Claude Desktop or
/// Cursor. `pmcp install` puts it into the host's configuration: command `pmcp`, arguments `dev` and the path of your file.
#[derive(Debug, Parser)]
#[command(name = "pmcp", disable_version_flag = true, disable_help_subcommand = true, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Verb,
}

const EXAMPLES: &str = "\
Examples:
  pmcp init                             write a first tool file, tools.py
  pmcp dev tools.py                     serve tools.py and reload it after each save
  pmcp run server.js --call-timeout 30s serve without watching; calls time out after 30 seconds
  pmcp dev tools.py --hot-reload swap   start the new version while the old one finishes
  pmcp run tools.py --transport http    serve any number of clients on http://localhost:8080/mcp
  pmcp list tools.py                    print the tools of tools.py, or of any MCP server
  pmcp call tools.py add a=2 b=3        call a tool
  pmcp read notes.py notes://all        print a resource
  pmcp prompt notes.py summary name=tea print a prompt
  pmcp validate tools.py --for claude   check its tools, also against the limits of a host
  pmcp test tools.py run a.yaml         test them, step by step
  pmcp record tools.py --to bug.jsonl   serve tools.py, and keep what is said to replay or mock it
  pmcp doctor tools.py                  find out why a file does not work
  pmcp playground tools.py              try its tools in a web page
  pmcp install tools.py --client cursor add tools.py to the configuration of Cursor
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

Flags can also be set by variables (PMCP_CALL_TIMEOUT=30s), in the file pmcp.toml next to the tool file, and in \
~/.config/pmcp/pmcp.toml; pmcp config show prints them.

pmcp lends Python and JavaScript files its SDKs if they have none (--sdk). Python runs as PROTOMCP_PYTHON says, with \
uv in a project or for a file with script metadata, with the .venv next to or above the file, otherwise as python3; \
JavaScript and TypeScript as PROTOMCP_NODE says, otherwise with node, or tsx where that is needed; --runtime sets the \
program for any file.

Exit codes: 0 success, 1 failure, 2 an error in the command line or in a file it names.";

#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    Dev(dev::Dev),
    Run(Run),
    List(client::List),
    Call(client::Call),
    Read(get::Read),
    Prompt(get::Prompt),
    #[command(visible_alias = "check")]
    Validate(validate::Validate),
    Test(test::Test),
    Doctor(DoctorOptions),
    #[cfg(feature = "trace")]
    Record(trace::Record),
    #[cfg(feature = "trace")]
    Replay(trace::Replay),
    #[cfg(feature = "trace")]
    Mock(MockOptions),
    #[cfg(feature = "trace")]
    Scenario(trace::ScenarioSource),
    #[cfg(feature = "playground")]
    Playground(playground::Playground),
    #[cfg(feature = "proto-mcp")]
    Schema(schema::SchemaOptions),
    Init(init::Init),
    #[cfg(feature = "install")]
    Install(install::Install),
    #[cfg(feature = "install")]
    Bundle(bundle::Bundle),
    #[cfg(feature = "install")]
    Uninstall(install::Uninstall),
    #[cfg(feature = "install")]
    Status(install::Status),
    Config(config::Config),
    /// Print the completions of a shell
    #[command(after_help = reference::COMPLETIONS)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands
    #[command(hide = true)]
    Man {
        /// Directory of the pages
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// Print the version
    Version,
    /// Print help for pmcp or for one command
    Help {
        /// The command to explain
        command: Option<String>,
    },
}

/// The tool file of a command line, the program's name included, by the grammar alone: no setting and no file is read.
#[cfg(feature = "install")]
pub(crate) fn tool_file(words: &[String]) -> Option<PathBuf> {
    let words: Vec<OsString> = with_values(words.iter().map(OsString::from));
    let matches = Grammar::new(Cli::command).parse(&words).ok()?;
    let (_, command) = matches.subcommand()?;
    command.try_get_one::<PathBuf>("file").ok()?.cloned()
}

/// Parses the command line, the program's name included.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, Failure> {
    let mut grammar = Grammar::new(Cli::command);
    let words = with_color(&grammar, with_values(words));
    match words.get(1).and_then(|word| word.to_str()) {
        None if words.len() < 2 => return Ok(Parsed::NoCommand(OVERVIEW.to_owned())),
        Some("-v" | "-V" | "--version") => return Ok(Parsed::Print(VERSION_LINE.into())),
        _ => {}
    }
    let plain = match grammar.parse(&words) {
        Ok(matches) => matches,
        Err(error) => return refuse(&error, &words, &grammar.whole()).map(Parsed::Print),
    };
    let is_tool = |flag: &Arg| flag.get_long().is_some_and(|name| tool::TOOL_FILES_ONLY.contains(&name));
    #[cfg(feature = "http")]
    let network_flags = flags_used(&grammar, &plain, http::is_for_networks);
    #[cfg(not(feature = "http"))]
    let network_flags = Vec::<String>::new();
    let tool_flags = flags_used(&grammar, &plain, is_tool);
    #[cfg(feature = "upstream")]
    check_sdk(&grammar, &plain, &tool_flags)?;
    let polls = !flags_used(&grammar, &plain, |flag| flag.get_long() == Some("poll")).is_empty();
    let matches = Settings::of(&grammar, &plain, variable)?.matches(&grammar, &words, plain)?;
    let command = match Cli::from_arg_matches(&matches) {
        Ok(Cli { command }) => command,
        Err(error) => return refuse(&error, &words, &grammar.whole()).map(Parsed::Print),
    };
    Line { grammar, tool_flags, network_flags, polls }.parsed(command)
}

/// The flags on a command line, without settings, and its grammar.
struct Line {
    grammar: Grammar,
    tool_flags: Vec<String>,
    network_flags: Vec<String>,
    /// With `--poll`.
    polls: bool,
}

impl Line {
    /// The options of the command.
    fn parsed(self, command: Verb) -> Result<Parsed, Failure> {
        let Self { grammar, tool_flags, network_flags, polls } = self;
        match command {
            Verb::Dev(mut dev) => {
                let source = dev.source(&tool_flags)?;
                dev.serve.options(source, &network_flags).map(served)
            }
            Verb::Run(_) if polls => Err(Failure::usage(NO_POLL)),
            Verb::Run(run) => run.options(&tool_flags, &network_flags).map(served),
            Verb::List(list) => list.options().map(|options| Parsed::List(Box::new(options))),
            Verb::Call(call) => call.options().map(|options| Parsed::Call(Box::new(options))),
            Verb::Read(read) => read.options().map(|options| Parsed::Read(Box::new(options))),
            Verb::Prompt(prompt) => prompt.options().map(|options| Parsed::Prompt(Box::new(options))),
            Verb::Validate(check) => check.options().map(|options| Parsed::Validate(Box::new(options))),
            Verb::Test(test) => test.options().map(|options| Parsed::Test(Box::new(options))),
            Verb::Doctor(options) => Ok(Parsed::Doctor(Box::new(options))),
            #[cfg(feature = "trace")]
            Verb::Record(_) if polls => Err(Failure::usage(NO_POLL)),
            #[cfg(feature = "trace")]
            Verb::Record(record) => {
                record.options(&tool_flags, &network_flags).map(|options| Parsed::Record(Box::new(options)))
            }
            #[cfg(feature = "trace")]
            Verb::Replay(replay) => replay.options().map(|options| Parsed::Replay(Box::new(options))),
            #[cfg(feature = "trace")]
            Verb::Mock(options) => Ok(Parsed::Mock(Box::new(options))),
            #[cfg(feature = "trace")]
            Verb::Scenario(options) => Ok(Parsed::Scenario(Box::new(options))),
            #[cfg(feature = "playground")]
            Verb::Playground(page) => page.options(&tool_flags).map(|options| Parsed::Playground(Box::new(options))),
            #[cfg(feature = "proto-mcp")]
            Verb::Schema(options) => Ok(Parsed::Schema(Box::new(options))),
            Verb::Init(options) => Ok(Parsed::Init(Box::new(options))),
            #[cfg(feature = "install")]
            Verb::Install(install) => {
                install.options(variable, for_hosts::check).map(|options| Parsed::Install(Box::new(options)))
            }
            #[cfg(feature = "install")]
            Verb::Bundle(bundle) => bundle.options(&grammar).map(|options| Parsed::Bundle(Box::new(options))),
            #[cfg(feature = "install")]
            Verb::Uninstall(options) => Ok(Parsed::Uninstall(Box::new(options))),
            #[cfg(feature = "install")]
            Verb::Status(options) => Ok(Parsed::Status(Box::new(options))),
            Verb::Config(config) => config.text(grammar, variable, variables()).map(Parsed::Print),
            Verb::Completions { shell } => Ok(Parsed::Print(reference::completions(shell, Cli::command()))),
            Verb::Man { to } => reference::manual(to.as_deref(), Cli::command()).map(Parsed::Print),
            Verb::Version => Ok(Parsed::Print(VERSION_LINE.into())),
            Verb::Help { command } => reference::help(command.as_deref(), grammar.whole()).map(Parsed::Print),
        }
    }
}

fn served(options: Options) -> Parsed {
    Parsed::Serve(Box::new(options))
}

#[cfg(test)]
mod tests;
