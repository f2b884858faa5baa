//! From the start of the tool process to the first tool list (protomcp wire §1.7, §1.8, §2.4).

use std::time::{Duration, Instant};

use protomcp_conformance::{Sandbox, Scene, Stage, rust_session, session, tool};
use protomcp_proto::{DisableToolsRequest, Msg, RegisterMiddlewareRequest, ReloadResponse, ToolListResponse};
use serde_json::json;

/// Long enough for a frame that should not have been written to be seen.
const MOMENT: Duration = Duration::from_millis(200);

/// How long the bridge waits for a sign of life before it takes the handshake for complete.
const SILENCE: Duration = Duration::from_millis(500);

/// Items 14, 36.
#[test]
fn a_python_file_with_run_has_its_tools_listed_and_called() {
    let (host, _sandbox) = session("run", "py/basics.py", &[]);
    let names = host.names();
    assert!(names.iter().any(|name| name == "echo") && names.iter().any(|name| name == "add"), "{names:?}");
    assert_eq!(host.text("add", &json!({"a": 1, "b": 2})), "3");
}

/// Item 15.
#[test]
fn a_rust_program_has_its_tools_and_group_tools_listed_and_called() {
    let (host, _sandbox) = rust_session("run", &[]);
    let names = host.names();
    assert!(names.iter().any(|name| name == "echo") && names.iter().any(|name| name == "g.q"), "{names:?}");
    assert_eq!(host.text("g.q", &json!({"n": 21})), "42");
}

/// Item 16.
#[test]
fn the_tool_process_gets_the_environment_and_the_working_directory_of_pmcp() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let host = sandbox.pmcp(&["run", "basics.py"]).env("A_VARIABLE", "of the host").start();
    host.initialize();
    assert_eq!(host.text("environment", &json!({"name": "A_VARIABLE"})), "of the host");
    assert_ne!(host.text("environment", &json!({"name": "PROTOMCP_SOCKET"})), "<unset>");
    let whereabouts = host.text("whereabouts", &json!({}));
    let (_, folder) = whereabouts.split_once(' ').expect("a process id and a folder");
    assert_eq!(folder, sandbox.path("").canonicalize().expect("the sandbox exists").to_string_lossy());
}

/// Item 21.
#[test]
fn the_completion_signal_ends_the_handshake_at_once() {
    // The fastest of several: a busy machine slows some of them, but a bridge that waits is never fast.
    let fastest = (0..6).map(|_| open_with_signal()).min().expect("several rounds");
    assert!(fastest < SILENCE, "the bridge waited {fastest:?} although the process had said it was done");
}

fn open_with_signal() -> Duration {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    let id = peer.listed(vec![tool("echo")]);
    let start = Instant::now();
    assert!(!id.is_empty());
    peer.send("", ReloadResponse { success: true, error: String::new() });
    let id = host.begin("2025-11-25");
    peer.settle(|| host.answered(id).is_some());
    let took = start.elapsed();
    assert_eq!(host.names(), ["echo"]);
    took
}

/// Item 22.
#[test]
fn silence_after_the_tool_list_ends_the_handshake_and_each_registration_starts_the_wait_again() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    let start = Instant::now();
    peer.listed(vec![tool("echo")]);
    assert!(peer.receive_within(SILENCE * 3 / 5).is_none(), "nothing may be written before the handshake is complete");
    peer.send("", middleware("late"));
    assert_eq!(peer.receive().name(), "register_middleware_response");
    host.initialize();
    assert_eq!(host.names(), ["echo"]);
    let took = start.elapsed();
    assert!(took >= SILENCE * 8 / 5, "complete after {took:?}: the registration did not start the wait again");
}

/// Item 23.
#[test]
fn middleware_that_registers_after_the_handshake_is_acknowledged_too() {
    let mut scene = Scene::open(&[], &["echo"]);
    assert_eq!(scene.host.names(), ["echo"]);
    // Whatever the bridge asks for after the handshake comes first.
    while scene.peer.request_within(SILENCE * 3).is_some() {}
    scene.peer.send("", middleware("very late"));
    let answer = scene.peer.request();
    assert_eq!((answer.name(), answer.request_id.as_str()), ("register_middleware_response", ""));
    assert!(matches!(answer.msg, Some(Msg::RegisterMiddlewareResponse(response)) if response.success));
}

/// Item 24.
#[test]
fn only_acknowledgements_are_written_before_the_handshake_is_complete() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    // A host that is in a hurry must not make the bridge write early.
    host.begin("2025-11-25");
    let call = host.start_call("echo", &json!({}));
    peer.listed(vec![tool("echo")]);
    for name in ["first", "second", "third"] {
        assert!(peer.receive_within(MOMENT).is_none(), "something was written that is no acknowledgement");
        peer.send("", middleware(name));
        let answer = peer.receive();
        assert_eq!((answer.name(), answer.request_id.as_str()), ("register_middleware_response", ""));
    }
    peer.send("", ReloadResponse { success: true, error: String::new() });
    serve_through_middleware(&mut peer, 3);
    assert_eq!(host.answer(call).value["result"]["content"][0]["text"], "done");
}

/// Items 21, 24.
#[test]
fn frames_of_the_handshake_come_in_order() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    host.begin("2025-11-25");
    let call = host.start_call("echo", &json!({}));
    peer.listed(vec![tool("echo")]);
    peer.send("", ReloadResponse { success: true, error: String::new() });
    // None is answered before all have been asked, so the order is that of the bridge alone.
    let asked: Vec<_> = (0..3).map(|_| peer.receive()).collect();
    let names: Vec<_> = asked.iter().map(protomcp_proto::Envelope::name).collect();
    assert_eq!(names, ["list_resources_request", "list_resource_templates_request", "list_prompts_request"]);
    for envelope in asked {
        assert!(peer.answer_list(envelope).is_none());
    }
    let next = peer.receive();
    assert_eq!(next.name(), "call_tool", "calls follow the handshake");
    peer.result(&next.request_id, r#""done""#);
    assert_eq!(host.answer(call).value["result"]["content"][0]["text"], "done");
}

/// Item 24.
#[test]
fn the_published_sdk_with_two_middlewares_is_not_stalled_by_the_handshake() {
    let (host, _sandbox) = session("run", "py/middleware.py", &[]);
    assert_eq!(host.names(), ["echo"]);
    assert_eq!(host.text("echo", &json!({"text": "through"})), "through");
}

/// Item 25.
#[test]
fn hidden_tools_are_never_seen_not_even_by_a_host_that_asks_at_once() {
    for command in ["dev", "run"] {
        for _ in 0..3 {
            let (py, _sandbox) = session(command, "py/basics.py", &[]);
            assert!(!py.names().contains(&"secret".to_owned()), "{command} shows a hidden tool");
        }
        let (workflow, _sandbox) = session(command, "py/workflow.py", &[]);
        assert_eq!(workflow.names(), ["bystander", "deploy.review", "math.double", "math.negate"], "{command}");
        let (rs, _sandbox) = rust_session(command, &[]);
        let ship: Vec<_> = rs.names().into_iter().filter(|name| name.starts_with("ship.")).collect();
        assert_eq!(ship, ["ship.pack"], "{command}");
    }
}

/// Items 25, 60.
#[test]
fn a_tool_that_is_disabled_right_after_the_signal_is_hidden_from_the_first_list() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    host.begin("2025-11-25");
    let list = host.request("tools/list", &json!({}));
    let mut peer = stage.accept();
    peer.handshake(vec![tool("secret"), tool("shown")]);
    peer.send("", DisableToolsRequest { tool_names: vec!["secret".to_owned()] });
    assert_eq!(peer.active_tools(), (String::new(), vec!["shown".to_owned()]));
    let tools = host.answer(list).value["result"]["tools"].clone();
    assert_eq!(tools.as_array().map(Vec::len), Some(1), "{tools}");
}

/// Item 26.
#[test]
fn a_process_that_never_answers_the_other_lists_is_usable() {
    let mut scene = Scene::open(&[], &["echo"]);
    assert_eq!(scene.host.names(), ["echo"]);
    let id = scene.host.start_call("echo", &json!({}));
    // Everything but the call stays unanswered.
    let call = loop {
        let envelope = scene.peer.receive();
        if let Some(Msg::CallTool(_)) = envelope.msg {
            break envelope.request_id;
        }
    };
    scene.peer.result(&call, r#""answered""#);
    assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "answered");
}

/// Items 27, 70.
#[test]
fn after_a_reload_the_tool_list_may_come_without_an_id_and_after_the_response() {
    let mut scene = Scene::with_tools("dev", "./relay", &[], vec![tool("original")]);
    assert_eq!(scene.host.names(), ["original"]);
    let script = std::fs::read(scene.sandbox.path("relay")).expect("the script is there");
    scene.sandbox.write("relay", script);
    make_executable(&scene.sandbox);
    let request = scene.peer.request();
    assert_eq!(request.name(), "reload");
    // The order of the published SDKs.
    scene.peer.send(&request.request_id, ReloadResponse { success: true, error: String::new() });
    scene.peer.send("", ToolListResponse { tools: vec![tool("renamed")] });
    scene.peer.send("", ReloadResponse { success: true, error: String::new() });
    scene.host.until_names(&["renamed"]);
}

fn make_executable(sandbox: &Sandbox) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(sandbox.path("relay"), std::fs::Permissions::from_mode(0o755)).expect("it is our file");
}

fn middleware(name: &str) -> RegisterMiddlewareRequest {
    RegisterMiddlewareRequest { name: name.to_owned(), priority: 0 }
}

/// Serves one call, through so many middlewares before and after it.
fn serve_through_middleware(peer: &mut protomcp_conformance::Peer, middlewares: usize) {
    for _ in 0..=2 * middlewares {
        let envelope = peer.request();
        match envelope.msg {
            Some(Msg::CallTool(_)) => peer.result(&envelope.request_id, r#""done""#),
            Some(Msg::MiddlewareIntercept(intercept)) => peer.send(
                &envelope.request_id,
                protomcp_proto::MiddlewareInterceptResponse {
                    arguments_json: intercept.arguments_json,
                    result_json: intercept.result_json,
                    ..Default::default()
                },
            ),
            other => panic!("a call was expected, not {other:?}"),
        }
    }
}
