//! Many concurrent requests over a pipe that is smaller than they are.

use std::time::Duration;

use protomcp_client::{ClientLimits, Mode, RequestError};
use protomcp_testing::{JsonPeer, run_paused};
use protomcp_transport::lines::Lines;

use super::server::client;

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
const PIPE: usize = 64 * 1024;

/// Answers one line after the other, and reads the next only when the answer is written.
async fn answer_in_turn(mut server: JsonPeer, padding: usize) {
    let text = "x".repeat(padding);
    while let Some(line) = server.next_line().await {
        let message: serde_json::Value = serde_json::from_str(&line).unwrap();
        let Some(id) = message.get("id") else { continue };
        let result = match message["method"].as_str() {
            Some("server/discover") => DISCOVERED.to_owned(),
            _ => format!(r#"{{"resultType":"complete","content":[{{"type":"text","text":"{text}"}}]}}"#),
        };
        server.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }
}

#[test]
fn a_busy_session_with_a_synchronous_server_never_stops() {
    run_paused(async {
        let (server, reader, writer) = JsonPeer::connected(PIPE);
        tokio::spawn(answer_in_turn(server, 4000));
        let session = client().mode(Mode::Stateless).connect(Lines::new(reader, writer)).await.unwrap();
        let arguments = serde_json::json!({"text": "y".repeat(3000)});
        let workers: Vec<_> = (0..200)
            .map(|_| {
                let (session, arguments) = (session.clone(), arguments.clone());
                tokio::spawn(async move {
                    for _ in 0..30 {
                        session.call_tool("a", &arguments).await?;
                    }
                    Ok::<_, RequestError>(())
                })
            })
            .collect();
        for worker in workers {
            worker.await.unwrap().unwrap();
        }
    });
}

#[test]
fn bytes_that_a_server_does_not_read_are_bounded() {
    run_paused(async {
        let (mut server, reader, writer) = JsonPeer::connected(PIPE);
        let limits = ClientLimits { max_unwritten: 200_000, ..ClientLimits::default() };
        let client = client().mode(Mode::Stateless).limits(limits);
        let connecting = tokio::spawn(async move { client.connect(Lines::new(reader, writer)).await });
        server.expect("server/discover").await;
        server.send_line(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#)).await;
        let session = connecting.await.unwrap().unwrap();
        let arguments = serde_json::json!({"text": "y".repeat(3000)});
        // Each gives its place back, and its bytes stay.
        let mut sent = 0;
        let refused = loop {
            let call = session.call_tool("a", &arguments).timeout(Duration::from_secs(1)).await.unwrap_err();
            match call {
                RequestError::TimedOut(_) => sent += 1,
                error => break error,
            }
            assert!(sent < 1000, "nothing is refused");
        };
        assert_eq!(refused, RequestError::TooMany);
        assert!((60..90).contains(&sent), "{sent}");
        // The server reads again.
        tokio::spawn(async move { while server.next_line().await.is_some() {} });
        tokio::time::sleep(Duration::from_secs(1)).await;
        let call = session.call_tool("a", &arguments).timeout(Duration::from_secs(1)).await;
        assert!(matches!(call, Err(RequestError::TimedOut(_))));
    });
}
