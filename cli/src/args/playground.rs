//! The flags of `pmcp playground`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::args::exposure::{Exposure, Protection};
use crate::args::http::host;
use crate::args::tool::ToolFlags;
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
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tool: ToolFlags,
    insecure_plaintext: bool,
}

impl Playground {
    pub(super) fn options(self) -> Result<PlaygroundOptions, Failure> {
        let Self { host, port, insecure_plaintext, tool } = self;
        Ok(PlaygroundOptions { path: tool.path()?, host, port, tool, insecure_plaintext })
    }
}

impl PlaygroundOptions {
    /// Checks the addresses to listen on. The page always asks for its secret.
    pub(crate) fn permit(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        let encryption = Protection::Missing.or_waived(self.insecure_plaintext);
        Exposure { authentication: Protection::Given, encryption }.permit(addresses, "")
    }
}
