//! The options of the commands that serve: `dev`, `run` and `record`.

use std::path::PathBuf;

use crate::args::http::HttpOptions;
use crate::args::tcp::TcpOptions;
use crate::args::tool::ToolFlags;
use crate::args::upstream::Upstreams;

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
