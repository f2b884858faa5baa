//! `pmcp dev` and `pmcp run`: serves tools to their clients, under the control of signals.

#[cfg(feature = "proto-mcp")]
mod binary;
mod calls;
#[cfg(feature = "proto-mcp")]
mod carriers;
mod console;
#[cfg(feature = "upstream")]
mod gateway;
#[cfg(feature = "playground")]
mod host_views;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "proto-mcp")]
mod issued_tokens;
mod keyboard;
#[cfg(feature = "http")]
mod listeners;
mod live;
#[cfg(feature = "http")]
mod metrics;
#[cfg(feature = "playground")]
pub(crate) mod playground;
mod questions;
#[cfg(feature = "redis")]
mod refused_tokens;
mod run;
mod service_manager;
#[cfg(feature = "redis")]
mod shared_sessions;
#[cfg(all(feature = "http", not(feature = "redis")))]
#[path = "serve/shared_sessions/none.rs"]
mod shared_sessions;
mod skills;
#[cfg(feature = "http")]
mod socket_activation;
#[cfg(feature = "upstream")]
mod status;
mod stdio;
#[cfg(feature = "proto-mcp")]
mod tcp;
mod terms;
mod typed;
mod view;

use std::time::Duration;

use tokio::runtime;
#[cfg(feature = "http")]
use tokio::task::JoinError;

use crate::args::options::{Endpoint, Options, Source};
use crate::exit::Failure;
use crate::recorder::Recorder;

/// The time in which aborted tasks must release their resources.
const LAST_TASKS: Duration = Duration::from_secs(1);

/// Serves until the client disconnects or a signal stops the bridge. With a recorder each message is written down; clients
/// speak JSON-RPC then, over stdio or Streamable HTTP.
pub(crate) fn run(options: Options, recorder: Option<Recorder>) -> Result<(), Failure> {
    let Options { source, tool, endpoint } = options;
    let is_network = endpoint.is_network();
    // While there is one thread.
    let _preforked = matches!(source, Source::File { .. }).then(protomcp_bridge::guardian::prefork);
    #[cfg(feature = "http")]
    let inherited = if is_network { socket_activation::sockets()? } else { Vec::new() };
    // One client and one process need one thread: every hop between threads costs more than the work of a call.
    let mut builder =
        if is_network { runtime::Builder::new_multi_thread() } else { runtime::Builder::new_current_thread() };
    let runtime = builder.enable_all().build().map_err(|error| Failure::failed(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        match endpoint {
            Endpoint::Stdio(options) => stdio::serve(source, &tool, options, recorder).await,
            // In the future of `block_on`, I/O is twice as slow.
            #[cfg(feature = "http")]
            Endpoint::Http(options) => {
                joined(tokio::spawn(http::serve(source, tool, *options, recorder, inherited)).await)
            }
            #[cfg(feature = "proto-mcp")]
            Endpoint::Tcp(options) => joined(tokio::spawn(tcp::serve(source, tool, *options, inherited)).await),
        }
    });
    if is_network {
        // Resources of aborted tasks, such as sockets, must be released before the exit.
        runtime.shutdown_timeout(LAST_TASKS);
    } else {
        // A read of a standard input that never ends must not keep the program. There is no other thread to wait for.
        runtime.shutdown_background();
    }
    outcome
}

/// The outcome of a task.
#[cfg(feature = "http")]
fn joined(ended: Result<Result<(), Failure>, JoinError>) -> Result<(), Failure> {
    ended.unwrap_or_else(|error| Err(Failure::failed(format!("the server failed: {error}"))))
}
