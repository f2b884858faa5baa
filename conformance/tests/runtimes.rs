//! Tool files on runtimes other than `python3` and `node`: uv, Bun, Deno, and a newer Node.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use protomcp_conformance::{Launch, Sandbox, peers, pmcp};
use serde_json::json;

/// A file on the SDK that is lent, which adds a line to a file whenever it is started.
const TOOLS: &str = r#"
from pathlib import Path
from protomcp import tool

with Path("starts").open("a") as starts:
    starts.write("started\n")

@tool("Adds two numbers.")
def add(a: int, b: int) -> int:
    return a + b
"#;

/// The program of a package that exists for each processor.
fn program(packages: [&str; 2], path: &str) -> PathBuf {
    let modules = peers().join("runtimes/node_modules");
    let found = packages.iter().map(|package| modules.join(package).join(path)).find(|program| program.is_file());
    found.expect("please run scripts/setup runtimes first")
}

fn bun() -> PathBuf {
    program(["@oven/bun-linux-x64", "@oven/bun-linux-aarch64"], "bin/bun")
}

fn deno() -> PathBuf {
    program(["@deno/linux-x64-glibc", "@deno/linux-arm64-glibc"], "deno")
}

/// The tests of the SDK for TypeScript that use `pmcp`, with its files run by `runtime`.
#[track_caller]
fn its_tests_pass_on(runtime: &Path) {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/typescript");
    assert!(sdk.join("node_modules").exists(), "please run scripts/setup sdk-typescript first");
    let mut node = Command::new("node");
    node.args(["--test", "test/pmcp.test.js"]).current_dir(sdk).env("PMCP_BIN", pmcp()).env("PROTOMCP_NODE", runtime);
    let output = node.output().expect("node starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("# fail 0") && text.contains("# skipped 0"), "{text}");
}

#[test]
fn bun_runs_the_sdk_for_typescript() {
    its_tests_pass_on(&bun());
}

#[test]
#[ignore = "half a minute of a processor, in the long tier alone"]
fn deno_runs_the_sdk_for_typescript() {
    its_tests_pass_on(&deno());
}

#[test]
#[ignore = "half a minute of a processor, in the long tier alone"]
fn a_newer_node_runs_the_sdk_for_typescript() {
    its_tests_pass_on(&peers().join("suite/node_modules/.bin/node").canonicalize().expect("it is installed"));
}

#[test]
fn bun_borrows_the_sdk() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "tools.ts",
        r#"
        import { tool } from "protomcp";
        type Numbers = { a: number; b: number };
        tool({ name: "add", handler: ({ a, b }: Numbers) => String(a + b), input: { type: "object" } });
        "#,
    );
    let host = sandbox.pmcp(&["dev", "tools.ts"]).env("PROTOMCP_NODE", bun()).start();
    host.initialize();
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
}

#[test]
fn deno_borrows_the_sdk_unless_a_project_has_imports() {
    let file = r#"
        import { tool } from "protomcp";
        type Numbers = { a: number; b: number };
        tool({ name: "add", handler: ({ a, b }: Numbers) => String(a + b), input: { type: "object" } });
    "#;
    let call = |configuration: &str, source: &str| {
        let sandbox = Sandbox::new();
        sandbox.write("tools.ts", file);
        if !configuration.is_empty() {
            sandbox.write("deno.json", configuration);
        }
        let launch = sandbox.pmcp(&["call", "tools.ts", "add", "a=2", "b=3", "--sdk", source]);
        // The path of the cache has a blank and a letter beyond ASCII.
        let launch = launch.env("PROTOMCP_NODE", deno()).env("XDG_CACHE_HOME", sandbox.path("caches é"));
        let output = launch.env("DENO_DIR", sandbox.path("deno")).command().output().expect("pmcp starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    for (configuration, source) in
        [("", "auto"), ("", "bundled"), (r#"{"fmt": {}}"#, "auto"), (r#"{"imports": {}}"#, "bundled")]
    {
        let (stdout, stderr) = call(configuration, source);
        assert_eq!(stdout, "5\n", "{configuration} --sdk {source}: {stderr}");
    }
    let (stdout, stderr) = call(r#"{"imports": {"zod": "npm:zod"}}"#, "auto");
    assert!(stdout.is_empty() && stderr.contains("the SDK of pmcp alone with --sdk bundled"), "{stderr}");
    assert!(stderr.contains("add \"protomcp\": \"file:///") && stderr.contains("/src/index.js\" to them"), "{stderr}");
}

/// `pmcp` with uv on its path, and an interpreter for it. uv uses no network.
fn with_uv(sandbox: &Sandbox, args: &[&str]) -> Launch {
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).expect("the sandbox can be written");
    let uv = peers().join("uv/bin/uv");
    assert!(uv.is_file(), "please run scripts/setup uv first");
    for (name, program) in [("uv", uv), ("python3", peers().join("uv/bin/python"))] {
        symlink(program.canonicalize().expect("it is there"), bin.join(name)).expect("the sandbox can be written");
    }
    let launch = sandbox.pmcp(args).without("PROTOMCP_PYTHON").env("PATH", bin).env("UV_OFFLINE", "1");
    launch.env("UV_PYTHON_DOWNLOADS", "never").env("UV_CACHE_DIR", sandbox.path("uv-cache"))
}

#[test]
fn uv_runs_files_that_name_their_packages() {
    for (metadata, end) in [
        ("# /// script\n# dependencies = []\n# ///\n", ""),
        ("# /// script\n# requires-python = \">=3.10\"\n# dependencies = []\n# ///\n", ""),
        ("# /// script\n# dependencies = []\n# ///\n", "\nimport protomcp\nprotomcp.run()\n"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("tools.py", format!("{metadata}{TOOLS}{end}"));
        let host = with_uv(&sandbox, &["run", "tools.py"]).start();
        host.initialize();
        assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5", "{metadata}{end}");
        let lines = fs::read_to_string(sandbox.path("starts")).expect("the file was started");
        assert_eq!(lines.lines().count(), 1, "{metadata}{end}");
        assert!(sandbox.path("uv-cache").is_dir(), "uv was used");
        host.hang_up();
        assert!(host.exit().success());
    }
}

#[test]
fn uv_without_the_python_that_a_file_requires_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", format!("# /// script\n# requires-python = \">=3.99\"\n# ///\n{TOOLS}"));
    let host = with_uv(&sandbox, &["run", "tools.py"]).start();
    assert_eq!(host.exit().code(), Some(1));
    assert!(host.stderr().contains(">=3.99"), "{}", host.stderr());
    assert!(!sandbox.path("starts").exists());
}

#[test]
fn uv_runs_files_of_a_project() {
    let sandbox = Sandbox::new();
    let project = "[project]\nname = \"tools\"\nversion = \"1\"\nrequires-python = \">=3.10\"\n";
    sandbox.write("pyproject.toml", project);
    sandbox.write("tools.py", TOOLS);
    let host = with_uv(&sandbox, &["run", "tools.py"]).start();
    host.initialize();
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    assert!(sandbox.path(".venv").is_dir(), "uv makes the environment of the project");
}
