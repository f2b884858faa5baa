//! `pmcp schema`: JSON Schemas as .proto files and back, and references to registries.

use std::fs;
use std::process::{Output, Stdio};

use protomcp_conformance::Sandbox;
use serde_json::{Value, json};

/// Runs `pmcp schema` in the folder, without a folder for caches outside of it.
fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    let launch = sandbox.pmcp(&[&["schema"], args].concat());
    let launch = launch.env("XDG_CACHE_HOME", sandbox.path("cache")).env("HOME", sandbox.path("home"));
    let mut command = launch.without("BUF_TOKEN").without("NETRC").command();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.output().expect("pmcp ends")
}

#[track_caller]
fn printed(sandbox: &Sandbox, args: &[&str]) -> String {
    let output = run(sandbox, args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// The exit code and the error of a command that fails.
fn error(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, String) {
    let output = run(sandbox, args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

#[test]
fn tools_become_proto_files_with_stable_numbers_and_a_report() {
    let sandbox = Sandbox::new();
    let text = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let search = json!({"query": {"type": "string"}, "at": {"type": "string", "format": "date-time"}});
    let tools = [tool("web_search", &search), tool("ping", &json!({}))];
    sandbox.write("tools.json", json!({"tools": tools}).to_string());
    let to_proto = ["to-proto", "tools.json", "--out", "proto", "--package", "acme.v1"];
    let table = printed(&sandbox, &to_proto);
    assert!(table.contains("lossy     web_search  acme/v1/web_search.proto\n"), "{table}");
    assert!(table.contains("/properties/at format"), "{table}");
    assert!(table.contains("lossless  ping  acme/v1/ping.proto\n"), "{table}");
    let source = text("proto/acme/v1/web_search.proto");
    assert!(
        source.contains("message WebSearchRequest {\n  optional string query = 1;\n  optional string at = 2;\n}"),
        "{source}"
    );
    let report: Value = serde_json::from_str(&text("proto/report.json")).expect("JSON");
    assert_eq!(report["ping"]["input_type"], "acme.v1.PingRequest");
    assert_eq!(report["web_search"]["losses"][0]["pointer"], "/properties/at");

    // The lock file keeps numbers when properties move, go and come.
    let search = json!({"page": {"type": "boolean"}, "query": {"type": "string"}});
    sandbox.write("tools.json", json!([tool("web_search", &search)]).to_string());
    printed(&sandbox, &to_proto);
    let source = text("proto/acme/v1/web_search.proto");
    for line in ["reserved 2;", "optional bool page = 3;", "optional string query = 1;"] {
        assert!(source.contains(line), "{line}: {source}");
    }
}

#[test]
fn a_single_schema_is_named_like_its_file() {
    let sandbox = Sandbox::new();
    let schema = json!({"type": "object", "properties": {"max": {"type": "integer"}}, "required": ["max"]});
    sandbox.write("find-user.json", schema.to_string());
    printed(&sandbox, &["to-proto", "find-user.json", "--out", ".", "--style", "seed"]);
    let source = fs::read_to_string(sandbox.path("tools/v1/find_user.proto")).expect("it was written");
    assert!(source.contains("message FindUserRequest {\n  int32 max = 1;\n}"), "{source}");
}

#[test]
fn files_that_cannot_be_converted_write_nothing() {
    let sandbox = Sandbox::new();
    let nested = tool("a", &json!({"b_request": {"type": "object", "properties": {"c": {}}}}));
    let collision = json!([nested, tool("a_request_b", &json!({}))]).to_string();
    let same_file = json!([tool("getURL", &json!({})), tool("getUrl", &json!({}))]).to_string();
    for (content, words) in [
        ("{", "tools.json"),
        (r#"{"type": "string"}"#, "object"),
        (r#"[{"name": "x"}]"#, "inputSchema"),
        (collision.as_str(), "ARequestBRequest"),
        (same_file.as_str(), "get_url.proto"),
    ] {
        sandbox.write("tools.json", content);
        let (code, text) = error(&sandbox, &["to-proto", "tools.json", "--out", "proto"]);
        assert!(code == Some(2) && text.contains(words), "{content}: {text}");
        assert!(!sandbox.path("proto").exists(), "{content}");
    }
    for args in [
        ["to-proto", "missing.json", "--out", "proto", "--package", "p"],
        ["to-proto", "tools.json", "--out", "proto", "--package", "a..b"],
    ] {
        assert_eq!(error(&sandbox, &args).0, Some(2), "{args:?}");
    }
}

#[test]
fn messages_are_printed_as_json_schemas() {
    let sandbox = Sandbox::new();
    // A file `acme.proto` with `message Request { string query = 1; }` in the package `acme.v1`.
    let set = b"\x0a>\x0a\x0aacme.proto\x12\x07acme.v1\x22\x1f\x0a\x07Request\x12\x14\x0a\x05query\x18\x01 \x01(\x09R\x05queryb\x06proto3";
    sandbox.write("set.binpb", set);
    let schema: Value = serde_json::from_str(&printed(&sandbox, &["to-json", "set.binpb"])).expect("JSON");
    assert_eq!(schema["properties"], json!({"query": {"type": "string"}}));
    assert_eq!(schema["additionalProperties"], false);
    let named = printed(&sandbox, &["to-json", "set.binpb", "--message", "acme.v1.Request"]);
    assert_eq!(serde_json::from_str::<Value>(&named).expect("JSON"), schema);
    let (code, text) = error(&sandbox, &["to-json", "set.binpb", "--message", "acme.v1.Other"]);
    assert!(code == Some(2) && text.contains("acme.v1.Other"), "{text}");
    sandbox.write("set.binpb", [0xff; 20]);
    assert_eq!(error(&sandbox, &["to-json", "set.binpb"]).0, Some(2));
}

#[test]
fn only_registries_that_are_named_are_asked() {
    let sandbox = Sandbox::new();
    let (code, text) = error(&sandbox, &["resolve", "registry.test/acme/tools/acme.v1.Request:v1"]);
    assert!(code == Some(1) && text.contains("registry.test"), "{text}");
    let (code, text) = error(&sandbox, &["resolve", "not-a-reference"]);
    assert!(code == Some(2) && text.contains("not-a-reference"), "{text}");
    let usage = printed(&sandbox, &["cache"]);
    assert!(usage.ends_with("0 schemas, 0 bytes\n"), "{usage}");
    assert!(usage.starts_with(&sandbox.path("cache").display().to_string()), "{usage}");
    assert_eq!(printed(&sandbox, &["cache", "--clear"]), "0 schemas deleted\n");
}
