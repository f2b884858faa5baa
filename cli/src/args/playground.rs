//! The flags of `pmcp playground`.

pub(crate) mod options;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::args::http::host;
use crate::args::tool::ToolFlags;
use crate::args::upstream::UpstreamFlags;
use crate::args::values::host_name;
use crate::args::watched_paths;

/// Try a tool file or an MCP server in a web page, with a trace of its messages
#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(super) struct Playground {
    /// Name or address to listen on
    #[arg(long, value_name = "HOST", default_value = "localhost", value_parser = host)]
    host: String,

    /// Port to listen on; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value = "8080")]
    port: u16,

    /// Additional Host name to accept, such as tools.example.com; may be repeated
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    allow_host: Vec<String>,

    /// Allow plaintext on addresses that other machines can reach
    #[arg(long)]
    insecure_plaintext: bool,

    #[command(flatten)]
    tool: ToolFlags,

    /// Watch this file, or the source files below this directory: in addition to a tool file, instead of the files of a
    /// command; may be repeated [default: files that the command names, and source files below the current directory]
    #[arg(long = "watch", value_name = "PATH", help_heading = "Servers",
          value_parser = PathBufValueParser::new().try_map(watched_paths::existing))]
    watches: Vec<PathBuf>,

    #[command(flatten)]
    upstream: UpstreamFlags,
}

const NOTES: &str = "\
Examples:
  pmcp playground tools.py                       a tool file, reloaded after each save
  pmcp playground -- uv run server.py            any MCP server, started again after each save
  pmcp playground https://example.com/mcp        a server at a URL, to which you sign in if it asks
  pmcp playground https://example.com/mcp --header 'Authorization: Bearer ${TOKEN}'

The page calls the tools, reads the resources, gets the prompts, answers the questions of tools, and shows the messages of \
both wires. The URL that is printed contains a secret, with which every program can use the \
tools. MCP clients reach the same server at /mcp with the secret as a bearer token.";
