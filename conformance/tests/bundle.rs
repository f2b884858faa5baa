//! `pmcp bundle`: the bundle has what the tools need, runs where it is unpacked, and passes the official check.

mod links;
mod registry;
mod skills;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use protomcp_conformance::{Host, Sandbox, peers, pmcp};
use serde_json::{Value, json};

const TOOLS: &str = r#"
import os
from protomcp import tool
from helper.words import greeting

@tool(read_only=True)
def greet(name: str) -> str:
    "Greets with a key."
    return f"{greeting()}, {name}: {os.environ['API_KEY']}"
"#;

const WORDS: &str = r#"
from pathlib import Path

def greeting():
    return (Path(__file__).parent.parent / "data/word").read_text()
"#;

/// Lists, and unpacks with the modes of the files.
const UNPACK: &str = r#"
import os, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
for entry in archive.infolist():
    path = archive.extract(entry, sys.argv[2])
    os.chmod(path, entry.external_attr >> 16)
    print(entry.filename)
"#;

/// The beginning of a program for Linux, in place of a large `pmcp` in bundles.
const STUB: &[u8] = b"\x7fELF\x02\x01 and more";

/// A project, and a program.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("tools/helper/__pycache__")).expect("the sandbox can be written");
    fs::create_dir_all(sandbox.path("tools/data")).expect("the sandbox can be written");
    for (name, text) in [
        ("tools/greet.py", TOOLS),
        ("tools/helper/words.py", WORDS),
        ("tools/helper/__init__.py", ""),
        ("tools/helper/__pycache__/words.py", "stale"),
        ("tools/data/word", "Hello"),
        ("tools/.env", "API_KEY=mine"),
        ("tools/mine.py", "secret"),
        ("tools/.gitignore", "mine.py\n"),
        ("tools/notes.txt", "mine"),
        ("tools/pmcp.toml", "sdk = \"bundled\"\n"),
    ] {
        fs::write(sandbox.path(name), text).expect("the sandbox can be written");
    }
    sandbox.write("stub", STUB);
    sandbox
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.pmcp(words).command().output().expect("pmcp starts")
}

/// Makes the bundle, with these flags, and returns the report.
fn bundle(sandbox: &Sandbox, flags: &[&str]) -> String {
    let words = ["bundle", "tools/greet.py", "--binary", "stub", "--include", "tools/data"];
    let words = [&words[..], &["--setting", "API_KEY=The key of the service"], flags].concat();
    let output = run(sandbox, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn unpack(sandbox: &Sandbox, bundle: &str, to: &str) -> String {
    let mut python = Command::new(peers().join("py/bin/python"));
    python.args(["-c", UNPACK]).arg(sandbox.path(bundle)).arg(sandbox.path(to));
    let output = python.output().expect("python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("it is there")).expect("it is JSON")
}

#[test]
fn a_bundle_runs_where_it_is_unpacked() {
    let sandbox = project();
    let report = bundle(&sandbox, &["--version", "1.2.0"]);
    assert!(report.starts_with("greet.mcpb: ") && report.contains("\n  server/pmcp "), "{report}");
    assert_eq!(
        unpack(&sandbox, "greet.mcpb", "un packed").lines().collect::<Vec<_>>(),
        [
            "manifest.json",
            "server/pmcp",
            "server/tools/data/word",
            "server/tools/greet.py",
            "server/tools/helper/__init__.py",
            "server/tools/helper/words.py",
            "server/tools/pmcp.toml",
        ]
    );
    let folder = sandbox.path("un packed");
    let manifest = json_of(&folder.join("manifest.json"));
    assert_eq!((&manifest["name"], &manifest["version"]), (&json!("greet"), &json!("1.2.0")));
    assert_eq!(manifest["tools"], json!([{"name": "greet", "description": "Greets with a key."}]));
    let setting = &manifest["user_config"]["api_key"];
    assert_eq!((&setting["sensitive"], &setting["description"]), (&json!(true), &json!("The key of the service")));

    // The mode of the file stays.
    assert_eq!(fs::read(folder.join("server/pmcp")).expect("it is there"), STUB);
    put_pmcp_into(&folder);
    assert_eq!(start(&sandbox, &folder).text("greet", &json!({"name": "Ann"})), "Hello, Ann: k-1");
}

/// Puts a program that starts `pmcp` in the place of the stub.
fn put_pmcp_into(folder: &Path) {
    let script = format!("#!/bin/sh\nexec '{}' \"$@\"\n", pmcp().display());
    fs::write(folder.join("server/pmcp"), script).expect("the sandbox can be written");
}

/// Starts an unpacked bundle as a host does: the directory and the user's settings are put into the command.
fn start(sandbox: &Sandbox, folder: &Path) -> Host {
    let manifest = json_of(&folder.join("manifest.json"));
    let start = &manifest["server"]["mcp_config"];
    let filled = |text: &Value| {
        let text = text.as_str().expect("it is text").replace("${__dirname}", &folder.display().to_string());
        text.replace("${user_config.api_key}", "k-1")
    };
    let words: Vec<_> = start["args"].as_array().into_iter().flatten().map(filled).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let mut launch = sandbox.pmcp(&words).program(filled(&start["command"]));
    for (name, value) in start["env"].as_object().into_iter().flatten() {
        launch = launch.env(name, filled(value));
    }
    let host = launch.start();
    host.initialize();
    host
}

#[test]
fn the_same_files_make_the_same_bundle() {
    let sandbox = project();
    let first = bundle(&sandbox, &["-o", "a.mcpb"]);
    // A later date, and the same text.
    fs::write(sandbox.path("tools/helper/__init__.py"), "").expect("the sandbox can be written");
    let second = bundle(&sandbox, &["-o", "b.mcpb"]);
    assert_eq!(
        fs::read(sandbox.path("a.mcpb")).expect("a bundle"),
        fs::read(sandbox.path("b.mcpb")).expect("a bundle")
    );
    assert_eq!(first.replace("a.mcpb", ""), second.replace("b.mcpb", ""));
    // The bundle and the entry for the registry are none of its files.
    let registry = ["--registry-name", "io.github.ann/greet", "--url", "https://example.com/greet.mcpb"];
    let flags = [&["-o", "tools/data/greet.mcpb", "--include", "tools/data"][..], &registry].concat();
    let [first, again] = [(); 2].map(|()| bundle(&sandbox, &flags));
    assert_eq!(first, again);
    fs::write(sandbox.path("tools/helper/__init__.py"), "# new").expect("the sandbox can be written");
    assert_ne!(bundle(&sandbox, &["-o", "c.mcpb"]).lines().last(), second.lines().last());
}

#[test]
fn mistakes_make_no_bundle() {
    let sandbox = project();
    fs::write(sandbox.path("broken.py"), "raise SystemExit('not today')\n").expect("the sandbox can be written");
    fs::create_dir(sandbox.path("tools/empty")).expect("the sandbox can be written");
    for (words, code, expected) in [
        (&["broken.py", "--sdk", "bundled"][..], 1, "not today"),
        (&["tools"], 2, "tools is a directory"),
        (&["tools/greet.py", "--setting", "A B"], 2, "invalid --setting \"A B\""),
        (&["tools/greet.py", "--include", "stub"], 2, "invalid --include: there is no stub below tools"),
        (&["tools/greet.py", "--include", "tools/empty"], 2, "empty is neither a file nor a directory with files"),
        (&["tools/greet.py", "--url", "https://example.com"], 2, "--registry-name"),
        (&["tools/greet.py", "--version", "1.x"], 2, "invalid --version \"1.x\""),
        (
            &["tools/greet.py", "--url", "https://example.com", "--registry-name", "greet"],
            2,
            "invalid --registry-name \"greet\"",
        ),
        (&["https://example.com/mcp"], 2, "a bundle is made of a tool file"),
        (&["tools/greet.py", "--binary", "tools/greet.py"], 2, "tools/greet.py is not a program for Linux (ELF)"),
        (&["tools/greet.py", "--description", TOKEN], 2, "a flag has a key or a password"),
        (&["tools/greet.py", "-o", "tools/greet.py"], 2, "tools/greet.py is there and is not a bundle: choose"),
    ] {
        let program: &[&str] = if words.contains(&"--binary") { &[] } else { &["--binary", "stub"] };
        let words: Vec<_> = ["bundle"].iter().chain(words).chain(program).copied().collect();
        let output = run(&sandbox, &words);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
    }
    assert!(!sandbox.path("broken.mcpb").exists());
}

#[test]
fn the_platform_is_the_one_of_the_program() {
    let sandbox = project();
    for (start, platform, program) in [
        (&b"\xcf\xfa\xed\xfe\x0c\0\0\x01 and more"[..], "darwin", "server/pmcp"),
        (b"MZ\x90\0 and more", "win32", "server/pmcp.exe"),
        (b"\x7fELF\x02\x01 and more", "linux", "server/pmcp"),
    ] {
        sandbox.write("other", start);
        let output = run(&sandbox, &["bundle", "tools/greet.py", "--binary", "other"]);
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{platform}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(report.contains(&format!("\n  {program} ")), "{report}");
        assert!(unpack(&sandbox, "greet.mcpb", platform).contains(&format!("{program}\n")), "{platform}");
        let unpacked = sandbox.path(platform);
        let manifest = json_of(&unpacked.join("manifest.json"));
        assert_eq!(manifest["compatibility"]["platforms"], json!([platform]));
        let server = &manifest["server"];
        assert_eq!(server["entry_point"], program);
        assert_eq!(server["mcp_config"]["command"], format!("${{__dirname}}/{program}"));
        let program = unpacked.join(program);
        assert_eq!(fs::read(&program).expect("it is there"), start);
        let mode = fs::metadata(program).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{platform}");
    }
}

/// A key in the shape of a service.
const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz";

#[test]
fn secrets_make_no_bundle() {
    let sandbox = project();
    let flags = ["--binary", "stub", "--include", "tools/data", "--setting", "API_KEY"];
    let words = [&["bundle", "tools/greet.py"][..], &flags].concat();
    let bundled = |more: &[&str]| {
        let launch = sandbox.pmcp(&[&words[..], more].concat()).env("API_KEY", "open sesame");
        let output = launch.command().output().expect("pmcp starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (name, text, reason) in [
        (".env", "A=1", "looks like a secret by its name"),
        (".env.local", "A=1", "looks like a secret by its name"),
        ("server.pem", "", "looks like a secret by its name"),
        ("tls.key", "", "looks like a secret by its name"),
        ("id_ed25519", "", "looks like a secret by its name"),
        (".npmrc", "", "looks like a secret by its name"),
        ("prod.env", "A=1", "looks like a secret by its name"),
        ("secrets.toml", "", "looks like a secret by its name"),
        ("tls.key.bak", "", "looks like a secret by its name"),
        ("credentials-2.json", "{}", "looks like a secret by its name"),
        ("service-account.json", "{}", "looks like a secret by its name"),
        ("a.txt", "-----BEGIN RSA PRIVATE KEY-----\nabc\n", "has a key in its text"),
        ("a.txt", "id AKIAABCDEFGHIJKLMNOP", "has a key in its text"),
        ("a.txt", TOKEN, "has a key in its text"),
        ("a.txt", "sk-proj-abcdefghijklmnop1234", "has a key in its text"),
        ("a.txt", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "has a key in its text"),
        ("a.toml", "a = 1\nurl = \"postgres://ann:hunter2@host/db\"", "has a password in line 2"),
        ("a.toml", "password = \"hunter2hunter2\"", "has a password in line 1"),
        ("a.bin", "\u{0}open sesame", "has the value of API_KEY"),
    ] {
        let path = sandbox.path("tools/data").join(name);
        fs::write(&path, text).expect("the sandbox can be written");
        let (code, stderr) = bundled(&[]);
        assert_eq!(code, Some(2), "{name}: {stderr}");
        let (start, end) = (format!("tools/data/{name} {reason}"), format!("--allow-secret tools/data/{name}\n"));
        assert!(stderr.contains(&start) && stderr.ends_with(&end), "{name}: {stderr}");
        assert!(!sandbox.path("greet.mcpb").exists(), "{name}");
        fs::remove_file(path).expect("it is there");
    }
    fs::write(sandbox.path("tools/data/.env"), "A=1").expect("the sandbox can be written");
    let (code, stderr) = bundled(&["--allow-secret", "tools/data"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(unpack(&sandbox, "greet.mcpb", "unpacked").contains("server/tools/data/.env\n"));
}

/// All JSON next to a file in JavaScript belongs to it, and packages with all of their files.
#[test]
fn secrets_of_a_project_with_packages_are_named_together() {
    let sandbox = project();
    let package = sandbox.path("tools/node_modules/lib");
    fs::create_dir_all(&package).expect("the sandbox can be written");
    for (name, text) in [
        (
            "tools/hello.mjs",
            "import { tool } from \"protomcp\";\nexport const hello = tool({ handler: () => \"Hello\" });\n",
        ),
        ("tools/credentials.json", "{}"),
        ("tools/node_modules/lib/.env", "A=1"),
        ("tools/node_modules/lib/index.js", TOKEN),
    ] {
        fs::write(sandbox.path(name), text).expect("the sandbox can be written");
    }
    let words = ["bundle", "tools/hello.mjs", "--binary", "stub", "--sdk", "bundled"];
    let output = run(&sandbox, &words);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains("tools/credentials.json looks") && stderr.contains("node_modules/lib/.env looks"),
        "{stderr}"
    );
    assert!(!stderr.contains("index.js") && !sandbox.path("hello.mcpb").exists(), "{stderr}");
    let allowed = ["--allow-secret", "tools/credentials.json", "--allow-secret", "tools/node_modules"];
    let output = run(&sandbox, &[&words[..], &allowed].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A project in JavaScript that uses a package, next to the one in Python.
fn add_javascript(sandbox: &Sandbox) {
    fs::create_dir_all(sandbox.path("tools/node_modules/words")).expect("the sandbox can be written");
    for (name, text) in [
        (
            "tools/hello.mjs",
            "import { tool } from \"protomcp\";\nimport { greeting } from \"words\";\n\
             export const hello = tool({ handler: () => greeting });\n",
        ),
        ("tools/package.json", "{\"dependencies\": {\"words\": \"1.0.0\"}}"),
        (
            "tools/node_modules/words/package.json",
            "{\"name\": \"words\", \"version\": \"1.0.0\", \"type\": \"module\", \"main\": \"index.js\"}",
        ),
        ("tools/node_modules/words/index.js", "export const greeting = \"Hello of a package\";\n"),
    ] {
        fs::write(sandbox.path(name), text).expect("the sandbox can be written");
    }
}

/// The official command, in a copy: it keeps the certificate that it makes next to its code.
struct Official<'a> {
    sandbox: &'a Sandbox,
}

impl<'a> Official<'a> {
    fn copied(sandbox: &'a Sandbox) -> Self {
        let from = peers().join("mcpb/node_modules");
        let copied = Command::new("cp").arg("-a").arg(from).arg(sandbox.path("official")).status();
        assert!(copied.expect("cp starts").success());
        Self { sandbox }
    }

    /// True if it succeeds, and all that it prints.
    fn run(&self, words: &[&str]) -> (bool, String) {
        let mut command = Command::new("node");
        command.arg(self.sandbox.path("official/@anthropic-ai/mcpb/dist/cli/cli.js"));
        let output = command.args(words).current_dir(self.sandbox.path("")).output().expect("node starts");
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    fn accepts(&self, words: &[&str]) {
        let (succeeds, printed) = self.run(words);
        assert!(succeeds, "{words:?}: {printed}");
    }
}

/// Verifies the signature at the end of a bundle: `MCPB_SIG_V1`, a length, a detached signature in CMS, `MCPB_SIG_END`.
fn verify(sandbox: &Sandbox, bundle: &str) -> bool {
    let bytes = fs::read(sandbox.path(bundle)).expect("it is there");
    let head = b"MCPB_SIG_V1";
    let at = bytes.windows(head.len()).rposition(|part| part == head).expect("it is signed");
    let (body, block) = (&bytes[..at], &bytes[at + head.len()..]);
    let (length, rest) = block.split_first_chunk::<4>().expect("it has a length");
    let length = usize::try_from(u32::from_le_bytes(*length)).expect("it fits");
    assert_eq!(&rest[length..], b"MCPB_SIG_END");
    sandbox.write("signature", &rest[..length]);
    sandbox.write("body", body);
    let mut openssl = Command::new("openssl");
    openssl.args(["cms", "-verify", "-noverify", "-binary", "-inform", "DER", "-in", "signature", "-content", "body"]);
    let output = openssl.args(["-out", "verified"]).current_dir(sandbox.path("")).output().expect("openssl starts");
    output.status.success()
}

#[test]
#[ignore = "the command is installed in the long tier alone"]
fn the_official_command_unpacks_packs_and_signs_a_bundle() {
    let sandbox = project();
    add_javascript(&sandbox);
    let official = Official::copied(&sandbox);
    let setting = ["--setting", "API_KEY", "--include", "tools/data"];
    for (name, file, flags, arguments, expected) in [
        ("greet", "tools/greet.py", &setting[..], json!({"name": "Ann"}), "Hello, Ann: k-1"),
        ("hello", "tools/hello.mjs", &[], json!({}), "Hello of a package"),
    ] {
        // With the program itself, as users make it.
        let output = run(&sandbox, &[&["bundle", file][..], flags].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let bundle = format!("{name}.mcpb");
        official.accepts(&["info", &bundle]);
        official.accepts(&["unpack", &bundle, name]);
        official.accepts(&["validate", &format!("{name}/manifest.json")]);
        assert_eq!(start(&sandbox, &sandbox.path(name)).text(name, &arguments), expected);

        official.accepts(&["pack", name, "again.mcpb"]);
        official.accepts(&["sign", "--self-signed", "again.mcpb"]);
        assert!(verify(&sandbox, "again.mcpb"));
        // Its own check knows no signature in 2.1.2, because the library that it uses cannot verify any.
        let (succeeds, printed) = official.run(&["verify", "again.mcpb"]);
        assert!(!succeeds && printed.contains("not signed"), "{printed}");
        let signed = format!("{name}-signed");
        official.accepts(&["unpack", "again.mcpb", &signed]);
        assert_eq!(start(&sandbox, &sandbox.path(&signed)).text(name, &arguments), expected);
    }
}
