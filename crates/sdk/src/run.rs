//! Serves an MCP server to the bridge that has started this program.

use std::env;

use protomcp_codec::Decoder;
use protomcp_server::{ServeError, Server, Service};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::bridge::Bridge;
use crate::config::Config;
use crate::error::RunError;
use crate::exchange::Exchange;
use crate::outgoing::Outgoing;
use crate::reports::Reports;
use crate::serving::Serving;

/// The variable with the path of the socket.
const SOCKET: &str = "PROTOMCP_SOCKET";

/// Connects to the bridge that has started this program, and serves it until it closes the connection. Calls that still
/// run then are cancelled.
///
/// ```no_run
/// use protomcp_typed::{Registry, Tool};
///
/// #[tokio::main]
/// async fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let registry = Registry::builder("greeter", "1.0")
///         .tool(Tool::new("greet", "Say hi").handler(async || "Hello!"))
///         .build()?;
///     Ok(protomcp_sdk::run(registry.server()).await?)
/// }
/// ```
///
/// # Errors
/// When the program was not started by a bridge, or the connection breaks.
pub async fn run<S: Service>(server: Server<S>) -> Result<(), RunError> {
    run_with(server, Config::default()).await
}

/// Like [`run`], with settings.
///
/// ```no_run
/// use protomcp_sdk::Config;
/// use protomcp_typed::Registry;
///
/// # async fn serve(registry: Registry) -> Result<(), protomcp_sdk::RunError> {
/// protomcp_sdk::run_with(registry.server(), Config { max_concurrent_calls: 4, ..Config::default() }).await
/// # }
/// ```
///
/// # Errors
/// See [`run`].
pub async fn run_with<S: Service>(server: Server<S>, config: Config) -> Result<(), RunError> {
    let path = env::var_os(SOCKET).filter(|path| !path.is_empty()).ok_or(RunError::NotStarted)?;
    let socket = UnixStream::connect(path).await.map_err(RunError::Connect)?;
    Ok(serve(server, socket, config).await?)
}

/// Serves a bridge over a connection that is open already, such as one end of [`tokio::io::duplex`] in a test.
///
/// ```
/// use protomcp_sdk::Config;
/// use protomcp_typed::Registry;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = Registry::builder("greeter", "1.0").build()?;
/// let (bridge, process) = tokio::io::duplex(4096);
/// drop(bridge);
/// // The bridge has closed its end.
/// protomcp_sdk::serve(registry.server(), process, Config::default()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When the connection breaks.
pub async fn serve<S, IO>(server: Server<S>, io: IO, config: Config) -> Result<(), ServeError>
where
    S: Service,
    IO: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(io);
    let (outgoing, queue) = Outgoing::new();
    let limits = config.limits.clone();
    let open = CancellationToken::new();
    // Its calls are cancelled: their answers have no reader.
    let _ends = open.clone().drop_guard();
    let exchange = Exchange::new(server.handle().info(), config);
    let reports = Reports::new(server.handle());
    let (bridge, calls) = Bridge::new(exchange, outgoing, reports, limits.clone(), open.clone());
    let _writing = AbortOnDropHandle::new(tokio::spawn(queue.run(writer, open.clone())));
    bridge.turn(|exchange| exchange.begin());
    let serving = Serving::new(server, reader, Decoder::new(limits), bridge, calls);
    // In the future of `block_on`, I/O is twice as slow.
    let serving = AbortOnDropHandle::new(tokio::spawn(serving.run()));
    tokio::select! {
        outcome = serving => match outcome {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime is shutting down.
            Err(_) => Ok(()),
        },
        // The bridge has closed its end while it was written to.
        () = open.cancelled() => Ok(()),
    }
}
