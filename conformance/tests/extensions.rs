//! Features of later SDKs beyond the original protocol (`proto/protomcp.proto`, numbers from 100 and from 200 up), as a
//! client sees them.

use protomcp_conformance::{Sandbox, Scene, Stage, tool};
use protomcp_envelope::{
    CallToolResponse, CompletionResponse, ElicitationComplete, ElicitationRequest, ElicitationResponse,
    GetPromptResponse, Msg, PromptArgument, PromptDefinition, PromptListChanged, RawHeader, ResourceDefinition,
    ResourceTemplateDefinition, ToolDefinition, ToolError,
};
use serde_json::{Value, json};

const ICONS: &str = r#"[{"src":"https://example.org/icon.png","mimeType":"image/png","sizes":["48x48"]}]"#;
const META: &str = r#"{"ui":{"resourceUri":"ui://a"}}"#;
const ANNOTATIONS: &str = r#"{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}"#;

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// A scene whose process has more than tools.
fn scene(capabilities: &Value) -> Scene {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let host = stage.pmcp(&sandbox, &["run", "./relay"]).start();
    let mut peer = stage.accept();
    peer.resources = vec![ResourceDefinition {
        uri: "memo://a".to_owned(),
        title: "A Memo".to_owned(),
        icons_json: ICONS.into(),
        metadata_json: META.into(),
        annotations_json: ANNOTATIONS.into(),
        ..ResourceDefinition::default()
    }];
    peer.templates = vec![ResourceTemplateDefinition {
        uri_template: "memo://{name}".to_owned(),
        title: "Any Memo".to_owned(),
        icons_json: ICONS.into(),
        metadata_json: META.into(),
        annotations_json: ANNOTATIONS.into(),
        ..ResourceTemplateDefinition::default()
    }];
    peer.prompts = vec![PromptDefinition {
        name: "greet".to_owned(),
        title: "A Greeting".to_owned(),
        icons_json: ICONS.into(),
        metadata_json: META.into(),
        arguments: vec![PromptArgument {
            name: "who".to_owned(),
            title: "Whom".to_owned(),
            ..PromptArgument::default()
        }],
        ..PromptDefinition::default()
    }];
    let hinted = ToolDefinition {
        icons_json: ICONS.into(),
        metadata_json: META.into(),
        annotations_json: r#"{"destructiveHint":false,"readOnlyHint":true}"#.into(),
        destructive_hint: true,
        ..tool("hinted")
    };
    peer.handshake(vec![tool("echo"), hinted]);
    let id = host.begin_with("2025-11-25", capabilities);
    peer.settle(|| host.answered(id).is_some());
    // These wait for the lists, which the process sends here.
    let lists =
        ["resources/list", "resources/templates/list", "prompts/list"].map(|list| host.request(list, &json!({})));
    peer.settle(|| lists.iter().all(|id| host.answered(*id).is_some()));
    Scene { host, peer, stage, sandbox }
}

#[test]
fn titles_icons_and_annotations_reach_the_host() {
    let scene = scene(&json!({}));
    let icons = json_of(ICONS);
    let resource = &scene.host.ask("resources/list", &json!({}))["resources"][0];
    assert_eq!(resource["title"], "A Memo");
    assert_eq!((&resource["icons"], &resource["annotations"]), (&icons, &json_of(ANNOTATIONS)));
    let template = &scene.host.ask("resources/templates/list", &json!({}))["resourceTemplates"][0];
    assert_eq!((&resource["_meta"], &template["_meta"]), (&json_of(META), &json_of(META)));
    assert_eq!(template["title"], "Any Memo");
    assert_eq!((&template["icons"], &template["annotations"]), (&icons, &json_of(ANNOTATIONS)));
    let prompt = &scene.host.ask("prompts/list", &json!({}))["prompts"][0];
    assert_eq!((&prompt["title"], &prompt["icons"]), (&json!("A Greeting"), &icons));
    assert_eq!(prompt["arguments"][0]["title"], "Whom");
    let tool = scene.host.tool("hinted");
    assert_eq!((&tool["icons"], &tool["_meta"], &prompt["_meta"]), (&icons, &json_of(META), &json_of(META)));
    assert_eq!(tool["annotations"], json!({"destructiveHint": false, "readOnlyHint": true}), "explicit hints win");
}

fn followed(call: &str, field_name: &str, size: usize) -> RawHeader {
    RawHeader {
        request_id: call.to_owned(),
        field_name: field_name.to_owned(),
        size: size as u64,
        followed_by_result: true,
        ..RawHeader::default()
    }
}

#[test]
fn a_large_field_may_travel_apart_from_the_rest_of_its_result() {
    let mut scene = scene(&json!({}));
    let large = "é".repeat(300_000);
    let content = json!([{"type": "text", "text": large}]).to_string();
    let structured = json!({"large": large}).to_string();
    // First one field apart, then both possible fields, the second of them compressed.
    for apart in [1, 2] {
        let id = scene.host.start_call("echo", &json!({}));
        let (call, _) = scene.peer.call();
        scene.peer.raw(followed(&call, "result_json", content.len()), content.as_bytes());
        let mut rest = CallToolResponse {
            is_error: true,
            disable_tools: vec!["hinted".to_owned()],
            metadata_json: r#"{"org.example/took":7}"#.into(),
            ..CallToolResponse::default()
        };
        if apart == 2 {
            let packed = zstd::encode_all(structured.as_bytes(), 3).expect("zstd compresses");
            let header = followed(&call, "structured_content_json", packed.len());
            let uncompressed_size = structured.len() as u64;
            let compression = "zstd".to_owned();
            scene.peer.raw(RawHeader { compression, uncompressed_size, ..header }, &packed);
        } else {
            rest.structured_content_json = r#"{"small":1}"#.into();
        }
        assert!(scene.host.answered(id).is_none(), "the rest is yet to come");
        scene.peer.send(&call, rest);
        let answer = scene.host.answer(id).value;
        let result = &answer["result"];
        assert_eq!(result["content"][0]["text"].as_str(), Some(&*large));
        assert_eq!(result["isError"], true);
        assert_eq!(result["_meta"]["org.example/took"], 7);
        let expected = if apart == 2 { json_of(&structured) } else { json!({"small": 1}) };
        assert_eq!(result["structuredContent"], expected);
        assert_eq!(scene.host.names(), ["echo"], "the list has changed with the result");
    }
}

#[test]
fn a_process_reports_errors_and_changed_prompts() {
    let mut scene = scene(&json!({}));
    let error = || Some(ToolError { message: "out of paper".to_owned(), ..ToolError::default() });
    let id = scene.host.request("prompts/get", &json!({"name": "greet"}));
    let request = scene.peer.request().request_id;
    scene.peer.send(&request, GetPromptResponse { error: error(), ..GetPromptResponse::default() });
    let answer = scene.host.answer(id).value;
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("out of paper")), "{answer}");
    let reference = json!({"type": "ref/prompt", "name": "greet"});
    let params = json!({"ref": reference, "argument": {"name": "who", "value": "A"}});
    let id = scene.host.request("completion/complete", &params);
    let request = scene.peer.request().request_id;
    scene.peer.send(&request, CompletionResponse { error: error(), ..CompletionResponse::default() });
    let answer = scene.host.answer(id).value;
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("out of paper")), "{answer}");
    let place = scene.host.now();
    scene.peer.prompts.clear();
    scene.peer.send("", PromptListChanged {});
    let told = || scene.host.notifications("notifications/prompts/list_changed", place).len() == 1;
    scene.peer.settle(told);
    assert_eq!(scene.host.ask("prompts/list", &json!({}))["prompts"], json!([]));
}

#[test]
fn the_client_is_notified_when_a_url_elicitation_completes() {
    let mut scene = scene(&json!({"elicitation": {"form": {}, "url": {}}}));
    let call = scene.host.start_call("echo", &json!({}));
    let (running, _) = scene.peer.call();
    let page = ElicitationRequest {
        mode: "url".to_owned(),
        message: "log in".to_owned(),
        url: "https://example.org/login".to_owned(),
        elicitation_id: "visit-1".to_owned(),
        ..ElicitationRequest::default()
    };
    let place = scene.host.now();
    scene.peer.send("q", page);
    let question = scene.host.wait_for("the question", place, |message| message.method() == "elicitation/create");
    scene.host.reply(&question, &json!({"action": "accept"}));
    let answer = scene.peer.request();
    assert_eq!(answer.request_id, "q");
    let Some(Msg::ElicitationResponse(ElicitationResponse { action, error, .. })) = answer.msg else {
        panic!("{answer:?}")
    };
    assert_eq!((action.as_str(), error.as_str()), ("accept", ""));
    scene.peer.result(&running, r#""see the page""#);
    scene.host.answer(call);
    // The call has ended, and the user takes a while.
    scene.peer.send("", ElicitationComplete { elicitation_id: "visit-0".to_owned() });
    scene.peer.send("", ElicitationComplete { elicitation_id: "visit-1".to_owned() });
    let told = scene.host.notified("notifications/elicitation/complete", place);
    assert_eq!(told.value["params"], json!({"elicitationId": "visit-1"}));
}
