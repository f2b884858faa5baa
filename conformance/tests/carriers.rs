//! Item 34 of proto-mcp: the same behaviour over standard input and output, TCP, WebSocket and gRPC.
//!
//! One list of scenarios runs over every carrier. The messages come from the generated code; the carriers are of other
//! makers: pipes and sockets of the system, the Python libraries `websockets` and `grpcio`. Over gRPC, where a call
//! stands for itself and has no envelope, the scenarios about envelopes have no counterpart; reports and changes are streams
//! there.

use std::process::Command;

mod scenarios;
mod subscriptions;
mod wire;

use protomcp_bufmcp::message::{CallToolRequest, CallToolResponse, Payload, call_tool_response, tool_content};
use protomcp_conformance::Issuer;
use scenarios::{CONVERSATION, EVERYWHERE, call};
use serde_json::{Value, json};
use wire::{Carrier, Scene, initialize};

fn run(carrier: Carrier) {
    let scene = Scene::open(carrier, &[]);
    let of_streams = if carrier == Carrier::Grpc { &[][..] } else { CONVERSATION };
    for (_, scenario) in EVERYWHERE.iter().chain(of_streams) {
        scenario(&scene);
    }
}

/// Item 97.
#[test]
fn standard_input_and_output_behave() {
    run(Carrier::Stdio);
}

/// Item 97.
#[test]
fn tcp_behaves() {
    run(Carrier::Tcp);
}

/// Item 97.
#[test]
fn websocket_behaves() {
    run(Carrier::WebSocket);
}

#[test]
fn websocket_without_prefixes_behaves() {
    run(Carrier::BareWebSocket);
}

/// Item 97.
#[test]
fn grpc_behaves() {
    run(Carrier::Grpc);
}

/// On TCP the token is in the first message, and over HTTP in the header.
#[test]
fn tokens_are_required_by_every_carrier() {
    for carrier in [Carrier::Tcp, Carrier::WebSocket, Carrier::BareWebSocket, Carrier::Grpc] {
        let scene = Scene::open(carrier, &["--auth", "token:SECRET"]);
        for (token, is_good) in [(None, false), (Some("other"), false), (Some("t0k"), true)] {
            assert_eq!(scene.answers_to(token), is_good, "{carrier:?} {token:?}");
        }
    }
}

/// The code of a failure; 0 without one.
fn code(payload: &Payload) -> i32 {
    match payload {
        Payload::ErrorResponse(error) => error.code,
        Payload::CallToolResponse(CallToolResponse {
            result: Some(call_tool_response::Result::Error(error)), ..
        }) => error.code,
        _ => 0,
    }
}

#[test]
fn tokens_of_an_issuer_hold_over_every_carrier() {
    let mut issuer = Issuer::start();
    let url = issuer.url().to_owned();
    for carrier in [Carrier::Tcp, Carrier::WebSocket, Carrier::Grpc] {
        let flags = ["--oauth-audience", "api://tools", "--oauth-scope", "use", "--oauth-tool-scope", "repeat=deploy"];
        let scene = Scene::open(carrier, &[&["--oauth-issuer", &url], &flags[..]].concat());
        let mut token = |scope: &str, audience: &str, end: u32| {
            issuer.token(&json!({"alg": "ES256", "aud": audience, "scope": scope, "exp": end}))
        };
        let mut good = |scope| token(scope, "api://tools", u32::MAX);
        let (narrow, wide, none) = (good("use"), good("use deploy"), good("deploy"));
        let (late, foreign) = (token("use", "api://tools", 1), token("use", "api://other", u32::MAX));
        let own = token("use", &format!("proto://{}", scene.address()), u32::MAX);
        let is_own_accepted = carrier == Carrier::Tcp;
        for (token, is_good) in [
            (None, false),
            (Some("other"), false),
            (Some(&*narrow), true),
            (Some(&*none), false),
            (Some(&*late), false),
            (Some(&*foreign), false),
            (Some(&*own), is_own_accepted),
        ] {
            assert_eq!(scene.answers_to(token), is_good, "{carrier:?} {token:?}");
        }
        // A status of gRPC stands for the code there.
        let refused = if carrier == Carrier::Grpc { 1007 } else { -32011 };
        for (token, expected) in [(&narrow, refused), (&wide, 0)] {
            let wire = scene.connect_as(Some(token));
            let first = Some(&**token).filter(|_| carrier == Carrier::Tcp);
            assert_eq!(code(&wire.ask(initialize(first))), 0);
            assert_eq!(code(&wire.ask(call("add", r#"{"a": 1, "b": 2}"#))), 0);
            let repeated = wire.ask(call("repeat", r#"{"text": "a", "times": 2}"#));
            assert_eq!(code(&repeated), expected, "{carrier:?} {repeated:?}");
        }
    }
}

#[test]
fn a_token_of_an_issuer_may_come_with_a_call_over_tcp() {
    let mut issuer = Issuer::start();
    let introspect = format!("{}/introspect", issuer.url());
    let flags =
        ["--oauth-audience", "api://tools", "--oauth-client-id", "tools", "--oauth-client-secret-env", "SECRET"];
    let asked = ["--oauth-issuer", issuer.url(), "--oauth-introspect", &introspect, "--auth", "token:OTHER"];
    let scene =
        Scene::open_with(Carrier::Tcp, &[&asked[..], &flags].concat(), &[("SECRET", "s3cret"), ("OTHER", "t1k")]);
    let mut token =
        |user: &str| issuer.token(&json!({"alg": "opaque", "aud": "api://tools", "sub": user, "scope": "use"}));
    let (ann, bob) = (token("ann"), token("bob"));
    let wire = scene.connect();
    let list = || Payload::ListToolsRequest(Default::default());
    let with = |token: &str| {
        let Payload::CallToolRequest(mut request) = call("add", r#"{"a": 1, "b": 2}"#) else { unreachable!() };
        request.metadata.insert("Authorization".to_owned(), format!("Bearer {token}"));
        Payload::CallToolRequest(request)
    };
    assert_eq!(code(&wire.ask(list())), -32010);
    assert_eq!(code(&wire.ask(with("unknown"))), -32010);
    assert_eq!(code(&wire.ask(with(&ann))), 0);
    assert_eq!(code(&wire.ask(list())), 0);
    assert_eq!(code(&wire.ask(with(&bob))), -32011);
    // A secret is as good, in its own conversation.
    let wire = scene.connect();
    assert_eq!(code(&wire.ask(with("t1k"))), 0);
    // Lines of JSON have no place for a token.
    assert!(scene.log().contains("JSON-RPC in lines is refused"), "{}", scene.log());
    assert!(![&*ann, "s3cret", "t1k"].iter().any(|secret| scene.log().contains(secret)));
}

/// The scopes that a tool process sees come from the token of the call.
#[test]
fn a_tool_process_sees_the_bearer_over_every_carrier() {
    let mut issuer = Issuer::start();
    let url = issuer.url().to_owned();
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/second/tool.py");
    for carrier in [Carrier::Tcp, Carrier::WebSocket, Carrier::Grpc] {
        let flags = ["--oauth-issuer", &url, "--oauth-audience", "api://tools"];
        let scene = Scene::open_file(carrier, tool, &flags, &[("PYTHONDONTWRITEBYTECODE", "1")]);
        let mut token = |scope: &str| {
            issuer.token(&json!({
                "alg": "ES256", "aud": "api://tools", "sub": "bob", "client_id": "editor", "scope": scope
            }))
        };
        let expected =
            |scopes: &[&str]| json!({"subject": "bob", "client_id": "editor", "issuer": url, "scopes": scopes});
        let (narrow, wide) = (token("use"), token("deploy use"));
        // Over HTTP the token belongs to the connection or the call, over TCP a call may bring its own.
        let wire = scene.connect_as(Some(&narrow));
        let is_tcp = carrier == Carrier::Tcp;
        assert_eq!(code(&wire.ask(initialize(Some(&*narrow).filter(|_| is_tcp)))), 0);
        assert_eq!(principal(&wire.ask(meta(None))), expected(&["use"]), "{carrier:?}");
        if is_tcp {
            assert_eq!(principal(&wire.ask(meta(Some(&wide)))), expected(&["deploy", "use"]));
            assert_eq!(
                principal(&wire.ask(meta(None))),
                expected(&["use"]),
                "the next call has the token of the conversation"
            );
        } else {
            let wire = scene.connect_as(Some(&wide));
            assert_eq!(code(&wire.ask(initialize(None))), 0);
            assert_eq!(principal(&wire.ask(meta(None))), expected(&["deploy", "use"]), "{carrier:?}");
        }
        assert!(!scene.log().contains(&narrow) && !scene.log().contains(&wide));
    }
}

/// A call of the tool that returns its context, with a token.
fn meta(token: Option<&str>) -> Payload {
    let metadata = token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
    let metadata = metadata.into_iter().collect();
    Payload::CallToolRequest(CallToolRequest { name: "meta".to_owned(), metadata, ..CallToolRequest::default() })
}

/// The bearer of the token, as the tool saw it.
fn principal(payload: &Payload) -> Value {
    let Payload::CallToolResponse(CallToolResponse {
        result: Some(call_tool_response::Result::Success(result)), ..
    }) = payload
    else {
        panic!("{payload:?}")
    };
    let Some(tool_content::Content::Text(text)) = &result.content[0].content else { panic!("{result:?}") };
    serde_json::from_str::<Value>(text).unwrap()["context"]["principal"].take()
}

/// One port, and one rule for who may use it.
#[test]
fn all_protocols_of_a_port_have_one_rule() {
    let mut scene = Scene::open(Carrier::WebSocket, &["--auth", "token:SECRET"]);
    for (token, is_good) in [(None, false), (Some("other"), false), (Some("t0k"), true)] {
        for carrier in [Carrier::WebSocket, Carrier::BareWebSocket, Carrier::Grpc] {
            scene.carrier = carrier;
            assert_eq!(scene.answers_to(token), is_good, "{carrier:?} {token:?}");
        }
        assert_eq!(post(scene.address(), token), if is_good { "200" } else { "401" }, "{token:?}");
    }
}

/// The status of a request of JSON-RPC over Streamable HTTP.
fn post(address: &str, token: Option<&str>) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "curl", "version": "8"}
    }});
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--noproxy",
        "*",
        "--max-time",
        "20",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
    ]);
    curl.args(["-H", "content-type: application/json", "-H", "accept: application/json, text/event-stream"]);
    if let Some(token) = token {
        curl.args(["-H", &format!("authorization: Bearer {token}")]);
    }
    let output = curl.args(["--data", &hello.to_string(), &format!("http://{address}/mcp")]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
