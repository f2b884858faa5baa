//! Subscriptions without a session.

use protomcp_session::NoAnswer;
use protomcp_types::SubscriptionFilter;

use super::wire::Wire;

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
    assert_eq!(wire.events(), ["listening lost", "listening {}"]);
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

fn uris(uris: &[&str]) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: uris.iter().map(|uri| (*uri).to_owned()).collect(),
        ..SubscriptionFilter::default()
    }
}

fn acknowledge(wire: &mut Wire, id: u64, notifications: &str) {
    wire.server(&format!(
        r#""method":"notifications/subscriptions/acknowledged","params":{{{notifications}"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
    ));
}

#[test]
fn an_unreadable_acknowledgement_ends_the_subscription() {
    for notifications in [r#""notifications":{"resourceSubscriptions":5},"#, r#""notifications":[],"#, ""] {
        let mut wire = Wire::stateless(|_| {});
        wire.connection.listen(wire.now, uris(&["a"]));
        wire.sent();
        acknowledge(&mut wire, 2, notifications);
        let invalid = "not listening: the answer of the server is invalid: the acknowledgement cannot be read";
        assert_eq!(wire.events(), [invalid], "{notifications}");
        assert_eq!(wire.sent(), [r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#]);
        assert_eq!(wire.connection.deadline(), None);
    }
    // Some servers write absent members as null.
    let mut wire = Wire::stateless(|_| {});
    wire.connection.listen(wire.now, uris(&["a"]));
    acknowledge(&mut wire, 2, r#""notifications":{"resourceSubscriptions":null,"toolsListChanged":true},"#);
    assert_eq!(wire.events(), [r#"listening {"toolsListChanged":true}"#]);
}

#[test]
fn a_resource_that_is_not_honoured_is_asked_for_again() {
    let mut wire = Wire::stateless(|_| {});
    wire.connection.listen(wire.now, uris(&["a", "b"]));
    acknowledge(&mut wire, 2, r#""notifications":{"resourceSubscriptions":["a"]},"#);
    wire.sent();
    wire.connection.listen(wire.now, uris(&["a", "b"]));
    assert_eq!(
        wire.sent(),
        [
            r#"{"id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a","b"]},…}}"#
        ]
    );
    acknowledge(&mut wire, 3, r#""notifications":{"resourceSubscriptions":["a","b"]},"#);
    // All of them are honoured now.
    wire.connection.listen(wire.now, uris(&["a", "b"]));
    assert_eq!(wire.sent(), [r#"{"method":"notifications/cancelled","params":{"requestId":2}}"#]);
    let both = r#"listening {"resourceSubscriptions":["a","b"]}"#;
    assert_eq!(wire.events(), [r#"listening {"resourceSubscriptions":["a"]}"#, both, both]);
}

#[test]
fn a_cancelled_subscription_is_asked_for_again() {
    let mut wire = Wire::stateless(|_| {});
    wire.connection.listen(wire.now, uris(&["a"]));
    acknowledge(&mut wire, 2, r#""notifications":{"resourceSubscriptions":["a"]},"#);
    wire.sent();
    wire.server(r#""method":"notifications/cancelled","params":{"requestId":2}"#);
    wire.server(r#""id":2,"result":{"resultType":"complete"}"#);
    wire.wait(1);
    assert_eq!(
        wire.sent(),
        [r#"{"id":3,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["a"]},…}}"#]
    );
    assert_eq!(
        wire.events(),
        [
            r#"listening {"resourceSubscriptions":["a"]}"#,
            "listening lost",
            "ignored: an answer to nothing that was asked"
        ]
    );
}

#[test]
fn a_change_between_two_streams_is_announced() {
    let mut wire = Wire::stateless(|_| {});
    let wanted = SubscriptionFilter { tools_list_changed: true, prompts_list_changed: true, ..uris(&["a", "b"]) };
    wire.connection.listen(wire.now, wanted);
    acknowledge(&mut wire, 2, r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["a","b"]},"#);
    assert_eq!(wire.events().len(), 1, "the first stream has missed nothing");
    for (id, why) in [(2, NoAnswer::Incomplete), (3, NoAnswer::Status(503)), (4, NoAnswer::Status(429))] {
        wire.lost(id, why);
        let expected: &[&str] = if id == 2 { &["listening lost"] } else { &[] };
        assert_eq!(wire.events(), expected, "{why:?}");
        wire.wait(10);
    }
    // The next attempt has no answer in time.
    wire.sent();
    wire.wait(60);
    assert_eq!(wire.sent(), [r#"{"method":"notifications/cancelled","params":{"requestId":5}}"#]);
    wire.wait(10);
    assert_eq!((wire.sent().len(), wire.events()), (1, vec![]));
    acknowledge(&mut wire, 6, r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["b"]},"#);
    assert_eq!(
        wire.events(),
        [
            r#"listening {"toolsListChanged":true,"resourceSubscriptions":["b"]}"#,
            "told notifications/tools/list_changed",
            "told notifications/resources/updated"
        ]
    );
    wire.connection.listen(wire.now, uris(&["b"]));
    acknowledge(&mut wire, 7, r#""notifications":{"resourceSubscriptions":["b"]},"#);
    assert_eq!(wire.events(), [r#"listening {"resourceSubscriptions":["b"]}"#], "replaced without a gap");
}

#[test]
fn a_first_subscription_without_an_acknowledgement_fails() {
    let mut wire = Wire::stateless(|_| {});
    wire.connection.listen(wire.now, uris(&["a"]));
    wire.wait(60);
    assert_eq!(wire.events(), ["not listening: the server did not answer within 60s"]);
    assert_eq!(wire.connection.deadline(), None);
}

#[test]
fn streams_that_work_are_replaced_for_ever() {
    for (seconds, has_update) in [(30, false), (1, true)] {
        let mut wire = Wire::stateless(|_| {});
        wire.connection.listen(wire.now, uris(&["a"]));
        for id in 2..42 {
            acknowledge(&mut wire, id, r#""notifications":{"resourceSubscriptions":["a"]},"#);
            if has_update {
                let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
                wire.server(&format!(r#""method":"notifications/resources/updated","params":{{"uri":"a",{meta}}}"#));
            }
            wire.wait(seconds);
            wire.lost(id, NoAnswer::Incomplete);
            wire.wait(1);
            assert!(wire.events().iter().all(|event| !event.starts_with("not listening")), "{id}");
        }
    }
}

#[test]
fn a_wish_that_has_failed_is_repeated_after_a_long_pause() {
    let mut wire = Wire::stateless(|_| {});
    wire.connection.listen(wire.now, uris(&["a"]));
    acknowledge(&mut wire, 2, r#""notifications":{"resourceSubscriptions":["a"]},"#);
    wire.lost(2, NoAnswer::Unauthorized);
    assert_eq!(wire.events()[1..], ["listening lost", "not listening: the request is not authorized: gone"]);
    for id in 3..9 {
        wire.connection.listen_later(wire.now, uris(&["a"]));
        wire.sent();
        wire.wait(59);
        assert!(wire.sent().is_empty());
        wire.wait(1);
        assert_eq!(wire.sent().len(), 1);
        wire.lost(id, NoAnswer::Status(404));
        assert_eq!(wire.events(), ["not listening: gone"]);
    }
    wire.connection.listen_later(wire.now, uris(&["a"]));
    wire.wait(60);
    acknowledge(&mut wire, 9, r#""notifications":{"resourceSubscriptions":["a"]},"#);
    let listening = r#"listening {"resourceSubscriptions":["a"]}"#;
    assert_eq!(wire.events(), [listening, "told notifications/resources/updated"]);
    // A stream that is open is enough.
    wire.connection.listen_later(wire.now, uris(&["a"]));
    assert_eq!(wire.connection.deadline(), None);
    let mut wire = Wire::stateful(|_| {});
    wire.connection.listen_later(wire.now, uris(&["a"]));
    assert_eq!(wire.connection.deadline(), None);
}
