//! The options of the commands that serve: `dev`, `run` and `record`.

use std::path::PathBuf;

#[cfg(feature = "http")]
use crate::args::http::HttpOptions;
#[cfg(feature = "proto-mcp")]
use crate::args::tcp::TcpOptions;
use crate::args::tool::ToolFlags;
#[cfg(feature = "upstream")]
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
    #[cfg(feature = "upstream")]
    Servers(Box<Upstreams>),
}

/// The transport with its options.
#[derive(Debug)]
pub(crate) enum Endpoint {
    Stdio(StdioOptions),
    #[cfg(feature = "http")]
    Http(Box<HttpOptions>),
    #[cfg(feature = "proto-mcp")]
    Tcp(Box<TcpOptions>),
}

impl Endpoint {
    /// True if any number of clients can connect.
    pub(crate) fn is_network(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            #[cfg(feature = "http")]
            Self::Http(_) => true,
            #[cfg(feature = "proto-mcp")]
            Self::Tcp(_) => true,
        }
    }
}

/// Standard input and output.
#[derive(Debug)]
pub(crate) struct StdioOptions {
    /// The longest line, in bytes.
    pub(crate) max_line: usize,
    /// Network flags on the command line, which have no effect on stdio.
    pub(crate) idle: Vec<String>,
}
