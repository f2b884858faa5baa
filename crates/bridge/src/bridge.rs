//! The running bridge.

use protomcp_server::{Router, ServeError, Server, Service};
use protomcp_supervisor::Command;
use protomcp_transport::Transport;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::availability::Availability;
use crate::builder::Builder;
use crate::core::io::Input;
use crate::driver::message::Message;
use crate::exposition::BridgeMetrics;
use crate::handler::Backend;
use crate::tool_file::ToolFile;

/// One tool process as one MCP server. Sessions outlive the process: clients see the changes of a reload or a restart,
/// and otherwise nothing of it.
///
/// Dropping it kills the tool process at once; [`shutdown`](Self::shutdown) stops it gracefully.
#[derive(Debug)]
pub struct Bridge {
    pub(crate) server: Server<Router<Backend>>,
    pub(crate) metrics: BridgeMetrics,
    pub(crate) availability: Availability,
    pub(crate) inputs: mpsc::Sender<Message>,
    pub(crate) stop: CancellationToken,
    pub(crate) run: JoinHandle<()>,
    pub(crate) watcher: Option<JoinHandle<()>>,
}

impl Bridge {
    /// A bridge to the tools of a file.
    pub fn tool_file(file: &ToolFile) -> Builder {
        Builder::tool_file(file)
    }

    /// A bridge to the tools of a command.
    pub fn command(command: Command) -> Builder {
        Builder::command(command)
    }

    /// Serves one client until it disconnects or [`drain`](Self::drain) is called. Any number of clients may be served
    /// at once.
    ///
    /// # Errors
    /// If the connection fails.
    pub async fn serve(&self, transport: impl Transport) -> Result<(), ServeError> {
        self.server.serve(transport).await
    }

    /// The server, for transports that open sessions themselves.
    #[must_use]
    pub fn server(&self) -> Server<impl Service + use<>> {
        self.server.clone()
    }

    /// The availability of the tool process.
    #[must_use]
    pub fn availability(&self) -> Availability {
        self.availability.clone()
    }

    /// The metrics of the bridge, to be registered with a registry of Prometheus.
    #[must_use]
    pub fn metrics(&self) -> BridgeMetrics {
        self.metrics.clone()
    }

    /// Reloads now, as if a file had been saved.
    pub async fn reload(&self) {
        // A bridge that has ended has nothing to reload.
        let _ended = self.inputs.send(Input::Changed.into()).await;
    }

    /// Accepts no new work: sessions end with their calls, at the latest after the drain timeout.
    pub fn drain(&self) {
        self.server.handle().shutdown();
    }

    /// Stops the tool process, gracefully at first, and waits for its end. Calls in flight fail.
    pub async fn shutdown(mut self) {
        if let Some(watcher) = self.watcher.take() {
            watcher.abort();
        }
        self.stop.cancel();
        if let Err(error) = (&mut self.run).await {
            tracing::error!("bridge task failed: {error}");
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // The loop owns the process: dropping the loop kills it.
        self.run.abort();
        if let Some(watcher) = &self.watcher {
            watcher.abort();
        }
    }
}
