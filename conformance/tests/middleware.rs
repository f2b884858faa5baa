//! Middleware that a tool process registers is run around its calls (docs/envelope.md, "Middleware").

use std::fs;

use protomcp_conformance::{Host, Sandbox, Scene, rust_session, session};
use protomcp_envelope::{MiddlewareInterceptRequest, MiddlewareInterceptResponse, Msg, RegisterMiddlewareRequest};
use serde_json::{Value, json};

fn open() -> (Host, Sandbox) {
    session("run", "py/interceptors.py", &[])
}

/// The executed parts in order; the log is cleared for the next call.
fn ran(sandbox: &Sandbox) -> Vec<String> {
    let path = sandbox.path("work.log");
    let log = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, "").expect("the log is ours");
    log.lines().map(str::to_owned).collect()
}

/// Item 77.
#[test]
fn middleware_order_is_reversed_after_the_call() {
    let (host, sandbox) = open();
    assert_eq!(host.text("echo", &json!({"text": "x"})), "x");
    assert_eq!(
        ran(&sandbox),
        [
            "first before",
            "tie-one before",
            "tie-two before",
            "late before",
            "echo",
            "late after",
            "tie-two after",
            "tie-one after",
            "first after"
        ]
    );
}

/// Item 78.
#[test]
fn rewritten_arguments_and_results_take_effect() {
    let (host, _sandbox) = open();
    assert_eq!(host.text("echo", &json!({"text": "x", "rewrite": "tie-one"})), "x via tie-one");
    let result = host.call("echo", &json!({"text": "x", "sign": "late"}));
    assert_eq!(result["content"][1], json!({"type": "text", "text": "signed by late"}));
}

/// Item 79.
#[test]
fn a_rejected_call_never_reaches_the_handler() {
    let (host, sandbox) = open();
    let result = host.call("echo", &json!({"text": "x", "reject": "tie-two"}));
    assert_eq!(result["isError"], true);
    assert_eq!(result["content"][0]["text"], "rejected by middleware \"tie-two\": not today");
    assert_eq!(result["_meta"]["protomcp/error"]["error_code"], "REJECTED");
    assert_eq!(ran(&sandbox), ["first before", "tie-one before", "tie-two before"], "no handler, no after phase");
}

/// Item 80.
#[test]
fn a_failing_middleware_rejects_before_and_is_skipped_after() {
    let (host, sandbox) = open();
    let text = host.error_text("loose", &json!({"text": "x", "raise": "late before"}));
    assert!(text.contains("late failed on purpose"), "{text}");
    assert!(!ran(&sandbox).contains(&"loose".to_owned()));
    assert_eq!(host.text("loose", &json!({"text": "x", "raise": "late after"})), "x");
    host.stderr_with("late failed on purpose");
}

/// Item 81.
#[test]
fn middleware_without_effect_changes_nothing() {
    let (py, _sandbox) = open();
    let odd = "9007199254740993 \u{e9} \"quoted\" \\ ";
    assert_eq!(py.text("echo", &json!({"text": odd})), odd);
    let (rs, _sandbox) = rust_session("run", &[]);
    assert_eq!(rs.text("echo", &json!({"text": odd})), odd);
}

/// Items 73, 77.
#[test]
fn a_reload_replaces_the_middleware() {
    let (host, sandbox) = session("dev", "py/interceptors.py", &[]);
    // A save before the first version is in service is announced to no one, because no client has seen a list.
    assert_eq!(host.names(), ["echo", "loose"]);
    let text = fs::read_to_string(sandbox.path("interceptors.py")).expect("the fixture is there");
    let place = host.now();
    sandbox.write("interceptors.py", text.replace("make(\"tie-one\", 10)\n", ""));
    host.list_changed(place);
    ran(&sandbox);
    host.text("echo", &json!({"text": "x"}));
    assert_eq!(
        ran(&sandbox),
        ["first before", "tie-two before", "late before", "echo", "late after", "tie-two after", "first after"]
    );
}

fn intercept(scene: &mut Scene) -> (String, MiddlewareInterceptRequest) {
    let envelope = scene.peer.request();
    match envelope.msg {
        Some(Msg::MiddlewareIntercept(request)) => (envelope.request_id, request),
        other => panic!("an interception was expected, not {other:?}"),
    }
}

/// Item 77.
#[test]
fn middleware_registered_late_runs_from_the_next_call() {
    let mut scene = Scene::open(&[], &["echo"]);
    let running = scene.host.start_call("echo", &json!({}));
    let (before, _) = scene.peer.call();
    scene.peer.send("", RegisterMiddlewareRequest { name: "late".into(), priority: 0 });
    assert_eq!(scene.peer.request().name(), "register_middleware_response");
    let id = scene.host.start_call("echo", &json!({}));
    let (step, request) = intercept(&mut scene);
    assert_eq!((request.middleware_name.as_str(), request.phase.as_str()), ("late", "before"));
    let arguments_json = r#"{"rewritten":true}"#.into();
    scene.peer.send(&step, MiddlewareInterceptResponse { arguments_json, ..Default::default() });
    let (call, request) = scene.peer.call();
    assert_eq!(request.arguments_json, r#"{"rewritten":true}"#);
    // The running call keeps the middleware that it began with.
    scene.peer.result(&before, r#""plain""#);
    assert_eq!(scene.host.answer(running).value["result"]["content"][0]["text"], "plain");
    scene.peer.result(&call, r#""signed""#);
    let (step, request) = intercept(&mut scene);
    assert_eq!((request.middleware_name.as_str(), request.phase.as_str()), ("late", "after"));
    scene.peer.send(&step, MiddlewareInterceptResponse::default());
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "signed");
}

/// A scene in which the process registered one middleware in its handshake.
fn with_middleware() -> Scene {
    let sandbox = Sandbox::new();
    let stage = protomcp_conformance::Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay", "--call-timeout", "2s"]).start();
    let mut peer = stage.accept();
    peer.listed(vec![protomcp_conformance::tool("echo")]);
    peer.send("", RegisterMiddlewareRequest { name: "guard".into(), priority: 1 });
    assert_eq!(peer.receive().name(), "register_middleware_response");
    peer.send("", protomcp_envelope::ReloadResponse { success: true, error: String::new() });
    let id = host.begin("2025-11-25");
    peer.settle(|| host.answered(id).is_some());
    Scene { host, peer, stage, sandbox }
}

/// Item 79.
#[test]
fn a_call_whose_middleware_does_not_answer_fails_and_never_runs() {
    let mut scene = with_middleware();
    let id = scene.host.start_call("echo", &json!({"a": 1}));
    let (_, request) = intercept(&mut scene);
    assert_eq!((request.phase.as_str(), request.tool_name.as_str()), ("before", "echo"));
    assert_eq!((&request.arguments_json[..], &request.result_json[..]), (&br#"{"a":1}"#[..], &b""[..]));
    let result: Value = scene.host.answer(id).value["result"].clone();
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.contains("middleware \"guard\" before")));
}

/// Item 78.
#[test]
fn arguments_rewritten_into_no_object_are_not_taken() {
    let mut scene = with_middleware();
    let id = scene.host.start_call("echo", &json!({"a": 1}));
    let (question, _) = intercept(&mut scene);
    let answer = MiddlewareInterceptResponse { arguments_json: "[1]".into(), ..Default::default() };
    scene.peer.send(&question, answer);
    let (call, request) = scene.peer.call();
    assert_eq!(&request.arguments_json[..], br#"{"a":1}"#);
    scene.peer.result(&call, r#""done""#);
    let (question, request) = intercept(&mut scene);
    assert_eq!((request.phase.as_str(), &request.result_json[..]), ("after", &br#""done""#[..]));
    scene.peer.send(&question, MiddlewareInterceptResponse { result_json: r#""signed""#.into(), ..Default::default() });
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "signed");
    scene.host.stderr_with("not a JSON object");
}
