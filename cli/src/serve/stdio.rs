//! One client on standard input and output.

use protomcp_bridge::RunError;
use protomcp_server::ServeError;
use protomcp_transport::{TransportError, stdio};

use crate::args::{Source, StdioOptions, ToolFlags};
use crate::exit::Failure;
use crate::log;
use crate::serve::gateway;
use crate::serve::run::{Signals, failure, prepare};

/// Serves until the client disconnects or a signal ends it.
pub(super) async fn serve(source: Source, tool: &ToolFlags, options: StdioOptions) -> Result<(), Failure> {
    // Before anything else can write to descriptor 1.
    let client = stdio().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(tool.log_level);
    let client = client.with_max_line(options.max_line);
    for flag in options.idle {
        tracing::warn!("{flag} has no effect on stdio: there is one host, the one that started this program");
    }
    let mut signals = Signals::new()?;
    let outcome = match source {
        Source::File { path, watch } => {
            let (bridge, starting) = tool.bridge(&path, watch).launch();
            let server = bridge.server();
            let run = prepare((bridge, starting), signals, format!("{} on stdio", path.display()));
            match run.serve(server.serve(client)).await {
                Ok(()) => Ok(()),
                Err(RunError::Serve(error)) => Err(error),
                Err(error) => return Err(failure(&error)),
            }
        }
        Source::Servers { servers, idle } => {
            gateway::warn(&idle);
            let gateway = gateway::open(&servers, &mut signals).await?;
            tracing::info!("serving {} on stdio", servers.names());
            let server = gateway.server();
            gateway::serve(gateway, async move { server.serve(client).await }, signals, || {}).await
        }
    };
    match outcome {
        // A host that was killed took both ends of the pipes with it.
        Ok(()) | Err(ServeError::Transport(TransportError::Closed)) => Ok(()),
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}
