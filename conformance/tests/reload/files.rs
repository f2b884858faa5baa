//! Saved tool files, and the processes that run them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use protomcp_conformance::{Host, Sandbox, Scene, living, tool};
pub(crate) fn end(host: &Host) {
    host.hang_up();
    assert_eq!(host.exit().code(), Some(0));
}

/// A tool file with one tool, which answers with its own name.
pub(crate) fn python(name: &str, head: &str) -> String {
    format!(
        "from protomcp import tool\nfrom protomcp.runner import run\n{head}\n@tool(\"A tool.\")\ndef {name}() -> str:\n    \
         return \"{name}\"\n\nif __name__ == \"__main__\":\n    run()\n"
    )
}

/// Rewrites a versioned fixture with another version.
pub(crate) fn save(sandbox: &Sandbox, file: &str, version: &str) {
    let text = fs::read_to_string(sandbox.path(file)).expect("the file is there");
    let (head, rest) = text.split_once("VERSION = \"v").expect("it names its version");
    let (_, tail) = rest.split_once('"').expect("a string ends");
    sandbox.write(file, format!("{head}VERSION = \"{version}\"{tail}"));
}

/// Saves the relay's file without changing it.
pub(crate) fn touch(sandbox: &Sandbox) {
    let script = fs::read(sandbox.path("relay")).expect("the script is there");
    let draft = sandbox.path(".draft");
    fs::write(&draft, script).expect("the sandbox can be written");
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)).expect("it is our file");
    fs::rename(draft, sandbox.path("relay")).expect("the sandbox can be written");
}

pub(crate) fn work_log(sandbox: &Sandbox) -> Vec<String> {
    fs::read_to_string(sandbox.path("work.log")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The number of live Python tool processes.
pub(crate) fn processes(sandbox: &Sandbox) -> usize {
    let python = protomcp_conformance::peers().join("py/bin/python");
    let python = python.to_string_lossy().into_owned();
    living(sandbox.marker()).iter().filter(|process| process.command.starts_with(&python)).count()
}

/// Saves, has the next process register, and returns the time of the notification.
pub(crate) fn replace(scene: &mut Scene) -> Instant {
    let place = scene.host.now();
    touch(&scene.sandbox);
    let mut next = scene.stage.accept();
    next.handshake(vec![tool("slow")]);
    let told = || scene.host.notifications("notifications/tools/list_changed", place).first().map(|message| message.at);
    next.settle(|| told().is_some());
    let told = told().expect("it has settled");
    scene.peer.until_closed();
    scene.peer = next;
    told
}
