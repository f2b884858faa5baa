//! `pmcp schema`: JSON Schemas as .proto files and back, and references to registries.

use std::fs;
use std::process::{Command, Output, Stdio};

use protomcp_conformance::{Sandbox, peers};
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
    assert_eq!(report["web_search"]["imports"], json!({}));

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
fn the_report_names_the_origin_of_imports() {
    let sandbox = Sandbox::new();
    let fields = json!({"name": {"type": "string", "minLength": 1}, "any": {}});
    sandbox.write("tools.json", json!([tool("find", &fields)]).to_string());
    let table = printed(&sandbox, &["to-proto", "tools.json", "--out", "proto"]);
    let source = fs::read_to_string(sandbox.path("proto/tools/v1/find.proto")).expect("it was written");
    let report = fs::read_to_string(sandbox.path("proto/report.json")).expect("it is written");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let imports = report["find"]["imports"].as_object().expect("an object");
    assert_eq!(imports.len(), 2, "{report}");
    for (file, origin) in imports {
        assert!(source.contains(&format!("import \"{file}\";")), "{file}: {source}");
        let is_rules = file == "buf/validate/validate.proto";
        assert_eq!(origin.as_str().is_some_and(|origin| origin.contains("bufbuild/protovalidate")), is_rules, "{file}");
    }
    assert!(table.contains("imports   buf/validate/validate.proto: folder proto/protovalidate of https://"), "{table}");
}

#[test]
fn files_that_cannot_be_converted_write_nothing() {
    let sandbox = Sandbox::new();
    for (content, words) in [
        ("{", "tools.json"),
        (r#"{"type": "string"}"#, "object"),
        (r#"[{"name": "x"}]"#, "inputSchema"),
        (r#"[{"name": "x", "inputSchema": {"type": "array"}}]"#, "x: the schema of a tool is one of an object"),
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
fn a_tool_that_cannot_be_converted_leaves_the_others_alone() {
    let nested = tool("a", &json!({"b_request": {"type": "object", "properties": {"c": {}}}}));
    let list = json!({"name": "list", "inputSchema": {"type": "array"}});
    for (tools, refused, words) in [
        (json!([nested, tool("a_request_b", &json!({}))]), "a_request_b", "a needs the message ARequestBRequest, too"),
        (json!([tool("getURL", &json!({})), tool("getUrl", &json!({}))]), "getUrl", "get_url.proto, too"),
        (json!([list, tool("ping", &json!({}))]), "list", "one of an object"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("tools.json", tools.to_string());
        let output = run(&sandbox, &["to-proto", "tools.json", "--out", "proto"]);
        let (table, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("one tool is not converted: ") && text.contains(words), "{text}");
        assert!(table.contains(&format!("refused   {refused}\n")) && table.contains("lossless"), "{table}");
        let report = fs::read_to_string(sandbox.path("proto/report.json")).expect("it is written");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report[refused]["verdict"], "refused");
        assert_eq!(report.as_object().map(serde_json::Map::len), Some(2));
    }
}

#[test]
fn the_second_tool_of_a_name_is_refused() {
    let sandbox = Sandbox::new();
    let (number, list) = (json!({"n": {"type": "integer"}}), json!({"l": {"type": "array"}}));
    sandbox.write("tools.json", json!([tool("a", &number), tool("a", &list)]).to_string());
    for _ in 0..2 {
        let output = run(&sandbox, &["to-proto", "tools.json", "--out", "proto"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && stderr.contains("a: another tool has this name"), "{stderr}");
        let report = fs::read_to_string(sandbox.path("proto/report.json")).expect("it is written");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert!(report["a"]["file"] == "tools/v1/a.proto" && report["a"]["verdict"] != "refused", "{report}");
        let file = fs::read_to_string(sandbox.path("proto/tools/v1/a.proto")).expect("it is written");
        assert!(!file.contains("reserved") && !file.contains(" l = "), "{file}");
    }
}

/// The runtimes of protobuf check more than its compiler: names and JSON names are in one table.
#[test]
fn files_for_any_names_load_in_a_runtime_of_protobuf() {
    const LOAD: &str = "import sys\n\
        from google.protobuf import descriptor_pb2, descriptor_pool\n\
        pool = descriptor_pool.DescriptorPool()\n\
        for file in descriptor_pb2.FileDescriptorSet.FromString(open(sys.argv[1], 'rb').read()).file:\n\
        \u{20}   pool.Add(file)\n\
        \u{20}   for message in file.message_type:\n\
        \u{20}       pool.FindMessageTypeByName(f'{file.package}.{message.name}')\n";
    let keys: [&[&str]; 9] = [
        &["foo-bar", "foo_bar"],
        &["fooBar", "foo_bar"],
        &["foo.bar", "foo bar", "foo_bar_2", "foo_bar"],
        &["a-b", "a.b", "a_b", "aB", "a_b_2"],
        &["f", "", "ü", "f_2"],
        &["a", "A", "a_", "_a"],
        &["_id"],
        &["id", "_id", "__id"],
        &["foo1", "foo_1", "message", "repeated", "[a]", "class", "items", "itemsList"],
    ];
    let sandbox = Sandbox::new();
    let tools = keys.iter().enumerate().map(|(number, keys)| {
        let properties: Value = keys.iter().map(|key| ((*key).to_owned(), json!({"type": "string"}))).collect();
        let lists: Value = keys.iter().map(|key| ((*key).to_owned(), json!({"type": "array"}))).collect();
        let mut all = properties.clone();
        all["inner"] = json!({"type": "object", "properties": properties});
        all["lists"] = json!({"type": "object", "properties": lists});
        tool(&format!("t{number}"), &all)
    });
    sandbox.write("tools.json", json!(tools.collect::<Vec<_>>()).to_string());
    printed(&sandbox, &["to-proto", "tools.json", "--out", "proto"]);
    sandbox.write("load.py", LOAD);
    for (number, keys) in keys.iter().enumerate() {
        let file = format!("tools/v1/t{number}.proto");
        let compiled = Command::new("protoc")
            .args(["-I", "proto", "--include_imports", "-o", "set.binpb", &file])
            .current_dir(sandbox.path(""))
            .output()
            .expect("protoc starts");
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let python = peers().join("py/bin/python");
        let loaded = Command::new(python).args(["load.py", "set.binpb"]).current_dir(sandbox.path("")).output();
        let loaded = loaded.expect("Python starts");
        assert!(loaded.status.success(), "{keys:?}: {}", String::from_utf8_lossy(&loaded.stderr));
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
