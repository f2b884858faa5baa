//! The flags of `pmcp run`, and those that it shares with `pmcp dev` and `pmcp record`.

#[cfg(not(feature = "upstream"))]
use std::ffi::OsString;

use clap::{Args, ValueEnum};
use protomcp_transport::lines::MAX_LINE;

#[cfg(feature = "http")]
use crate::args::environment::variable;
#[cfg(not(feature = "upstream"))]
use crate::args::features::lacking;
#[cfg(feature = "upstream")]
use crate::args::file_flags::Served;
#[cfg(feature = "http")]
use crate::args::http::{Http, Protocols};
use crate::args::options::{Endpoint, Options, Source, StdioOptions};
#[cfg(feature = "upstream")]
use crate::args::tool::FileServer;
use crate::args::tool::ToolFlags;
#[cfg(feature = "upstream")]
use crate::args::upstream::UpstreamFlags;
use crate::args::values::size;
use crate::exit::Failure;

/// The transport between client and bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Transport {
    /// One client on standard input and output, in JSON-RPC or in proto-mcp
    Stdio,
    /// Streamable HTTP and, on the same port, proto-mcp over gRPC and WebSocket
    Http,
    /// Like http, and the older HTTP+SSE
    Sse,
    /// proto-mcp over gRPC alone
    Grpc,
    /// proto-mcp over WebSocket alone
    #[value(name = "ws")]
    WebSocket,
    /// proto-mcp and, without --auth and --oauth-issuer, JSON-RPC in lines
    Tcp,
}

/// Serve a tool file (SIGHUP reloads it) or MCP servers
#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) serve: Serve,

    #[cfg(feature = "upstream")]
    #[command(flatten)]
    pub(super) upstream: UpstreamFlags,

    /// Not served without the feature `upstream`
    #[cfg(not(feature = "upstream"))]
    #[arg(last = true, value_name = "COMMAND", hide = true)]
    command: Vec<OsString>,
}

/// The transport to clients, and the tools that they see.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Transport to clients
    #[arg(long, value_name = "KIND", default_value = "stdio")]
    pub(super) transport: Transport,

    #[command(flatten)]
    pub(super) tool: ToolFlags,

    /// Longest line from a client on stdio or tcp [default: 64M]; over HTTP use --max-body
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_line: Option<u64>,

    #[cfg(feature = "http")]
    #[command(flatten)]
    pub(super) http: Http,
}

impl Run {
    /// Serves the server at a URL in the place of the tool file.
    #[cfg(feature = "trace")]
    pub(super) fn take_url(&mut self) -> Result<(), Failure> {
        self.upstream.take_url(&mut self.serve.tool)
    }

    /// The options; `network_flags` are the network flags on the command line.
    #[cfg(not(feature = "upstream"))]
    pub(super) fn options(self, _tool_flags: &[String], network_flags: &[String]) -> Result<Options, Failure> {
        if !self.command.is_empty() {
            return lacking("servers in place of a tool file", "upstream");
        }
        let source = self.serve.file(false)?;
        self.serve.options(source, network_flags)
    }

    /// The options; `tool_flags` and `network_flags` are those flags on the command line.
    #[cfg(feature = "upstream")]
    pub(super) fn options(self, tool_flags: &[String], network_flags: &[String]) -> Result<Options, Failure> {
        let Self { mut serve, mut upstream } = self;
        let has_command = upstream.has_command();
        let of_file = if upstream.names_server() { None } else { serve.tool.take_server() };
        let of_file = of_file.map(|FileServer { words, file }| {
            upstream.serve_command(words);
            file
        });
        let source = match upstream.servers(&serve.tool.limits, variable)? {
            Some(_) if serve.tool.file.is_some() => {
                return Err(Failure::usage("name either a tool file or servers, not both"));
            }
            Some(servers) => {
                let served = match &of_file {
                    Some(file) => Served::File(file.path()),
                    None if has_command => Served::Command,
                    None => Served::Named,
                };
                served.check(tool_flags)?;
                Source::Servers(Box::new(servers.of_file(of_file)))
            }
            None => serve.file(false)?,
        };
        serve.options(source, network_flags)
    }
}

impl Serve {
    /// The tool file as the source of tools.
    pub(super) fn file(&self, watch: bool) -> Result<Source, Failure> {
        let path = self.tool.path()?;
        #[cfg(not(feature = "upstream"))]
        self.tool.check_sdk(&path)?;
        Ok(Source::File { path, watch })
    }

    /// The network flags on the command line that have no effect on stdio.
    #[cfg(feature = "http")]
    fn idle(&self, network_flags: &[String]) -> Result<Vec<String>, Failure> {
        self.http.idle(network_flags)
    }

    /// There are no such flags.
    #[cfg(not(feature = "http"))]
    fn idle(&self, network_flags: &[String]) -> Result<Vec<String>, Failure> {
        Ok(network_flags.to_vec())
    }

    /// The options; `network_flags` are the network flags on the command line.
    pub(super) fn options(self, source: Source, network_flags: &[String]) -> Result<Options, Failure> {
        if self.tool.has_hosts() && network_flags.iter().any(|flag| flag == "--oauth-tool-scope") {
            return Err(Failure::usage(
                "--for cannot be combined with --oauth-tool-scope, which knows tools by their own names",
            ));
        }
        if self.tool.lazy_tools().is_some() && matches!(self.transport, Transport::Grpc | Transport::WebSocket) {
            return Err(Failure::usage("--lazy-tools has no effect on grpc and ws: clients of proto-mcp see the list"));
        }
        let is_http = !matches!(self.transport, Transport::Stdio | Transport::Tcp);
        if self.max_line.is_some() && is_http {
            return Err(Failure::usage("--max-line applies to stdio and tcp; over HTTP use --max-body"));
        }
        let max_line = self.max_line.map_or(MAX_LINE, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        self.tool.workers.check()?;
        #[cfg(feature = "proto-mcp")]
        self.tool.registry.check()?;
        let endpoint = match self.transport {
            Transport::Stdio => Endpoint::Stdio(StdioOptions { max_line, idle: self.idle(network_flags)? }),
            #[cfg(feature = "proto-mcp")]
            Transport::Tcp => Endpoint::Tcp(Box::new(self.http.tcp(max_line, network_flags, variable)?)),
            #[cfg(feature = "http")]
            Transport::Http => Endpoint::Http(Box::new(self.http.options(Protocols::Current, variable)?)),
            #[cfg(feature = "http")]
            Transport::Sse => Endpoint::Http(Box::new(self.http.options(Protocols::WithHttpSse, variable)?)),
            #[cfg(feature = "proto-mcp")]
            Transport::Grpc => {
                Endpoint::Http(Box::new(self.http.options(Protocols::Grpc.check(network_flags)?, variable)?))
            }
            #[cfg(feature = "proto-mcp")]
            Transport::WebSocket => {
                Endpoint::Http(Box::new(self.http.options(Protocols::WebSocket.check(network_flags)?, variable)?))
            }
            #[cfg(not(feature = "http"))]
            Transport::Http | Transport::Sse => return lacking("the transports http and sse", "http"),
            #[cfg(not(feature = "proto-mcp"))]
            Transport::Grpc | Transport::WebSocket | Transport::Tcp => {
                return lacking("the transports grpc, ws and tcp", "proto-mcp");
            }
        };
        Ok(Options { source, tool: self.tool, endpoint })
    }
}
