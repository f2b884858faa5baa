//! Resources, prompts and completions of a scripted tool process, for cases that the published SDKs cannot produce.

use protomcp_conformance::{Host, Peer, Sandbox, Stage, tool};
use protomcp_envelope::{
    CompletionResponse, GetPromptResponse, Msg, PromptArgument, PromptDefinition, PromptListChanged, PromptMessage,
    ReadResourceResponse, ResourceChangedNotification, ResourceContent, ResourceDefinition, ResourceListChanged,
    ResourceTemplateDefinition, ToolError,
};
use rustix::process::Signal;
use serde_json::{Value, json};

const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// Item 28.
#[test]
fn a_process_without_any_has_the_capabilities_and_empty_lists() {
    let (host, _peer, _stage, _sandbox) = library(|_| {});
    for (method, list) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(host.ask(method, &json!({})), json!({list: []}));
    }
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let other = sandbox.pmcp(&["run", "basics.py"]).start();
    let capabilities = other.initialize()["capabilities"].take();
    assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}));
    assert_eq!((&capabilities["prompts"], &capabilities["completions"]), (&json!({"listChanged": true}), &json!({})));
}

/// Items 66, 75.
#[test]
fn a_changed_list_is_fetched_and_only_differences_are_reported() {
    let (host, mut peer, _stage, _sandbox) = library(|_| {});
    let place = host.now();
    peer.send("", ResourceListChanged {});
    asked(&mut peer, 2);
    peer.resources.push(resource("memo://new"));
    peer.prompts.push(PromptDefinition { name: "p".into(), ..PromptDefinition::default() });
    peer.send("", ResourceListChanged {});
    peer.settle(|| !host.notifications(RESOURCES_CHANGED, place).is_empty());
    assert_eq!(keys(&host.ask("resources/list", &json!({}))["resources"], "uri"), ["memo://new"]);
    assert!(host.notifications(PROMPTS_CHANGED, place).is_empty(), "the prompts did not change");
    peer.send("", PromptListChanged {});
    peer.settle(|| !host.notifications(PROMPTS_CHANGED, place).is_empty());
    assert_eq!(keys(&host.ask("prompts/list", &json!({}))["prompts"], "name"), ["p"]);
    assert_eq!(host.notifications(RESOURCES_CHANGED, place).len(), 1, "the first time nothing had changed");
}

/// Item 83.
#[test]
fn a_changed_resource_is_announced_to_its_subscribers() {
    let (host, mut peer, _stage, _sandbox) = library(|peer| {
        peer.resources = vec![resource("memo://a"), resource("memo://b")];
        peer.templates = vec![template("note://{id}")];
    });
    let changed = |peer: &mut Peer, uri: &str| peer.send("", ResourceChangedNotification { uri: uri.into() });
    for uri in ["memo://a", "note://7"] {
        assert_eq!(host.ask("resources/subscribe", &json!({"uri": uri})), json!({}));
    }
    assert_eq!(host.refused("resources/subscribe", &json!({"uri": "nowhere://"}))["code"], -32002);
    let place = host.now();
    for uri in ["memo://b", "note://7", "note://8", "memo://a"] {
        changed(&mut peer, uri);
    }
    let last = host.wait_for("the last update", place, |message| message.value["params"]["uri"] == "memo://a");
    assert_eq!(last.method(), UPDATED);
    let told: Vec<_> =
        host.notifications(UPDATED, place).iter().map(|message| message.value["params"]["uri"].clone()).collect();
    assert_eq!(told, ["note://7", "memo://a"]);

    host.ask("resources/unsubscribe", &json!({"uri": "memo://a"}));
    let place = host.now();
    changed(&mut peer, "memo://a");
    changed(&mut peer, "note://7");
    host.notified(UPDATED, place);
    assert_eq!(host.notifications(UPDATED, place).len(), 1);
}

/// Item 26.
#[test]
fn late_lists_do_not_delay_tools_and_are_waited_for() {
    let (host, mut peer, _stage, _sandbox) = silent_library();
    // Nothing is answered until the tools have been used.
    let mut questions = Vec::new();
    while questions.len() < 3 {
        questions.push(peer.receive());
    }
    let call = host.start_call("echo", &json!({}));
    let envelope = peer.receive();
    assert!(matches!(envelope.msg, Some(Msg::CallTool(_))), "{envelope:?}");
    peer.result(&envelope.request_id, r#""usable""#);
    host.answer(call);
    let place = host.now();
    let list = host.request("resources/list", &json!({}));
    host.ask("ping", &json!({}));
    assert!(host.answered(list).is_none(), "it waits for the process");
    peer.resources = vec![resource("memo://late")];
    for question in questions {
        peer.answer_list(question);
    }
    host.notified(RESOURCES_CHANGED, place);
    assert_eq!(keys(&host.answer(list).value["result"]["resources"], "uri"), ["memo://late"]);
}

/// Item 88.
#[test]
fn a_silent_process_fails_the_request_at_its_deadline() {
    let memo = |peer: &mut Peer| peer.resources = vec![resource("memo://a")];
    let (host, mut peer, _stage, _sandbox) = library_with(&["--call-timeout", "3s"], memo);
    let id = host.request("resources/read", &json!({"uri": "memo://a"}));
    read(&mut peer);
    let error = host.answer(id).value["error"].take();
    assert_eq!(
        (&error["code"], error["message"].as_str()),
        (&json!(-32603), Some(r#"read resource "memo://a" timed out after 3s"#))
    );
}

/// Item 88.
#[test]
fn a_dead_process_fails_its_request_and_the_next_one_serves() {
    let memo = |peer: &mut Peer| peer.resources = vec![resource("memo://a")];
    let (host, mut peer, stage, _sandbox) = library(memo);
    let id = host.request("resources/read", &json!({"uri": "memo://a"}));
    read(&mut peer);
    peer.signal(Signal::KILL);
    let error = host.answer(id).value["error"].take();
    assert_eq!(error["code"], -32603, "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("killed")), "{error}");

    // Requested while no process serves, answered by the next.
    let id = host.request("resources/read", &json!({"uri": "memo://a"}));
    drop(peer);
    let mut next = stage.accept();
    memo(&mut next);
    next.handshake(vec![tool("echo")]);
    answer_read(&mut next, vec![text("back")]);
    assert_eq!(host.answer(id).value["result"]["contents"][0]["text"], "back");
}

/// Items 32, 82.
#[test]
fn only_known_items_are_requested_and_errors_are_passed_on() {
    let (host, mut peer, _stage, _sandbox) = library(|peer| {
        peer.resources = vec![resource("memo://a")];
        peer.prompts = vec![PromptDefinition {
            name: "p".into(),
            arguments: vec![PromptArgument { name: "x".into(), required: true, ..PromptArgument::default() }],
            ..PromptDefinition::default()
        }];
    });
    host.refused("resources/read", &json!({"uri": "memo://b"}));
    host.refused("prompts/get", &json!({"name": "q"}));
    host.refused("prompts/get", &json!({"name": "p"}));
    let id = host.request("resources/read", &json!({"uri": "memo://a"}));
    let error = ToolError { error_code: "LOCKED".into(), message: "it is locked".into(), ..ToolError::default() };
    let request = read(&mut peer);
    peer.send(&request, ReadResourceResponse { error: Some(error), ..Default::default() });
    let error = host.answer(id).value["error"].take();
    assert_eq!(
        (&error["code"], error["message"].as_str()),
        (&json!(-32603), Some(r#"read resource "memo://a": it is locked"#))
    );
    assert_eq!(error["data"]["protomcp/error"]["error_code"], "LOCKED", "{error}");

    let blocks = [
        r#"{"type":"image","data":"AAE=","mimeType":"image/png","annotations":{"priority":0.50}}"#,
        r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#,
        r#"{"type":"resource_link","uri":"a:b","name":"n"}"#,
        r#"{"type":"video"}"#,
    ];
    let id = host.request("prompts/get", &json!({"name": "p", "arguments": {"x": "é\u{2028}"}}));
    let envelope = peer.request();
    let Some(Msg::GetPromptRequest(get)) = envelope.msg else { panic!("{envelope:?}") };
    assert_eq!(serde_json::from_slice::<Value>(&get.arguments_json).ok(), Some(json!({"x": "é\u{2028}"})));
    let messages = blocks.iter().map(|block| PromptMessage { role: "user".into(), content_json: (*block).into() });
    let response = GetPromptResponse { description: "d".into(), messages: messages.collect(), ..Default::default() };
    peer.send(&envelope.request_id, response);
    let result = host.answer(id).value["result"].take();
    assert_eq!(result["description"], "d");
    let content: Vec<_> = (0..4).map(|at| result["messages"][at]["content"].clone()).collect();
    for (content, block) in content.iter().zip(&blocks[..3]) {
        assert_eq!(*content, serde_json::from_str::<Value>(block).expect("it is JSON"));
    }
    assert_eq!(content[3], json!({"type": "text", "text": blocks[3]}));

    let argument = json!({"name": "y", "value": "v"});
    let context = json!({"arguments": {"x": "1"}});
    let params = json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": argument, "context": context});
    let id = host.request("completion/complete", &params);
    let envelope = peer.request();
    let Some(Msg::CompletionRequest(asked)) = envelope.msg else { panic!("{envelope:?}") };
    assert_eq!((asked.ref_type.as_str(), asked.ref_name.as_str()), ("ref/prompt", "p"));
    assert_eq!((asked.argument_name.as_str(), asked.argument_value.as_str()), ("y", "v"));
    assert_eq!(asked.context_json, r#"{"x":"1"}"#);
    peer.send(&envelope.request_id, CompletionResponse { values: vec!["w".into()], ..CompletionResponse::default() });
    assert_eq!(host.answer(id).value["result"]["completion"], json!({"values": ["w"], "hasMore": false}));
}

/// Item 33.
#[test]
fn two_thousand_resources_come_in_pages() {
    let (host, _peer, _stage, _sandbox) =
        library(|peer| peer.resources = (0..2_000).rev().map(|n| resource(&format!("memo://{n:04}"))).collect());
    let first = host.ask("resources/list", &json!({}));
    let cursor = first["nextCursor"].as_str().expect("there is a second page");
    let second = host.ask("resources/list", &json!({"cursor": cursor}));
    let mut uris = keys(&first["resources"], "uri");
    uris.extend(keys(&second["resources"], "uri"));
    assert!(uris.len() == 2_000 && uris.is_sorted() && second.get("nextCursor").is_none());
}

fn keys(list: &Value, key: &str) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list} is a list"));
    list.iter().map(|item| item[key].as_str().expect("a key is a string").to_owned()).collect()
}

fn resource(uri: &str) -> ResourceDefinition {
    ResourceDefinition { uri: uri.into(), name: uri.into(), ..ResourceDefinition::default() }
}

fn template(text: &str) -> ResourceTemplateDefinition {
    ResourceTemplateDefinition { uri_template: text.into(), name: text.into(), ..ResourceTemplateDefinition::default() }
}

fn text(text: &str) -> ResourceContent {
    ResourceContent { text: text.into(), ..ResourceContent::default() }
}

/// A session whose scripted tool process has these items in addition to one tool.
fn library(has: impl FnOnce(&mut Peer)) -> (Host, Peer, Stage, Sandbox) {
    library_with(&[], has)
}

fn library_with(options: &[&str], has: impl FnOnce(&mut Peer)) -> (Host, Peer, Stage, Sandbox) {
    let (host, mut peer, stage, sandbox) = begin(options);
    has(&mut peer);
    peer.handshake(vec![tool("echo")]);
    let id = host.begin("2025-11-25");
    peer.settle(|| host.answered(id).is_some());
    // These wait for the lists, which the process sends here.
    let lists =
        ["resources/list", "resources/templates/list", "prompts/list"].map(|list| host.request(list, &json!({})));
    peer.settle(|| lists.iter().all(|id| host.answered(*id).is_some()));
    (host, peer, stage, sandbox)
}

/// A session whose scripted tool process has answered nothing after its handshake.
fn silent_library() -> (Host, Peer, Stage, Sandbox) {
    let (host, mut peer, stage, sandbox) = begin(&[]);
    peer.handshake(vec![tool("echo")]);
    host.initialize();
    (host, peer, stage, sandbox)
}

fn begin(options: &[&str]) -> (Host, Peer, Stage, Sandbox) {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let mut args = vec!["run", "./relay"];
    args.extend(options);
    let host = stage.pmcp(&sandbox, &args).start();
    let peer = stage.accept();
    (host, peer, stage, sandbox)
}

/// Answers this many list requests.
fn asked(peer: &mut Peer, count: usize) {
    for _ in 0..count {
        let question = peer.receive();
        assert!(peer.answer_list(question).is_none());
    }
}

/// The id of the next request, which must read a resource.
fn read(peer: &mut Peer) -> String {
    let envelope = peer.request();
    assert!(matches!(envelope.msg, Some(Msg::ReadResourceRequest(_))), "{envelope:?}");
    envelope.request_id
}

fn answer_read(peer: &mut Peer, contents: Vec<ResourceContent>) {
    let request = read(peer);
    peer.send(&request, ReadResourceResponse { contents, ..Default::default() });
}
