//! One client on standard input and output.

use protomcp_bridge::RunError;
use protomcp_server::ServeError;
use protomcp_transport::{TransportError, stdio};

use crate::args::{StdioOptions, ToolFlags};
use crate::exit::Failure;
use crate::log;
use crate::serve::run::{Signals, failure, prepare};

/// Serves until the client disconnects or a signal stops the bridge.
pub(super) async fn serve(tool: &ToolFlags, watch: bool, options: StdioOptions) -> Result<(), Failure> {
    // Before anything else can write to descriptor 1.
    let client = stdio().map_err(|error| Failure::failed(format!("cannot use standard input and output: {error}")))?;
    log::start(tool.log_level);
    let client = client.with_max_line(options.max_line);
    for flag in options.idle {
        tracing::warn!("{flag} has no effect on stdio: there is one host, the one that started this program");
    }
    let signals = Signals::new()?;
    let (bridge, starting) = tool.bridge(watch).launch();
    let server = bridge.server();
    let run = prepare((bridge, starting), signals, format!("{} on stdio", tool.file.display()));
    match run.serve(server.serve(client)).await {
        // A host that was killed took both ends of the pipes with it.
        Ok(()) | Err(RunError::Serve(ServeError::Transport(TransportError::Closed))) => Ok(()),
        Err(error) => Err(failure(&error)),
    }
}
