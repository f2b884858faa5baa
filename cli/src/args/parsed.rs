//! Parsed command lines.

use std::path::PathBuf;

use crate::args::bundle::BundleOptions;
use crate::args::client::{CallOptions, ListOptions};
use crate::args::doctor::DoctorOptions;
use crate::args::get::{PromptOptions, ReadOptions};
use crate::args::http::HttpOptions;
use crate::args::playground::PlaygroundOptions;
use crate::args::tcp::TcpOptions;
use crate::args::test::TestOptions;
use crate::args::tool::ToolFlags;
use crate::args::trace::{MockOptions, RecordOptions, ReplayOptions, ScenarioSource};
use crate::args::upstream::Upstreams;
use crate::args::validate::ValidateOptions;
use crate::args::{init, install, schema};

/// The parsed command line.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// Print this on stdout and exit.
    Print(String),
    /// Print this on stderr: the command line has no command.
    NoCommand(String),
    /// Serve a tool file.
    Serve(Box<Options>),
    /// Print a list of a server.
    List(Box<ListOptions>),
    /// Call a tool of a server.
    Call(Box<CallOptions>),
    /// Read a resource of a server.
    Read(Box<ReadOptions>),
    /// Get a prompt of a server.
    Prompt(Box<PromptOptions>),
    /// Check the tools of a server.
    Validate(Box<ValidateOptions>),
    /// Test a server.
    Test(Box<TestOptions>),
    /// Find out what is wrong with a tool file.
    Doctor(Box<DoctorOptions>),
    /// Record a conversation between a host and a server.
    Record(Box<RecordOptions>),
    /// Hold a recorded conversation again.
    Replay(Box<ReplayOptions>),
    /// Answer from a trace.
    Mock(Box<MockOptions>),
    /// Print a trace as a scenario.
    Scenario(Box<ScenarioSource>),
    /// Serve a page to try a tool file.
    Playground(Box<PlaygroundOptions>),
    /// Convert or look up schemas.
    Schema(Box<schema::SchemaOptions>),
    /// Write a first tool file.
    Init(Box<init::Init>),
    /// Make a bundle of a tool file.
    Bundle(Box<BundleOptions>),
    /// Add a server to hosts.
    Install(Box<install::InstallOptions>),
    /// Remove one.
    Uninstall(Box<install::Uninstall>),
    /// Print them.
    Status(Box<install::Status>),
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
    /// The tools of a tool file.
    File {
        path: PathBuf,
        /// Reload it when it changes.
        watch: bool,
    },
    /// The tools of MCP servers.
    Servers(Box<Upstreams>),
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
