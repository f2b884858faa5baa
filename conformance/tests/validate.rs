//! `pmcp validate`: what it says about the tools of a real process, and its exit codes.

use std::process::{Output, Stdio};

use protomcp_conformance::{Sandbox, Stage, Web, living, pmcp, tool};
use protomcp_envelope::ToolDefinition;
use serde_json::{Value, json};

/// Runs `pmcp validate ./relay`, whose tools are these.
fn validate(flags: &[&str], tools: Vec<ToolDefinition>) -> (Option<i32>, String, String) {
    let sandbox = Sandbox::new();
    let stage = Stage::new(&sandbox);
    let mut command = stage.pmcp(&sandbox, &[&["validate", "./relay"], flags].concat()).command();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pmcp starts");
    let mut peer = stage.accept();
    peer.handshake(tools);
    let output = child.wait_with_output().expect("pmcp ends");
    assert_eq!(living(sandbox.marker()), [], "the tool process has ended");
    outcome(output)
}

fn outcome(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn described(name: &str, description: &str) -> ToolDefinition {
    ToolDefinition { description: description.to_owned(), ..tool(name) }
}

/// One tool for each rule (docs/validate.md).
fn faulty() -> Vec<ToolDefinition> {
    let broken = ToolDefinition { input_schema_json: "{\"type\":".into(), ..described("broken", "A schema.") };
    vec![
        described("good", "A good one."),
        described("group.good", "A dotted one."),
        described("", "Without a name."),
        described("get-it", "With a hyphen."),
        described("twice", "The first."),
        described("twice", "The second."),
        described("silent", ""),
        broken,
    ]
}

const FAULTS: [(&str, &str); 5] = [
    ("", "empty tool name"),
    ("get-it", "invalid name \"get-it\": must match [a-zA-Z_][a-zA-Z0-9_]*"),
    ("twice", "duplicate tool name"),
    ("silent", "no description"),
    ("broken", "invalid input schema JSON: EOF while parsing a value at line 1 column 8"),
];

/// Item 92.
#[test]
fn every_rule_is_reported_as_text() {
    let (code, text, error) = validate(&[], faulty());
    assert_eq!(code, Some(1), "{error}");
    assert!(error.ends_with("error: the tools have 5 errors\n"), "{error}");
    let lines = FAULTS.map(|(tool, issue)| match tool {
        "" => format!("  · {issue}\n"),
        tool => format!("  · \"{tool}\": {issue}\n"),
    });
    let wanted = format!("✓ good — OK\n✓ group.good — OK\n✗ — 5 error(s):\n{}", lines.concat());
    assert!(text.starts_with(&wanted), "{text}");
}

/// Item 92.
#[test]
fn every_rule_is_reported_as_json() {
    let (code, text, _) = validate(&["--format", "json"], faulty());
    assert_eq!((code, text.lines().count()), (Some(1), 1), "one line");
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    let status: Vec<_> = report["tools"].as_array().into_iter().flatten().map(|tool| &tool["status"]).collect();
    let (ok, error) = (json!("ok"), json!("error"));
    assert_eq!(status, [&ok, &ok, &error, &error, &error, &error, &error, &error]);
    assert_eq!(report["errors"], json!(FAULTS.map(|(tool, issue)| json!({"tool": tool, "issue": issue}))));
    assert_eq!(report["pass"], false);
}

/// Item 92.
#[test]
fn a_list_without_tools_passes_and_stays_a_list() {
    let (code, text, errors) = validate(&[], Vec::new());
    assert_eq!((code, text.as_str()), (Some(0), ""));
    assert!(errors.contains("the server has no tools"), "{errors}");
    assert_eq!(validate(&["--strict"], Vec::new()).0, Some(1));
    let (code, text, _) = validate(&["--format=json"], Vec::new());
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((code, &report["tools"], &report["errors"]), (Some(0), &json!([]), &json!([])));
    assert_eq!(report["pass"], true);
}

/// Item 92.
#[test]
fn strict_rules_apply_on_request() {
    let tools = || vec![described("test", "short")];
    assert_eq!(validate(&[], tools()).0, Some(0));
    let (code, text, _) = validate(&["--strict"], tools());
    assert_eq!(code, Some(1));
    let wanted = "✗ — 2 error(s):\n  · \"test\": description too short (5 chars, minimum 10)\n  · \"test\": generic name \"test\"\n";
    assert!(text.starts_with(wanted), "{text}");
    let (code, text, _) = validate(&["--strict"], vec![described("get_user_name", "Get user name")]);
    assert!(code == Some(1) && text.contains("\"get_user_name\": description says no more than the name"), "{text}");
    let unusable =
        [("a1", "TODO: describe"), ("a2", "<p><br></p>"), ("a3", "Reads the file."), ("a4", "Reads the file.")];
    let unusable = || unusable.map(|(name, text)| described(name, text)).into();
    let (code, text, _) = validate(&["--strict"], unusable());
    assert!(code == Some(1) && text.contains("\"a1\": description is a placeholder: \"TODO: describe\""), "{text}");
    assert!(text.contains("\"a2\": description has no words, only markup"), "{text}");
    assert!(text.contains("\"a4\": same description as \"a3\"") && !text.contains("\"a3\":"), "{text}");
    assert_eq!(validate(&[], unusable()).0, Some(0), "they are good enough without --strict");
}

/// A host's limit is a warning with its source, and an error where a loss must not pass.
#[test]
fn limits_of_a_host_are_reported_with_their_source() {
    let tools = || vec![described("group.get", "Gets it from the group.")];
    let (code, text, error) = validate(&["--for", "claude"], tools());
    assert_eq!(code, Some(0), "{text}{error}");
    assert!(text.starts_with("✓ group.get — OK\n! — "), "{text}");
    for part in [
        "\"group.get\" does not match",
        "Claude Desktop: one bad name breaks every chat (",
        "fix: rename it, to \"group_get\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let (code, text, _) = validate(&["--for", "claude", "--strict", "--format", "json"], tools());
    let report: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((code, &report["pass"], &report["findings"][0]["severity"]), (Some(1), &json!(false), &json!("error")));
    assert!(report["tokens"]["total"].as_u64() > Some(10), "{text}");
    assert_eq!(validate(&["--for", "gemini-api", "--strict"], tools()).0, Some(0), "a dot is fine there");
}

#[test]
fn a_report_is_sarif_for_code_scanning() {
    let tools = || vec![described("group.get", "Gets it from the group."), described("silent", "")];
    let (code, text, error) = validate(&["--for", "claude", "--format", "sarif"], tools());
    assert_eq!(code, Some(1), "{error}");
    let sarif: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&sarif["version"], &sarif["runs"][0]["tool"]["driver"]["name"]), (&json!("2.1.0"), &json!("pmcp")));
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    let with = |level: &str| results.iter().filter(|result| result["level"] == level).collect::<Vec<_>>();
    assert_eq!(with("error")[0]["message"]["text"], "no description", "{sarif}");
    let place = &with("warning")[0]["locations"][0];
    assert_eq!(place["physicalLocation"]["artifactLocation"]["uri"], "./relay", "{sarif}");
    assert_eq!(place["logicalLocations"][0]["name"], "group.get", "{sarif}");
}

/// Definitions of any server are read as they are, broken ones too.
#[test]
fn any_server_can_be_validated() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let output = sandbox.pmcp(&["validate", "--"]).arg(pmcp()).arg("run").arg("basics.py").command().output();
    let (_, text, error) = outcome(output.expect("pmcp starts"));
    assert!(text.contains("✓ add — OK\n"), "{text}{error}");
    let web = Web::start("py/basics.py", &["--transport", "http"]);
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    let output = sandbox.pmcp(&["validate", &url, "--for", "chatgpt", "--format", "sarif"]).command().output();
    let (_, text, error) = outcome(output.expect("pmcp starts"));
    let sarif: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}{error}"));
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(place, url.as_str(), "{sarif}");
}

#[test]
fn check_is_another_word_for_validate() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    sandbox.write("pmcp.toml", "[validate]\nformat = \"json\"\n");
    let printed = |words: &[&str]| outcome(sandbox.pmcp(words).command().output().expect("pmcp starts")).1;
    let report: Value = serde_json::from_str(&printed(&["check", "basics.py"])).expect("the settings apply");
    assert!(report["tools"].as_array().is_some_and(|tools| tools.len() > 1), "{report}");
    let shown = printed(&["config", "show", "check", "basics.py"]);
    assert!(shown.starts_with("# pmcp validate, with pmcp.toml\n"), "{shown}");
}

#[test]
fn errors_on_the_command_line_are_named() {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    let rows: &[(&[&str], &str)] = &[
        (&["validate", "basics.py", "--format", "xml"], "invalid --format \"xml\": must be 'text' or 'json'"),
        (
            &["validate", "basics.py", "--for", "cursr"],
            "invalid --for \"cursr\": unknown host; did you mean \"cursor\"?",
        ),
        (&["validate"], "missing server: name a tool file"),
        (&["validate", "nowhere.py"], "file not found: nowhere.py"),
    ];
    for (words, part) in rows {
        let output = sandbox.pmcp(words).command().output();
        let (code, _, error) = outcome(output.expect("pmcp starts"));
        assert!(code == Some(2) && error.contains(part), "{words:?}: {code:?} {error}");
    }
}
