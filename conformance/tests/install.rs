//! `pmcp install` and `uninstall`: the real program on files of a temporary home directory, and hosts that read them.

mod concurrent;
mod removal;
mod reply;
mod secrets;
mod status;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use protomcp_conformance::{Sandbox, Web, envelope_tools, peers, pmcp};
use serde_json::Value;

/// A user with a home directory, and a program as tool file.
struct User {
    sandbox: Sandbox,
}

impl User {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        fs::create_dir(sandbox.path("home")).expect("the sandbox can be written");
        Self { sandbox }
    }

    fn home(&self, name: &str) -> PathBuf {
        self.sandbox.path("home").join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home(name);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }

    /// A program in the environment of this user. Nothing beyond this machine can be reached.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.sandbox.path("")).env("HOME", self.sandbox.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command.env("NO_PROXY", "127.0.0.1,localhost").env("no_proxy", "127.0.0.1,localhost");
        command
    }

    fn pmcp(&self, words: &[&str]) -> Output {
        self.command(pmcp()).args(words).output().expect("pmcp starts")
    }

    /// Standard output of a command that succeeds.
    fn ok(&self, words: &[&str]) -> String {
        let output = self.pmcp(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Standard error of a command that fails with this exit code.
    fn refused(&self, words: &[&str], code: i32) -> String {
        let output = self.pmcp(words);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
        stderr
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the file is there")
}

const PLAIN: &str = "{\n  // mine\n  \"servers\": {\n    \"a\": { \"command\": \"npx\" }, // fast\n  },\n}\n";

#[test]
fn a_tool_file_is_installed_and_leaves_no_trace() {
    let user = User::new();
    user.sandbox.write("my tools.py", "");
    let path = user.write(".config/Code/User/mcp.json", PLAIN);
    let dry = user.ok(&["install", "my tools.py", "--dry-run"]);
    assert!(dry.contains("+    \"mytools\": {") && dry.starts_with("--- ") && read(&path) == PLAIN, "{dry}");

    let printed = user.ok(&["install", "my tools.py", "--env", "KEY=a b", "--", "--call-timeout", "30s"]);
    assert!(printed.contains("VS Code: \"mytools\" is in ~/.config/Code/User/mcp.json"), "{printed}");
    let text = read(&path);
    assert!(
        text.starts_with("{\n  // mine\n  \"servers\": {\n    \"a\": { \"command\": \"npx\" }, // fast\n"),
        "{text}"
    );
    let file = user.sandbox.path("my tools.py").display().to_string();
    for part in [pmcp().to_str().expect("UTF-8"), "\"dev\"", file.as_str(), "\"--call-timeout\"", "\"KEY\": \"a b\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let status = user.ok(&["status", "--no-start"]);
    assert!(status.contains("VS Code: ~/.config/Code/User/mcp.json (and 1 other server)\n  mytools  "), "{status}");
    let status: Value = serde_json::from_str(&user.ok(&["status", "--json", "--no-start"])).expect("it is JSON");
    assert_eq!((&status[0]["id"], &status[0]["servers"][0]["name"]), (&"vscode".into(), &"mytools".into()));

    // The file may be named in place of the server, and need not exist.
    fs::remove_file(user.sandbox.path("my tools.py")).expect("it is there");
    let gone = user.pmcp(&["status"]);
    assert!(gone.status.code() == Some(1) && gone.stdout.windows(12).any(|part| part == b"there is no "), "{gone:?}");
    user.ok(&["uninstall", "my tools.py"]);
    assert_eq!(read(&path), PLAIN);
    assert!(!path.with_file_name("mcp.json.pmcp-backup").exists());
    let again = user.refused(&["uninstall", "mytools"], 1);
    assert!(again.contains("no host has a server \"mytools\""), "{again}");
}

#[test]
fn hosts_are_found_or_named() {
    let user = User::new();
    user.sandbox.write("tools.py", "");
    let none = user.refused(&["install", "tools.py"], 2);
    assert!(none.contains("no host was found on this machine") && none.contains("claude-desktop"), "{none}");
    let typo = user.refused(&["install", "tools.py", "--client", "curser"], 2);
    assert!(typo.contains("did you mean cursor?"), "{typo}");
    let word = user.refused(&["install", "tools.py", "--client", "Claude"], 2);
    assert!(word.contains("did you mean claude-desktop or claude-code?"), "{word}");
    for words in [&["install", "tools.py"][..], &["uninstall", "tools"], &["status"]] {
        let empty = user.refused(&[words, &["--client", ""]].concat(), 2);
        assert!(empty.contains("invalid --client: it is empty; name a host"), "{words:?}: {empty}");
    }
    user.write(".cursor/mcp.json", "");
    user.write(".codex/config.toml", "model = \"a\"");
    let several = user.refused(&["install", "tools.py"], 2);
    assert!(several.contains("cursor, codex") && several.contains("--client all"), "{several}");
    user.ok(&["install", "tools.py", "--client", "all"]);
    assert!(read(&user.home(".cursor/mcp.json")).starts_with("{\n  \"mcpServers\": {\n    \"tools\": {\n"));
    assert!(read(&user.home(".codex/config.toml")).starts_with("model = \"a\"\n\n[mcp_servers.tools]\ncommand = "));
    let removed = user.ok(&["uninstall", "tools"]);
    assert_eq!(removed.lines().count(), 2, "{removed}");
    assert_eq!(read(&user.home(".cursor/mcp.json")) + &read(&user.home(".codex/config.toml")), "model = \"a\"");

    // Others get the JSON to paste.
    let paste = user.pmcp(&["install", "tools.py", "--client", "my-agent"]);
    let json: Value = serde_json::from_slice(&paste.stdout).expect("standard output is JSON");
    assert_eq!(json["mcpServers"]["tools"]["args"][0], "dev");
    assert!(String::from_utf8_lossy(&paste.stderr).contains("paste"), "{paste:?}");
    // And a project has its own file.
    user.ok(&["install", "tools.py", "--client", "claude-code", "--project", "--no-reload"]);
    assert!(read(&user.sandbox.path(".mcp.json")).contains("\"run\""));
    user.ok(&["uninstall", "tools", "--project"]);
    assert!(!user.sandbox.path(".mcp.json").exists());
}

/// Calls a tool of the server "tools" as Claude Desktop starts it: with nothing of the shell but the home directory.
fn called_from_a_window(user: &User, tool: &str) -> String {
    let entry = entry(user, ".config/Claude/claude_desktop_config.json", "tools");
    let words = [&entry["command"]].into_iter().chain(entry["args"].as_array().into_iter().flatten());
    let words = words.map(|word| word.as_str().expect("a word is a text"));
    let variables = entry["env"].as_object().into_iter().flatten();
    let variables = variables.map(|(name, value)| (name, value.as_str().expect("a variable is a text")));
    let mut command = Command::new(pmcp());
    command.env_clear().env("HOME", user.sandbox.path("home")).envs(variables);
    let output = command.args(["call", tool, "--"]).args(words).output().expect("pmcp starts");
    assert!(output.status.success(), "{entry}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The entry of a server in a file of a host.
fn entry(user: &User, file: &str, name: &str) -> Value {
    let json: Value = serde_json::from_str(&read(&user.home(file))).expect("it is JSON");
    json["mcpServers"][name].clone()
}

#[test]
fn a_host_without_a_shell_has_the_environment_of_python() {
    let user = User::new();
    let venv = user.sandbox.path("venv");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).output();
    assert!(made.as_ref().is_ok_and(|output| output.status.success()), "{made:?}");
    let versions = fs::read_dir(venv.join("lib")).expect("an environment has a library");
    let version = versions.flatten().next().expect("of one version").path();
    fs::write(version.join("site-packages/parcel.py"), "VALUE = 'from the package'\n").expect("it can be written");
    let tool = "@tool('The value.')\ndef value() -> str:\n    return parcel.VALUE\n";
    user.sandbox.write("tools.py", format!("import parcel\nfrom protomcp import tool\n\n{tool}"));
    let mut install = user.command(pmcp());
    install.args(["install", "tools.py", "--client", "claude-desktop"]).env("VIRTUAL_ENV", &venv);
    let installed = install.output().expect("pmcp starts");
    let stderr = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success() && !stderr.contains("warn"), "it starts as in the host: {stderr}");
    assert_eq!(called_from_a_window(&user, "value"), "from the package");
}

#[test]
fn a_host_without_a_shell_has_its_search_path() {
    let user = User::new();
    let real = Command::new("node").args(["-p", "process.execPath"]).output().expect("node starts");
    let real = String::from_utf8_lossy(&real.stdout).trim().to_owned();
    let node = user.sandbox.path("private/node");
    fs::create_dir(user.sandbox.path("private")).expect("the sandbox can be written");
    fs::write(&node, format!("#!/bin/sh\nPRIVATE=here exec '{real}' \"$@\"\n")).expect("the sandbox can be written");
    fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let tool = "tool({ name: 'where', handler: () => process.env.PRIVATE ?? 'elsewhere' });\n";
    user.sandbox.write("tools.mjs", format!("import {{ tool }} from 'protomcp';\n{tool}"));
    let private = user.sandbox.path("private").display().to_string();
    let mut install = user.command(pmcp());
    install
        .args(["install", "tools.mjs", "--client", "claude-desktop"])
        .env("PATH", format!("{private}:relative:/bin"));
    let installed = install.output().expect("pmcp starts");
    let stderr = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success() && !stderr.contains("warn"), "it starts as in the host: {stderr}");
    let file = ".config/Claude/claude_desktop_config.json";
    assert_eq!(entry(&user, file, "tools")["env"], serde_json::json!({"PATH": format!("{private}:/bin")}));
    assert_eq!(called_from_a_window(&user, "where"), "here");
    // The user's own stays, and a command passes the shell's on.
    user.ok(&["install", "tools.mjs", "--client", "claude-desktop", "--env", "PATH=/mine"]);
    assert_eq!(entry(&user, file, "tools")["env"], serde_json::json!({"PATH": "/mine"}));
    user.ok(&["install", "tools.mjs", "--client", "claude-code"]);
    assert!(entry(&user, ".claude.json", "tools").get("env").is_none());
}

#[test]
fn a_file_that_does_not_start_is_installed_with_a_warning() {
    let user = User::new();
    let path = user.write(".cursor/mcp.json", "");
    let file = user.sandbox.write("broken.py", "import os\nraise RuntimeError(f\"no {os.environ['KEY']}\")\n");
    let words = ["install", "broken.py", "--env", "KEY=luck"];
    let dry = user.pmcp(&[&words[..], &["--dry-run"]].concat());
    assert!(dry.status.success() && dry.stderr.is_empty(), "a dry run starts nothing: {dry:?}");
    let installed = user.pmcp(&words);
    let warning = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success() && read(&path).contains("broken.py"), "{installed:?}");
    let doctor = format!("`pmcp doctor {}`", file.display());
    for part in ["the host will show no tools until ", "RuntimeError: no luck", doctor.as_str()] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
}

#[test]
fn a_slow_file_and_one_without_tools_have_a_remark() {
    let user = User::new();
    user.write(".cursor/mcp.json", "");
    user.sandbox.write("empty.py", "import protomcp\n");
    user.sandbox.write("slow.py", "import protomcp, time\ntime.sleep(60)\n");
    for (file, remark) in [
        ("empty.py", "empty.py starts, and the host will show no tools: it lists none"),
        ("slow.py", "slow.py did not start within 10s, which is all that this command waits"),
    ] {
        let installed = user.pmcp(&["install", file]);
        let warning = String::from_utf8_lossy(&installed.stderr);
        assert!(installed.status.success() && warning.contains(remark), "{file}: {warning}");
    }
}

#[test]
fn a_command_is_installed_with_absolute_paths() {
    let user = User::new();
    let tool = "@tool('Says hello.')\ndef hello() -> str:\n    return 'hello'\n";
    user.sandbox.write("tools.py", format!("from protomcp import tool\n\n{tool}"));
    let program = pmcp().to_str().expect("UTF-8");
    let words = ["install", "--name", "tools", "--client", "claude-desktop", "--", program, "run", "tools.py"];
    let installed = user.pmcp(&words);
    let stderr = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success() && !stderr.contains("warn"), "it starts as in the host: {stderr}");
    let file = user.sandbox.path("tools.py");
    let args = entry(&user, ".config/Claude/claude_desktop_config.json", "tools")["args"].clone();
    assert_eq!(args, serde_json::json!(["dev", "--", program, "run", file]));
    assert_eq!(called_from_a_window(&user, "hello"), "hello");

    let words = ["install", "--name", "x", "--client", "cursor", "--scope", "project", "--", "sh", "-c", "exit 3"];
    let installed = user.pmcp(&words);
    let stderr = String::from_utf8_lossy(&installed.stderr);
    assert!(installed.status.success() && stderr.contains("no tools until the command works: "), "{installed:?}");
    let text = read(&user.sandbox.path(".cursor/mcp.json"));
    assert!(text.contains("\"run\",\n        \"--\",\n        \"/") && text.contains("/sh\",\n"), "{text}");
    let missing = user.refused(&["install", "--name", "x", "--client", "cursor", "--", "no-such-program"], 2);
    assert!(missing.contains("there is no no-such-program in PATH"), "{missing}");
}

#[test]
fn the_entry_names_a_path_that_stays() {
    let user = User::new();
    user.sandbox.write("tools.py", "");
    let (link, copy) = (user.sandbox.path("bin/pmcp"), user.sandbox.path("_npx/pmcp"));
    for program in [&link, &copy] {
        fs::create_dir(program.parent().expect("a folder")).expect("the sandbox can be written");
    }
    symlink(pmcp(), &link).expect("the sandbox can be written");
    fs::hard_link(pmcp(), &copy).or_else(|_| fs::copy(pmcp(), &copy).map(drop)).expect("the sandbox can be written");
    // The folder for temporary files decides, too.
    let entry = |program: &Path, temporary: &str| {
        let mut command = user.command(program);
        command.args(["install", "tools.py", "--client", "cursor", "--dry-run"]);
        let path = format!("{}:/bin", user.sandbox.path("bin").display());
        let output =
            command.env("PATH", path).env("TMPDIR", user.sandbox.path(temporary)).output().expect("pmcp starts");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        (printed, String::from_utf8_lossy(&output.stderr).contains("which is in a folder that is cleaned up"))
    };
    for (program, temporary, named, is_warned) in [
        (link.as_path(), "tmp", link.as_path(), false),
        (pmcp(), "tmp", link.as_path(), false),
        (pmcp(), "bin", pmcp(), false),
        (copy.as_path(), "tmp", copy.as_path(), true),
    ] {
        let (printed, warned) = entry(program, temporary);
        let line = format!("+      \"command\": \"{}\",\n", named.display());
        assert!(printed.contains(&line) && warned == is_warned, "{program:?}: {printed}");
    }
}

#[test]
fn a_server_of_the_same_name_stays() {
    let user = User::new();
    let theirs = r#"{"mcpServers": {"tools": {"command": "pmcp", "args": ["run", "theirs.py"]}}}"#;
    let path = user.write(".cursor/mcp.json", theirs);
    for folder in ["a", "b"] {
        fs::create_dir(user.sandbox.path(folder)).expect("the sandbox can be written");
        fs::write(user.sandbox.path(folder).join("tools.py"), "").expect("the sandbox can be written");
    }
    let error = user.refused(&["install", "a/tools.py"], 1);
    assert!(error.contains("\"tools\" already, which starts pmcp run theirs.py: choose a name with --name"), "{error}");
    assert_eq!(read(&path), theirs);
    user.ok(&["install", "a/tools.py", "--replace"]);
    let first = read(&path);
    assert!(first.contains("/a/tools.py") && !first.contains("theirs.py"), "{first}");
    let error = user.refused(&["install", "b/tools.py"], 1);
    assert!(error.contains("/a/tools.py: choose a name with --name, or replace it with --replace"), "{error}");
    assert_eq!(read(&path), first);
    user.ok(&["install", "a/tools.py", "--no-reload"]);
    user.ok(&["install", "b/tools.py", "--name", "more"]);
    let both = read(&path);
    assert!(both.contains("\"run\"") && both.contains("/a/tools.py") && both.contains("/b/tools.py"), "{both}");
}

#[test]
fn a_broken_file_of_a_host_is_left_alone() {
    let user = User::new();
    user.sandbox.write("tools.py", "");
    let broken = "{\n  \"mcpServers\": {\n";
    let path = user.write(".config/Claude/claude_desktop_config.json", broken);
    let error = user.refused(&["install", "tools.py", "--client", "claude-desktop"], 1);
    assert!(
        error.contains("claude_desktop_config.json: line 3, column 1: ") && error.contains("nothing was changed"),
        "{error}"
    );
    assert_eq!(read(&path), broken);
    let path = user.write(".cursor/mcp.json", "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("it is ours");
    let error = user.refused(&["install", "tools.py", "--client", "cursor"], 1);
    assert!(error.contains("is read-only"), "{error}");
    assert!(user.ok(&["status", "--no-start"]).contains("line 3, column 1"));
    let error = user.refused(&["status"], 1);
    assert!(error.contains("hosts whose files cannot be read: Claude Desktop"), "{error}");
}

/// A host whose file names commands only gets this program in front of the server.
#[test]
fn a_remote_server_is_installed_in_the_words_of_the_host() {
    let user = User::new();
    let url = "https://mcp.example.com/v1";
    let entry = |id: &str, file: &str| {
        user.ok(&["install", url, "--client", id, "--header", "Authorization: Bearer x"]);
        let json: Value = serde_json::from_str(&read(&user.home(file))).expect("it is JSON");
        json["mcpServers"]["example"].clone()
    };
    let desktop = entry("claude-desktop", ".config/Claude/claude_desktop_config.json");
    assert_eq!(desktop["args"], serde_json::json!(["run", "--upstream", url, "--header", "Authorization: Bearer x"]));
    let gemini = entry("gemini", ".gemini/settings.json");
    assert_eq!(gemini, serde_json::json!({"httpUrl": url, "headers": {"Authorization": "Bearer x"}}));
    // ChatGPT has a form for URLs on the public internet.
    assert_eq!(user.ok(&["install", url, "--client", "chatgpt"]), format!("{url}\n"));
    user.sandbox.write("tools.py", "");
    for target in ["tools.py", "http://mcp.example.com/v1"] {
        let error = user.refused(&["install", target, "--client", "chatgpt"], 1);
        assert!(error.contains("ChatGPT starts no programs, and reaches servers over public HTTPS only"), "{error}");
    }
    let removed = user.ok(&["uninstall", url]);
    assert_eq!(removed.lines().count(), 2, "{removed}");
}

/// The list that a host prints of its servers.
fn listed(user: &User, program: &str) -> String {
    let mut command = user.command(&peers().join(program));
    // Their documented switches.
    for (name, value) in [
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("NO_COLOR", "1"),
    ] {
        command.env(name, value);
    }
    let output = command.args(["mcp", "list"]).output().expect("scripts/setup has installed it");
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {text}");
    text
}

/// Installs a tool file and a URL, lets the host connect to both, and looks for a trace.
fn visit(id: &str, program: &str, file: &str, text: &str) {
    let user = User::new();
    let path = user.write(file, text);
    // In a directory that the user trusts.
    let directory = user.sandbox.path("").display().to_string();
    user.write(
        ".gemini/trustedFolders.json",
        &serde_json::json!({directory.trim_end_matches('/'): "TRUST_FOLDER"}).to_string(),
    );
    let web = Web::start("py/quickstart.py", &["--transport", "http"]);
    let tools = envelope_tools();
    let tools = tools.to_str().expect("UTF-8");
    let url = format!("http://127.0.0.1:{}/mcp", web.port());
    // Hosts write into their file when they start for the first time, so only the second round is compared.
    for round in 1..=2 {
        let before = read(&path);
        user.ok(&["install", tools, "--client", id, "--name", "local"]);
        user.ok(&["install", &url, "--client", id, "--name", "remote"]);
        let list = listed(&user, program);
        for name in ["local", "remote"] {
            let is_connected =
                |line: &str| line.contains(name) && line.to_lowercase().contains("connected") && !line.contains('✗');
            assert!(list.lines().any(is_connected), "{id}: {name} in {list}");
        }
        user.ok(&["uninstall", "local", "--client", id]);
        user.ok(&["uninstall", "remote", "--client", id]);
        assert!(round == 1 || read(&path) == before, "{id}: {before} is now {}", read(&path));
    }
    assert!(!listed(&user, program).contains("local"), "{id}");
}

#[test]
fn claude_code_connects_to_an_installed_server() {
    visit("claude-code", "hosts/node_modules/.bin/claude", ".claude.json", "{\"numStartups\": 1}");
}

#[test]
#[ignore = "seven seconds of a processor, in the long tier alone"]
fn gemini_cli_connects_to_an_installed_server() {
    let settings = "{\n  // Mine.\n  \"privacy\": { \"usageStatisticsEnabled\": false }, // all of it\n  \"general\": { \"enableAutoUpdate\": false }\n}\n";
    visit("gemini", "hosts/node_modules/.bin/gemini", ".gemini/settings.json", settings);
}

#[test]
#[ignore = "a program of 180 MB, which is installed in the long tier alone"]
fn opencode_connects_to_an_installed_server() {
    const PROGRAM: &str = "opencode/node_modules/opencode-linux-x64-baseline/bin/opencode";
    let settings = "{\n  // Mine.\n  \"autoupdate\": false,\n  \"mcp\": {},\n}\n";
    visit("opencode", PROGRAM, ".config/opencode/opencode.jsonc", settings);
}
