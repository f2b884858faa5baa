//! Completions, manual pages, and the log for programs, of the real program.

use std::fs;
use std::io::Read;
use std::process::{Command, Output};

use protomcp_conformance::{Sandbox, peers, pmcp};
use serde_json::Value;

const TOOLS: &str = r#"
import sys
from protomcp import tool

@tool(read_only=True)
def say() -> str:
    "Writes a line to the log."
    print("a \x1b[1mline\x1b[0m", file=sys.stderr, flush=True)
    return "said"
"#;

/// One of the names would be run by a shell that expands it.
const ODD: &str = r#"
from protomcp import tool

@tool(name="`touch ran`")
def odd() -> str:
    return ""

@tool
def safe() -> str:
    return ""
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    sandbox
}

fn run(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.pmcp(words).env("CLICOLOR_FORCE", "1").command().output().expect("pmcp starts")
}

fn stdout(sandbox: &Sandbox, words: &[&str]) -> String {
    let output = run(sandbox, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// The commands of the help.
fn commands(sandbox: &Sandbox) -> Vec<String> {
    let help = stdout(sandbox, &["help"]);
    let list = help.split("\nCommands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("it has a list");
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(names.len() > 5, "the commands are found: {names:?}");
    names
}

#[test]
fn shells_complete_commands_and_flags() {
    let sandbox = sandbox();
    let script = sandbox.write("pmcp.bash", stdout(&sandbox, &["completions", "bash"]));
    for (words, expected) in [
        ("pmcp validat", "validate"),
        ("pmcp run --hot-rel", "--hot-reload"),
        ("pmcp run --hot-reload gra", "graceful"),
        ("pmcp run --transport ht", "http"),
        ("pmcp install --client curs", "cursor"),
        ("pmcp validate --for curs", "cursor"),
    ] {
        let count = words.split(' ').count();
        let (current, previous) = (words.split(' ').nth(count - 1), words.split(' ').nth(count - 2));
        let complete = format!(
            "source {}; COMP_WORDS=({words}); COMP_CWORD={}; _pmcp pmcp {} {}; echo \"${{COMPREPLY[@]}}\"",
            script.display(),
            count - 1,
            current.unwrap_or_default(),
            previous.unwrap_or_default(),
        );
        let output = Command::new("bash").args(["-c", &complete]).output().expect("bash starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{words}");
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&sandbox, &["completions", shell]);
        let missing: Vec<_> = commands(&sandbox).into_iter().filter(|name| !script.contains(name.as_str())).collect();
        assert!(missing.is_empty(), "{shell}: {missing:?}");
    }
    let unknown = run(&sandbox, &["completions", "tcsh"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

#[test]
fn shells_complete_the_tools_of_a_file() {
    let sandbox = sandbox();
    let script = sandbox.write("pmcp.bash", stdout(&sandbox, &["completions", "bash"]));
    let folder = pmcp().parent().expect("a program has a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").expect("there is a path"));
    sandbox.write("odd.py", ODD);
    for (words, expected) in [
        ("call odd.py s", "safe"),
        ("call odd.py \\`", ""),
        ("call tools.py s", "say"),
        ("call tools.py x", ""),
        ("test tools.py call s", "say"),
        ("call tools.py --qui", "--quiet"),
    ] {
        // The function is the one that the script has registered.
        let complete = format!(
            "source {}; COMP_WORDS=(pmcp {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             $(complete -p pmcp | sed 's/.*-F //; s/ .*//') pmcp \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; \
             echo \"${{COMPREPLY[@]}}\"",
            script.display(),
        );
        let mut bash =
            sandbox.pmcp(&["-c", &complete]).program("bash").env("PMCP_SDK", "bundled").env("PATH", &path).command();
        let output = bash.output().expect("bash starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{words}: {output:?}");
    }
    assert!(!sandbox.path("ran").exists());
    for shell in ["zsh", "fish"] {
        assert!(stdout(&sandbox, &["completions", shell]).contains("list $words[3] --quiet"), "{shell}");
    }
}

/// The line that zsh makes of "$1" and a tab, in a terminal that its module zpty makes. Control-X prints the line.
const IN_ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= RPS1=; unsetopt beep; autoload -Uz compinit; compinit -u -D; source ./pmcp.zsh
shown() { print -r -- \$BUFFER > line; exit }; zle -N shown; bindkey '^X' shown"
zpty -w -n shell "$1"$'\t\x18'
while zpty -r shell output; do :; done
cat line
"#;

/// The program of a shell that a part of scripts/setup installs.
fn shell(name: &'static str) -> &'static str {
    let version = Command::new(name).arg("--version").output();
    assert!(version.is_ok_and(|output| output.status.success()), "please run scripts/setup terminal first: no {name}");
    name
}

/// The output of a shell that finds `pmcp` in its path.
fn in_shell(sandbox: &Sandbox, program: &str, words: &[&str]) -> String {
    let folder = pmcp().parent().expect("a program has a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").expect("there is a path"));
    let launch = sandbox.pmcp(words).program(program).env("PMCP_SDK", "bundled").env("PATH", &path);
    let output = launch.env("HOME", sandbox.path("")).env("TERM", "xterm").command().output().expect("it starts");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn zsh_completes_commands_flags_and_tools() {
    let zsh = shell("zsh");
    for (words, line) in [
        ("pmcp validat", "pmcp validate"),
        ("pmcp run --hot-rel", "pmcp run --hot-reload="),
        ("pmcp run --hot-reload gra", "pmcp run --hot-reload graceful"),
        ("pmcp call tools.py s", "pmcp call tools.py say"),
        ("pmcp test tools.py call s", "pmcp test tools.py call say"),
        ("pmcp call tools.py x", "pmcp call tools.py x"),
    ] {
        let sandbox = sandbox();
        sandbox.write("pmcp.zsh", stdout(&sandbox, &["completions", "zsh"]));
        sandbox.write("drive.zsh", IN_ZSH);
        assert_eq!(in_shell(&sandbox, zsh, &["-f", "drive.zsh", words]), line);
    }
}

#[test]
fn fish_completes_commands_flags_and_tools() {
    let (fish, sandbox) = (shell("fish"), sandbox());
    sandbox.write("pmcp.fish", stdout(&sandbox, &["completions", "fish"]));
    for (words, found) in [
        ("pmcp validat", "validate"),
        ("pmcp run --hot-rel", "--hot-reload"),
        ("pmcp run --hot-reload gra", "graceful"),
        ("pmcp call tools.py s", "say"),
        ("pmcp test tools.py call s", "say"),
        ("pmcp call tools.py x", ""),
    ] {
        let text = in_shell(&sandbox, fish, &["-c", &format!("source pmcp.fish; complete -C'{words}'")]);
        // A description follows a tab.
        let names: Vec<_> = text.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        assert_eq!(names.join(" "), found, "{words}");
    }
}

#[test]
fn each_command_has_a_page_in_the_manual() {
    let sandbox = sandbox();
    let page = stdout(&sandbox, &["man"]);
    assert!(page.contains(".TH pmcp 1") && page.contains("Exit codes"), "{page}");
    assert_eq!(stdout(&sandbox, &["man", "--to", "pages"]), "");
    assert_eq!(fs::read_to_string(sandbox.path("pages/pmcp.1")).expect("it is written"), page);
    for command in commands(&sandbox).into_iter().filter(|name| name != "help") {
        let page = sandbox.path(&format!("pages/pmcp-{command}.1"));
        assert!(fs::read_to_string(&page).is_ok_and(|text| text.contains(".SH")), "{}", page.display());
    }
}

#[test]
fn a_log_in_json_has_an_object_in_each_line() {
    let sandbox = sandbox();
    sandbox.write("broken.py", "raise SystemExit('not today')\n");
    for (words, code, level, message) in [
        (&["call", "tools.py", "say", "--sdk", "bundled"][..], 0, "INFO", "] a \u{1b}[1mline\u{1b}[0m"),
        (&["run", "broken.py", "--sdk", "bundled"], 1, "INFO", "] not today"),
        (&["run", "broken.py", "--sdk", "bundled"], 1, "ERROR", "with status 1 before it connected"),
    ] {
        let words: Vec<_> = words.iter().chain(&["--log-format", "json"]).copied().collect();
        let output = run(&sandbox, &words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect();
        let found = |line: &&Value| {
            let has_words = line["message"].as_str().is_some_and(|text| text.contains(message));
            has_words && line["level"] == level && line["timestamp"].is_string() && line["target"].is_string()
        };
        assert!(lines.iter().any(|line| found(&line)), "{words:?}: {text}");
    }
}

#[test]
fn a_quiet_command_writes_errors_only() {
    let sandbox = sandbox();
    let call = ["call", "tools.py", "say", "--sdk", "bundled"];
    let loud = run(&sandbox, &call);
    assert!(String::from_utf8_lossy(&loud.stderr).contains("line"), "{loud:?}");
    let quiet = run(&sandbox, &[&call[..], &["--quiet"]].concat());
    assert_eq!(
        (quiet.status.code(), quiet.stdout.as_slice(), quiet.stderr.as_slice()),
        (Some(0), &b"said\n"[..], &b""[..])
    );
    let failed = run(&sandbox, &["call", "tools.py", "nothing", "--sdk", "bundled", "-q"]);
    let stderr = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(
        failed.status.code() == Some(1) && stderr.starts_with("error: ") && stderr.lines().count() <= 2,
        "{stderr}"
    );
}

/// Starts a program in a terminal, and passes its output on.
const IN_TERMINAL: &str = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

#[test]
fn reports_and_errors_have_colours_in_a_terminal() {
    let sandbox = sandbox();
    let program = pmcp().to_string_lossy();
    let shown = |words: &[&str], in_terminal: bool, no_color: &str| {
        let words = if in_terminal { [&["-c", IN_TERMINAL, &program], words].concat() } else { words.to_vec() };
        let launch = sandbox.pmcp(&words).env("TERM", "xterm").env("NO_COLOR", no_color).env("PMCP_SDK", "bundled");
        let launch = if in_terminal { launch.program(peers().join("py/bin/python")) } else { launch };
        let output = launch.command().output().expect("it starts");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let good = "\x1b[32m✓\x1b[0m say";
    for (words, in_terminal, no_color, part) in [
        (&["validate", "tools.py"][..], true, "", good),
        (&["validate", "tools.py", "--color", "always"], false, "1", good),
        (&["doctor", "tools.py", "--color=always"], false, "", "\x1b[32m✓\x1b[0m file"),
        (&["validate", "none.py"], true, "", "\x1b[31merror:\x1b[0m file not found"),
        (&["--color", "always", "doctor", "tools.py"], false, "", "\x1b[32m✓\x1b[0m file"),
        (&["--color=never", "validate", "none.py"], true, "", "error: file not found"),
        (&["validate", "tools.py"], true, "1", "✓ say"),
        (&["validate", "tools.py"], false, "", "✓ say"),
        (&["validate", "tools.py", "--color", "never"], true, "", "✓ say"),
        (&["validate", "none.py"], true, "1", "error: file not found"),
    ] {
        let text = shown(words, in_terminal, no_color);
        assert!(text.contains(part), "{words:?}: {text:?}");
        assert_eq!(text.contains('\x1b'), part.contains('\x1b'), "{words:?}: {text:?}");
    }
}

/// Runs a command in a terminal until it shows a line, opens the other end of the pipe, and returns what it has printed.
fn printed_after(sandbox: &Sandbox, words: &[&str], line: &str) -> String {
    let program = pmcp().to_string_lossy();
    let launch = sandbox.pmcp(&[&["-c", IN_TERMINAL, &*program], words].concat());
    let mut child = launch.program(peers().join("py/bin/python")).command().spawn().expect("python starts");
    let mut output = child.stdout.take().expect("it is a pipe");
    let mut text = String::new();
    while !text.contains(line) {
        let mut bytes = [0; 256];
        let count = output.read(&mut bytes).expect("it can be read");
        assert!(count > 0, "{text:?}");
        text += &String::from_utf8_lossy(&bytes[..count]);
    }
    fs::write(sandbox.path("pipe"), "").expect("the tool reads");
    output.read_to_string(&mut text).expect("it is text");
    child.wait().expect("it ends");
    text
}

#[test]
fn what_takes_more_than_a_second_is_shown_in_a_terminal() {
    // They return when the other end of the pipe is opened.
    let tools = "from protomcp import tool\n\n@tool('Waits.')\ndef wait() -> str:\n    open('pipe').read()\n    return 'done'\n";
    let at_start =
        "open('pipe').read()\nfrom protomcp import tool\n\n@tool('Waits.')\ndef wait() -> str:\n    return 'done'\n";
    let call = "{\"trace\":\"mcp\",\"version\":2}\n\
        {\"at\":0,\"from\":\"client\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n\
        {\"at\":0,\"from\":\"server\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n";
    // A command that answers when its pipe is opened.
    let answer = "head -n 1 >/dev/null; cat pipe; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; cat >/dev/null";
    let replay = ["replay", "call.jsonl", "--", "sh", "-c", answer];
    let rows: [(&[&str], &str, &str); 3] = [
        (&["call", "slow.py", "wait", "--sdk", "bundled"], "calling wait: 1 s", "\x1b[Kdone"),
        (&["doctor", "start.py"], "trying start.py: 1 s", "\x1b[K"),
        (&replay, "replaying call.jsonl: 1 s", "no difference"),
    ];
    for (words, line, end) in rows {
        let sandbox = sandbox();
        sandbox.write("slow.py", tools);
        sandbox.write("start.py", at_start);
        sandbox.write("call.jsonl", call);
        let pipe = Command::new("mkfifo").arg(sandbox.path("pipe")).status().expect("mkfifo starts");
        assert!(pipe.success());
        let text = printed_after(&sandbox, words, line);
        assert!(text.contains(end), "the line gives way to the result: {text:?}");
    }
}

#[test]
fn help_and_errors_have_no_colours() {
    let sandbox = sandbox();
    for words in [&["help"][..], &["dev", "--help"], &["dev", "--nope"], &[]] {
        let output = run(&sandbox, words);
        assert!(![output.stdout, output.stderr].concat().contains(&0x1b), "{words:?}");
    }
}
