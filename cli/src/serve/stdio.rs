//! One client on standard input and output, in the protocol of its first bytes.

#[cfg(feature = "proto-mcp")]
mod detected;
#[cfg(not(feature = "proto-mcp"))]
mod json;
#[cfg(feature = "upstream")]
mod servers;

#[cfg(feature = "upstream")]
use std::io::IsTerminal;

use protomcp_bridge::RunError;
use protomcp_server::{Server, Service};
use protomcp_transport::lines::Lines;
use protomcp_transport::stdio;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::args::options::{Source, StdioOptions};
use crate::args::tool::ToolFlags;
use crate::exit::Failure;
use crate::log::{self, Status};
use crate::recorder::{Recorder, recorded};
use crate::serve::live;
use crate::serve::run::{Signals, failure, prepare};
#[cfg(feature = "proto-mcp")]
use crate::serve::stdio::detected::{ClientError, is_gone, serve_client};
#[cfg(not(feature = "proto-mcp"))]
use crate::serve::stdio::json::{ClientError, is_gone, serve_client};
#[cfg(feature = "upstream")]
use crate::serve::stdio::servers::Host;
use crate::serve::terms::Terms;
use crate::serve::view;

/// Serves until the client disconnects or a signal ends it.
pub(super) async fn serve(
    source: Source,
    tool: &ToolFlags,
    options: StdioOptions,
    recorder: Option<Recorder>,
) -> Result<(), Failure> {
    // Before descriptor 0 is another.
    let status = live::status(&source, tool);
    #[cfg(feature = "upstream")]
    let is_terminal = std::io::stdin().is_terminal();
    if let Status::View(_) = status {
        return view::serve(source, tool, status).await;
    }
    // Before anything else can write to descriptor 1.
    let (reader, writer) =
        stdio::take().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    let is_live = matches!(status, Status::Lines);
    log::start_with(tool.log_level, tool.log, status);
    recorder.iter().for_each(Recorder::announce);
    let front = Front { terms: Terms::new(tool)?, max_line: options.max_line, recorder };
    for flag in options.idle {
        tracing::warn!("{flag} has no effect on stdio: there is one host, the one that started this program");
    }
    let signals = Signals::new()?;
    match source {
        Source::File { path, watch } => {
            if is_live {
                tracing::info!("{}", live::advice(&path));
            }
            let builder = recorded(tool.bridge(&path, watch), front.recorder.as_ref());
            let (bridge, starting) = front.terms.launch(builder);
            let server = bridge.server();
            let run = prepare(bridge, starting, signals, format!("{} on stdio", path.display()), || {});
            match run.serve(front.serve(server, reader, writer)).await {
                Ok(()) => Ok(()),
                Err(RunError::Serve(error)) => outcome(Err(error)),
                Err(error) => Err(failure(&error)),
            }
        }
        #[cfg(feature = "upstream")]
        Source::Servers(servers) => {
            let host = Host { reader, writer, is_terminal, drain_timeout: tool.limits.drain_timeout };
            servers::serve(&servers, host, front, signals).await
        }
    }
}

/// The end of the conversation. A client that has only gone is not a failure.
fn outcome(ended: Result<(), ClientError>) -> Result<(), Failure> {
    match ended {
        Err(error) if !is_gone(&error) => Err(Failure::failed(error.to_string())),
        _ => Ok(()),
    }
}

/// The conversation with the client.
struct Front {
    terms: Terms,
    /// The longest line, in bytes.
    max_line: usize,
    /// The trace, if one is written.
    recorder: Option<Recorder>,
}

impl Front {
    /// Serves the client, in the protocol of its first bytes; if it is recorded, in JSON-RPC.
    async fn serve<S, R, W>(self, server: Server<S>, reader: R, writer: W) -> Result<(), ClientError>
    where
        S: Service,
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let Self { terms, max_line, recorder } = self;
        match recorder {
            Some(recorder) => {
                let lines = Lines::new(reader, writer).with_max_line(max_line).with_max_line_name("--max-line");
                Ok(terms.json(server).serve(recorder.observed(lines)).await?)
            }
            None => serve_client(&terms, server, max_line, reader, writer).await,
        }
    }
}
