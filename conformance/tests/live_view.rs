//! The live view of `pmcp dev`, in the terminal of tmux: keys, sizes and colours as a person has them.

use protomcp_conformance::Sandbox;
use protomcp_testing::eventually;

use crate::terminal::{Terminal, run};

const TOOLS: &str = r#"
import asyncio, os, pathlib
from protomcp import tool

@tool("Adds two numbers.")
def add(a: int, b: int) -> str:
    return str(a + b)

@tool("Waits for a file.")
async def wait() -> str:
    pathlib.Path("begun").touch()
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    return "gone"

@tool("Ends the process.")
def crash() -> str:
    os._exit(3)
"#;

/// Waits until the process has begun the call of `wait`.
fn begun(sandbox: &Sandbox) {
    eventually("the call", || sandbox.path("begun").exists().then_some(()));
}

const HELP: &str = "r reload · c call a tool · q quit";

#[test]
fn keys_call_reload_and_quit() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let terminal = Terminal::start(&sandbox, &["tools.py", "--sdk", "bundled"]);
    terminal.line("● tools.py · ready · 3 tools");
    terminal.line(HELP);
    // A name is completed when the list of tools is there.
    terminal.types("c");
    terminal.line("call");
    terminal.shows("the completed name", |screen| {
        terminal.press("Tab");
        screen.lines().any(|line| line.starts_with("call") && line.trim_end() == "call") || screen.contains("call ")
    });
    terminal.types("add a=1 b=2");
    terminal.press("Enter");
    terminal.line("  ✓ add  ");
    terminal.shows("3", |screen| screen.contains("\n3\n"));
    // An earlier line comes back, and is edited.
    terminal.types("c");
    terminal.press("Up");
    terminal.press("BSpace");
    terminal.types("5");
    terminal.press("Enter");
    terminal.shows("6", |screen| screen.contains("\n6\n"));
    // Escape gives a line up.
    terminal.types("cr");
    terminal.line("call r");
    terminal.press("Escape");
    terminal.line(HELP);
    terminal.types("r");
    terminal.line("pmcp: reloaded");
    terminal.types("q");
    assert_eq!(terminal.ended(), "0 icanon");
    let screen = terminal.screen();
    assert!(!screen.contains(HELP), "the view is gone: {screen}");
}

#[test]
fn a_reload_and_a_crash_during_a_call_are_seen() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let terminal = Terminal::start(&sandbox, &["tools.py", "--transport", "http", "--port", "0", "--sdk", "bundled"]);
    let screen = terminal.line("● tools.py · ready · 3 tools");
    assert!(screen.contains(" · http://localhost:"), "{screen}");
    terminal.types("c");
    terminal.types("wait");
    terminal.press("Enter");
    terminal.line("  ▸ wait  ");
    begun(&sandbox);
    sandbox.write("tools.py", TOOLS.replace("def add", "def sum"));
    terminal.shows("the reload that waits", |screen| screen.contains("the reload waits for running calls: wait"));
    sandbox.write("go", "");
    terminal.line("  ✓ wait  ");
    terminal.line("  added sum; removed add");
    terminal.types("c");
    terminal.types("crash");
    terminal.press("Enter");
    terminal.line("  ✗ crash  ");
    terminal.line("pmcp: the tool process is back");
    terminal.line("● tools.py · ready · 3 tools");
    sandbox.write("tools.py", "broken(");
    let screen = terminal.line("● tools.py · the newest version does not start");
    assert!(screen.contains("SyntaxError"), "the text of the process: {screen}");
    sandbox.write("tools.py", TOOLS);
    terminal.line("● tools.py · ready · 3 tools");
}

#[test]
fn a_view_follows_the_size_of_its_terminal() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let terminal = Terminal::start(&sandbox, &["tools.py", "--sdk", "bundled"]);
    terminal.line("● tools.py · ready · 3 tools");
    let views = |screen: &str| screen.lines().filter(|line| line.starts_with('●')).count();
    for (columns, rows, help) in [(30, 20, "r reload · c call a tool · q…"), (200, 50, HELP), (60, 10, HELP)] {
        terminal.resize(columns, rows);
        terminal.shows("one view", |screen| screen.ends_with(help) && views(screen) == 1);
    }
    terminal.resize(60, 3);
    terminal.shows("one row", |screen| screen.ends_with("· 3 tools"));
    terminal.resize(80, 24);
    terminal.shows("all of it", |screen| screen.ends_with(HELP) && views(screen) == 1);
}

#[test]
fn a_tool_asks_in_the_view() {
    let sandbox = Sandbox::new();
    sandbox.copy("sdk/playground.py");
    let terminal = Terminal::start(&sandbox, &["playground.py", "--sdk", "bundled"]);
    terminal.line("● playground.py · ready");
    terminal.types("c");
    terminal.types("ask_user");
    terminal.press("Enter");
    for (question, answer) in [
        ("Answer? [y/N]", "y"),
        ("User name:", "Ada"),
        ("colour [red, blue] (optional):", "red"),
        ("Have you opened it? [y/N]", "y"),
    ] {
        terminal.line(question);
        terminal.types(answer);
        terminal.press("Enter");
    }
    terminal.shows("the answers", |screen| screen.contains("accept {\"user\": \"Ada\", \"colour\": \"red\"}, accept"));
    // Escape dismisses a question.
    terminal.types("c");
    terminal.press("Up");
    terminal.press("Enter");
    for question in ["Answer? [y/N]", "Have you opened it? [y/N]"] {
        terminal.line(question);
        terminal.press("Escape");
    }
    terminal.shows("the dismissal", |screen| screen.contains("cancel null, cancel"));
}

#[test]
fn a_call_ends_before_the_program_does() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let flags = ["tools.py", "--sdk", "bundled", "--drain-timeout", "1m"];
    for words in [&flags[..], &[&flags[..], &["--transport", "http", "--port", "0"]].concat()] {
        let terminal = Terminal::start(&sandbox, words);
        terminal.line("● tools.py · ready · 3 tools");
        terminal.types("cwait");
        terminal.press("Enter");
        terminal.line("  ▸ wait  ");
        begun(&sandbox);
        terminal.types("q");
        terminal.line("● tools.py · running calls end");
        sandbox.write("go", "");
        assert_eq!(terminal.ended(), "0 icanon");
        assert!(terminal.screen().lines().any(|line| line == "gone"), "{}", terminal.screen());
        for file in ["go", "begun"] {
            std::fs::remove_file(sandbox.path(file)).expect("it is there");
        }
    }
}

#[test]
fn no_output_of_a_tool_hides_its_result() {
    let sandbox = Sandbox::new();
    let noisy = "@tool(\"Prints much.\")\ndef noisy() -> str:\n    for n in range(20000):\n        print(n)\n    return \"printed\"\n";
    sandbox.write("tools.py", format!("from protomcp import tool\n\n{noisy}"));
    let terminal = Terminal::start(&sandbox, &["tools.py", "--sdk", "bundled"]);
    terminal.line("● tools.py · ready · 1 tool");
    terminal.types("cnoisy");
    terminal.press("Enter");
    terminal.line("  ✓ noisy  ");
    // It comes somewhere between the lines.
    eventually("the result", || terminal.painted().lines().any(|line| line == "printed").then_some(()));
}

#[test]
fn colours_are_left_out_where_they_are_not_wanted() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    for (flags, has_colors) in [(&["tools.py"][..], true), (&["tools.py", "--color", "never"], false)] {
        let terminal = Terminal::start(&sandbox, &[flags, &["--sdk", "bundled"]].concat());
        terminal.line("● tools.py · ready");
        assert_eq!(terminal.painted().contains("\x1b[32m● "), has_colors, "{}", terminal.painted());
    }
}

#[test]
fn a_terminal_may_have_lines_in_place_of_the_view() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let terminal =
        Terminal::start(&sandbox, &["tools.py", "--no-view", "--transport", "http", "--port", "0", "--sdk", "bundled"]);
    terminal.line("pmcp: 3 tools: add, crash, wait");
    terminal.types("c add a=1 b=2");
    terminal.press("Enter");
    terminal.shows("3", |screen| screen.lines().any(|line| line == "3"));
    assert!(!terminal.screen().contains('●'), "{}", terminal.screen());
}

#[test]
fn ctrl_z_gives_the_terminal_back() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    // In the background the server goes on, and takes no keys.
    let shell = "set -m\n\"$@\"\nprintf 'stopped: %s\\n' \"$(stty -a | grep -o -- '-*icanon')\"\nbg >/dev/null\n\
                 until [ -e go ]; do sleep 0.05; done\njobs\nfg >/dev/null\n";
    sandbox.write("shell.sh", shell);
    let terminal = Terminal::new(&sandbox);
    let pmcp = sandbox.pmcp(&["dev", "tools.py", "--sdk", "bundled"]).command();
    let mut start = terminal.tmux();
    start.args(["-f", "/dev/null", "new-session", "-x", "80", "-y", "24", "-d"]);
    for (name, value) in pmcp.get_envs() {
        let value = value.map(|value| value.to_string_lossy()).unwrap_or_default();
        start.arg("-e").arg(format!("{}={value}", name.to_string_lossy()));
    }
    start.args(["--", "bash", "shell.sh"]).arg(pmcp.get_program()).args(pmcp.get_args());
    run(start.current_dir(sandbox.path("")));
    terminal.line("● tools.py · ready");
    terminal.press("C-z");
    terminal.line("stopped: icanon");
    sandbox.write("tools.py", TOOLS.replace("def add", "def sum"));
    terminal.line("pmcp: reloaded");
    sandbox.write("go", "");
    terminal.shows("a running job", |screen| screen.contains("Running"));
    terminal.line("● tools.py · ready");
    terminal.types("c");
    terminal.line("call");
}

#[test]
fn ctrl_backslash_gives_the_terminal_back() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.py", TOOLS);
    let terminal = Terminal::start(&sandbox, &["tools.py", "--sdk", "bundled"]);
    terminal.line("● tools.py · ready · 3 tools");
    terminal.press("C-\\");
    assert_eq!(terminal.ended(), "131 icanon");
    assert!(!terminal.screen().contains(HELP), "the view is gone: {}", terminal.screen());
    assert_eq!(run(terminal.tmux().args(["display-message", "-p", "#{cursor_flag}"])).trim(), "1");
}
