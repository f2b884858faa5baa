//! `pmcp init`: each project that it writes runs immediately, with the SDK that `pmcp` lends or the one of the
//! workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use protomcp_conformance::{Host, Launch, Sandbox, init_example, peers, pmcp, root};
use serde_json::{Value, json};

fn run(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.pmcp(words).command().output().expect("pmcp starts")
}

/// Standard output of a command that succeeds.
fn ok(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = run(sandbox, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error of a command line that is refused.
fn refused(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = run(sandbox, words);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
    stderr
}

/// A Node that reads TypeScript.
fn new_node() -> PathBuf {
    peers().join("suite/node_modules/.bin/node").canonicalize().expect("please run scripts/setup suite first")
}

/// Calls the tools of a project.
fn use_tools(host: &Host, language: &str) {
    host.initialize();
    assert_eq!(host.names(), ["add", "greet"], "{language}");
    assert_eq!(host.tool("add")["description"], "Adds two numbers.", "{language}");
    assert_eq!(host.tool("add")["annotations"]["readOnlyHint"], true, "{language}");
    assert_eq!(host.text("add", &json!({"a": 2, "b": 3})), "5", "{language}");
    assert_eq!(host.text("greet", &json!({"name": "Ann", "times": 2})), "Hello, Ann! Hello, Ann!", "{language}");
    let wrong = host.call("greet", &json!({"name": "Ann", "times": 9}));
    assert_eq!(wrong["isError"], true, "{language}: {wrong}");
}

#[test]
fn a_new_project_runs_immediately() {
    let node = new_node();
    for (language, file, others) in [
        ("python", "tools.py", "tests/tools.yaml, .gitignore, README.md"),
        ("javascript", "tools.js", "package.json, tests/tools.yaml, .gitignore, README.md"),
        ("typescript", "tools.ts", "package.json, tests/tools.yaml, .gitignore, README.md"),
    ] {
        let sandbox = Sandbox::new();
        let written = ok(&sandbox, &["init", "my-tools", "--lang", language]);
        assert!(written.starts_with(&format!("Written: {file}, {others} in my-tools\n")), "{written}");
        assert_eq!(written.contains("npm install --save-dev tsx"), language == "typescript", "{written}");
        let file = format!("my-tools/{file}");
        for line in [
            "pmcp list FILE\n",
            "pmcp call FILE greet name=Ann\n",
            "pmcp test FILE run my-tools/tests/tools.yaml\n",
            "pmcp install FILE --client claude-code\n",
        ] {
            assert!(written.contains(&line.replace("FILE", &file)), "{line}: {written}");
        }
        // The Python of the tests has the published SDK.
        let launch = sandbox.pmcp(&["dev", &file, "--sdk", "bundled"]).env("PROTOMCP_NODE", &node);
        use_tools(&launch.start(), language);
        let words = ["test", &file, "run", "my-tools/tests/tools.yaml", "--sdk", "bundled"];
        passes_its_test(sandbox.pmcp(&words), &node);
        let readme = fs::read_to_string(sandbox.path("my-tools/README.md")).expect("it is written");
        assert_eq!(readme.lines().count(), 13, "{readme}");
        let page = readme.lines().last().and_then(|url| url.split_once("/main/")).expect("it ends with an address").1;
        assert!(root().join(page).is_file(), "{page}");
    }
}

/// Runs the test of a project.
fn passes_its_test(test: Launch, node: &Path) {
    let output = test.env("PROTOMCP_NODE", node).command().output().expect("pmcp starts");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && text.ends_with("1 of 1 scenarios passed, 3 of 3 steps\n"), "{text}");
}

#[test]
fn a_new_project_in_rust_is_one_of_the_sdk() {
    let sandbox = Sandbox::new();
    let checkout = root().display().to_string();
    let written = ok(&sandbox, &["init", "--lang", "rust", "--checkout", &checkout]);
    let files = "Written: src/main.rs, Cargo.toml, tests/tools.yaml, .gitignore, README.md\n";
    assert!(written.starts_with(files), "{written}");
    assert!(written.contains("pmcp list .\n"), "{written}");
    let main = fs::read_to_string(sandbox.path("src/main.rs")).expect("it is written");
    assert_eq!(main, include_str!("../../cli/templates/rust/src/main.rs"));
    // The dependencies are the example's, with which the same program is compiled here.
    fs::copy(root().join("Cargo.lock"), sandbox.path("Cargo.lock")).expect("the sandbox can be written");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    // A fresh machine has no packages of other platforms.
    metadata.args(["metadata", "--offline", "--format-version", "1", "--filter-platform", &platform()]);
    metadata.current_dir(sandbox.path(""));
    let output = metadata.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("it has packages");
    let project = packages.iter().find(|package| package["name"] == "tools").expect("it is one of them");
    let names: Vec<_> = project["dependencies"].as_array().into_iter().flatten().map(|used| &used["name"]).collect();
    assert_eq!(names, ["protomcp-sdk", "protomcp-typed", "schemars", "serde", "tokio"]);
    symlink(init_example(), sandbox.path("tools")).expect("the sandbox can be written");
    use_tools(&sandbox.pmcp(&["dev", "tools"]).start(), "rust");
    passes_its_test(sandbox.pmcp(&["test", "tools", "run", "tests/tools.yaml"]), &new_node());
}

/// The platform of this machine, as cargo names it.
fn platform() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--version", "--verbose"]).output().expect("rustc starts");
    let version = String::from_utf8(output.stdout).expect("it is text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("rustc names its host").to_owned()
}

#[test]
fn without_a_checkout_a_project_names_the_release() {
    let sandbox = Sandbox::new();
    let written = ok(&sandbox, &["init", "a b", "--lang", "rust"]);
    assert!(written.contains("--checkout DIR"), "{written}");
    let manifest = fs::read_to_string(sandbox.path("a b/Cargo.toml")).expect("it is written");
    let release = concat!("\nprotomcp-sdk = \"", env!("CARGO_PKG_VERSION"), "\"\n");
    assert!(manifest.contains(release), "{manifest}");
}

#[test]
fn files_that_are_there_keep_their_text() {
    let sandbox = Sandbox::new();
    sandbox.write("README.md", "mine");
    let taken = refused(&sandbox, &["init"]);
    assert!(taken.contains("README.md is there already, and nothing was written"), "{taken}");
    assert!(taken.contains("pmcp init DIRECTORY"), "{taken}");
    assert_eq!(fs::read_to_string(sandbox.path("README.md")).expect("it is there"), "mine");
    assert!(!sandbox.path("tools.py").exists());
    let half = Sandbox::new();
    half.write("tests", "a file");
    let taken = refused(&half, &["init"]);
    assert!(taken.contains("tests cannot be a folder, and nothing was written"), "{taken}");
    assert!(!half.path("tools.py").exists());
    let other = Sandbox::new();
    other.write(".gitignore", "mine");
    assert!(ok(&other, &["init"]).starts_with("Written: tools.py, tests/tools.yaml, README.md\n"));
    assert_eq!(fs::read_to_string(other.path(".gitignore")).expect("it is there"), "mine");
    let unknown = refused(&sandbox, &["init", "new", "--lang", "pyton"]);
    assert!(unknown.contains("must be one of python, rust, javascript, typescript"), "{unknown}");
    let elsewhere = refused(&sandbox, &["init", "new", "--checkout", "."]);
    assert!(elsewhere.contains("--checkout is for projects in Rust"), "{elsewhere}");
    let nothing = refused(&sandbox, &["init", "new", "--lang", "rust", "--checkout", "."]);
    assert!(nothing.contains("invalid --checkout: there is no crate in ./crates/sdk"), "{nothing}");
    assert!(!sandbox.path("new").exists());
}

#[test]
fn a_project_is_written_whole_or_left_out() {
    let sandbox = Sandbox::new();
    // Files may have 512 bytes (POSIX, ulimit), which is less than README.md, the last one.
    let limited = "trap '' XFSZ; ulimit -f 1; exec \"$0\" init";
    let output = sandbox.pmcp(&["-c", limited]).program("sh").arg(pmcp()).command().output().expect("sh starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cannot write ./README.md, and nothing was written: "), "{stderr}");
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(!sandbox.path("tools.py").exists() && !sandbox.path("README.md").exists());
    // The next attempt finds nothing in its way.
    assert!(ok(&sandbox, &["init"]).starts_with("Written: tools.py, "));
}

#[test]
fn paths_are_printed_as_words_of_a_shell() {
    let sandbox = Sandbox::new();
    let written = ok(&sandbox, &["init", "Ann's tools"]);
    assert!(written.contains(r"pmcp list 'Ann'\''s tools/tools.py'"), "{written}");
}
