//! Several runs of `pmcp install` in the same moment.

use std::process::Stdio;

use protomcp_conformance::pmcp;
use serde_json::Value;

use super::{PLAIN, User, read};

/// Each waits for its turn with the file and the records.
#[test]
fn concurrent_installations_are_all_in_the_file() {
    let user = User::new();
    let path = user.write(".config/Code/User/mcp.json", PLAIN);
    let names: Vec<_> = (0..8).map(|number| format!("n{number}")).collect();
    let all = |words: &dyn Fn(&str) -> Vec<String>| {
        let start = |name: &String| {
            let mut command = user.command(pmcp());
            command.args(words(name)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pmcp starts")
        };
        let running: Vec<_> = names.iter().map(start).collect();
        for child in running {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{output:?}");
        }
    };
    all(&|name| {
        let words = ["install", "http://127.0.0.1:9/mcp", "--client", "vscode", "--name", name];
        words.map(str::to_owned).to_vec()
    });
    let text = read(&path);
    assert!(text.contains("// mine") && text.contains("// fast"), "{text}");
    let status: Value = serde_json::from_str(&user.ok(&["status", "--no-start", "--json"])).expect("it is JSON");
    let servers = status[0]["servers"].as_array().expect("there are servers");
    let mut found: Vec<_> = servers.iter().filter_map(|server| server["name"].as_str()).collect();
    found.sort_unstable();
    assert_eq!(found, names);
    all(&|name| ["uninstall", name].map(str::to_owned).to_vec());
    assert_eq!(read(&path), PLAIN);
    assert!(!path.with_file_name("mcp.json.pmcp-backup").exists());
}
