//! The servers that are measured: each can be started on standard streams or over HTTP, and has the tool `echo`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::client::Client;
use crate::programs::Programs;
use crate::web::WebServer;

/// The name of the relay that parses nothing.
pub const RELAY: &str = "relay without a parser";
/// The name of the bridge of this project.
pub const PMCP: &str = "pmcp";
/// The name of `rmcp` with its default transport.
pub const RMCP: &str = "rmcp in-process";
/// The name of `rmcp` with its transport for pipes.
pub const RMCP_PIPES: &str = "rmcp in-process, stdio_pipes";

/// A server that can be started and called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A relay that parses nothing, with a tool process behind it.
    Relay,
    /// `pmcp`, or another program with its flags, with a tool process behind it.
    Bridge(PathBuf),
    /// A server with built-in tools, and the flag of its transport.
    Rmcp(Option<&'static str>),
}

/// The tools of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// `echo` repeats a text.
    Echo,
    /// `echo`, in a tool process that answers every request of the bridge. A simple SDK leaves some unanswered.
    Answering,
    /// `large` has a result of this many bytes, made in advance where the tool is a process.
    Large(usize),
    /// The same, compressed by the tool process.
    LargeZstd(usize),
    /// This many tools with a description and a schema.
    Many(usize),
    /// Calls are never answered.
    Silent,
}

impl Subject {
    /// The subjects in the order of each round: the relay, the bridge, other builds of it, and `rmcp` with both
    /// transports.
    pub fn all(programs: &Programs, others: &[(String, PathBuf)]) -> Vec<Self> {
        let new = |name: &str, kind| Self { name: name.to_owned(), kind };
        let others = others.iter().map(|(name, path)| new(name, Kind::Bridge(path.clone())));
        [new(RELAY, Kind::Relay), new(PMCP, Kind::Bridge(programs.pmcp.clone()))]
            .into_iter()
            .chain(others)
            .chain([new(RMCP, Kind::Rmcp(None)), new(RMCP_PIPES, Kind::Rmcp(Some("--pipes")))])
            .collect()
    }

    /// Its name in the tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program, if it is `pmcp` or has its flags.
    pub fn bridge(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Bridge(path) => Some(path),
            Kind::Relay | Kind::Rmcp(_) => None,
        }
    }

    /// Starts it on standard streams without waiting. `None` if it cannot have these tools.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn start(&self, programs: &Programs, tools: Tools) -> io::Result<Option<Client>> {
        let mut command = match (&self.kind, tools) {
            (Kind::Relay, Tools::Echo | Tools::Large(_)) => {
                let mut command = Command::new(&programs.relay);
                command.arg(&programs.plain_tool);
                command
            }
            (Kind::Bridge(path), _) => run(path, programs, tools),
            (Kind::Rmcp(flag), Tools::Echo | Tools::Large(_) | Tools::Many(_)) => {
                let mut command = Command::new(&programs.rmcp);
                command.args(*flag);
                command
            }
            _ => return Ok(None),
        };
        Client::start(command.envs(environment(tools))).map(Some)
    }

    /// Starts it over HTTP with these flags of `pmcp run`. `None` if it has no HTTP.
    ///
    /// # Errors
    ///
    /// If the program cannot be started, or does not listen.
    pub fn listen(&self, programs: &Programs, flags: &[&str]) -> io::Result<Option<WebServer>> {
        let command = match &self.kind {
            Kind::Bridge(path) => {
                let mut command = run(path, programs, Tools::Echo);
                command.args(["--transport", "http", "--port", "0"]).args(flags);
                command
            }
            Kind::Rmcp(None) => {
                let mut command = Command::new(&programs.rmcp);
                command.arg("--http");
                command
            }
            Kind::Relay | Kind::Rmcp(Some(_)) => return Ok(None),
        };
        WebServer::start(command).map(Some)
    }
}

/// `pmcp run` with a tool process.
fn run(program: &Path, programs: &Programs, tools: Tools) -> Command {
    let mut command = Command::new(program);
    command.arg("run").arg(if tools == Tools::Echo { &programs.tool } else { &programs.large_tool });
    command
}

/// The variables that choose the tools of the tool process for large results, and of the `rmcp` server.
pub fn environment(tools: Tools) -> Vec<(&'static str, String)> {
    // Made in advance, and larger unless something else is said.
    let small = ("LARGE_SIZE", "1000".to_owned());
    match tools {
        Tools::Echo => Vec::new(),
        Tools::Answering => vec![small],
        Tools::Large(size) => vec![("LARGE_SIZE", size.to_string())],
        Tools::LargeZstd(size) => vec![("LARGE_SIZE", size.to_string()), ("LARGE_ZSTD", "1".to_owned())],
        Tools::Many(count) => vec![small, ("MANY_TOOLS", count.to_string())],
        Tools::Silent => vec![small, ("NO_ANSWER", "1".to_owned())],
    }
}
