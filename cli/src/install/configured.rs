//! The servers of hosts that start a tool file, for `pmcp doctor`.

use std::path::Path;

use protomcp_check::Configured;
use protomcp_install::{Environment, Found, Host, Installer, ListedServer, Scope, hosts};

use crate::install::report::problems;
use crate::install::secrets::Secrets;
use crate::install::server::files;
use crate::shell_word::shell_word;

/// The servers that start this file, in the files of the user and of the current directory; without a file those that run
/// `pmcp`.
pub(crate) fn configured(file: Option<&Path>) -> Vec<Configured> {
    let installer = Installer::new(Environment::of_this_process());
    let current = std::env::current_dir().ok().and_then(|path| path.into_os_string().into_string().ok());
    let scopes: Vec<Scope> = [Scope::User].into_iter().chain(current.map(Scope::Project)).collect();
    let wanted = file.and_then(|file| file.canonicalize().ok());
    let mut all = Vec::new();
    for (host, scope) in hosts().iter().flat_map(|host| scopes.iter().map(move |scope| (host, scope))) {
        // A host without a file for this scope.
        let Ok(installed) = installer.status(host, scope) else { continue };
        match installed.found {
            Found::Nothing => {}
            Found::Broken(reason) => all.push(Configured {
                found: format!("{} reads {}", host.label, installed.path),
                fault: Some(reason),
                fix: "correct the file: its host starts none of the servers in it".to_owned(),
            }),
            Found::Servers(servers) => {
                let meant = servers.iter().filter(|server| match &wanted {
                    Some(file) => starts(server, file),
                    None => server.is_ours,
                });
                all.extend(meant.map(|server| of_server(host, server, file)));
            }
        }
    }
    if all.is_empty() { vec![none(file)] } else { all }
}

/// No host starts the file. One that does not exist is not offered to be added.
fn none(file: Option<&Path>) -> Configured {
    let found = match file {
        Some(file) if !file.is_file() => "none starts it".to_owned(),
        file => format!("none starts it; `pmcp install {}` adds it to one", word(file)),
    };
    Configured { found, fault: None, fix: String::new() }
}

/// The file as a word of a command.
fn word(file: Option<&Path>) -> String {
    file.map_or_else(|| "FILE".to_owned(), |file| shell_word(&file.to_string_lossy()))
}

/// True if it starts this file, or a link to it. A relative path depends on the directory in which the host starts it.
fn starts(server: &ListedServer, file: &Path) -> bool {
    files(server).iter().any(|path| path.is_absolute() && path.canonicalize().is_ok_and(|path| path == file))
}

fn of_server(host: &Host, server: &ListedServer, file: Option<&Path>) -> Configured {
    let mut secrets = Secrets::of(server);
    let words: Vec<_> = secrets.command().iter().map(|word| shell_word(word)).collect();
    let starts = secrets.url().unwrap_or_else(|| words.join(" "));
    Configured {
        found: format!("{} starts \"{}\": {starts}", host.label, server.name),
        fault: problems(server).into_iter().next(),
        fix: format!("pmcp install {} --client {}", word(file), host.id),
    }
}

#[cfg(test)]
mod tests {
    use protomcp_install::Server;

    use super::*;

    #[test]
    fn a_value_of_a_flag_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let (file, data) = (place.join("tools.py"), place.join("data.json"));
        for path in [&file, &data] {
            std::fs::write(path, "").unwrap();
        }
        let words = ["dev", "--watch", data.to_str().unwrap(), file.to_str().unwrap()];
        let args = words.map(str::to_owned).to_vec();
        let server =
            ListedServer::of("name", &Server::Command { program: "/usr/bin/pmcp".into(), args, env: Vec::new() });
        assert!(starts(&server, &file) && !starts(&server, &data));
    }
}
