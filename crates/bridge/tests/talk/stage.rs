//! A running bridge, the tool process controlled by the test, and any number of clients.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bridge::{Bridge, Builder, Command, StopPolicy};
use protomcp_envelope::ToolDefinition;
use protomcp_server::{Server, Service};
use protomcp_testing::{JsonPeer, in_time, until};
use protomcp_transport::Transport;
use protomcp_transport::lines::Lines;
use tempfile::TempDir;
use tokio::net::UnixStream;

use crate::tool::Tool;

/// A running bridge.
pub(crate) struct Stage {
    bridge: Arc<Bridge>,
    folder: TempDir,
}

impl Stage {
    /// A bridge whose tool process has these tools.
    pub(crate) async fn new(tools: &[&str]) -> (Self, Tool) {
        Self::with(tools.iter().map(|name| Tool::definition(name)).collect(), |builder| builder).await
    }

    /// The same, with further settings.
    pub(crate) async fn with(tools: Vec<ToolDefinition>, change: impl FnOnce(Builder) -> Builder) -> (Self, Tool) {
        let (stage, mut tool) = Self::silent(change).await;
        tool.handshake(tools).await;
        (stage, tool)
    }

    /// A bridge whose tool process has connected and sent nothing.
    pub(crate) async fn silent(change: impl FnOnce(Builder) -> Builder) -> (Self, Tool) {
        Self::of_command(&Command::new("sleep").arg("3600"), change).await
    }

    /// A bridge that runs this command, and the test connects instead of it.
    pub(crate) async fn of_command(command: &Command, change: impl FnOnce(Builder) -> Builder) -> (Self, Tool) {
        let folder = tempfile::tempdir().unwrap();
        let builder = Bridge::command(command.clone())
            .socket(folder.path().join("socket"))
            .stop_policy(StopPolicy { close: Duration::from_millis(10), ..StopPolicy::default() });
        let (bridge, _starting) = change(builder).launch();
        let stage = Self { bridge: Arc::new(bridge), folder };
        let tool = stage.process().await;
        (stage, tool)
    }

    /// The next process that the bridge starts.
    pub(crate) async fn process(&self) -> Tool {
        self.process_at("socket").await
    }

    /// The next process of the second worker.
    pub(crate) async fn second_worker(&self) -> Tool {
        self.process_at("socket.2").await
    }

    async fn process_at(&self, socket: &str) -> Tool {
        let connect = async {
            loop {
                match UnixStream::connect(self.folder.path().join(socket)).await {
                    Ok(stream) => return Tool::new(stream),
                    Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        in_time(connect).await.expect("the bridge listens")
    }

    /// True if the bridge starts no process within its time.
    pub(crate) async fn starts_nothing(&self) -> bool {
        tokio::time::sleep(Duration::from_millis(200)).await;
        UnixStream::connect(self.folder.path().join("socket")).await.is_err()
    }

    /// Reloads changed files.
    pub(crate) async fn reload(&self) {
        self.bridge.reload().await;
    }

    /// The server of the bridge, which may outlive it.
    pub(crate) fn server(&self) -> Server<impl Service + use<>> {
        self.bridge.server()
    }

    /// Waits until this many clients are connected.
    pub(crate) async fn hosts(&self, count: usize) {
        until(&format!("{count} clients are connected"), || self.bridge.server().handle().count() == count).await;
    }

    /// A client that has completed the handshake.
    pub(crate) async fn host(&self, capabilities: &str) -> JsonPeer {
        self.host_of("2025-11-25", capabilities).await
    }

    /// A client of another revision.
    pub(crate) async fn host_of(&self, version: &str, capabilities: &str) -> JsonPeer {
        let mut host = self.stranger();
        host.initialize(version, capabilities.parse().unwrap()).await;
        host
    }

    /// A client of this user that has completed the handshake.
    pub(crate) async fn host_as(&self, who: &str, capabilities: &str) -> JsonPeer {
        let mut host = self.stranger_as(who);
        host.initialize("2025-11-25", capabilities.parse().unwrap()).await;
        host
    }

    /// A client before its handshake.
    pub(crate) fn stranger(&self) -> JsonPeer {
        self.connect(None)
    }

    /// A client of this user before its handshake.
    pub(crate) fn stranger_as(&self, who: &str) -> JsonPeer {
        self.connect(Some(who.into()))
    }

    fn connect(&self, principal: Option<Arc<str>>) -> JsonPeer {
        let (host, reader, writer) = JsonPeer::connected(1 << 20);
        let bridge = Arc::clone(&self.bridge);
        let transport = Known { principal, lines: Lines::new(reader, writer) };
        tokio::spawn(async move { bridge.serve(transport).await });
        host
    }
}

/// A transport that may know the user at the other end.
struct Known<T> {
    principal: Option<Arc<str>>,
    lines: T,
}

impl<T: Transport> Transport for Known<T> {
    type Source = T::Source;
    type Sink = T::Sink;

    fn principal(&self) -> Option<Arc<str>> {
        self.principal.clone()
    }

    fn split(self) -> (T::Source, T::Sink) {
        self.lines.split()
    }
}
