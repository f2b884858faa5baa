//! Files that are watched because the author has named them, and a folder that is created again.

use std::fs;

use protomcp_conformance::{Sandbox, pmcp};
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
    fs::create_dir(sandbox.path("words")).expect("the sandbox can be written");
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

/// `git switch` removes a folder that one of the branches lacks, and creates it again. The tool process and `pmcp` run in it.
#[test]
fn a_working_directory_that_is_created_again_is_used() {
    let sandbox = Sandbox::new();
    let save = |name: &str| {
        fs::write(sandbox.path("project/tools.py"), python(name, "")).expect("the sandbox can be written");
    };
    let make = |name: &str| {
        fs::create_dir(sandbox.path("project")).expect("the sandbox can be written");
        save(name);
    };
    make("first");
    let program = pmcp().to_str().expect("its path is text");
    let host = sandbox.pmcp(&["-c", r#"cd project && exec "$0" dev tools.py"#, program]).program("sh").start();
    host.initialize();
    assert_eq!(host.names(), ["first"]);
    for name in ["second", "third"] {
        fs::remove_dir_all(sandbox.path("project")).expect("it is there");
        make(name);
        host.until_names(&[name]);
        assert_eq!(host.text(name, &json!({})), name);
    }
    save("saved");
    host.until_names(&["saved"]);
    // This one takes its processes along.
    fs::rename(sandbox.path("project"), sandbox.path("moved")).expect("ours");
    make("fourth");
    host.until_names(&["fourth"]);
    assert_eq!(host.text("fourth", &json!({})), "fourth");
}
