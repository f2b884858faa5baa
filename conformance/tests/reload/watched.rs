//! Files that are watched because the author has named them.

use protomcp_conformance::Sandbox;
use serde_json::json;

use super::files::python;

#[test]
fn a_file_that_is_named_reloads_the_tool_file() {
    let sandbox = Sandbox::new();
    sandbox.write("words.json", r#"["first"]"#);
    let head = "import json\nWORDS = json.load(open('words.json'))\n";
    sandbox.write("tools.py", python("word", head).replace("return \"word\"", "return WORDS[0]"));
    let host = sandbox.pmcp(&["dev", "tools.py", "--watch", "words.json"]).start();
    host.initialize();
    assert_eq!(host.text("word", &json!({})), "first");
    let place = host.now();
    sandbox.write("words.json", r#"["second"]"#);
    host.list_changed(place);
    assert_eq!(host.text("word", &json!({})), "second");
    // The file itself is watched as before.
    sandbox.write("tools.py", python("other", ""));
    host.until_names(&["other"]);
}

#[test]
fn a_directory_that_is_named_has_its_sources_watched() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", python("word", ""));
    std::fs::create_dir(sandbox.path("words")).expect("the sandbox can be written");
    let host = sandbox.pmcp(&["dev", "tools.py", "--watch", "words"]).start();
    host.stderr_with("watching the source files below words; a data file there needs its own --watch");
}

#[test]
fn a_path_that_does_not_exist_is_named() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", python("word", ""));
    let launch = sandbox.pmcp(&["dev", "tools.py", "--watch", "wrods.json"]);
    let output = launch.command().output().expect("pmcp starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("invalid --watch \"wrods.json\": it does not exist"), "{stderr}");
}
