//! Serves an MCP server to the bridge that has started this program.

use std::env;

use protomcp_codec::Decoder;
use protomcp_server::{ServeError, Server, Service};
use protomcp_transport::TransportError;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::capture::Capture;
use crate::config::Config;
use crate::error::RunError;
use crate::exchange::Exchange;
use crate::outgoing::Outgoing;
use crate::relay::Relay;
use crate::transport::{LinkSink, LinkSource, LinkTransport};

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

/// As [`run`], with settings.
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
/// As [`run`].
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
    let exchange = Exchange::new(server.handle().info(), config);
    let (relay, messages) = Relay::new(exchange, (outgoing, limits.clone()), open.clone());
    let writing = tokio::spawn(queue.run(writer, open.clone()));
    relay.turn(Exchange::begin);
    let source = LinkSource::new(reader, Decoder::new(limits), (relay.clone(), messages), open.clone());
    let transport = LinkTransport { source, sink: LinkSink::new(relay) };
    let server = server.layer(Capture);
    let outcome = tokio::select! {
        outcome = server.serve(transport) => outcome,
        // Dropping the session cancels its calls: their answers have no reader.
        () = open.cancelled() => Ok(()),
    };
    open.cancel();
    writing.abort();
    match outcome {
        Err(ServeError::Transport(TransportError::Closed)) => Ok(()),
        outcome => outcome,
    }
}
