//! Questions and change notices without a session, over independent requests.

use std::sync::Arc;

use http::Request;
use protomcp_http::Principal;
use serde_json::{Value, json};

use super::client::full;
use super::handler::Stage;

pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    })
}

fn request(who: Option<&str>, params: &Value) -> Request<axum::body::Body> {
    let body = full(&format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#));
    let mut request = Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "roots");
    if let Some(who) = who {
        request = request.extension(Principal(Arc::from(who)));
    }
    request.body(axum::body::Body::from(body)).unwrap()
}

pub(crate) async fn said(stage: &Stage, who: Option<&str>, params: &Value) -> (u16, Value) {
    let response = stage.service.handle(request(who, params)).await;
    let status = response.status().as_u16();
    let bytes = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

#[tokio::test]
async fn a_call_continues_in_another_request_of_the_same_sender() {
    let stage = Stage::local().await;
    let call = json!({"name": "roots", "_meta": meta()});
    let (status, first) = said(&stage, Some("ann"), &call).await;
    assert_eq!((status, &first["result"]["resultType"]), (200, &json!("input_required")), "{first}");
    assert_eq!(first["result"]["inputRequests"]["roots-1"]["method"], "roots/list");
    let mut again = call.clone();
    again["requestState"] = first["result"]["requestState"].clone();
    again["inputResponses"] = json!({"roots-1": {"roots": [{"uri": "file:///a"}]}});
    for stranger in [Some("bob"), None] {
        let (status, refused) = said(&stage, stranger, &again).await;
        assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32602)), "{stranger:?}: {refused}");
    }
    let (status, second) = said(&stage, Some("ann"), &again).await;
    assert_eq!((status, &second["result"]["content"][0]["text"]), (200, &json!("1 roots")), "{second}");
    assert_eq!(said(&stage, Some("ann"), &again).await.0, 400, "a state is good for one answer");
}

#[tokio::test]
async fn a_capability_that_is_missing_is_a_bad_request() {
    let stage = Stage::local().await;
    let mut call = json!({"name": "roots", "_meta": meta()});
    call["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let (status, refused) = said(&stage, None, &call).await;
    assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32021)), "{refused}");
}

#[tokio::test]
async fn a_listen_request_has_its_own_stream_until_the_server_stops() {
    let stage = Stage::local().await;
    let host = stage.host.with("mcp-protocol-version", "2026-07-28").with("mcp-method", "subscriptions/listen");
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    let listen = format!(r#"{{"id":"l","method":"subscriptions/listen","params":{params}}}"#);
    let mut stream = host.post(&listen).await;
    assert_eq!((stream.status, stream.kind()), (200, "text/event-stream"));
    let mut next = async || {
        let event = stream.event().await.expect("an event");
        serde_json::from_str::<Value>(&event.data).unwrap()
    };
    let id = |message: &Value, of: &str| message[of]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    let acknowledged = next().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    stage.tools.announce();
    let changed = next().await;
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    stage.tools.shut_down();
    // The end of the stream needs no notice: the answer is the last event.
    let ended = next().await;
    assert_eq!((&ended["id"], &ended["result"]["resultType"]), (&json!("l"), &json!("complete")), "{ended}");
    assert_eq!(
        (id(&acknowledged, "params"), id(&changed, "params"), id(&ended, "result")),
        (json!("l"), json!("l"), json!("l"))
    );
    assert!(stream.event().await.is_none());
}
