//! A running bridge, the tool process in the test's hands, and as many hosts as a test wants.

use std::time::Duration;

use protomcp_bridge::{Bridge, Builder, Command, StopPolicy};
use protomcp_mcp::transport::lines::Lines;
use protomcp_proto::ToolDefinition;
use tempfile::TempDir;
use tokio::net::UnixStream;

use crate::host::Host;
use crate::tool::Tool;

/// How long anything may take that has to happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A running bridge.
pub(crate) struct Stage {
    bridge: std::sync::Arc<Bridge>,
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
        let folder = tempfile::tempdir().unwrap();
        let builder = Bridge::command(Command::new("sleep").arg("3600"))
            .socket(folder.path().join("socket"))
            .stop_policy(StopPolicy { close: Duration::from_millis(10), ..StopPolicy::default() });
        let (bridge, _starting) = change(builder).launch();
        let stage = Self { bridge: std::sync::Arc::new(bridge), folder };
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

    /// A host that has said nothing.
    pub(crate) fn stranger(&self) -> Host {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let bridge = std::sync::Arc::clone(&self.bridge);
        tokio::spawn(async move { bridge.serve(Lines::new(reader, writer)).await });
        Host::new(ours)
    }
}
