//! Subscriptions without a session.

use protomcp_session::NoAnswer;
use protomcp_types::SubscriptionFilter;

use crate::wire::Wire;

#[test]
fn a_subscription_changes_without_a_gap() {
    let mut wire = Wire::stateless(|_| {});
    let filter = |uris: &[&str]| SubscriptionFilter {
        resource_subscriptions: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        ..SubscriptionFilter::default()
    };
    let acknowledge = |wire: &mut Wire, id: u64, uris: &str| {
        wire.server(&format!(
            r#""method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"resourceSubscriptions":[{uris}]}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
        ));
    };
    let updated = |wire: &mut Wire, id: u64| {
        wire.server(&format!(
            r#""method":"notifications/resources/updated","params":{{"uri":"a","_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
        ));
    };
    wire.connection.listen(wire.now, filter(&["a"]));
    acknowledge(&mut wire, 2, r#""a""#);
    wire.connection.listen(wire.now, filter(&["a", "b"]));
    assert_eq!(
        wire.sent(),
        [
            r#"{"id":2,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a"]},…}}"#,
            r#"{"id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a","b"]},…}}"#
        ]
    );
    updated(&mut wire, 2);
    acknowledge(&mut wire, 3, r#""a","b""#);
    updated(&mut wire, 2);
    assert_eq!(wire.sent(), [r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#]);
    assert_eq!(
        wire.events(),
        [
            r#"listening {"resourceSubscriptions":["a"]}"#,
            "told notifications/resources/updated",
            r#"listening {"resourceSubscriptions":["a","b"]}"#,
            "ignored: a notification of a subscription that is over"
        ]
    );
    // A server that ends the stream is asked again, after growing pauses.
    wire.server(r#""id":3,"result":{}"#);
    assert!(wire.sent().is_empty());
    wire.wait(1);
    assert_eq!(wire.sent().len(), 1);
    wire.connection.listen(wire.now, SubscriptionFilter::default());
    assert_eq!(wire.events(), ["listening {}"]);
    assert_eq!(wire.sent(), [r#"{"method":"notifications/cancelled","params":{"requestId":4}}"#]);
    assert_eq!(wire.connection.deadline(), None);
}

#[test]
fn listening_gives_up_when_it_never_lasts() {
    let mut wire = Wire::stateless(|_| {});
    let filter = SubscriptionFilter { tools_list_changed: true, ..SubscriptionFilter::default() };
    wire.connection.listen(wire.now, filter.clone());
    let mut id = 2;
    while wire.connection.deadline().is_some() {
        wire.lost(id, NoAnswer::Connection);
        id += 1;
        wire.wait(100);
    }
    assert_eq!((id, wire.events()), (11, vec!["not listening: the server did not answer: gone".to_owned()]));
    wire.connection.listen(wire.now, filter);
    wire.server(r#""id":11,"error":{"code":-32601,"message":"unknown"}"#);
    assert_eq!(wire.events(), ["not listening: the server refused the request: unknown (-32601)"]);
    let mut wire = Wire::stateful(|_| {});
    wire.connection.listen(wire.now, SubscriptionFilter::default());
    assert!(wire.events()[0].starts_with("not listening"));
}
