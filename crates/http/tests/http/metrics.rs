//! The metrics of the HTTP server.

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use protomcp_http::Config;
use protomcp_testing::until;

use super::client::{call, initialize};
use super::handler::Stage;

pub(crate) fn text(stage: &Stage) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(stage.service.metrics()));
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text
}

#[tokio::test]
async fn sessions_streams_and_responses_are_counted() {
    let stage = Stage::new(Config::default()).await;
    let has = |line: &str| text(&stage).lines().any(|found| found == line);
    assert!(has("pmcp_http_sessions 0") && has("pmcp_http_streams 0"));
    let host = stage.host.hello("2025-11-25").await;
    host.say(&call(1, "echo x")).await;
    stage.host.with("host", "evil.example.com").post(&initialize("2025-11-25", "{}")).await;
    assert!(has("pmcp_http_responses_total{status=\"2xx\"} 3"), "{}", text(&stage));
    assert!(has("pmcp_http_responses_total{status=\"4xx\"} 1"), "{}", text(&stage));
    assert!(has("pmcp_http_sessions 1"));
    let stream = host.get().await;
    assert!(has("pmcp_http_streams 1"));
    drop(stream);
    until("the stream is not counted", || has("pmcp_http_streams 0")).await;
}
