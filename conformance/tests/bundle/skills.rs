//! The skills that `pmcp.toml` and the tool file name are in the bundle, where its server finds them.

use std::fs;
use std::os::unix::fs::symlink;

use protomcp_conformance::Sandbox;
use serde_json::json;

use crate::bundle::{bundle, project, put_pmcp_into, run, start, unpack};

const SKILL: &str = "---\nname: refunds\ndescription: Refund a customer.\n---\nText.\n";

fn write(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.path(name);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the sandbox can be written");
    fs::write(path, text).expect("the sandbox can be written");
}

#[test]
fn the_skills_of_a_bundle_are_served() {
    let sandbox = project();
    write(&sandbox, "tools/skills/acme/refunds/SKILL.md", SKILL);
    write(&sandbox, "tools/skills/acme/refunds/mail.md", "Dear customer");
    write(&sandbox, "tools/skills/acme/refunds/.draft", "not served");
    symlink("mail.md", sandbox.path("tools/skills/acme/refunds/letter.md")).expect("a link can be made");
    write(&sandbox, "tools/pmcp.toml", "sdk = \"bundled\"\n[run]\nskills = [\"skills/acme\"]\n");
    bundle(&sandbox, &[]);
    let files = unpack(&sandbox, "greet.mcpb", "unpacked");
    let of_skill: Vec<_> = files.lines().filter(|name| name.contains("/skills/")).collect();
    let place = "server/tools/skills/acme/refunds";
    let expected = ["SKILL.md", "letter.md", "mail.md"].map(|name| format!("{place}/{name}"));
    assert_eq!(of_skill, expected);
    let folder = sandbox.path("unpacked");
    put_pmcp_into(&folder);
    let host = start(&sandbox, &folder);
    let list = host.ask("skills/list", &json!({}));
    assert_eq!(list["skills"][0]["uri"], "skill://refunds/SKILL.md", "{list}");
    let read = host.ask("resources/read", &json!({"uri": "skill://refunds/letter.md"}));
    assert_eq!(read["contents"][0]["text"], "Dear customer");
}

/// A tool file that names folders of skills by a relative path and by paths below its folder.
const NAMES: &str = "\
from pathlib import Path
from protomcp import skills, tool

skills(\"skills\")
skills(Path(__file__).parent / \"more\" / \"skills\")
skills(Path(__file__).resolve().parent / \"real\")

@tool(\"Greets.\")
def greet() -> str:
    return \"Hello\"
";

#[test]
fn the_skills_that_a_tool_file_names_are_in_its_bundle() {
    for (file, is_linked) in [("tools/greet.py", false), ("link/greet.py", true)] {
        let sandbox = project();
        if is_linked {
            symlink("tools", sandbox.path("link")).expect("a link can be made");
        }
        write(&sandbox, "tools/greet.py", NAMES);
        write(&sandbox, "tools/skills/refunds/SKILL.md", SKILL);
        write(&sandbox, "tools/more/skills/mails/SKILL.md", &SKILL.replace("refunds", "mails"));
        write(&sandbox, "tools/real/orders/SKILL.md", &SKILL.replace("refunds", "orders"));
        // A folder that both name is in it once.
        write(&sandbox, "tools/pmcp.toml", "sdk = \"bundled\"\nskills = \"skills\"\n");
        let output = run(&sandbox, &["bundle", file, "--binary", "stub"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        unpack(&sandbox, "greet.mcpb", "unpacked");
        let folder = sandbox.path("unpacked");
        put_pmcp_into(&folder);
        // Nothing of the project is left.
        fs::remove_dir_all(sandbox.path("tools")).expect("the sandbox can be written");
        let host = start(&sandbox, &folder);
        let list = host.ask("skills/list", &json!({}));
        let served: Vec<_> =
            list["skills"].as_array().into_iter().flatten().map(|skill| skill["uri"].clone()).collect();
        assert_eq!(served, ["mails", "orders", "refunds"].map(|name| format!("skill://{name}/SKILL.md")), "{list}");
    }
}

#[test]
fn skills_of_a_tool_file_that_a_bundle_cannot_serve_make_none() {
    let sandbox = project();
    write(&sandbox, "skills/refunds/SKILL.md", SKILL);
    write(&sandbox, "tools/more/skills/mails/SKILL.md", &SKILL.replace("refunds", "mails"));
    write(&sandbox, "tools/real/orders/SKILL.md", &SKILL.replace("refunds", "orders"));
    write(&sandbox, "tools/wrong/other/SKILL.md", SKILL);
    write(&sandbox, "tools/empty/notes.md", "no skill");
    let below = "a bundle takes a folder below tools: move the skills there, or leave the call out";
    for (folder, reason) in [
        ("../skills", below),
        ("../tools/more", below),
        (".", below),
        ("none", "tools/none cannot be read: "),
        ("empty", "tools/empty has no skill, and greet.py names it"),
        ("wrong", "has the name \"refunds\": name the folder and the skill alike"),
    ] {
        let text = NAMES.replace("skills(\"skills\")", &format!("skills(\"{folder}\")"));
        write(&sandbox, "tools/greet.py", &text);
        let output = run(&sandbox, &["bundle", "tools/greet.py", "--binary", "stub"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{folder}: {stderr}");
        assert!(stderr.contains(reason), "{folder}: {stderr}");
        assert!(!sandbox.path("greet.mcpb").exists(), "{folder}");
    }
}

#[test]
fn skills_that_a_bundle_cannot_serve_make_none() {
    let sandbox = project();
    write(&sandbox, "skills/refunds/SKILL.md", SKILL);
    write(&sandbox, "tools/skills/refunds/SKILL.md", SKILL);
    write(&sandbox, "tools/twice/refunds/SKILL.md", SKILL);
    write(&sandbox, "tools/wrong/other/SKILL.md", SKILL);
    write(&sandbox, "tools/empty/notes.md", "no skill");
    let below = "a bundle takes a relative path of a folder below tools: ";
    let absolute = sandbox.path("tools/skills").display().to_string();
    for (folders, reason) in [
        ("\"../skills\"", below),
        ("\".\"", below),
        (format!("\"{absolute}\"").as_str(), below),
        ("\"none\"", "tools/none cannot be read: "),
        ("\"empty\"", "tools/empty has no skill, and pmcp.toml names it"),
        ("\"wrong\"", "has the name \"refunds\": name the folder and the skill alike"),
        ("[\"skills\", \"twice\"]", "skill://refunds/SKILL.md"),
    ] {
        write(&sandbox, "tools/pmcp.toml", &format!("sdk = \"bundled\"\nskills = {folders}\n"));
        let output = run(&sandbox, &["bundle", "tools/greet.py", "--binary", "stub", "--setting", "API_KEY"]);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{folders}: {stderr}");
        assert!(stderr.contains(reason), "{folders}: {stderr}");
        assert!(!sandbox.path("greet.mcpb").exists(), "{folders}");
    }
}
