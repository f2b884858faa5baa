//! `--skills`: skills in folders, served in addition to the tools of a file (SEP-2640).

mod named;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Output;

use protomcp_conformance::{Host, Launch, Sandbox, eventually, pmcp, sdk_example};
use rustix::process::{Signal, geteuid};
use serde_json::{Value, json};

const EXTENSION: &str = "io.modelcontextprotocol/skills";
const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";

/// A sandbox with a tool file and the skill `refunds`.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.copy("py/basics.py");
    skill(&sandbox, "acme/refunds", "Refund a customer.");
    write(&sandbox, "acme/refunds/templates/mail.md", "Dear customer");
    sandbox
}

/// Writes a file below `skills`.
fn write(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.path("skills").join(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders");
    fs::write(path, text).expect("a file");
}

fn skill(sandbox: &Sandbox, folder: &str, description: &str) {
    let name = folder.rsplit('/').next().expect("a name");
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nText.\n");
    write(sandbox, &format!("{folder}/SKILL.md"), &text);
}

/// The parameters of a request of 2026-07-28.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// The URIs in an array of objects.
fn uris(array: &Value) -> Vec<&str> {
    array.as_array().expect("an array").iter().map(|value| value["uri"].as_str().expect("a URI")).collect()
}

/// The output of `pmcp run` that ends by itself.
fn refused(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.pmcp(words).command().output().expect("it runs")
}

#[test]
fn a_client_without_sessions_lists_gets_and_reads_skills() {
    let sandbox = sandbox();
    let host = sandbox.pmcp(&["run", "basics.py", "--skills", "skills"]).start();
    let ask = |method: &str, params: Value| host.ask(method, &stateless(params));
    let capabilities = ask("server/discover", json!({}))["capabilities"].clone();
    assert_eq!(capabilities["extensions"][EXTENSION], json!({"directoryRead": true}));
    assert!(capabilities["resources"].is_object(), "{capabilities}");
    let list = ask("skills/list", json!({}));
    let uri = "skill://acme/refunds/SKILL.md";
    assert_eq!(uris(&list["skills"]), [uri]);
    assert_eq!((&list["resultType"], list["ttlMs"].is_u64()), (&json!("complete"), true));
    let skill = ask("skills/get", json!({"uri": uri}))["skill"].clone();
    assert_eq!(skill, list["skills"][0]);
    assert_eq!(skill["frontmatter"], json!({"name": "refunds", "description": "Refund a customer."}));
    assert_eq!(uris(&skill["resources"]), [uri, "skill://acme/refunds/templates/mail.md"]);
    for file in skill["resources"].as_array().expect("files") {
        let contents = ask("resources/read", json!({"uri": file["uri"]}))["contents"][0].clone();
        let text = contents["text"].as_str().expect("it is text");
        assert_eq!(file["size"], text.len());
    }
    let folder = ask("resources/directory/read", json!({"uri": "skill://acme/refunds"}));
    assert_eq!(uris(&folder["resources"]), [uri, "skill://acme/refunds/templates"]);
    for (method, uri) in [("skills/get", "skill://other/SKILL.md"), ("resources/read", "skill://acme/../basics.py")] {
        assert_eq!(host.refused(method, &stateless(json!({"uri": uri})))["code"], -32602, "{method}");
    }
}

#[test]
fn a_client_with_a_session_reads_skills_as_resources() {
    let sandbox = sandbox();
    let host = sandbox.pmcp(&["run", "basics.py", "--skills", "skills"]).start();
    let found = host.initialize();
    assert_eq!(found["capabilities"]["extensions"], Value::Null, "{found}");
    let listed = host.ask("resources/list", &json!({}));
    let expected = json!({
        "uri": "skill://acme/refunds/SKILL.md", "name": "refunds", "description": "Refund a customer.",
        "mimeType": "text/markdown", "size": 60,
    });
    assert_eq!(listed["resources"], json!([expected]));
    let read = host.ask("resources/read", &json!({"uri": "skill://acme/refunds/templates/mail.md"}));
    assert_eq!(read["contents"][0]["text"], "Dear customer");
    assert_eq!(host.text("echo", &json!({"text": "x"})), "x");
}

#[test]
fn several_folders_and_a_folder_that_is_a_skill_are_served() {
    let sandbox = sandbox();
    fs::create_dir(sandbox.path("more")).expect("a folder");
    fs::rename(sandbox.path("skills/acme/refunds"), sandbox.path("more/refunds")).expect("it moves");
    skill(&sandbox, "other", "Something else.");
    let host = sandbox.pmcp(&["run", "basics.py", "--skills", "skills", "--skills", "more/refunds"]).start();
    let list = host.ask("skills/list", &stateless(json!({})));
    assert_eq!(uris(&list["skills"]), ["skill://other/SKILL.md", "skill://refunds/SKILL.md"]);
}

/// Waits for the notification that the list of resources has changed, and until it has these URIs.
fn has_changed_to(host: &Host, place: usize, expected: &[&str]) {
    host.notified(RESOURCES_CHANGED, place);
    eventually("the list of resources", || {
        let listed = host.ask("resources/list", &json!({}));
        (uris(&listed["resources"]) == expected).then_some(())
    });
}

#[test]
fn dev_serves_a_saved_skill_and_keeps_it_from_a_broken_save() {
    let sandbox = sandbox();
    let host = sandbox.pmcp(&["dev", "basics.py", "--skills", "skills"]).start();
    host.initialize();
    let place = host.now();
    skill(&sandbox, "new", "New.");
    has_changed_to(&host, place, &["skill://acme/refunds/SKILL.md", "skill://new/SKILL.md"]);
    write(&sandbox, "new/SKILL.md", "no frontmatter");
    let log = host.stderr_with("the skills were not reloaded, and the ones before are served: ");
    assert!(log.contains("SKILL.md: the first line is not ---, which begins a frontmatter"), "{log}");
    let read = host.ask("resources/read", &json!({"uri": "skill://new/SKILL.md"}));
    assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.ends_with("Text.\n")), "{read}");
    let place = host.now();
    fs::remove_dir_all(sandbox.path("skills/new")).expect("it goes");
    has_changed_to(&host, place, &["skill://acme/refunds/SKILL.md"]);
}

#[test]
fn run_loads_skills_again_on_a_signal() {
    let sandbox = sandbox();
    let host = sandbox.pmcp(&["run", "basics.py", "--skills", "skills"]).start();
    host.initialize();
    skill(&sandbox, "new", "New.");
    let place = host.now();
    host.signal(Signal::HUP);
    has_changed_to(&host, place, &["skill://acme/refunds/SKILL.md", "skill://new/SKILL.md"]);
}

#[test]
fn skills_that_cannot_be_loaded_are_a_usage_error() {
    let sandbox = sandbox();
    write(&sandbox, "bad/SKILL.md", "---\nname: good\ndescription: d\n---\n");
    for (words, reason) in [
        (&["run", "basics.py", "--skills", "skills"][..], "has the name \"good\": name the folder and the skill alike"),
        (&["run", "basics.py", "--skills", "none"], "invalid --skills \"none\": it is not a directory"),
        (&["run", "--skills", "skills", "--", "server"], "--skills is for tool files"),
    ] {
        let output = refused(&sandbox, words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains(reason), "{words:?}: {stderr}");
    }
}

#[test]
fn a_link_in_a_skill_is_left_out_with_a_warning() {
    let sandbox = sandbox();
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path("skills/acme/refunds/passwd")).expect("a link");
    let host = sandbox.pmcp(&["run", "basics.py", "--skills", "skills"]).start();
    host.initialize();
    host.stderr_with("not served as part of a skill: ");
    let error = host.refused("resources/read", &json!({"uri": "skill://acme/refunds/passwd"}));
    assert_eq!(error["code"], -32002, "{error}");
}

/// A user without rights and without files.
const STRANGER: u32 = 65534;

/// `pmcp` as a user whom the permissions of files bind: root reads everything.
fn bound_by_permissions(sandbox: &Sandbox, words: &[&str]) -> Launch {
    let launch = sandbox.pmcp(words).env("HOME", sandbox.path("")).without("XDG_CONFIG_HOME");
    if !geteuid().is_root() {
        return launch;
    }
    // The program may be in a folder that only root may enter, and so is the sandbox.
    let program = sandbox.path("pmcp");
    fs::hard_link(pmcp(), &program).or_else(|_| fs::copy(pmcp(), &program).map(drop)).expect("the program is copied");
    let (runtime, work) = (sandbox.runtime(), sandbox.path(""));
    let whole = runtime.parent().expect("it is a part of the sandbox");
    for folder in [whole, work.as_path()] {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("it is ours");
    }
    chown(&runtime, Some(STRANGER), Some(STRANGER)).expect("root may do that");
    launch.program(program).user(STRANGER)
}

#[test]
fn an_unreadable_file_outside_of_skills_is_left_out() {
    let sandbox = Sandbox::new();
    skill(&sandbox, "refunds", "Refund a customer.");
    write(&sandbox, "private.md", "not for everyone");
    fs::set_permissions(sandbox.path("skills/private.md"), Permissions::from_mode(0o0)).expect("it is ours");
    // An interpreter may be in a folder that only root may enter.
    let tool = sandbox.write("tool", "#!/bin/sh\nexec sleep 600\n");
    fs::set_permissions(tool, Permissions::from_mode(0o755)).expect("it is ours");
    let host = bound_by_permissions(&sandbox, &["run", "tool", "--skills", "skills"]).start();
    let log = host.stderr_with("serving 1 skill\n");
    assert!(
        log.contains("not served as part of a skill: ") && log.contains("private.md\": it may not be read"),
        "{log}"
    );
}

#[test]
fn the_skills_of_the_example_come_with_its_tools() {
    let sandbox = Sandbox::new();
    let host = sandbox.pmcp(&["run"]).arg(sdk_example("refunds")).start();
    host.initialize();
    assert_eq!(host.text("find", &json!({"number": 7})), "order 7: two teapots, 12 days ago");
    let read = host.ask("resources/read", &json!({"uri": "skill://refunds/SKILL.md"}));
    assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.contains("Find the order")), "{read}");
}
