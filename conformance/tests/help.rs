//! The help of every command and the main errors match the files in `conformance/snapshots`.
//!
//! `UPDATE_HELP=1` writes the files.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use protomcp_conformance::Sandbox;

const SNAPSHOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");

/// Command lines that are refused, or fail, in a folder with the files of [`files`].
const MISTAKES: &[&[&str]] = &[
    &["dve", "tools.py"],
    &["dev"],
    &["dev", "tool.py"],
    &["dev", "."],
    &["dev", "tools.py", "--hot-relaod", "swap"],
    &["dev", "tools.py", "--hot-reload", "sawp"],
    &["dev", "tools.py", "--call-timeout", "soon"],
    &["run", "tools.py", "--poll", "1s"],
    &["run", "tools.py", "--host", "0.0.0.0", "--transport", "http"],
    &["run", "no_interpreter"],
    &["run", "--", "no-such-program"],
    &["run", "ends.py"],
    &["call", "tools.py", "ad", "a=1"],
    &["call", "tools.py", "add", "a=1"],
    &["call", "tools.py", "add", "a=1", "a=2"],
    &["call", "tools.py", "fails"],
    &["list", "http://127.0.0.1:9/mcp"],
    &["check", "bad_tools.py"],
    &["validate", "tools.py", "--for", "claud"],
    &["test", "tools.py", "run", "bad.yaml"],
    &["test", "tools.py", "run", "none.yaml"],
    &["record", "tools.py"],
    &["record", "tools.py", "--to", "tools.py"],
    &["replay", "none.jsonl", "tools.py"],
    &["mock", "tools.py"],
    &["playground", "tool.py"],
    &["install", "tools.py", "--client", "cursr"],
    &["uninstall", "tools"],
    &["bundle", "tools.py", "--setting", "A B"],
    &["init"],
    &["init", "new", "--lang", "pyton"],
    &["config", "show", "set/tools.py"],
    &["schema", "to-prot"],
    &["completions", "tcsh"],
    &["help", "dve"],
];

fn files() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("set")).expect("the sandbox can be written");
    for (name, text) in [
        (
            "tools.py",
            "from protomcp import tool\n\n\n@tool(\"Adds two numbers.\")\ndef add(a: int, b: int) -> int:\n    return a + b\n\n\n\
             @tool(\"Fails.\")\ndef fails() -> int:\n    raise ValueError('not today')\n",
        ),
        (
            "bad_tools.py",
            "from protomcp import tool\n\n\n@tool(name='has spaces')\ndef add(a: int, b: int) -> int:\n    return a + b\n",
        ),
        ("ends.py", "raise SystemExit('not today')\n"),
        ("bad.yaml", "steps:\n  - cal: add\n"),
        ("no_interpreter", "#!/no/such/interpreter\n"),
        ("README.md", "mine\n"),
        ("set/tools.py", ""),
        ("set/pmcp.toml", "call-timeot = \"1s\"\n"),
    ] {
        fs::write(sandbox.path(name), text).expect("the sandbox can be written");
    }
    fs::set_permissions(sandbox.path("no_interpreter"), Permissions::from_mode(0o755)).expect("the file is ours");
    sandbox
}

/// The command line, all that it prints, and its exit code.
fn transcript(sandbox: &Sandbox, words: &[&str]) -> String {
    let command = sandbox.pmcp(words).env("HOME", sandbox.path("")).env("PMCP_SDK", "bundled").env("COLUMNS", "100");
    let output = command.command().output().expect("pmcp starts");
    let printed = String::from_utf8([output.stdout, output.stderr].concat()).expect("it is text");
    let folder = sandbox.path("").display().to_string();
    let lines: Vec<_> = printed.lines().map(|line| without_time(line).trim_end()).collect();
    let printed = lines.join("\n").replace(folder.trim_end_matches('/'), "FOLDER");
    let shown: Vec<_> =
        words.iter().map(|word| if word.contains(' ') { format!("\"{word}\"") } else { (*word).into() }).collect();
    format!("$ pmcp {}\n{printed}\n[{}]\n\n", shown.join(" "), output.status.code().unwrap_or(-1))
}

/// A line of the log of a server without its time, such as `2026-11-27T03:33:52.123456Z`.
fn without_time(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, rest)) if time.starts_with("20") && time.contains('T') && time.ends_with('Z') => rest,
        _ => line,
    }
}

/// The commands that a help lists.
fn commands(help: &str) -> Vec<String> {
    let list = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// Fails with the first line that differs.
fn compare(name: &str, text: &str) {
    let path = Path::new(SNAPSHOTS).join(name);
    if std::env::var_os("UPDATE_HELP").is_some() {
        return fs::write(path, text).expect("the snapshot can be written");
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    let (mut new, mut old) = (text.lines(), kept.lines());
    let lines = (1..).zip(std::iter::from_fn(|| match (new.next(), old.next()) {
        (None, None) => None,
        pair => Some(pair),
    }));
    let change = lines.into_iter().find(|(_, (new, old))| new != old);
    assert!(change.is_none(), "{name} differs; UPDATE_HELP=1 writes it: {change:?}");
}

/// Item 91.
#[test]
fn the_help_of_every_command_matches_the_snapshot() {
    let sandbox = Sandbox::new();
    let mut text = transcript(&sandbox, &["--help"]);
    let mut left: Vec<Vec<String>> = commands(&text).into_iter().map(|name| vec![name]).collect();
    assert!(left.len() > 15, "{left:?}");
    left.retain(|name| *name != ["help"]);
    left.reverse();
    while let Some(command) = left.pop() {
        let words: Vec<_> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = transcript(&sandbox, &words);
        let inside = commands(&help).into_iter().filter(|name| name != "help");
        left.extend(inside.map(|name| [&command[..], &[name]].concat()));
        text += &help;
    }
    compare("help.txt", &text);
}

/// Item 91.
#[test]
fn a_command_line_without_a_command_shows_one_screen() {
    let sandbox = Sandbox::new();
    let output = sandbox.pmcp(&[]).command().output().expect("pmcp starts");
    let text = String::from_utf8(output.stderr).expect("it is text");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let words: Vec<_> = text.split(|c: char| !c.is_alphanumeric()).collect();
    let all = commands(&transcript(&sandbox, &["--help"]));
    assert!(all.len() > 15, "{all:?}");
    let missing: Vec<_> = all.iter().filter(|name| !words.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}: {text}");
}

/// Item 91.
#[test]
fn errors_match_the_snapshot() {
    let sandbox = files();
    let text: String = MISTAKES.iter().map(|words| transcript(&sandbox, words)).collect();
    compare("errors.txt", &text);
}
