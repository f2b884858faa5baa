//! A virtual environment next to the tool file that does not work: the program that ran in its place is named.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Output;

use protomcp_conformance::Sandbox;

const TOOL: &str = "from protomcp import tool

@tool('Says it.')
def say(text: str) -> str:
    return text
";

/// A tool file with an environment next to it that has no interpreter yet.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOL);
    fs::create_dir_all(sandbox.path(".venv/bin")).expect("the sandbox can be written");
    fs::write(sandbox.path(".venv/pyvenv.cfg"), "").expect("the sandbox can be written");
    sandbox
}

fn call(sandbox: &Sandbox) -> (Output, String) {
    let launch = sandbox.pmcp(&["call", "tools.py", "say", "text=hi", "--sdk", "bundled"]);
    let output = launch.without("PROTOMCP_PYTHON").without("VIRTUAL_ENV").command().output().expect("pmcp starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, stderr)
}

#[test]
fn a_broken_environment_is_named() {
    let sandbox = sandbox();
    symlink("/no/such/python", sandbox.path(".venv/bin/python")).expect("the sandbox can be written");
    let (output, stderr) = call(&sandbox);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains(".venv is not used, because its bin/python does not exist"), "{stderr}");
}

#[test]
fn an_environment_whose_python_fails_is_named() {
    let sandbox = sandbox();
    let python = sandbox.path(".venv/bin/python");
    fs::write(&python, "#!/bin/sh\nexit 3\n").expect("the sandbox can be written");
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (output, stderr) = call(&sandbox);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("exited with status 3") && stderr.contains(".venv/bin/python runs "), "{stderr}");
}
