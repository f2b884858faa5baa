//! Skills in folders that a tool file names with the SDKs of the project.

use std::fs;
use std::os::unix::fs::symlink;

use protomcp_conformance::{Host, Sandbox, Web};
use serde_json::{Value, json};

use super::{EXTENSION, has_changed_to, refused, skill, stateless, uris, write};

const PYTHON: &str = "
from protomcp import skills, tool
skills('skills')

@tool('Says hi.')
def hi() -> str:
    return 'hi'
";

const JAVASCRIPT: &str = r#"
import { skills, tool } from "protomcp";
skills("skills");
tool({ name: "hi", description: "Says hi.", handler: () => "hi" });
"#;

const REFUNDS: &str = "skill://acme/refunds/SKILL.md";

/// A sandbox with the skill `refunds`, and this file.
fn sandbox_with(file: &str, text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    skill(&sandbox, "acme/refunds", "Refund a customer.");
    sandbox.write(file, text);
    sandbox
}

fn listed(host: &Host) -> Value {
    host.ask("skills/list", &stateless(json!({})))["skills"].clone()
}

#[test]
fn the_first_request_for_skills_waits_for_the_file() {
    for (file, text) in [("tools.py", PYTHON), ("tools.mjs", JAVASCRIPT)] {
        let sandbox = sandbox_with(file, text);
        let host = sandbox.pmcp(&["run", file, "--sdk", "bundled"]).start();
        assert_eq!(uris(&listed(&host)), [REFUNDS], "{file}");
        let found = host.ask("server/discover", &stateless(json!({})));
        assert_eq!(found["capabilities"]["extensions"][EXTENSION], json!({"directoryRead": true}), "{file}");
        let read = host.ask("resources/read", &stateless(json!({"uri": REFUNDS})));
        assert!(read["contents"][0]["text"].as_str().is_some_and(|text| text.ends_with("Text.\n")), "{read}");
        host.stderr_with("serving 1 skill\n");
    }
}

#[test]
fn saves_of_a_skill_and_of_the_file_take_effect() {
    for (file, text, line) in
        [("tools.py", PYTHON, "skills('skills')"), ("tools.mjs", JAVASCRIPT, "skills(\"skills\");")]
    {
        let sandbox = sandbox_with(file, text);
        let host = sandbox.pmcp(&["dev", file, "--sdk", "bundled"]).start();
        host.initialize();
        assert_eq!(host.text("hi", &json!({})), "hi", "{file}");
        let place = host.now();
        skill(&sandbox, "new", "New.");
        has_changed_to(&host, place, &[REFUNDS, "skill://new/SKILL.md"]);
        let place = host.now();
        sandbox.write(file, text.replace(line, ""));
        has_changed_to(&host, place, &[]);
        let place = host.now();
        sandbox.write(file, text);
        has_changed_to(&host, place, &[REFUNDS, "skill://new/SKILL.md"]);
    }
}

#[test]
fn a_version_with_a_broken_folder_keeps_the_skills() {
    let sandbox = sandbox_with("tools.py", PYTHON);
    let host = sandbox.pmcp(&["dev", "tools.py", "--sdk", "bundled"]).start();
    host.initialize();
    assert_eq!(host.text("hi", &json!({})), "hi");
    let place = host.now();
    sandbox.write("tools.py", PYTHON.replace("skills('skills')", "skills('none')"));
    host.list_changed(place);
    let log = host.stderr_with("the skills were not reloaded, and the ones before are served: ");
    assert!(log.contains("none cannot be read"), "{log}");
    assert_eq!(uris(&listed(&host)), [REFUNDS]);
}

#[test]
fn the_first_version_must_have_skills_that_load() {
    for verb in ["run", "dev"] {
        let sandbox = sandbox_with("tools.py", PYTHON);
        write(&sandbox, "bad/SKILL.md", "no frontmatter");
        let host = sandbox.pmcp(&[verb, "tools.py", "--sdk", "bundled"]).start();
        assert_eq!(host.exit().code(), Some(2), "{verb}: {}", host.stderr());
        assert!(host.stderr().contains("bad/SKILL.md: the first line is not ---"), "{verb}: {}", host.stderr());
    }
}

#[test]
fn a_folder_is_relative_to_the_file_and_loaded_once() {
    let sandbox = sandbox_with("tools.py", "");
    fs::create_dir(sandbox.path("below")).expect("a folder");
    let text = PYTHON.replace("skills('skills')", "skills('skills')\nskills('../skills')\nskills('link')");
    fs::write(sandbox.path("below/tools.py"), text).expect("a file");
    fs::create_dir(sandbox.path("below/skills")).expect("a folder");
    symlink("../skills", sandbox.path("below/link")).expect("a link");
    skill(&sandbox, "other", "Something else.");
    fs::rename(sandbox.path("skills/other"), sandbox.path("below/skills/other")).expect("it moves");
    let words = ["run", "below/tools.py", "--sdk", "bundled", "--skills", "skills"];
    let host = sandbox.pmcp(&words).start();
    assert_eq!(uris(&listed(&host)), [REFUNDS, "skill://other/SKILL.md"]);
}

/// The text that a command prints.
fn printed(sandbox: &Sandbox, words: &[&str], code: i32) -> String {
    let output = refused(sandbox, words);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[test]
fn list_prints_the_skills_of_a_file_and_of_a_url() {
    let sandbox = sandbox_with("tools.py", PYTHON);
    let line = format!("refunds  {REFUNDS}  Refund a customer.\n");
    assert_eq!(printed(&sandbox, &["list", "--skills", "tools.py", "--sdk", "bundled"], 0), line);
    let json = printed(&sandbox, &["list", "tools.py", "--kind", "skills", "--json", "--sdk", "bundled"], 0);
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json[0]["frontmatter"], json!({"name": "refunds", "description": "Refund a customer."}));
    // The key of the settings names folders, and the flag of this command does not.
    sandbox.write("pmcp.toml", "skills = \"skills\"\n");
    assert_eq!(printed(&sandbox, &["list", "--skills", "tools.py", "--sdk", "bundled"], 0), line);
    let launch = sandbox.pmcp(&["run", "tools.py", "--sdk", "bundled", "--transport", "http", "--port", "0"]);
    let web = Web::launch(sandbox, launch);
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    assert_eq!(printed(web.sandbox(), &["list", "--skills", &url], 0), line);
}

#[test]
fn validate_has_findings_about_skills() {
    let sandbox = sandbox_with("tools.py", PYTHON);
    let words = ["validate", "tools.py", "--sdk", "bundled"];
    assert!(!printed(&sandbox, &words, 0).contains("skills"));
    symlink("/etc/passwd", sandbox.path("skills/acme/refunds/passwd")).expect("a link");
    let text = printed(&sandbox, &words, 0);
    assert!(text.contains("! — 1 finding about skills:\n  · not served: "), "{text}");
    assert!(text.contains("passwd\": it is a link; copy the file instead\n"), "{text}");
    write(&sandbox, "acme/refunds/SKILL.md", "---\nname: refunds\n---\n");
    let text = printed(&sandbox, &words, 1);
    assert!(text.contains("SKILL.md: the frontmatter has no field description with a text\n"), "{text}");
    let json = printed(&sandbox, &[&words[..], &["--format", "json"]].concat(), 1);
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["pass"], &json["skills"][0]["severity"]), (&json!(false), &json!("error")));
    fs::remove_dir_all(sandbox.path("skills/acme")).expect("it goes");
    let text = printed(&sandbox, &words, 0);
    assert!(text.contains("  · skills: no folder in it has a SKILL.md\n"), "{text}");
}
