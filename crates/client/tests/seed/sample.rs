//! The sample of a client: connect, call a tool, close.

use std::time::Duration;

use protomcp_client::{Client, CloseReason};
use protomcp_testing::run_paused;
use protomcp_transport::memory;
use serde_json::json;

use super::{greeter, text};

/// `mcp.NewClient`, `client.Connect`, `session.CallTool`, `session.Close`, over a pair of transports in memory.
#[test]
fn a_client_connects_calls_and_closes() {
    run_paused(async {
        let (ours, theirs) = memory::pair();
        let serving = tokio::spawn(async move { greeter().serve(theirs).await });

        let client = Client::new("mcp-client", "v1.0.0");
        let session = client.connect(ours).await.unwrap();
        let result = session.call_tool("greet", &json!({"name": "you"})).await.unwrap();
        assert_eq!(text(&result), "Hi you");
        assert_eq!(session.close(Duration::from_secs(5)).await, CloseReason::Requested);

        serving.await.unwrap().unwrap();
    });
}

/// `mcp.NewCommandTransport(exec.Command("myserver"))`
#[cfg(all(target_os = "linux", feature = "command"))]
#[tokio::test]
async fn a_client_starts_the_server_that_it_calls() {
    let server = CommandTransport::new(Command::new(my_server()).guardian(Guardian::None));
    let client = Client::new("mcp-client", "v1.0.0");
    let session = client.connect(server.spawn().await.unwrap()).await.unwrap();
    let result = session.call_tool("greet", &json!({"name": "you"})).await.unwrap();
    assert_eq!(text(&result), "Hi you");
    assert_eq!(session.close(Duration::from_secs(30)).await, CloseReason::Requested);
}

#[cfg(all(target_os = "linux", feature = "command"))]
use protomcp_client::{Command, CommandTransport, Guardian};

/// The example `child_server`, which `cargo test` builds along with the tests.
#[cfg(all(target_os = "linux", feature = "command"))]
pub(crate) fn my_server() -> std::path::PathBuf {
    let tests = std::env::current_exe().unwrap();
    let example = tests.parent().unwrap().parent().unwrap().join("examples/child_server");
    assert!(example.exists(), "run `cargo build -p protomcp-client --examples --all-features` first");
    example
}
