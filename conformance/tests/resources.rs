//! Resources, prompts and completion of the published SDKs (MCP 2025-11-25, server).

use std::fs;

use protomcp_conformance::{Sandbox, peers, session};
use serde_json::{Value, json};

const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";

/// Item 82.
#[test]
fn resources_of_the_python_sdk_are_listed_and_read() {
    let (host, _sandbox) = session("run", "py/library.py", &[]);
    let listed = host.ask("resources/list", &json!({}));
    let index =
        json!({"uri": "library://index", "name": "index", "description": "What there is.", "mimeType": "text/plain"});
    assert_eq!(keys(&listed["resources"], "uri"), ["all", "burnt", "cover", "index", "old"].map(at));
    assert_eq!(listed["resources"][3], index);
    let templates = host.ask("resources/templates/list", &json!({}));
    let book = json!({"uriTemplate": "library://book/{title}", "name": "book", "description": "One book.", "mimeType": "text/plain"});
    assert_eq!(templates["resourceTemplates"], json!([book]));

    let rows = [
        ("index", json!([{"uri": at("index"), "mimeType": "text/plain", "text": "tea\ncake — é 你好"}])),
        ("cover", json!([{"uri": at("cover"), "mimeType": "image/png", "blob": "iVBORwD/"}])),
        (
            "all",
            json!([
                {"uri": at("book/1"), "mimeType": "text/markdown", "text": "one"},
                {"uri": at("book/2"), "blob": "AAE="},
                {"uri": at("all"), "text": "three"},
            ]),
        ),
        ("book/tea", json!([{"uri": at("book/tea"), "mimeType": "text/plain", "text": "the book tea"}])),
        // All details that this SDK gives of a failure.
        ("burnt", json!([{"uri": at("burnt"), "mimeType": "text/plain", "text": "it burnt down"}])),
    ];
    for (name, contents) in rows {
        assert_eq!(host.ask("resources/read", &json!({"uri": at(name)}))["contents"], contents, "{name}");
    }
}

/// Item 82.
#[test]
fn prompts_of_the_python_sdk_are_listed_and_filled_in() {
    let (host, _sandbox) = session("run", "py/library.py", &[]);
    let listed = host.ask("prompts/list", &json!({}));
    assert_eq!(keys(&listed["prompts"], "name"), ["ghost", "summarize", "torn"]);
    let arguments = json!([{"name": "title", "description": "Which book.", "required": true}, {"name": "tone"}]);
    assert_eq!(listed["prompts"][1]["arguments"], arguments);

    let message = |role: &str, text: &str| json!({"role": role, "content": {"type": "text", "text": text}});
    let given = host.ask("prompts/get", &json!({"name": "summarize", "arguments": {"title": "Tee „süß“"}}));
    let wanted = json!([message("user", "Summarize Tee „süß“ in a dry tone."), message("assistant", "Gladly.")]);
    assert_eq!(given["messages"], wanted);
    assert_eq!(
        host.ask("prompts/get", &json!({"name": "torn"}))["messages"][0],
        message("assistant", "a page is torn")
    );

    let error = host.refused("prompts/get", &json!({"name": "summarize", "arguments": {"tone": "wet"}}));
    assert_eq!(
        (&error["code"], error["message"].as_str()),
        (&json!(-32602), Some(r#"prompt "summarize" needs the argument "title""#))
    );
    let error = host.refused("prompts/get", &json!({"name": "ghost"}));
    assert_eq!(error["code"], -32603, "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains(r#""system""#)), "{error}");
}

/// Item 84.
#[test]
fn completions_of_the_python_sdk_are_asked_for_and_cut() {
    let (host, _sandbox) = session("run", "py/library.py", &[]);
    let complete = |kind: &str, key: &str, name: &str, argument: &str, value: &str| {
        let argument = json!({"name": argument, "value": value});
        json!({"ref": {"type": kind, key: name}, "argument": argument})
    };
    let completion = |params: &Value| host.ask("completion/complete", params)["completion"].take();
    let titles = completion(&complete("ref/prompt", "name", "summarize", "title", "t"));
    assert_eq!(titles, json!({"values": ["tea", "toast"], "total": 3, "hasMore": false}));
    let many = completion(&complete("ref/resource", "uri", "library://book/{title}", "title", "x"));
    assert_eq!((many["values"].as_array().map(Vec::len), &many["values"][99]), (Some(100), &json!("x99")));
    assert_eq!((&many["total"], &many["hasMore"]), (&json!(250), &json!(true)));
    let none = completion(&complete("ref/prompt", "name", "summarize", "tone", ""));
    assert_eq!(none, json!({"values": [], "hasMore": false}), "a total of nothing says nothing");

    for unknown in [
        complete("ref/prompt", "name", "absent", "title", ""),
        complete("ref/resource", "uri", "nowhere://{x}", "x", ""),
        complete("ref/tool", "name", "sleep_ms", "ms", ""),
    ] {
        let error = host.refused("completion/complete", &unknown);
        assert_eq!(error["code"], -32602, "{unknown}: {error}");
    }
}

/// Items 32, 82.
#[test]
fn missing_items_are_rejected_with_the_error_of_their_kind() {
    let (host, _sandbox) = session("run", "py/library.py", &[]);
    for uri in ["library://nothing", "library://book/", "library://book/a/b", "", "INDEX"] {
        let error = host.refused("resources/read", &json!({"uri": uri}));
        assert_eq!((&error["code"], &error["data"]), (&json!(-32002), &json!({"uri": uri})), "{error}");
    }
    let error = host.refused("prompts/get", &json!({"name": "absent", "arguments": {}}));
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(r#"unknown prompt "absent""#)));
    let error = host.refused("prompts/get", &json!({}));
    assert_eq!(error["code"], -32602, "{error}");
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        let error = host.refused(method, &json!({"cursor": "made up"}));
        assert_eq!(error["code"], -32602, "{method}: {error}");
    }
}

/// Items 82, 84.
#[test]
fn resources_prompts_and_completions_of_the_rust_sdk_are_served() {
    let sandbox = Sandbox::new();
    let host = sandbox.pmcp(&["run"]).arg(peers().join("rs-target/debug/resources")).start();
    host.initialize();
    let read = |uri: &str| host.ask("resources/read", &json!({"uri": uri}))["contents"].take();
    assert_eq!(read("notes://all"), json!([{"uri": "notes://all", "mimeType": "text/plain", "text": "tea, cake"}]));
    assert_eq!(read("notes://one/tea")[0]["text"], "all about tea");
    // An empty result is this SDK's answer for a missing resource.
    let error = host.refused("resources/read", &json!({"uri": "notes://one/coal"}));
    assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(-32002), &json!("notes://one/coal")));
    let given = host.ask("prompts/get", &json!({"name": "summarize", "arguments": {"name": "tea"}}));
    assert_eq!(given["messages"][0]["content"]["text"], "Summarize the note tea.");
    let argument = json!({"name": "name", "value": ""});
    let params = json!({"ref": {"type": "ref/prompt", "name": "summarize"}, "argument": argument});
    assert_eq!(host.ask("completion/complete", &params)["completion"]["values"], json!(["cake", "tea"]));
}

/// Item 24.
#[test]
fn the_sdk_with_middleware_answers_after_its_handshake() {
    let (host, _sandbox) = session("run", "py/middleware.py", &[]);
    assert_eq!(keys(&host.ask("resources/list", &json!({}))["resources"], "uri"), ["notes://today"]);
    assert_eq!(keys(&host.ask("prompts/list", &json!({}))["prompts"], "name"), ["hello"]);
    assert_eq!(host.ask("resources/read", &json!({"uri": "notes://today"}))["contents"][0]["text"], "buy milk");
}

/// Item 50.
#[test]
fn everything_else_is_answered_while_a_python_tool_runs() {
    let (host, _sandbox) = session("run", "py/library.py", &[]);
    let slow = host.start_call("sleep_ms", &json!({"ms": 2_000}));
    let queued = host.start_call("sleep_ms", &json!({"ms": 0}));
    let argument = json!({"name": "title", "value": "t"});
    let reference = json!({"type": "ref/prompt", "name": "summarize"});
    for (method, params) in [
        ("resources/read", json!({"uri": at("index")})),
        ("prompts/get", json!({"name": "summarize", "arguments": {"title": "x"}})),
        ("completion/complete", json!({"ref": reference, "argument": argument})),
    ] {
        host.ask(method, &params);
        assert!(host.answered(slow).is_none(), "{method} waited for the tool");
    }
    host.answer(slow);
    host.answer(queued);
}

/// Item 75.
#[test]
fn a_save_that_changes_resources_and_prompts_is_announced() {
    let (host, sandbox) = session("dev", "py/library.py", &[]);
    let text = fs::read_to_string(sandbox.path("library.py")).expect("the file is there");
    assert_eq!(host.ask("resources/read", &json!({"uri": at("old")}))["contents"][0]["text"], "old");
    let place = host.now();
    sandbox.write("library.py", text.replace(r#"SHELF = "old""#, r#"SHELF = "new""#));
    host.notified(RESOURCES_CHANGED, place);
    host.list_changed(place);
    assert_eq!(host.ask("resources/read", &json!({"uri": at("new")}))["contents"][0]["text"], "new");
    assert_eq!(host.refused("resources/read", &json!({"uri": at("old")}))["code"], -32002);
    assert!(host.notifications(PROMPTS_CHANGED, place).is_empty(), "the prompts are the same");

    let place = host.now();
    let text = fs::read_to_string(sandbox.path("library.py")).expect("the file is there");
    sandbox.write("library.py", text.replace("def torn(", "def ripped("));
    host.notified(PROMPTS_CHANGED, place);
    assert_eq!(keys(&host.ask("prompts/list", &json!({}))["prompts"], "name"), ["ghost", "ripped", "summarize"]);
    assert!(host.notifications(RESOURCES_CHANGED, place).is_empty(), "the resources are the same");
}

fn at(name: &str) -> String {
    format!("library://{name}")
}

fn keys(list: &Value, key: &str) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list} is a list"));
    list.iter().map(|item| item[key].as_str().expect("a key is a string").to_owned()).collect()
}
