//! A tool file that is a symbolic link, in a folder without its modules, or behind one.

use std::fs;
use std::os::unix::fs::symlink;

use protomcp_conformance::Sandbox;
use serde_json::json;

const HELPER: &str = "def shout(text):\n    return text.upper()\n";

const DECLARES: &str = "from protomcp import tool
from helper import shout

@tool('Says it loudly.')
def loud(text: str) -> str:
    return shout(text)
";

/// A file in `dir`, a link to it, and a link to that.
fn sandbox(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("dir")).expect("the sandbox can be written");
    fs::write(sandbox.path("dir/helper.py"), HELPER).expect("the sandbox can be written");
    fs::write(sandbox.path("dir/real.py"), text).expect("the sandbox can be written");
    symlink("dir/real.py", sandbox.path("link.py")).expect("the sandbox can be written");
    symlink("link.py", sandbox.path("second.py")).expect("the sandbox can be written");
    sandbox
}

#[test]
fn a_linked_tool_file_finds_its_modules() {
    let runs = format!("{DECLARES}\nfrom protomcp.runner import run\nrun()\n");
    let at_the_end = format!("{DECLARES}\nprint('trunk')\n");
    for text in [DECLARES, &runs, &at_the_end] {
        let sandbox = sandbox(text);
        for file in ["dir/real.py", "link.py", "second.py"] {
            let host = sandbox.pmcp(&["run", file]).start();
            host.initialize();
            assert_eq!(host.text("loud", &json!({"text": "hi"})), "HI", "{file}");
        }
    }
}

#[test]
fn a_module_next_to_the_target_of_a_link_is_watched() {
    let sandbox = Sandbox::new();
    for folder in ["here", "there"] {
        fs::create_dir(sandbox.path(folder)).expect("the sandbox can be written");
    }
    let tools = "from protomcp import tool\n\n\n@tool('Does it.')\ndef NAME() -> str:\n    return ''\n";
    let save = |name: &str, text: &str| fs::write(sandbox.path(name), text).expect("the sandbox can be written");
    save("there/tools.py", &tools.replace("NAME", "one"));
    save("there/real.py", "import protomcp\nimport tools\n");
    symlink("../there/real.py", sandbox.path("here/link.py")).expect("the sandbox can be written");
    let host = sandbox.pmcp(&["dev", "here/link.py"]).start();
    host.initialize();
    host.until_names(&["one"]);
    save("there/tools.py", &tools.replace("NAME", "another"));
    host.until_names(&["another"]);
}

/// A server with one tool.
const SERVER: &str = r#"import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "linked", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
    elif message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": "NAME", "inputSchema": {"type": "object"}}]}}
    else:
        answer = {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

#[test]
fn a_link_that_leads_to_another_release_is_a_save() {
    let file = "from protomcp import tool\n\n@tool('Does it.')\ndef NAME() -> str:\n    return ''\n";
    for (text, words) in [
        (file, &["dev", "cur/tools.py"][..]),
        (SERVER, &["dev", "--", "python3", "cur/tools.py"]),
        (SERVER, &["dev", "--watch", "cur", "--", "python3", "cur/tools.py"]),
    ] {
        let sandbox = Sandbox::new();
        for release in ["one", "two"] {
            fs::create_dir_all(sandbox.path("releases").join(release)).expect("the sandbox can be written");
            let path = sandbox.path("releases").join(release).join("tools.py");
            fs::write(path, text.replace("NAME", release)).expect("the sandbox can be written");
        }
        let lead = |release: &str| {
            symlink(format!("releases/{release}"), sandbox.path("next")).expect("the sandbox can be written");
            fs::rename(sandbox.path("next"), sandbox.path("cur")).expect("the sandbox can be written");
        };
        lead("one");
        let host = sandbox.pmcp(words).start();
        host.initialize();
        host.until_names(&["one"]);
        for release in ["two", "one"] {
            lead(release);
            host.until_names(&[release]);
        }
    }
}
