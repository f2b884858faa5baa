//! The flags of `pmcp playground`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use protomcp_watch::Watch;

use crate::args::exposure::{Exposure, Protection};
use crate::args::file_flags::Served;
use crate::args::http::host;
use crate::args::tool::{FileServer, ToolFlags};
use crate::args::upstream::{SessionFlags, Upstreams};
use crate::args::upstream_config::CommandProtocol;
use crate::exit::Failure;

/// The flags of `pmcp playground`.
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(super) struct Playground {
    /// Name or address to listen on
    #[arg(long, value_name = "HOST", default_value = "localhost", value_parser = host)]
    host: String,

    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value = "8080")]
    port: u16,

    /// Allow plaintext on addresses that other machines can reach
    #[arg(long)]
    insecure_plaintext: bool,

    #[command(flatten)]
    tool: ToolFlags,
}

const NOTES: &str = "\
The page calls the tools of the file, reads its resources, gets its prompts, answers its questions, and shows the messages \
of both wires. The file is reloaded after each save. The URL that is printed contains a secret, with which every program can use the \
tools. MCP clients reach the same server at /mcp with the secret as a bearer token.";

/// The options of `pmcp playground`.
#[derive(Debug)]
pub(crate) struct PlaygroundOptions {
    pub(crate) path: PathBuf,
    /// The file as the server that it is with another SDK.
    pub(crate) servers: Option<Box<Upstreams>>,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tool: ToolFlags,
    insecure_plaintext: bool,
}

impl Playground {
    /// The options; `tool_flags` are the flags for tool files on the command line.
    pub(super) fn options(self, tool_flags: &[String]) -> Result<PlaygroundOptions, Failure> {
        let Self { host, port, insecure_plaintext, mut tool } = self;
        let path = tool.path()?;
        let servers = match tool.take_server() {
            Some(server) => Some(Box::new(servers(server, &tool, tool_flags)?)),
            None => None,
        };
        Ok(PlaygroundOptions { path, servers, host, port, tool, insecure_plaintext })
    }
}

/// The server that a file is, which is started again when its files change.
fn servers(server: FileServer, tool: &ToolFlags, tool_flags: &[String]) -> Result<Upstreams, Failure> {
    let FileServer { words, file } = server;
    Served::File(file.path()).check_watched(tool_flags)?;
    let polled = |watch: Watch| match tool.watching.poll {
        Some(pause) => watch.poll_every(pause),
        None => watch,
    };
    let watches = Watch::command(&words).into_iter().map(polled).collect();
    let servers = Upstreams::of_command(words, CommandProtocol::default(), SessionFlags::default(), &tool.limits);
    Ok(servers.watching(watches, None).of_file(Some(file)))
}

impl PlaygroundOptions {
    /// Checks the addresses to listen on. The page always asks for its secret.
    pub(crate) fn permit(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        let encryption = Protection::Missing.or_waived(self.insecure_plaintext);
        Exposure { authentication: Protection::Given, encryption }.permit(addresses, "")
    }
}
