//! Layers around requests, layers around outgoing messages, and both for layers of tower.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use protomcp_server::layer::timeout::TimeoutLayer;
use protomcp_server::layer::tower::{McpRequest, TowerLayer, TowerService};
use protomcp_server::{Audience, Context, Layer, OutgoingLayer, ServerRequest, ServerResult, Service, SessionId};
use protomcp_testing::run_paused;
use protomcp_typed::{Registry, Tool};
use protomcp_types::{CallTool, CreateMessage, ErrorObject, JsonBuf, Level, Notification, Params, RawJson};
use serde_json::json;
use tower::ServiceExt as _;
use tower::limit::ConcurrencyLimitLayer;

use crate::host::Host;

type Lines = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct WithLogging(&'static str, Lines);

struct Logging<S>(WithLogging, S);

impl<S: Service> Layer<S> for WithLogging {
    type Service = Logging<S>;

    fn layer(&self, inner: S) -> Logging<S> {
        Logging(self.clone(), inner)
    }
}

impl<S: Service> Service for Logging<S> {
    async fn call(&self, request: ServerRequest, context: Context) -> Result<ServerResult, ErrorObject> {
        let WithLogging(name, lines) = &self.0;
        lines.lock().unwrap().push(format!("{name} request: {}", request.method()));
        let response = self.1.call(request, context).await;
        lines.lock().unwrap().push(format!("{name} response: {}", response.is_ok()));
        response
    }
}

fn registry() -> Registry {
    let ask = async |context: Context| {
        context.log(Level::Info, None, &RawJson::text("asking"));
        let question = CreateMessage::new(RawJson::EMPTY_ARRAY, 9);
        context.ask::<CreateMessage>(&question).await.map(|answer| answer.model)
    };
    Registry::builder("t", "1")
        .tool(Tool::new("greet", "d").handler(async || "hi"))
        .tool(Tool::new("slow", "d").handler(async || std::future::pending::<()>().await))
        .tool(Tool::new("ask", "d").handler(ask))
        .build()
        .unwrap()
}

/// `withLogging`, `AddMiddleware`: the design's logging middleware, and the order of two.
#[test]
fn middleware_sees_every_request_and_its_response_in_order() {
    let lines = Lines::default();
    let server = registry()
        .server()
        .layer(WithLogging("inner", Arc::clone(&lines)))
        .layer(WithLogging("outer", Arc::clone(&lines)));
    run_paused(async {
        let mut host = Host::connect(&server).await;
        host.text("greet", json!({})).await;
        host.ask("tools/call", json!({"name": "nothing"})).await.unwrap_err();
        let expected = |ok: bool| {
            let line = |who: &str, what: &str| format!("{who} {what}");
            let (call, answer) = ("request: tools/call", format!("response: {ok}"));
            [line("outer", call), line("inner", call), line("inner", &answer), line("outer", &answer)]
        };
        assert_eq!(*lines.lock().unwrap(), [expected(true), expected(false)].concat());
    });
}

/// A layer for outgoing messages: logs, drops, changes and answers.
struct Sending(&'static str, Lines);

impl OutgoingLayer for Sending {
    fn notification(&self, _: SessionId, notification: Notification) -> Option<Notification> {
        self.1.lock().unwrap().push(format!("{} {}", self.0, notification.method));
        (self.0 != "withhold").then_some(notification)
    }

    fn question(&self, _: SessionId, method: &'static str, params: Params) -> Result<Params, ErrorObject> {
        self.1.lock().unwrap().push(format!("{} {method}", self.0));
        if self.0 == "refuse" { Err(ErrorObject::new(-1, "not today")) } else { Ok(params) }
    }

    fn answered(
        &self,
        _: SessionId,
        method: &'static str,
        outcome: Result<JsonBuf, ErrorObject>,
    ) -> Result<JsonBuf, ErrorObject> {
        self.1.lock().unwrap().push(format!("{} {method} {}", self.0, outcome.is_ok()));
        outcome
    }
}

#[test]
fn outgoing_messages_pass_their_layers_in_order() {
    let lines = Lines::default();
    let layer = |name| Sending(name, Arc::clone(&lines));
    run_paused(async {
        let server = registry().server().outgoing_layer(layer("inner")).outgoing_layer(layer("outer"));
        let mut host = Host::connect_with(&server, json!({"sampling": {}})).await;
        let id = host.peer.request("tools/call", json!({"name": "ask"})).await;
        assert_eq!(host.peer.next().await["method"], "notifications/message");
        let asked = host.peer.next().await;
        let result = json!({"role": "assistant", "content": {"type": "text", "text": "4"}, "model": "m"});
        host.peer.reply(&asked, result).await;
        let answer = host.peer.next().await;
        assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(id), &json!("m")));
        let sampling = "sampling/createMessage";
        let expected = [
            "outer notifications/message".to_owned(),
            "inner notifications/message".to_owned(),
            format!("outer {sampling}"),
            format!("inner {sampling}"),
            format!("inner {sampling} true"),
            format!("outer {sampling} true"),
        ];
        assert_eq!(std::mem::take(&mut *lines.lock().unwrap()), expected);

        let server = registry().server().outgoing_layer(layer("withhold")).outgoing_layer(layer("refuse"));
        let mut host = Host::connect_with(&server, json!({"sampling": {}})).await;
        server.handle().tools_changed(Audience::Everyone);
        assert!(host.peer.is_silent_for(Duration::from_secs(60)).await, "withheld");
        assert_eq!(host.text("ask", json!({})).await, "the client refused: not today (-1)");
        assert_eq!(host.told.len(), 0);
    });
}

/// A `tower::Layer` as a layer of a server: its limit applies, its errors are answered.
#[test]
fn layers_of_tower_are_layers_of_a_server() {
    let limit = TowerLayer::new(ConcurrencyLimitLayer::new(1));
    let timeout = TowerLayer::new(tower::timeout::TimeoutLayer::new(Duration::from_secs(3)));
    let server = registry().server().layer(limit).layer(timeout);
    run_paused(async {
        let mut host = Host::connect(&server).await;
        assert_eq!(host.text("greet", json!({})).await, "hi");
        host.peer.request("tools/call", json!({"name": "slow"})).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let start = tokio::time::Instant::now();
        // The slow call holds the only permit until tower's timeout.
        assert_eq!(host.text("greet", json!({})).await, "hi");
        assert!(start.elapsed() >= Duration::from_millis(1900), "{:?}", start.elapsed());
        assert_eq!(host.told[0]["error"], json!({"code": -32603, "message": "request timed out"}));
    });
}

/// The other direction: layers and services of this library, for tower.
#[test]
fn services_of_this_library_are_services_of_tower() {
    let ours = registry().server().layer(TimeoutLayer::new(Duration::from_secs(1)));
    let ours = TowerService::new(Arc::clone(ours.service()));
    let service = tower::ServiceBuilder::new().concurrency_limit(1).service(ours);
    run_paused(async {
        for (tool, text) in [("greet", "hi"), ("slow", "timed out")] {
            let request =
                McpRequest { request: ServerRequest::CallTool(CallTool::new(tool)), context: Context::detached() };
            let Ok(ServerResult::CallTool(result)) = service.clone().oneshot(request).await else { panic!("{tool}") };
            assert!(result.content.as_str().contains(text), "{result:?}");
        }
    });
}

/// The same layers around one tool.
#[test]
fn a_layer_of_tower_can_wrap_one_tool() {
    let timeout = || TowerLayer::new(tower::timeout::TimeoutLayer::new(Duration::from_secs(1)));
    let registry = Registry::builder("t", "1")
        .tool(Tool::new("slow", "d").handler(async || std::future::pending::<()>().await).layer(timeout()))
        .tool(Tool::new("greet", "d").handler(async || {
            tokio::time::sleep(Duration::from_secs(2)).await;
            "hi"
        }))
        .build()
        .unwrap();
    run_paused(async {
        let mut host = Host::connect(&registry.server()).await;
        assert_eq!(host.ask("tools/call", json!({"name": "slow"})).await.unwrap_err()["message"], "request timed out");
        assert_eq!(host.text("greet", json!({})).await, "hi");
    });
}
