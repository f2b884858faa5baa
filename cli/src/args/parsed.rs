//! Parsed command lines.

#[cfg(feature = "install")]
use crate::args::bundle::BundleOptions;
use crate::args::client::{CallOptions, ListOptions};
use crate::args::doctor::DoctorOptions;
use crate::args::get::{PromptOptions, ReadOptions};
use crate::args::init::Init;
#[cfg(feature = "install")]
use crate::args::install::{InstallOptions, Status, Uninstall};
use crate::args::options::Options;
#[cfg(feature = "playground")]
use crate::args::playground::options::PlaygroundOptions;
#[cfg(feature = "proto-mcp")]
use crate::args::schema::SchemaOptions;
use crate::args::test::TestOptions;
#[cfg(feature = "trace")]
use crate::args::trace::{MockOptions, RecordOptions, ReplayOptions, ScenarioSource};
use crate::args::validate::ValidateOptions;

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
    #[cfg(feature = "trace")]
    Record(Box<RecordOptions>),
    /// Hold a recorded conversation again.
    #[cfg(feature = "trace")]
    Replay(Box<ReplayOptions>),
    /// Answer from a trace.
    #[cfg(feature = "trace")]
    Mock(Box<MockOptions>),
    /// Print a trace as a scenario.
    #[cfg(feature = "trace")]
    Scenario(Box<ScenarioSource>),
    /// Serve a page to try a tool file or a server.
    #[cfg(feature = "playground")]
    Playground(Box<PlaygroundOptions>),
    /// Convert or look up schemas.
    #[cfg(feature = "proto-mcp")]
    Schema(Box<SchemaOptions>),
    /// Write a first tool file.
    Init(Box<Init>),
    /// Make a bundle of a tool file.
    #[cfg(feature = "install")]
    Bundle(Box<BundleOptions>),
    /// Add a server to hosts.
    #[cfg(feature = "install")]
    Install(Box<InstallOptions>),
    /// Remove one.
    #[cfg(feature = "install")]
    Uninstall(Box<Uninstall>),
    /// Print them.
    #[cfg(feature = "install")]
    Status(Box<Status>),
}
