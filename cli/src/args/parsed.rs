//! Parsed command lines.

use crate::args::bundle::BundleOptions;
use crate::args::client::{CallOptions, ListOptions};
use crate::args::doctor::DoctorOptions;
use crate::args::get::{PromptOptions, ReadOptions};
use crate::args::options::Options;
#[cfg(feature = "playground")]
use crate::args::playground::options::PlaygroundOptions;
use crate::args::test::TestOptions;
use crate::args::trace::{MockOptions, RecordOptions, ReplayOptions, ScenarioSource};
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
    /// Serve a page to try a tool file or a server.
    #[cfg(feature = "playground")]
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
