//! A host sees the same of a tool file and of the same file through each carrier of proto-mcp.

use protomcp_conformance::{Host, Sandbox};
use serde_json::{Value, json};

use super::{Server, front};

#[test]
fn a_host_sees_the_same_through_tcp() {
    sees_the_same("proto");
}

#[test]
fn a_host_sees_the_same_through_websocket() {
    sees_the_same("ws");
}

#[test]
fn a_host_sees_the_same_through_grpc() {
    sees_the_same("grpc");
}

/// Through the carrier with this scheme.
fn sees_the_same(scheme: &'static str) {
    compare(scheme, "clients.py", include_str!("../../fixtures/py/clients.py"), |through, direct| {
        has_prompts_and_templates(through, direct);
        has_logs_progress_and_cancellation(through, direct);
    });
    compare(scheme, "carriers.py", include_str!("../../hosts/carriers.py"), hears_of_resources);
}

/// Calls this with a host of the file behind a carrier, and with one that has the file itself.
fn compare(scheme: &'static str, file: &str, text: &str, same: impl FnOnce(&Host, &Host)) {
    // The end of a host is the end of all processes of its sandbox.
    let [far, sandbox, of_direct] = [Sandbox::new(), Sandbox::new(), Sandbox::new()];
    far.write(file, text);
    of_direct.write(file, text);
    let server = Server::start_over(scheme, &far, &[file], 0);
    let direct = front(&of_direct, &[file]);
    let through = front(&sandbox, &["--upstream", &server.url()]);
    same(&through, &direct);
}

fn has_prompts_and_templates(through: &Host, direct: &Host) {
    let prompt = "test_prompt_with_arguments";
    let get = json!({"name": prompt, "arguments": {"arg1": "a", "arg2": "é"}});
    let complete = json!({
        "ref": {"type": "ref/prompt", "name": prompt}, "argument": {"name": "arg1", "value": "par"}
    });
    for (method, params, part) in [
        ("prompts/list", json!({}), "/prompts"),
        ("prompts/get", get, "/messages"),
        ("completion/complete", complete, "/completion/values"),
        ("resources/templates/list", json!({}), "/resourceTemplates"),
    ] {
        let [seen, expected] = [through, direct].map(|host| host.ask(method, &params));
        let (seen, expected) = (seen.pointer(part), expected.pointer(part));
        assert!(expected.is_some_and(|list| list.as_array().is_some_and(|list| !list.is_empty())), "{method}");
        assert_eq!(seen, expected, "{method}");
    }
    let unknown = json!({"name": "nothing", "arguments": {}});
    let [seen, expected] = [through, direct].map(|host| host.refused("prompts/get", &unknown));
    assert_eq!(seen["code"], expected["code"], "{seen} {expected}");
}

fn has_logs_progress_and_cancellation(through: &Host, direct: &Host) {
    let (method, is_last) = ("notifications/message", |log: &Value| log["data"].to_string().contains("completed"));
    let [seen, expected] = [through, direct].map(|host| {
        let place = host.now();
        host.call("test_tool_with_logging", &json!({}));
        host.wait_for("the last message", place, |log| log.method() == method && is_last(&log.value["params"]));
        let logs = host.notifications(method, place).into_iter().map(|log| log.value["params"].clone());
        let logs = logs.filter(|log| log["data"].to_string().contains("Tool "));
        logs.map(|log| json!([log["level"], log["data"]])).collect::<Vec<_>>()
    });
    assert_eq!((seen.len(), &seen), (3, &expected));
    let [seen, expected] = [through, direct].map(|host| {
        let place = host.now();
        let wanted = json!({"name": "test_tool_with_progress", "arguments": {}, "_meta": {"progressToken": "p"}});
        host.ask("tools/call", &wanted);
        let steps = host.notifications("notifications/progress", place).into_iter();
        steps.map(|step| step.value["params"].clone()).collect::<Vec<_>>()
    });
    assert!(expected.len() > 1);
    assert_eq!(seen, expected);
    // The tools run in one process each, one after the other, so that another call shows the end of a cancelled one.
    let [seen, expected] = [through, direct].map(|host| {
        let place = host.now();
        let wanted = json!({"name": "test_wait", "arguments": {}, "_meta": {"progressToken": "w"}});
        let id = host.request("tools/call", &wanted);
        host.notified("notifications/progress", place);
        host.tell("notifications/cancelled", &json!({"requestId": id}));
        let text = host.text("test_given_up", &json!({}));
        assert!(host.answered(id).is_none(), "a cancelled request has no answer");
        text
    });
    assert_eq!(seen, expected);
}

fn hears_of_resources(through: &Host, direct: &Host) {
    let (updated, text, other) = ("notifications/resources/updated", "test://text", "test://other");
    let [seen, expected] = [through, direct].map(|host| {
        let place = host.now();
        let ask = |method: &str, uri: &str| assert_eq!(host.ask(method, &json!({"uri": uri})), json!({}), "{method}");
        let touch = |uris: [&str; 2]| uris.map(|uri| assert_eq!(host.text("touch", &json!({"uri": uri})), "touched"));
        ask("resources/subscribe", text);
        touch([other, text]);
        host.notified(updated, place);
        ask("resources/unsubscribe", text);
        ask("resources/subscribe", other);
        touch([text, other]);
        host.wait_for("the last update", place, |message| message.value["params"]["uri"] == other);
        let told = host.notifications(updated, place).into_iter();
        let mut told = told.map(|message| message.value["params"]["uri"].clone()).collect::<Vec<_>>();
        // Over gRPC a client may hear twice of one change while its subscriptions change.
        told.dedup();
        told
    });
    assert_eq!(expected, [json!(text), json!(other)]);
    assert_eq!(seen, expected);
}
