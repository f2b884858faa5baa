//! The output of `pmcp install`, `uninstall` and `status`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{MAIN_SEPARATOR, Path};

use protomcp_install::{Edit, Found, Host, InstallError, Installed, Installer, ListedServer, Restored, Server};
use protomcp_types::one_line;
use serde_json::json;

use crate::exit::{self, Failure};
use crate::install::probe::Answer;
use crate::install::secrets::{self, Secrets};
use crate::install::shell;
use crate::install::untried::is_reference;

/// The result for several hosts: text for standard output, and the errors.
pub(super) struct Report {
    text: String,
    errors: Vec<String>,
    home: Option<String>,
}

impl Report {
    pub(super) fn new(installer: &Installer) -> Self {
        Self { text: String::new(), errors: Vec::new(), home: installer.environment().home().map(str::to_owned) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.errors.is_empty()
    }

    pub(super) fn installed(&mut self, host: &Host, name: &str, server: &Server, edit: &Edit) {
        let listed = ListedServer::of(name, server);
        let shown = Secrets::of(&listed).shown();
        let line = match server {
            Server::Command { .. } => format!("runs  {}", short(&shown, self.home.as_deref())),
            Server::Url { .. } => format!("at    {shown}"),
        };
        self.line(&format!("{}: \"{name}\" is in {}", host.label, self.short(&edit.path)));
        self.line(&format!("  {line}"));
        if matches!(server, Server::Command { env, .. } if env.iter().any(|(name, _)| shell::is_path(name))) {
            self.line(&format!("  with  PATH in the entry: {} may start without the one of a shell", host.label));
        }
        self.line(&format!("  then  {}", host.reload));
        if let Some(backup) = &edit.backup {
            self.line(&format!("  copy  {}", self.short(backup)));
        }
    }

    pub(super) fn removed(&mut self, host: &Host, name: &str, edit: &Edit) {
        let end = match &edit.after {
            Some(_) => format!("is removed from {}", self.short(&edit.path)),
            None => format!("is removed, and {}, which was made for it", self.short(&edit.path)),
        };
        self.line(&format!("{}: \"{name}\" {end}", host.label));
        match &edit.restored {
            Some(Restored::Back) => self.line("  the server that it had replaced is back"),
            Some(Restored::InCopy(copy)) => {
                self.line(&format!("  the server that it had replaced is in {}", self.short(copy)));
            }
            None => {}
        }
        if let Some(backup) = &edit.backup {
            self.line(&format!("  a copy from before is {}", self.short(backup)));
        }
    }

    /// The change of a file, without the secrets of these servers: the ones that it has, and a new one.
    pub(super) fn dry_run(&mut self, servers: &[ListedServer], edit: &Edit) {
        let side = |text: &Option<String>, name: String| if text.is_some() { name } else { "/dev/null".into() };
        let name = edit.path.display().to_string();
        self.line(&format!("--- {}\n+++ {}", side(&edit.before, name.clone()), side(&edit.after, name)));
        let text = servers.iter().fold(edit.diff(), |text, server| Secrets::of(server).file(&text));
        self.text.push_str(&text);
    }

    /// The URL for a host that has a form for it.
    pub(super) fn form(&mut self, host: &Host, server: &Server) {
        match public_url(server) {
            Ok(url) => {
                tracing::info!("{}: {}", host.label, host.reload);
                self.line(url);
            }
            Err(reason) => self.errors.push(format!("{} {reason}", host.label)),
        }
    }

    /// The entry for a host whose settings are not in a file, or not known.
    pub(super) fn paste(&mut self, host: Option<&Host>, name: &str, text: Option<String>) {
        match (host, text) {
            (_, None) => self.errors.push(format!("the settings of {name} name commands only")),
            (Some(host), Some(text)) => {
                tracing::info!("{}: {}", host.label, host.reload);
                self.text.push_str(&text);
            }
            (None, Some(text)) => {
                tracing::info!("pmcp does not know {name}: paste this into its settings");
                self.text.push_str(&text);
            }
        }
    }

    pub(super) fn failed(&mut self, host: &Host, error: &InstallError) {
        match error {
            InstallError::Incomplete { .. } => self.errors.push(format!("{}: {error}", host.label)),
            error => self.broken(host, &error.to_string()),
        }
    }

    pub(super) fn broken(&mut self, host: &Host, reason: &str) {
        // The error may name a command of another origin.
        let reason = secrets::without_keys(reason);
        self.errors.push(format!("{}: {reason}; nothing was changed", host.label));
    }

    pub(super) fn note(&mut self, notes: &[String]) {
        for note in notes {
            tracing::info!("{note}");
        }
    }

    /// Prints the text, and fails if there was an error.
    pub(super) fn finish(self) -> Result<(), Failure> {
        exit::print(&exit::for_stdout(self.text))?;
        if self.errors.is_empty() { Ok(()) } else { Err(Failure::failed(self.errors.join("\n"))) }
    }

    fn line(&mut self, line: &str) {
        writeln!(self.text, "{line}").expect("a string grows");
    }

    fn short(&self, path: &Path) -> String {
        short(&path.display().to_string(), self.home.as_deref())
    }
}

/// Warns that the file of a host cannot be read. A server in it stays.
pub(super) fn left_alone(host: &Host, reason: &str) {
    let reason = secrets::without_keys(reason);
    tracing::warn!("{}: {reason}; a server in this file stays", host.label);
}

/// The URL of a server that a host on another machine may reach.
fn public_url(server: &Server) -> Result<&str, String> {
    match server {
        Server::Url { url, .. } if url.starts_with("https://") => Ok(url),
        Server::Url { .. } | Server::Command { .. } => {
            Err("starts no programs, and reaches servers over public HTTPS \
             only: serve the file with `pmcp run FILE --transport http` behind HTTPS, and install its URL"
                .to_owned())
        }
    }
}

/// The answers of servers, by the id of the host and the name of the server.
pub(super) type Answers = BTreeMap<(&'static str, String), Answer>;

/// The servers of each host, for people.
pub(super) fn status_text(installer: &Installer, found: &[(&Host, Installed)], answers: &Answers) -> String {
    let home = installer.environment().home();
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("a string grows");
    for (host, installed) in found {
        let path = short(&installed.path, home);
        match &installed.found {
            Found::Nothing => {}
            Found::Broken(reason) => line(format!("{}: {reason}", host.label)),
            Found::Servers(servers) => {
                let ours: Vec<_> = servers.iter().filter(|server| server.is_ours).collect();
                let others = match servers.len() - ours.len() {
                    0 => String::new(),
                    1 => " (and 1 other server)".to_owned(),
                    others => format!(" (and {others} other servers)"),
                };
                line(format!("{}: {path}{others}", host.label));
                for server in ours {
                    let shown = Secrets::of(server).shown();
                    let at = if server.url.is_some() { shown } else { short(&shown, home) };
                    line(format!("  {}  {at}", one_line(&server.name)));
                    for problem in problems(server) {
                        line(format!("    {problem}"));
                    }
                    if let Some(answer) = answers.get(&(host.id, server.name.clone())) {
                        line(format!("    {answer}"));
                    }
                }
            }
        }
    }
    if text.is_empty() { "no host was found on this machine\n".into() } else { text }
}

/// The servers of each host, for programs.
pub(super) fn status_json(found: &[(&Host, Installed)], answers: &Answers) -> String {
    let hosts = found.iter().filter_map(|(host, installed)| {
        let mut row = json!({"id": host.id, "name": host.label, "path": installed.path});
        match &installed.found {
            Found::Nothing => return None,
            Found::Broken(reason) => row["error"] = json!(reason),
            Found::Servers(servers) => {
                row["servers"] = servers
                    .iter()
                    .filter(|server| server.is_ours)
                    .map(|server| {
                        let mut secrets = Secrets::of(server);
                        let (command, url) = (secrets.command(), secrets.url());
                        let mut row = json!({"name": server.name, "command": command, "url": url});
                        row["problems"] = json!(problems(server));
                        if let Some(answer) = answers.get(&(host.id, server.name.clone())) {
                            row["answers"] = answer.json();
                        }
                        row
                    })
                    .collect();
            }
        }
        Some(row)
    });
    let hosts: Vec<_> = hosts.collect();
    serde_json::to_string_pretty(&hosts).expect("rows are JSON") + "\n"
}

/// Reasons for which a host cannot start a server.
pub(super) fn problems(server: &ListedServer) -> Vec<String> {
    let mut problems = Vec::new();
    match server.command.first() {
        // The host knows the program.
        Some(program) if is_reference(program) => {}
        Some(program) if program.contains(MAIN_SEPARATOR) => {
            if !Path::new(program).exists() {
                problems.push(format!("there is no {program}: install it again"));
            }
        }
        Some(program) if !is_in_path(program) => {
            problems.push(format!("there is no {program} in PATH: name the program by its path"));
        }
        Some(_) | None => {}
    }
    let verbs = ["dev", "run"];
    let file =
        server.command.get(2).filter(|_| server.command.get(1).is_some_and(|verb| verbs.contains(&verb.as_str())));
    if let Some(file) = file.filter(|file| Path::new(file).is_absolute() && !Path::new(file).exists()) {
        problems.push(format!("there is no {file}: pmcp uninstall {}", server.name));
    }
    problems
}

fn is_in_path(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// A text with the home directory as `~`.
fn short(text: &str, home: Option<&str>) -> String {
    match home.filter(|home| home.len() > 1) {
        Some(home) => text.replace(&format!("{}/", home.trim_end_matches('/')), "~/"),
        None => text.to_owned(),
    }
}
