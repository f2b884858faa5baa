//! Subscriptions to resources, for clients that have declared the extension.

use protomcp_bufmcp::message::{Payload, ResourceUpdated, SubscribeRequest, SubscribeResponse, UnsubscribeRequest};
use protomcp_bufmcp::{BinaryCall, SessionConfig};

use super::opening::declaring;
use super::table::{Table, config, opened};

/// A server that takes subscriptions.
fn with_subscriptions() -> SessionConfig {
    let mut config = config();
    config.features.subscriptions = true;
    config
}

fn subscribe() -> Payload {
    Payload::SubscribeRequest(SubscribeRequest { uri: "t:a".into() })
}

fn unsubscribe() -> Payload {
    Payload::UnsubscribeRequest(UnsubscribeRequest { uri: "t:a".into() })
}

#[test]
fn without_the_extension_there_are_no_subscriptions() {
    let mut table = Table::open(with_subscriptions());
    for payload in [subscribe(), unsubscribe(), Payload::SubscribeResponse(SubscribeResponse {})] {
        assert!(table.send(2, payload).is_none());
        assert_eq!(table.refusal(), (2, -32601));
    }
    assert!(!table.session.resource_updated("t:a") && table.answers().is_empty());
}

#[test]
fn both_sides_have_to_take_subscriptions() {
    for (config, names, supported) in [
        (with_subscriptions(), &["subscriptions"][..], true),
        (with_subscriptions(), &["notifications", "prompts"], false),
        (config(), &["subscriptions"], false),
    ] {
        let capabilities = opened(config, declaring(names)).unwrap().capabilities.unwrap();
        assert_eq!(capabilities.resources.unwrap().supports_subscribe, supported, "{names:?}");
    }
}

#[test]
fn a_client_subscribes_and_hears_of_changes() {
    let mut table = Table::new(with_subscriptions());
    table.send(1, declaring(&["subscriptions"]));
    table.answers();
    let BinaryCall::Subscribe(seen) = table.request(2, subscribe()) else { panic!("another request") };
    assert_eq!(seen.uri, "t:a");
    let done = Payload::SubscribeResponse(SubscribeResponse {});
    table.session.reply(table.now, 2, Ok(done.clone()));
    assert_eq!(table.answer(), (2, done));
    assert!(table.session.resource_updated("t:a"));
    assert_eq!(table.answer(), (0, Payload::ResourceUpdated(ResourceUpdated { uri: "t:a".into() })));
    assert!(matches!(table.request(3, unsubscribe()), BinaryCall::Unsubscribe(seen) if seen.uri == "t:a"));
    // A response is not a request.
    assert!(table.send(4, Payload::SubscribeResponse(SubscribeResponse {})).is_none());
    assert_eq!(table.refusal(), (4, -32600));
}
