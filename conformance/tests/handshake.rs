//! From the start of the tool process to the first tool list (docs/envelope.md, "Handshake").

use std::time::{Duration, Instant};

use protomcp_conformance::{Sandbox, Scene, Stage, judge, patience, rust_session, session, tool};
use protomcp_envelope::{DisableToolsRequest, Msg, RegisterMiddlewareRequest, ReloadResponse, ToolListResponse};
use serde_json::json;

/// Long enough to notice a frame that should not have been written.
const MOMENT: Duration = Duration::from_millis(200);

/// The silence after which the bridge takes the handshake for complete.
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
fn tools_of_a_rust_program_and_its_groups_are_listed_and_called() {
    let (host, _sandbox) = rust_session("run", &[]);
    let names = host.names();
    assert!(names.iter().any(|name| name == "echo") && names.iter().any(|name| name == "g.q"), "{names:?}");
    assert_eq!(host.text("g.q", &json!({"n": 21})), "42");
}

/// Item 16.
#[test]
fn the_tool_process_inherits_environment_and_working_directory() {
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
fn the_completion_signal_ends_the_handshake_immediately() {
    // The fastest of several: a busy machine slows some down, but a bridge that waits is never fast.
    let fastest = (0..6).map(|_| open_with_signal()).min().expect("several rounds");
    judge("from the completion signal to the session", fastest, SILENCE);
}

/// The time from the signal to the session. The process is never silent for long, so a bridge that waited for silence would
/// open no session.
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
    while host.answered(id).is_none() {
        assert!(start.elapsed() < patience(), "the bridge waits although the process has said it is done");
        peer.send("", middleware("one more"));
        while let Some(envelope) = peer.request_within(SILENCE / 50) {
            assert_eq!(envelope.name(), "register_middleware_response");
        }
    }
    let took = start.elapsed();
    assert_eq!(host.names(), ["echo"]);
    took
}

/// Item 22.
#[test]
fn the_handshake_ends_when_registrations_stop() {
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
fn middleware_registered_after_the_handshake_is_acknowledged() {
    let mut scene = Scene::open(&[], &["echo"]);
    assert_eq!(scene.host.names(), ["echo"]);
    // Requests of the bridge after the handshake come first.
    while scene.peer.request_within(SILENCE * 3).is_some() {}
    scene.peer.send("", middleware("very late"));
    let answer = scene.peer.request();
    assert_eq!((answer.name(), answer.request_id.as_str()), ("register_middleware_response", ""));
    assert!(matches!(answer.msg, Some(Msg::RegisterMiddlewareResponse(response)) if response.success));
}

/// Item 24.
#[test]
fn only_acknowledgements_precede_the_end_of_the_handshake() {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    // A client in a hurry must not make the bridge write early.
    host.begin("2025-11-25");
    let call = host.start_call("echo", &json!({}));
    peer.listed(vec![tool("echo")]);
    for name in ["first", "second", "third"] {
        assert!(peer.receive_within(MOMENT).is_none(), "a frame other than an acknowledgement was written");
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
    // None is answered before all have been sent, so the order is the bridge's alone.
    let asked: Vec<_> = (0..3).map(|_| peer.receive()).collect();
    let names: Vec<_> = asked.iter().map(protomcp_envelope::Envelope::name).collect();
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
fn two_middlewares_of_the_sdk_do_not_stall_the_handshake() {
    let (host, _sandbox) = session("run", "py/middleware.py", &[]);
    assert_eq!(host.names(), ["echo"]);
    assert_eq!(host.text("echo", &json!({"text": "through"})), "through");
}

/// Item 25.
#[test]
fn hidden_tools_are_never_listed_not_even_at_the_start() {
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
fn a_tool_disabled_after_the_signal_is_not_in_the_first_list() {
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
    // Everything except the call stays unanswered.
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
fn a_reloaded_list_may_lack_an_id_and_follow_the_response() {
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

/// Serves one call, through this many middlewares before and after it.
fn serve_through_middleware(peer: &mut protomcp_conformance::Peer, middlewares: usize) {
    for _ in 0..=2 * middlewares {
        let envelope = peer.request();
        match envelope.msg {
            Some(Msg::CallTool(_)) => peer.result(&envelope.request_id, r#""done""#),
            Some(Msg::MiddlewareIntercept(intercept)) => peer.send(
                &envelope.request_id,
                protomcp_envelope::MiddlewareInterceptResponse {
                    arguments_json: intercept.arguments_json,
                    result_json: intercept.result_json,
                    ..Default::default()
                },
            ),
            other => panic!("a call was expected, not {other:?}"),
        }
    }
}
