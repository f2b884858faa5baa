//! The flags of `pmcp validate`.

use clap::Args;
use protomcp_check::{HostSelection, Strictness};

use crate::args::client::{ServerFlags, Target};
use crate::args::report::hosts;
use crate::exit::Failure;

/// Check the tools of a tool file or an MCP server, also against the limits of hosts
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Validate {
    /// A tool file, or the URL of an MCP server; neither with a command after --
    target: Option<String>,

    /// Also refuse short descriptions and names that say nothing, and fail if a host of --for would lose a tool
    #[arg(long)]
    strict: bool,

    /// Format of the report: text, json, or sarif for code scanning
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = format)]
    format: ReportFormat,

    /// Hosts whose limits to check, such as claude, cursor, vscode or openai, separated by commas; without a value the
    /// limits of all hosts together
    #[arg(long = "for", value_name = "HOSTS", num_args = 0..=1, default_missing_value = "common", value_parser = hosts)]
    hosts: Vec<HostSelection>,

    #[command(flatten)]
    server: ServerFlags,
}

const EXAMPLES: &str = "\
Examples:
  pmcp validate tools.py                          names, descriptions and schemas of a tool file
  pmcp validate tools.py --for claude,cursor      also the limits of these hosts, as warnings
  pmcp validate tools.py --for openai --strict    fail where the OpenAI API would refuse a tool
  pmcp validate --format json -- uvx some-server  any MCP server, for a program
  pmcp validate tools.py --format sarif           for code scanning in CI

Without --for it warns of tools that some host refuses together with all others. The exit code is 1 if a tool has an error.";

/// The form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For services that show findings next to a change.
    Sarif,
}

fn format(text: &str) -> Result<ReportFormat, String> {
    match text {
        "text" => Ok(ReportFormat::Text),
        "json" => Ok(ReportFormat::Json),
        "sarif" => Ok(ReportFormat::Sarif),
        _ => Err("must be 'text' or 'json', or 'sarif' for code scanning".into()),
    }
}

/// The options of `pmcp validate`.
#[derive(Debug)]
pub(crate) struct ValidateOptions {
    pub(crate) target: Target,
    pub(crate) strictness: Strictness,
    pub(crate) format: ReportFormat,
    pub(crate) hosts: HostSelection,
    pub(crate) server: ServerFlags,
}

impl Validate {
    pub(super) fn options(self) -> Result<ValidateOptions, Failure> {
        let Self { target, strict, format, hosts, mut server } = self;
        let target = server.target(target, "validate")?;
        let strictness = if strict { Strictness::Strict } else { Strictness::Usual };
        let hosts = hosts.into_iter().fold(HostSelection::default(), HostSelection::and);
        Ok(ValidateOptions { target, strictness, format, hosts, server })
    }
}
