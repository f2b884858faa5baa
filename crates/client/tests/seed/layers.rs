//! Layers around the requests of a client: layers of tower, and of the application.

use std::future::ready;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_client::{Client, ClientRequest, RequestError, RequestService, ServerRequest};
use protomcp_testing::run_paused;
use protomcp_types::RawJson;
use serde_json::json;
use tower::layer::layer_fn;
use tower::{ServiceExt, service_fn};

use super::sessions::{connect, things};
use super::transports::Peer;
use super::{greeter, text};

type Lines = Arc<Mutex<Vec<String>>>;

/// The design's logging middleware, for what is sent.
fn with_logging(client: Client, name: &'static str, lines: &Lines) -> Client {
    let lines = Arc::clone(lines);
    client.layer(layer_fn(move |inner: RequestService| {
        let lines = Arc::clone(&lines);
        service_fn(move |call: ClientRequest| {
            let (inner, lines) = (inner.clone(), Arc::clone(&lines));
            async move {
                lines.lock().unwrap().push(format!("{name} request: {}", call.request.method()));
                let response = inner.oneshot(call).await;
                lines.lock().unwrap().push(format!("{name} response: {}", response.is_ok()));
                response
            }
        })
    }))
}

/// `withLogging`, `AddSendingMiddleware`: every request and its response, in order.
#[test]
fn layers_see_every_request_and_its_response_in_order() {
    run_paused(async {
        let lines = Lines::default();
        let client = with_logging(with_logging(Client::new("h", "1"), "inner", &lines), "outer", &lines);
        let session = connect(&client, &greeter()).await;
        assert_eq!(*lines.lock().unwrap(), [""; 0], "not the opening");
        let result = session.call_tool("greet", &json!({"name": "you"})).await.unwrap();
        assert_eq!(text(&result), "Hi you");
        session.read_resource("test:nothing").await.unwrap_err();
        let expected = |method: &str, ok: bool| {
            let (call, answer) = (format!("request: {method}"), format!("response: {ok}"));
            [("outer", &call), ("inner", &call), ("inner", &answer), ("outer", &answer)]
                .map(|(who, what)| format!("{who} {what}"))
        };
        assert_eq!(*lines.lock().unwrap(), [expected("tools/call", true), expected("resources/read", false)].concat());
    });
}

#[test]
fn a_layer_changes_and_answers_requests() {
    run_paused(async {
        let client = Client::new("h", "1").layer(layer_fn(|inner: RequestService| {
            service_fn(move |mut call: ClientRequest| {
                if let ServerRequest::CallTool(tool) = &mut call.request {
                    tool.name = "tool".into();
                }
                let is_read = matches!(call.request, ServerRequest::ReadResource(_));
                let inner = inner.clone();
                async move {
                    if is_read {
                        return Ok(RawJson::parse(r#"{"contents":[]}"#).unwrap());
                    }
                    inner.oneshot(call).await
                }
            })
        }));
        let session = connect(&client, &things()).await;
        assert_eq!(text(&session.call_tool("another", &json!({})).await.unwrap()), "tool");
        assert!(session.read_resource("test:a").await.unwrap().contents.is_empty());
    });
}

/// A layer of tower that gives a request up cancels it at the server, and its error is told.
#[test]
fn layers_of_tower_are_layers_of_a_client() {
    run_paused(async {
        let client = Client::new("h", "1").layer(tower::timeout::TimeoutLayer::new(Duration::from_secs(3)));
        let client = client.layer(tower::limit::ConcurrencyLimitLayer::new(1));
        let (one, mut first) = Peer::open(client.clone()).await;
        let (two, mut second) = Peer::open(client).await;
        let slow = tokio::spawn(one.call_tool("slow", &json!({})).into_future());
        let request = first.next().await;
        let held = tokio::spawn(two.call_tool("greet", &json!({})).into_future());
        assert_eq!(first.next().await["params"]["requestId"], request["id"], "cancelled");
        assert_eq!(slow.await.unwrap(), Err(RequestError::Layer("request timed out".into())));
        // The only permit is free now.
        second.answer("tools/call", json!({"content": []})).await;
        assert!(held.await.unwrap().is_ok());
    });
}

/// Repeats what may succeed later, twice at most.
#[derive(Debug, Clone)]
struct Again(u32);

impl tower::retry::Policy<ClientRequest, RawJson, RequestError> for Again {
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut ClientRequest,
        result: &mut Result<RawJson, RequestError>,
    ) -> Option<std::future::Ready<()>> {
        let is_wanted = self.0 > 0 && result.as_ref().is_err_and(RequestError::is_retryable);
        self.0 = self.0.saturating_sub(1);
        is_wanted.then(|| ready(()))
    }

    fn clone_request(&mut self, request: &ClientRequest) -> Option<ClientRequest> {
        Some(request.clone())
    }
}

#[test]
fn a_layer_repeats_requests_with_their_options() {
    run_paused(async {
        let client = Client::new("h", "1").layer(tower::retry::RetryLayer::new(Again(2)));
        let (session, mut peer) = Peer::open(client).await;
        let seconds = Duration::from_secs(4);
        let call = tokio::spawn(session.call_tool("slow", &json!({})).timeout(seconds).into_future());
        for _ in 0..3 {
            assert_eq!(peer.next().await["method"], "tools/call");
            assert_eq!(peer.next().await["method"], "notifications/cancelled");
        }
        assert_eq!(call.await.unwrap(), Err(RequestError::TimedOut(seconds)));
    });
}
