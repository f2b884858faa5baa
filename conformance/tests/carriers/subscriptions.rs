//! Subscriptions to resources. Over gRPC they are one call of `Listen`.

use protomcp_bufmcp::message::{Payload, SubscribeRequest, UnsubscribeRequest};

use crate::carriers::scenarios::{call, declaring, error};
use crate::carriers::wire::{Scene, Wire};

pub(super) fn subscribe(uri: &str) -> Payload {
    Payload::SubscribeRequest(SubscribeRequest { uri: uri.to_owned() })
}

pub(super) fn subscriptions(scene: &Scene) {
    let (wire, capabilities) = declaring(scene, "subscriptions");
    assert!(capabilities.resources.unwrap().supports_subscribe, "{capabilities:?}");
    let is_done = |payload| matches!(payload, Payload::SubscribeResponse(_));
    assert!(is_done(wire.ask(subscribe("test://text"))));
    assert_eq!(told(&wire, ["test://other", "test://text"]), ["test://text"]);
    assert_eq!(error(wire.ask(subscribe("test://nothing"))).code, -32002);
    assert!(is_done(wire.ask(subscribe("test://notes/1"))));
    let end = Payload::UnsubscribeRequest(UnsubscribeRequest { uri: "test://text".to_owned() });
    assert!(is_done(wire.ask(end)));
    assert_eq!(told(&wire, ["test://text", "test://notes/1"]), ["test://notes/1"]);
}

/// The resources that the client hears of when these change, until it hears of the last one.
fn told(wire: &Wire, changed: [&str; 2]) -> Vec<String> {
    for uri in changed {
        wire.send(call("touch", &format!("{{\"uri\": {uri:?}}}"))).unwrap();
    }
    let mut told = Vec::new();
    while told.last().is_none_or(|uri| uri != changed[1]) {
        if let Some(Payload::ResourceUpdated(updated)) = wire.next().expect("the connection is open").payload {
            told.push(updated.uri);
        }
    }
    told
}
