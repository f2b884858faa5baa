//! A tool list that changes while the session runs (docs/envelope.md, "Tool list").

use protomcp_conformance::{Peer, Scene, rust_session, session, tier, tool};
use protomcp_envelope::{
    BatchUpdateRequest, CallToolResponse, DisableToolsRequest, EnableToolsRequest, GetActiveToolsRequest, Msg,
    SetAllowedRequest, SetBlockedRequest,
};
use serde_json::json;

const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// Item 59.
#[test]
fn a_result_is_sent_before_the_notification_of_its_list_change() {
    let mut scene = Scene::open(&[], &["a", "b", "c"]);
    let id = scene.host.start_call("a", &json!({}));
    let (call, _) = scene.peer.call();
    let place = scene.host.now();
    let result = CallToolResponse {
        result_json: r#""changed""#.into(),
        enable_tools: names(&["b", "not registered"]),
        disable_tools: names(&["b", "c"]),
        ..CallToolResponse::default()
    };
    scene.peer.send(&call, result);
    let answer = scene.host.answer(id);
    let told = scene.host.list_changed(place);
    assert!(answer.place < told.place, "the answer is written first");
    assert_eq!(scene.host.names(), ["a"], "what is both enabled and disabled is disabled");
    let error = scene.host.refused("tools/call", &json!({"name": "b"}));
    assert_eq!(error["code"], -32602, "a disabled tool is unknown: {error}");
    assert_eq!(scene.host.notifications(LIST_CHANGED, place).len(), 1);
}

/// Items 59, 40.
#[test]
fn an_error_result_changes_the_list_too() {
    let mut scene = Scene::open(&[], &["a", "b"]);
    let id = scene.host.start_call("a", &json!({}));
    let (call, _) = scene.peer.call();
    let disable_tools = names(&["b"]);
    scene.peer.send(&call, CallToolResponse { is_error: true, disable_tools, ..CallToolResponse::default() });
    assert_eq!(scene.host.answer(id).value["result"]["isError"], true);
    assert_eq!(scene.host.names(), ["a"]);
}

/// Items 60, 61.
#[test]
fn each_control_message_is_answered_with_the_active_tools() {
    let mut scene = Scene::open(&[], &["a", "b", "c"]);
    scene.host.names();
    let steps: Vec<(Msg, &[&str])> = vec![
        (GetActiveToolsRequest {}.into(), &["a", "b", "c"]),
        (DisableToolsRequest { tool_names: names(&["c", "a"]) }.into(), &["b"]),
        (EnableToolsRequest { tool_names: names(&["c"]) }.into(), &["b", "c"]),
        (SetAllowedRequest { tool_names: names(&["c", "a"]) }.into(), &["a", "c"]),
        (SetBlockedRequest { tool_names: names(&["a"]) }.into(), &["b", "c"]),
        (
            BatchUpdateRequest { enable: names(&["a"]), disable: names(&["b"]), ..Default::default() }.into(),
            &["a", "c"],
        ),
        // Contradictory commands: none of them takes effect.
        (
            BatchUpdateRequest {
                allow: names(&["a"]),
                block: names(&["c"]),
                disable: names(&["a"]),
                ..Default::default()
            }
            .into(),
            &["a", "c"],
        ),
        (BatchUpdateRequest { allow: names(&["b"]), enable: names(&["c"]), ..Default::default() }.into(), &["b", "c"]),
        (SetAllowedRequest::default().into(), &["a", "b", "c"]),
        (SetBlockedRequest::default().into(), &["a", "b", "c"]),
    ];
    for (number, (message, wanted)) in steps.into_iter().enumerate() {
        // The published SDKs leave the id empty; a third party's id comes back.
        let id = if number % 2 == 0 { String::new() } else { format!("mine-{number}") };
        let name = protomcp_envelope::message_name(&message);
        scene.peer.send(&id, message);
        assert_eq!(scene.peer.active_tools(), (id, names(wanted)), "after {name}");
        assert_eq!(scene.host.names(), *wanted, "after {name}");
    }
}

/// Items 61, 66.
#[test]
fn a_batch_notifies_once_and_an_invisible_change_not_at_all() {
    let mut scene = Scene::open(&[], &["a", "b", "c"]);
    scene.host.names();
    let place = scene.host.now();
    scene.peer.send("", EnableToolsRequest { tool_names: names(&["a", "not registered"]) });
    scene.peer.active_tools();
    let batch = BatchUpdateRequest {
        block: names(&["b"]),
        disable: names(&["c"]),
        enable: names(&["a"]),
        ..Default::default()
    };
    scene.peer.send("", batch);
    scene.peer.active_tools();
    let first = scene.host.list_changed(place);
    // A notification of those two would come before the notification of the next change.
    scene.peer.send("", SetBlockedRequest::default());
    scene.peer.active_tools();
    scene.host.list_changed(first.place + 1);
    assert_eq!(scene.host.notifications(LIST_CHANGED, place).len(), 2);
}

/// Item 62.
#[test]
fn a_single_reader_gets_active_tools_before_waiting_calls() {
    let mut scene = Scene::with_tools("run", "relay.py", &[], vec![tool("a"), tool("b")]);
    scene.host.names();
    for round in 0..5 {
        let ids = [scene.host.start_call("a", &json!({})), scene.host.start_call("a", &json!({}))];
        for id in ids {
            let (call, _) = scene.peer.call();
            scene.peer.send("", DisableToolsRequest { tool_names: names(&["b"]) });
            let next = scene.peer.receive();
            assert!(
                matches!(next.msg, Some(Msg::ActiveTools(_))),
                "round {round}: {next:?} came instead of active_tools"
            );
            scene.peer.result(&call, r#""done""#);
            scene.host.answer(id);
        }
    }
}

/// Item 64.
#[test]
fn a_workflow_of_the_python_sdk_moves_through_its_steps() {
    let (host, _sandbox) = session("run", "py/workflow.py", &[]);
    let before = ["bystander", "deploy.review", "math.double", "math.negate"];
    assert_eq!(host.names(), before);
    assert_eq!(host.text("deploy.review", &json!({"version": "1.2"})), "reviewing 1.2");
    assert_eq!(host.names(), ["bystander", "deploy.approve", "deploy.cancel", "deploy.reject"]);
    assert_eq!(host.text("deploy.approve", &json!({})), "approved");
    // The SDK disables the first step at the end of its workflow; its lists are applied literally.
    assert_eq!(host.names(), ["bystander", "math.double", "math.negate"]);

    let (host, _sandbox) = session("run", "py/workflow.py", &[]);
    host.text("deploy.review", &json!({"version": "1.3"}));
    assert_eq!(host.text("deploy.cancel", &json!({})), "Workflow 'deploy' cancelled");
    assert_eq!(host.names(), ["bystander", "math.double", "math.negate"]);
}

/// Item 65.
#[test]
fn small_results_of_the_rust_sdk_change_the_list() {
    let (host, _sandbox) = rust_session("run", &[]);
    let has_echo = || host.names().contains(&"echo".to_owned());
    host.text("lock", &json!({}));
    assert!(!has_echo());
    host.text("unlock", &json!({}));
    assert!(has_echo());
}

/// Item 66.
#[test]
fn nothing_is_sent_before_the_session_is_initialized() {
    let sandbox = protomcp_conformance::Sandbox::new();
    let stage = protomcp_conformance::Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer: Peer = stage.accept();
    peer.handshake(vec![tool("a"), tool("b")]);
    peer.send("", DisableToolsRequest { tool_names: names(&["a"]) });
    peer.active_tools();
    let client = json!({"name": "conformance", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let id = host.request("initialize", &params);
    assert_eq!(host.answer(id).place, 0, "the first message is the answer to initialize");
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Item 63.
///
/// The published Python SDK reads its socket from two threads while a handler runs, so each round is a race that must
/// not be lost: fresh processes and used ones, on an idle machine and on a busy one.
#[test]
fn list_changes_in_a_two_reader_handler_do_no_damage() {
    let (rounds, calls) = (tier(4, 10), tier(13, 50));
    for round in 0..rounds {
        let busy = (round % 2 == 1).then(Burners::start);
        let (host, _sandbox) = session("run", "py/manager.py", &["--call-timeout", "30s"]);
        assert_eq!(host.names(), ["change", "echo"]);
        for call in 0..calls {
            let (how, shown) = if call % 2 == 0 { ("enable", true) } else { ("disable", false) };
            let text = host.text("change", &json!({"how": how, "names": "switched"}));
            assert!(text.starts_with(how), "{text}");
            assert_eq!(host.names().contains(&"switched".to_owned()), shown, "round {round}, call {call}");
        }
        for number in 0..20 {
            assert_eq!(host.text("echo", &json!({"text": number.to_string()})), number.to_string());
        }
        drop(busy);
    }
}

/// Item 63.
#[test]
fn every_list_change_works_in_a_handler_of_the_two_reader_sdk() {
    let (host, _sandbox) = session("run", "py/manager.py", &["--call-timeout", "30s"]);
    for (how, names, shown) in [
        ("enable", "switched", &["change", "echo", "switched"][..]),
        ("get_active_tools", "", &["change", "echo", "switched"]),
        ("disable", "echo", &["change", "switched"]),
        ("batch", "echo", &["change", "echo", "switched"]),
        ("set_blocked", "echo", &["change", "switched"]),
        ("set_allowed", "change echo", &["change", "echo"]),
    ] {
        host.text("change", &json!({"how": how, "names": names}));
        assert_eq!(host.names(), shown, "after {how}");
    }
}

/// Programs that keep every core busy until they are dropped.
struct Burners(Vec<std::process::Child>);

impl Burners {
    fn start() -> Self {
        let burn =
            || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell runs");
        Self((0..3).map(|_| burn()).collect())
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for burner in &mut self.0 {
            // It can only have ended by being killed.
            let _ = burner.kill();
            let _ = burner.wait();
        }
    }
}
