//! The SDK for JavaScript and TypeScript: its own tests, the official suite against its example, and files in both
//! languages that are served as an author would serve them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use protomcp_conformance::{Host, Sandbox, Web, link_sdk_packages, pmcp, suite, tier};
use serde_json::json;

fn sdk() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace");
    folder.join("sdk/typescript")
}

/// A sandbox in which the SDK is installed.
fn installed() -> Sandbox {
    link_sdk_packages();
    let sandbox = Sandbox::new();
    let modules = sandbox.path("node_modules");
    fs::create_dir(&modules).expect("the sandbox can be written");
    for entry in fs::read_dir(sdk().join("node_modules")).expect("the packages are there") {
        let entry = entry.expect("an entry");
        symlink(entry.path(), modules.join(entry.file_name())).expect("the sandbox can be written");
    }
    symlink(sdk(), modules.join("protomcp")).expect("the sandbox can be written");
    sandbox
}

#[test]
fn its_own_tests_pass() {
    link_sdk_packages();
    let mut files: Vec<_> = fs::read_dir(sdk().join("test"))
        .expect("the tests are there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    files.sort();
    assert!(files.len() >= 9, "{files:?}");
    let output = Command::new("node").arg("--test").args(files).env("PMCP_BIN", pmcp()).current_dir(sdk()).output();
    let output = output.expect("node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("# fail 0"), "{text}");
    // The test of the long tier, which names its reason.
    assert!(text.contains(&format!("# skipped {}\n", tier(1, 0))), "{text}");
}

#[test]
fn its_example_passes_the_official_suite() {
    let sandbox = installed();
    fs::copy(sdk().join("examples/everything.ts"), sandbox.path("everything.ts")).expect("the sandbox can be written");
    let launch = sandbox.pmcp(&["run", "everything.ts", "--port", "0", "--transport", "http"]);
    let web = Web::launch(sandbox, launch);
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    suite::assert_passes(&url, &suite::SERVER_RUNS[..2], &[]);
}

#[test]
fn files_in_every_form_are_served() {
    let module = r#"
        import { tool } from "protomcp";
        export const hello = tool({ handler: () => "hi" });
    "#;
    let common = r#"
        const { tool } = require("protomcp");
        exports.hello = tool({ handler: () => "hi" });
    "#;
    let explicit = r#"
        import { run, tool } from "protomcp";
        tool({ name: "hello", handler: (): string => "hi" });
        await run();
    "#;
    for (name, text) in [("a.mjs", module), ("b.ts", module), ("c.js", common), ("d.mts", explicit)] {
        let sandbox = installed();
        sandbox.write(name, text);
        let host: Host = sandbox.pmcp(&["run", name]).start();
        host.initialize();
        assert_eq!(host.names(), ["hello"], "{name}");
        assert_eq!(host.text("hello", &json!({})), "hi", "{name}");
    }
}

#[test]
fn a_file_that_cannot_be_served_says_the_reason() {
    let cases = [
        (r#"tool({ name: "a", handler: () => 1 }); tool({ name: "a", handler: () => 2 });"#, "two tools with the name"),
        (r#"tool({ handler: () => 1 });"#, "has no name"),
        (r#"tool({ name: "a", input: { type: "string" }, handler: () => 1 });"#, "must be one of an object"),
        (r#"onStart(() => { throw new Error("no database"); });"#, "no database"),
    ];
    for (text, reason) in cases {
        let sandbox = installed();
        sandbox.write("tools.mjs", format!(r#"import {{ onStart, tool }} from "protomcp"; {text}"#));
        let host = sandbox.pmcp(&["run", "tools.mjs"]).start();
        host.stderr_with(reason);
    }
}
