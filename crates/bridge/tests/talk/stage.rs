//! A running bridge, the tool process in the test's hands, and as many hosts as a test wants.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bridge::{Bridge, Builder, Command, StopPolicy};
use protomcp_proto::ToolDefinition;
use protomcp_transport::Transport;
use protomcp_transport::lines::Lines;
use tempfile::TempDir;
use tokio::net::UnixStream;

use crate::host::Host;
use crate::tool::Tool;

/// How long anything may take that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

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

    /// The same, with more to be said about it.
    pub(crate) async fn with(tools: Vec<ToolDefinition>, change: impl FnOnce(Builder) -> Builder) -> (Self, Tool) {
        let (stage, mut tool) = Self::silent(change).await;
        tool.handshake(tools).await;
        (stage, tool)
    }

    /// A bridge whose tool process has connected and said nothing.
    pub(crate) async fn silent(change: impl FnOnce(Builder) -> Builder) -> (Self, Tool) {
        Self::of_command(&Command::new("sleep").arg("3600"), change).await
    }

    /// A bridge that runs this command, in whose place the test connects.
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
        let connect = async {
            loop {
                match UnixStream::connect(self.folder.path().join("socket")).await {
                    Ok(stream) => return Tool::new(stream),
                    Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
        };
        tokio::time::timeout(PATIENCE, connect).await.expect("the bridge listens")
    }

    /// Whether the bridge starts no process while it has time to.
    pub(crate) async fn starts_nothing(&self) -> bool {
        tokio::time::sleep(Duration::from_millis(200)).await;
        UnixStream::connect(self.folder.path().join("socket")).await.is_err()
    }

    /// Takes changed files up.
    pub(crate) async fn reload(&self) {
        self.bridge.reload().await;
    }

    /// Waits until so many hosts are connected.
    pub(crate) async fn hosts(&self, count: usize) {
        let connected = async {
            while self.bridge.server().handle().count() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, connected).await.expect("hosts come and go");
    }

    /// A host that has introduced itself.
    pub(crate) async fn host(&self, capabilities: &str) -> Host {
        self.host_of("2025-11-25", capabilities).await
    }

    /// A host of another revision.
    pub(crate) async fn host_of(&self, version: &str, capabilities: &str) -> Host {
        let mut host = self.stranger();
        host.hello(version, capabilities).await;
        host
    }

    /// A host of this user that has introduced itself.
    pub(crate) async fn host_as(&self, who: &str, capabilities: &str) -> Host {
        let mut host = self.stranger_as(who);
        host.hello("2025-11-25", capabilities).await;
        host
    }

    /// A host that has said nothing.
    pub(crate) fn stranger(&self) -> Host {
        self.connect(None)
    }

    /// A host of this user that has said nothing.
    pub(crate) fn stranger_as(&self, who: &str) -> Host {
        self.connect(Some(who.into()))
    }

    fn connect(&self, principal: Option<Arc<str>>) -> Host {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let bridge = Arc::clone(&self.bridge);
        let transport = Known { principal, lines: Lines::new(reader, writer) };
        tokio::spawn(async move { bridge.serve(transport).await });
        Host::new(ours)
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
