//! The packages with `pmcp` in them. `scripts/soak packages` tries all of them as they are released.

use std::path::{Path, PathBuf};
use std::process::Command;

use protomcp_conformance::{Sandbox, codec_example, pmcp};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in a workspace").join("scripts").join(name)
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("the script starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn the_wheel_installs_the_program_and_the_sdk() {
    let sandbox = Sandbox::new();
    let built =
        run(Command::new(script("package")).arg("--to").arg(sandbox.path("")).arg("--binary").arg(pmcp()).arg("wheel"));
    assert!(built.contains("-py3-none-manylinux_2_"), "{built}");
    let checked = run(Command::new(script("check-packages")).arg(sandbox.path("")).arg("wheel"));
    assert_eq!(checked, "check-packages: wheel works\n");
}

/// The calls from which `scripts/profile-guided` has its profile, some of each kind, against the program of this build.
#[test]
fn the_calls_of_a_profile_are_answered() {
    let mut used = Command::new(script("profile-guided"));
    used.arg("--use").arg(pmcp()).arg("--tool").arg(codec_example("tool_peer")).args(["--calls", "64"]);
    let parts = ["stdio: 272", "http: 272", "gateway over http: 164", "gateway over proto-mcp: 200"];
    let expected: String = parts.iter().map(|part| format!("profile-guided: {part} calls\n")).collect();
    assert_eq!(run(&mut used), expected);
}
