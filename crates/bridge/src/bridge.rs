//! The running bridge.

use std::sync::Arc;

use protomcp_server::{Router, ServeError, Server, Service};
use protomcp_supervisor::Command;
use protomcp_transport::Transport;
use tokio::sync::{SetOnce, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::availability::Availability;
use crate::builder::Builder;
use crate::catalog::published::Published;
use crate::catalog::registered_tool::RegisteredTool;
use crate::core::io::Input;
use crate::driver::message::Message;
use crate::exposition::BridgeMetrics;
use crate::handler::Backend;
use crate::tool_file::ToolFile;

/// One tool process, or several of one kind, as one MCP server. Sessions outlive the process: clients see the changes of a reload or a restart,
/// and otherwise nothing of it.
///
/// Dropping it kills the tool process immediately; [`shutdown`](Self::shutdown) stops it gracefully. Its servers may outlive
/// it: their requests that need the process fail then.
#[derive(Debug)]
pub struct Bridge {
    pub(crate) server: Server<Router<Backend>>,
    pub(crate) metrics: BridgeMetrics,
    pub(crate) availability: Availability,
    pub(crate) snapshot: Arc<Published>,
    /// Set when the first start of the first process has ended.
    pub(crate) started: Arc<SetOnce<Result<(), String>>>,
    pub(crate) inputs: mpsc::Sender<Message>,
    pub(crate) stop: CancellationToken,
    /// The loops of the tool processes.
    pub(crate) runs: Vec<JoinHandle<()>>,
    /// Tasks that send changes to the loops.
    pub(crate) changes: Vec<JoinHandle<()>>,
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
    /// concurrently.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn serve<T: Transport>(&self, transport: T) -> impl Future<Output = Result<(), ServeError>> + Send + use<T> {
        self.server.serve(transport)
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

    /// The tools that the (first) process in service has registered, in its order: hidden ones, too, and those that clients never
    /// see. Empty before the first start has ended.
    #[must_use]
    pub fn registered_tools(&self) -> Vec<RegisteredTool> {
        self.snapshot.load().registered().iter().map(RegisteredTool::read).collect()
    }

    /// Waits until the first version of the tools takes calls, or has not started. Requests of clients that need the tools
    /// wait as long.
    pub fn first_version(&self) -> impl Future<Output = ()> + Send + use<> {
        let started = Arc::clone(&self.started);
        async move {
            let _outcome = started.wait().await;
        }
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
        self.changes.drain(..).for_each(|task| task.abort());
        self.stop.cancel();
        for run in &mut self.runs {
            if let Err(error) = run.await {
                tracing::error!("bridge task failed: {error}");
            }
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // Dropping a loop kills its processes.
        self.runs.iter().chain(&self.changes).for_each(JoinHandle::abort);
    }
}
