//! `--for` on `pmcp run` and `pmcp dev`: hosts get names and schemas that they take, and calls arrive under the names of the
//! tools themselves.

use protomcp_conformance::{Scene, Web, tool};
use protomcp_envelope::ToolDefinition;
use serde_json::json;

#[test]
fn names_and_schemas_are_adapted_and_calls_mapped_back() {
    let union = r#"{"anyOf":[{"properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind"]},{"properties":{"kind":{"const":"b"}},"required":["kind"]}]}"#;
    for verb in ["run", "dev"] {
        let tools = vec![ToolDefinition { input_schema_json: union.into(), ..tool("group.get") }, tool("plain")];
        let mut scene = Scene::with_tools(verb, "./relay", &["--for", "claude"], tools);
        assert_eq!(scene.host.names(), ["group_get", "plain"]);
        let schema = scene.host.tool("group_get")["inputSchema"].clone();
        assert!(schema.get("anyOf").is_none() && schema["type"] == "object", "{schema}");
        assert_eq!(schema["properties"]["kind"]["enum"], json!(["a", "b"]));
        for name in ["group_get", "group.get"] {
            let id = scene.host.start_call(name, &json!({"kind": "a"}));
            let (call, request) = scene.peer.call();
            assert_eq!(request.name, "group.get");
            scene.peer.result(&call, r#""fine""#);
            assert_eq!(scene.host.answer(id).value["result"]["content"][0]["text"], "fine");
        }
    }
}

#[test]
fn a_name_is_known_before_any_list_was_read() {
    let mut web = Web::start("py/basics.py", &["--transport", "http", "--for", "amazonq"]);
    web.initialize();
    let reply = web.call("add", &json!({"a": 1, "b": 2}));
    assert_eq!(reply.json()["result"]["content"][0]["text"], "3");
    assert_eq!(web.call("nothing", &json!({})).json()["error"]["code"], -32602);
}
