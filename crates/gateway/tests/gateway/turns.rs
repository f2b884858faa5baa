//! Users take turns at a server of proto-mcp, whose connection they share.

use std::sync::Arc;
use std::time::Duration;

use protomcp_bufmcp::{BinaryClient, BinaryClientConfig, BinaryPeer, BinaryServer, StructSchemas};
use protomcp_client::Mode;
use protomcp_gateway::{Sharing, Upstream};
use protomcp_testing::Seen;
use protomcp_transport::boxed::Boxed;
use protomcp_typed::{JsonSchema, Registry, Tool, schemars};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::{client, connect_as, gateway, run};

#[derive(Deserialize, JsonSchema)]
struct Work {
    user: String,
}

/// Calls that are sent and have no answer: an eighth of eight is for other requests.
const RUNNING: usize = 7;

/// A server of proto-mcp with a tool that notes its user and works until it may end.
fn upstream(seen: &Seen, may_end: &Arc<Semaphore>) -> Upstream {
    let (seen, may_end) = (seen.clone(), Arc::clone(may_end));
    let work = move |Work { user }: Work| {
        let (seen, may_end) = (seen.clone(), Arc::clone(&may_end));
        async move {
            seen.push(user);
            may_end.acquire().await.unwrap().forget();
            "done"
        }
    };
    let registry = Registry::builder("slow", "1.0").tool(Tool::new("work", "Works").handler(work)).build().unwrap();
    let server = BinaryServer::new(registry.server());
    Upstream::new("slow", move || {
        let server = server.clone();
        async move {
            let (ours, theirs) = tokio::io::duplex(64 << 10);
            let ((reader, writer), (theirs_in, theirs_out)) = (tokio::io::split(ours), tokio::io::split(theirs));
            tokio::spawn(async move { server.serve(theirs_in, theirs_out, BinaryPeer::default()).await });
            let config = BinaryClientConfig { max_in_flight: RUNNING + 1, ..BinaryClientConfig::new("gateway", "1.0") };
            let conversation = BinaryClient::connect(reader, writer, config).await?;
            Ok(Boxed::new(conversation.into_transport(Arc::new(StructSchemas))))
        }
    })
}

/// Lets everything happen that can: the time passes only while everything waits.
async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[test]
fn a_user_with_many_calls_holds_up_no_other() {
    for (mode, sharing) in [(Mode::Stateful, Sharing::Shared), (Mode::Stateless, Sharing::PerSession)] {
        run(async {
            let (seen, may_end) = (Seen::default(), Arc::new(Semaphore::new(0)));
            let upstream = upstream(&seen, &may_end).mode(Mode::Stateless).sharing(sharing);
            let gateway = gateway().upstream(upstream).open().await.unwrap();
            for (user, calls) in [("ann", 40), ("bob", 2)] {
                let session = connect_as(&gateway, &client().mode(mode), user).await;
                for _ in 0..calls {
                    let session = session.clone();
                    tokio::spawn(async move { session.call_tool("work", &json!({ "user": user })).await });
                }
                settled().await;
            }
            assert_eq!(seen.take(), ["ann"; RUNNING]);
            for _ in 0..4 {
                may_end.add_permits(1);
                settled().await;
            }
            assert_eq!(seen.take(), ["ann", "bob", "ann", "bob"], "{mode:?}");
        });
    }
}
