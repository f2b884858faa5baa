//! The SDK for Python: its own checks and tests, and the official suite against its example.

use std::path::{Path, PathBuf};
use std::process::Command;

use protomcp_conformance::{Sandbox, Web, peers, pmcp, sdk_example, suite};

fn sdk() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace");
    folder.join("sdk/python")
}

/// The folder of the examples in Rust that the SDK has, too.
fn examples() -> PathBuf {
    let names = [
        "tools",
        "structured",
        "progress",
        "sampling",
        "sign_in",
        "notes",
        "groups",
        "hidden",
        "retries",
        "workflow",
        "server_context",
        "interception",
        "telemetry",
        "sidecar",
        "visits",
        "logs",
        "app",
        "refunds",
    ];
    let [first, ..] = names.map(sdk_example);
    first.parent().expect("an example is in a folder").to_owned()
}

/// The interpreter with the packages that the checks need.
fn python() -> PathBuf {
    let python = peers().join("sdk-python/bin/python");
    assert!(python.exists(), "please run scripts/setup sdk-python first");
    python
}

#[test]
fn its_own_checks_pass() {
    let mut check = Command::new(sdk().join("scripts/check"));
    let output = check.args([&python(), pmcp()]).env("SDK_EXAMPLES", examples()).output().expect("the script starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let summary = text.lines().last().unwrap_or_default();
    assert!(summary.contains(" passed") && !summary.contains("skipped"), "{summary}");
}

#[test]
fn its_example_passes_the_official_suite() {
    let sandbox = Sandbox::new();
    let launch = sandbox.pmcp(&["run", "--port", "0", "--transport", "http"]).arg(sdk().join("examples/everything.py"));
    let launch = launch.env("PROTOMCP_PYTHON", python()).env("PYTHONPATH", sdk().join("src"));
    let web = Web::launch(sandbox, launch);
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    suite::assert_passes(&url, &suite::SERVER_RUNS[..2], &[]);
}
