//! A tool file that is a symbolic link, in a folder without its modules.

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
