//! The files of every host as each system has them, with the line ends of both kinds. Paths of Windows are names with
//! backslashes here, below a temporary directory like the others.

use std::fs;
use std::path::{Path, PathBuf};

use protomcp_install::{Action, Edit, Environment, Format, Host, InstallError, Installer, Os, Scope, Server, hosts};
use tempfile::TempDir;

const SYSTEMS: [Os; 3] = [Os::Linux, Os::MacOs, Os::Windows];
const LINE_ENDS: [&str; 2] = ["\n", "\r\n"];

/// A user of a system, with an empty home.
struct User {
    folder: TempDir,
    installer: Installer,
}

impl User {
    fn new(os: Os) -> Self {
        let folder = tempfile::tempdir().expect("there is a temporary directory");
        let below = |name: &str| folder.path().join(name).to_str().expect("it is UTF-8").to_owned();
        let variables = match os {
            Os::Linux | Os::MacOs => vec![("HOME", below("ann"))],
            Os::Windows => {
                vec![("USERPROFILE", below("ann")), ("APPDATA", below("roaming")), ("LOCALAPPDATA", below("local"))]
            }
        };
        let environment = Environment::new(os, variables.iter().map(|(name, value)| (*name, value.as_str())));
        Self { installer: Installer::new(environment), folder }
    }

    fn path(&self, host: &Host) -> PathBuf {
        self.installer.path(host, &Scope::User).expect("the host has a file")
    }

    fn write(&self, host: &Host, text: &str) -> PathBuf {
        let path = self.path(host);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }

    fn install(&self, host: &Host, name: &str) -> Result<Edit, InstallError> {
        let server = Server::Command { program: "/bin/pmcp".into(), args: vec!["dev".into()], env: Vec::new() };
        self.installer.apply(host, &Scope::User, &Action::Install { name: name.into(), server, replaces: false })
    }

    fn uninstall(&self, host: &Host, name: &str) -> Result<Edit, InstallError> {
        self.installer.apply(host, &Scope::User, &Action::Uninstall { name: name.into() })
    }

    /// All files of the user, and no directories.
    fn files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder can be read") {
                let path = entry.expect("an entry can be read").path();
                if path.is_dir() { folders.push(path) } else { found.push(path) }
            }
        }
        found
    }
}

/// Each system with each host that has a file on it.
fn all() -> impl Iterator<Item = (Os, &'static Host)> {
    let rows = SYSTEMS.into_iter().flat_map(|os| hosts().iter().map(move |host| (os, host)));
    rows.filter(|(os, host)| {
        let variables = [("HOME", "/u"), ("USERPROFILE", "/u")];
        host.format.is_some() && !host.files(&Environment::new(*os, variables), &Scope::User).is_empty()
    })
}

fn is_toml(host: &Host) -> bool {
    host.format == Some(Format::Toml)
}

/// A file with a server of the user, other settings, and comments where the host has them.
fn fixture(host: &Host, line_end: &str) -> String {
    let servers = match host.id {
        "vscode" | "vscode-insiders" => "servers",
        "zed" => "context_servers",
        "opencode" | "kilo" => "mcp",
        "amp" => "amp.mcpServers",
        _ => "mcpServers",
    };
    let text = if is_toml(host) {
        "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"npx\"\n\n[tui]\ntheme = 1\n".to_owned()
    } else {
        let has_comments = host.format != Some(Format::Json);
        let (first, second) = if has_comments { ("/* Mine. */\n", " // kept") } else { ("", "") };
        format!(
            "{first}{{\n  \"unknown\": {{ \"x\": 1.0 }},{second}\n  \"{servers}\": {{\n    \
             \"other\": {{ \"command\": \"npx\" }}\n  }},\n  \"last\": [true]\n}}\n"
        )
    };
    text.replace('\n', line_end)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the file is there")
}

#[test]
fn files_of_each_system_come_back_with_their_line_ends() {
    for (os, host) in all() {
        for line_end in LINE_ENDS {
            let (user, before) = (User::new(os), fixture(host, line_end));
            let place = format!("{} on {os:?} with {line_end:?}", host.id);
            let path = user.write(host, &before);
            assert_eq!(path.to_string_lossy().contains('\\'), os == Os::Windows, "{place}: {}", path.display());
            user.install(host, "tools").unwrap_or_else(|error| panic!("{place}: {error}"));
            let after = read(&path);
            assert!(after.contains("tools") && after.contains("/bin/pmcp"), "{place}: {after}");
            assert_eq!(after.matches('\n').count(), after.matches(line_end).count(), "{place}: {after:?}");
            assert_eq!(after.contains('\r'), line_end == "\r\n", "{place}: {after:?}");
            for line in
                before.lines().filter(|line| line.contains("ine.") || line.contains("# mine") || line.contains("//"))
            {
                assert!(after.contains(line), "{place}: the comment stays: {after}");
            }
            user.uninstall(host, "tools").unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(read(&path), before, "{place}");
            assert_eq!(user.files().len(), 2, "{place}: the file and the lock of the records stay: {:?}", user.files());
        }
    }
}

#[test]
fn files_that_were_not_there_go_again_on_each_system() {
    for (os, host) in all() {
        let user = User::new(os);
        user.install(host, "tools").unwrap_or_else(|error| panic!("{} on {os:?}: {error}", host.id));
        assert!(read(&user.path(host)).contains("/bin/pmcp"), "{} on {os:?}", host.id);
        user.uninstall(host, "tools").unwrap_or_else(|error| panic!("{} on {os:?}: {error}", host.id));
        assert_eq!(user.files().len(), 1, "{} on {os:?}: {:?}", host.id, user.files());
    }
}

#[test]
fn broken_files_of_each_host_are_left_alone() {
    for (os, host) in all() {
        let broken: &[&str] =
            if is_toml(host) { &["a = 1\nb = = 2\n"] } else { &["{\n  \"x\": ,\n}\n", "{\n  \"x\": {\"a\""] };
        for (text, line_end) in broken.iter().flat_map(|text| LINE_ENDS.map(|line_end| (text, line_end))) {
            let (user, text) = (User::new(os), text.replace('\n', line_end));
            let path = user.write(host, &text);
            let place = format!("{} on {os:?}: {text:?}", host.id);
            let error = user.install(host, "tools").expect_err(&place).to_string();
            assert!(
                error.contains(&path.display().to_string()) && error.contains("line 2, column "),
                "{place}: {error}"
            );
            assert_eq!(read(&path), text, "{place}");
            assert_eq!(user.files().len(), 2, "{place}: there is neither a copy nor a draft: {:?}", user.files());
        }
    }
}

#[test]
fn servers_of_others_stay_on_each_system() {
    for (os, host) in all() {
        let (user, text) = (User::new(os), fixture(host, "\n"));
        let path = user.write(host, &text);
        let taken = user.install(host, "other").expect_err("the name is taken");
        assert!(matches!(taken, InstallError::Taken { .. }), "{} on {os:?}: {taken}", host.id);
        let foreign = user.uninstall(host, "other").expect_err("the server is of another origin");
        assert!(matches!(foreign, InstallError::Foreign { .. }), "{} on {os:?}: {foreign}", host.id);
        assert_eq!(read(&path), text, "{} on {os:?}", host.id);
    }
}
