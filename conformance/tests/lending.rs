//! A tool file and an interpreter are enough: `pmcp` lends its SDK to files that have none.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use protomcp_conformance::{Launch, Sandbox, peers};
use serde_json::json;

const PYTHON: &str = r#"
import protomcp
from protomcp import tool

@tool("Adds two numbers.")
def add(a: int, b: int) -> int:
    return a + b

@tool("The SDK.")
def sdk() -> str:
    return protomcp.__file__
"#;

const JAVASCRIPT: &str = r#"
import { createRequire } from "node:module";
import { tool } from "protomcp";

const number = { type: "number" };
const input = { type: "object", properties: { a: number, b: number } };
export const add = tool({ input, handler: ({ a, b }) => String(a + b) });
export const sdk = tool({ handler: () => createRequire(import.meta.url).resolve("protomcp") });
"#;

const COMMON_JS: &str = r#"
const { tool } = require("protomcp");
import("protomcp").then((module) => { if (module.tool !== tool) throw new Error("there are two SDKs"); });

tool({ name: "add", handler: ({ a, b }) => String(a + b), input: { type: "object" } });
tool({ name: "sdk", handler: () => require.resolve("protomcp") });
"#;

const TYPESCRIPT: &str = r#"
import { createRequire } from "node:module";
import { tool, type ToolContext } from "protomcp";

type Numbers = { a: number; b: number };
const add = (numbers: Numbers): string => String(numbers.a + numbers.b);
tool({ name: "add", handler: add, input: { type: "object" } });
tool({ name: "sdk", handler: (): string => createRequire(import.meta.url).resolve("protomcp") });
"#;

/// The interpreter that the environments of the tests were made with, which has no packages.
fn python() -> PathBuf {
    let words = ["-c", "import sys; print(sys._base_executable)"];
    let output = Command::new(peers().join("py/bin/python")).args(words).output().expect("python starts");
    String::from_utf8(output.stdout).expect("a path is UTF-8").trim().into()
}

fn node() -> PathBuf {
    let output = Command::new("node").args(["-p", "process.execPath"]).output().expect("node starts");
    String::from_utf8(output.stdout).expect("a path is UTF-8").trim().into()
}

/// A Node that reads TypeScript.
fn new_node() -> PathBuf {
    peers().join("suite/node_modules/.bin/node").canonicalize().expect("please run scripts/setup suite first")
}

/// A machine with one interpreter on its path, and no packages.
fn machine(name: &str, interpreter: &Path) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("bin")).expect("the sandbox can be written");
    symlink(interpreter, sandbox.path("bin").join(name)).expect("the sandbox can be written");
    sandbox
}

/// `pmcp` on that machine.
fn pmcp(sandbox: &Sandbox, args: &[&str]) -> Launch {
    let launch = sandbox.pmcp(args).without("PROTOMCP_PYTHON").without("PROTOMCP_NODE").without("PYTHONPATH");
    launch.without("NODE_OPTIONS").env("PATH", sandbox.path("bin")).env("HOME", sandbox.path(""))
}

#[test]
fn a_file_and_an_interpreter_are_enough() {
    for (name, interpreter, file, text) in [
        ("python3", python(), "tools.py", PYTHON),
        ("node", node(), "tools.mjs", JAVASCRIPT),
        ("node", node(), "tools.js", COMMON_JS),
        ("node", new_node(), "tools.js", JAVASCRIPT),
        ("node", new_node(), "tools.cjs", COMMON_JS),
        ("node", new_node(), "tools.ts", TYPESCRIPT),
    ] {
        let sandbox = machine(name, &interpreter);
        sandbox.write(file, text);
        let caches = sandbox.path("caches with blanks");
        let host = pmcp(&sandbox, &["dev", file]).env("XDG_CACHE_HOME", &caches).start();
        host.initialize();
        assert_eq!(host.names(), ["add", "sdk"], "{file}");
        assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5", "{file}");
        let sdk = host.text("sdk", &json!({}));
        assert!(Path::new(&sdk).starts_with(&caches), "{file}: {sdk}");
        sandbox.write(file, text.replace("add", "sum"));
        host.until_names(&["sdk", "sum"]);
        host.hang_up();
        assert_eq!(host.exit().code(), Some(0), "{file}");
    }
}

#[test]
fn an_installed_sdk_is_used_instead() {
    let sandbox = machine("node", &node());
    sandbox.write("tools.py", PYTHON);
    sandbox.write("tools.mjs", JAVASCRIPT);
    let python = peers().join("py/bin/python");
    let modules = sandbox.path("node_modules");
    fs::create_dir(&modules).expect("the sandbox can be written");
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sdk/typescript").canonicalize().expect("the SDK is there");
    symlink(&sdk, modules.join("protomcp")).expect("the sandbox can be written");
    for (file, installed) in [("tools.py", peers().join("py")), ("tools.mjs", sdk)] {
        for (source, is_installed) in [("auto", true), ("installed", true), ("bundled", false)] {
            let launch = pmcp(&sandbox, &["call", file, "sdk", "--sdk", source]).env("PROTOMCP_PYTHON", &python);
            let output = launch.command().output().expect("pmcp starts");
            let used = String::from_utf8_lossy(&output.stdout).into_owned();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{file} --sdk {source}: {stderr}");
            let is_used = Path::new(&used).starts_with(installed.canonicalize().expect("it is there"))
                || Path::new(&used).starts_with(&installed);
            assert_eq!(is_used, is_installed, "{file} --sdk {source}: {used}");
            assert_eq!(used.contains("test-caches"), !is_installed, "{file} --sdk {source}: {used}");
        }
    }
}

#[test]
fn the_log_has_the_sdk_that_serves_the_file() {
    let sandbox = machine("node", &node());
    sandbox.write("tools.py", PYTHON);
    sandbox.write("tools.mjs", JAVASCRIPT);
    let published = peers().join("py/bin/python");
    let (lent, installed) =
        ("the SDK of the tool file is the one that pmcp lends", "the SDK of the tool file is installed");
    for (file, interpreter, source, expected) in [
        ("tools.py", python(), "auto", lent),
        ("tools.py", published.clone(), "auto", installed),
        ("tools.py", published.clone(), "bundled", lent),
        ("tools.py", published, "installed", installed),
        ("tools.mjs", python(), "auto", lent),
        ("tools.mjs", python(), "bundled", lent),
    ] {
        let launch = pmcp(&sandbox, &["dev", file, "--sdk", source]).env("PROTOMCP_PYTHON", &interpreter);
        let host = launch.start();
        host.initialize();
        let stderr = host.stderr_with("the SDK of the tool file");
        assert!(stderr.contains(expected), "{file} --sdk {source}: {stderr}");
        // It is said again only if it changes.
        sandbox.write(file, if file == "tools.py" { PYTHON } else { JAVASCRIPT });
        let stderr = host.stderr_with("reloaded");
        assert_eq!(stderr.matches("the SDK of the tool file").count(), 1, "{file} --sdk {source}: {stderr}");
    }
}

#[test]
fn a_file_without_an_sdk_is_told_the_way_to_one() {
    let in_proc = ("XDG_CACHE_HOME", "/proc");
    for (name, interpreter, file, text, args, env, expected) in [
        ("python3", python(), "tools.py", PYTHON, &["--sdk", "installed"][..], None, "with --sdk auto"),
        ("node", node(), "tools.mjs", JAVASCRIPT, &["--sdk", "installed"], None, "with --sdk auto"),
        ("node", node(), "tools.cjs", COMMON_JS, &["--sdk", "installed"], None, "with --sdk auto"),
        (
            "python3",
            python(),
            "tools.py",
            PYTHON,
            &[],
            Some(in_proc),
            "set XDG_CACHE_HOME to a folder that can be written",
        ),
        (
            "node",
            node(),
            "tools.mjs",
            JAVASCRIPT,
            &[],
            Some(in_proc),
            "set XDG_CACHE_HOME to a folder that can be written",
        ),
        ("node", node(), "tools.ts", TYPESCRIPT, &[], None, "use Node 22.18 or later"),
    ] {
        let sandbox = machine(name, &interpreter);
        sandbox.write(file, text);
        let mut launch = pmcp(&sandbox, &[&["run", file], args].concat());
        if let Some((name, value)) = env {
            launch = launch.env(name, value);
        }
        let host = launch.start();
        assert!(host.exit().code().is_some_and(|code| code != 0), "{file} {args:?}");
        let stderr = host.stderr();
        assert!(stderr.contains(expected), "{file} {args:?}: {stderr}");
        assert_eq!(stderr.contains("--sdk auto"), args.contains(&"installed"), "{file} {args:?}: {stderr}");
    }
}

#[test]
fn a_module_that_is_not_the_sdk_of_the_file_is_named() {
    let newer = "from protomcp import AsyncContext, tool\n";
    let concurrent = PYTHON.replace("@tool(", "@tool(concurrent=True, description=");
    for (file, text, module, expected) in [
        ("tools.py", newer, None, "with --sdk bundled it runs with the SDK of pmcp"),
        ("tools.py", &concurrent, None, "with --sdk bundled it runs with the SDK of pmcp"),
        ("tools.py", PYTHON, Some("protomcp.py"), "a file protomcp.py hides the SDK"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(file, text);
        if let Some(name) = module {
            sandbox.write(name, "");
        }
        // The Python of the sandbox has the published SDK.
        let output = sandbox.pmcp(&["call", file, "add", "a=2", "b=3"]).command().output().expect("pmcp starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{module:?}: {stderr}");
    }
}

#[test]
fn an_isolated_python_is_told_the_flags_to_use() {
    let sandbox = machine("python3", &python());
    sandbox.write("tools.py", PYTHON);
    let call = |flags: &str| {
        let script = format!("#!/bin/sh\nexec \"{}\" {flags} \"$@\"\n", sandbox.path("bin/python3").display());
        let wrapper = sandbox.write("python", script);
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("it is our file");
        let launch = pmcp(&sandbox, &["call", "tools.py", "add", "a=2", "b=3"]).env("PROTOMCP_PYTHON", &wrapper);
        let output = launch.command().output().expect("pmcp starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&output.stdout), text(&output.stderr))
    };
    for flags in ["-I", "-E"] {
        let (stdout, stderr) = call(flags);
        assert!(stdout.is_empty() && stderr.contains("start it with -s -P in place of -I"), "{flags}: {stderr}");
    }
    for flags in ["-s", "-B", "-X utf8"] {
        let (stdout, stderr) = call(flags);
        assert_eq!(stdout, "5\n", "{flags}: {stderr}");
    }
}

/// The program on the path of these tests.
fn found(program: &str) -> PathBuf {
    let path = env::var_os("PATH").expect("there is a path");
    let mut all = env::split_paths(&path).map(|folder| folder.join(program));
    all.find(|program| program.is_file()).unwrap_or_else(|| panic!("{program} is not on the path"))
}

#[test]
fn nothing_is_downloaded_to_read_typescript() {
    let sandbox = machine("node", &node());
    symlink(found("npx"), sandbox.path("bin/npx")).expect("the sandbox can be written");
    for file in ["tools.ts", "tools.tsx"] {
        sandbox.write(file, TYPESCRIPT);
        // With the packages of this user it could be there already.
        let host = pmcp(&sandbox, &["run", file]).env("npm_config_cache", sandbox.path("npm")).start();
        assert!(host.exit().code().is_some_and(|code| code != 0), "{file}");
        let stderr = host.stderr();
        let ways = ["npm install tsx", "use Node 22.18 or later"];
        assert!(ways.iter().all(|way| stderr.contains(way)), "{file}: {stderr}");
        assert!(!sandbox.path("npm/_npx").exists(), "{file}: {stderr}");
    }
}

#[test]
fn an_installed_sdk_needs_no_folder_for_caches() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", PYTHON);
    let call = |source| {
        let launch = sandbox.pmcp(&["call", "tools.py", "add", "a=2", "b=3", "--sdk", source]);
        launch.env("XDG_CACHE_HOME", "/proc").command().output().expect("pmcp starts")
    };
    assert_eq!(String::from_utf8_lossy(&call("auto").stdout), "5\n");
    let refused = call("bundled");
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("/proc/protomcp") && stderr.contains("XDG_CACHE_HOME"), "{stderr}");
}

#[test]
fn the_lent_sdk_is_compiled_once() {
    let sandbox = machine("python3", &python());
    sandbox.write("words.py", "");
    sandbox.write("tools.py", format!("import words\n{PYTHON}"));
    let launch = pmcp(&sandbox, &["call", "tools.py", "sdk"]).env("XDG_CACHE_HOME", sandbox.path("caches"));
    // Images of containers often set this variable.
    let output = launch.env("PYTHONDONTWRITEBYTECODE", "1").command().output().expect("pmcp starts");
    let sdk = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let compiled = Path::new(&sdk).with_file_name("__pycache__");
    assert!(fs::read_dir(&compiled).is_ok_and(|files| files.count() > 10), "{}", compiled.display());
    assert!(!sandbox.path("__pycache__").exists(), "the variable counts for the files of the user");
}

#[test]
fn files_that_start_together_share_the_sdk() {
    let shared = Sandbox::new();
    let caches = shared.path("caches");
    let start = || {
        let sandbox = machine("python3", &python());
        sandbox.write("tools.py", PYTHON);
        pmcp(&sandbox, &["run", "tools.py"]).env("XDG_CACHE_HOME", &caches).start()
    };
    let hosts = [start(), start(), start(), start()];
    for host in hosts {
        host.initialize();
        assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5");
    }
    assert_eq!(fs::read_dir(caches.join("protomcp/sdk")).expect("it was made").count(), 1);
}
