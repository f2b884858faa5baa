//! The servers of hosts that start a tool file, for `pmcp doctor`.

use std::path::{Path, PathBuf};

use protomcp_check::Configured;
use protomcp_install::{Environment, Found, Host, Installer, ListedServer, Scope, hosts};

use crate::install::report::problems;
use crate::install::secrets::Secrets;
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
        let Ok(installed) = installer.status(host, scope) else { continue };
        if let Found::Servers(servers) = &installed.found {
            let meant = servers.iter().filter(|server| match &wanted {
                Some(file) => starts(server, file),
                None => server.is_ours,
            });
            all.extend(meant.map(|server| of_server(host, server, file)));
        }
    }
    all
}

/// True if a word of the command is this file. A relative one depends on the directory in which the host starts it.
fn starts(server: &ListedServer, file: &Path) -> bool {
    let is_file = |word: &String| {
        let path = PathBuf::from(word);
        path.is_absolute() && path.canonicalize().is_ok_and(|path| path == file)
    };
    server.command.iter().any(is_file)
}

fn of_server(host: &Host, server: &ListedServer, file: Option<&Path>) -> Configured {
    let mut secrets = Secrets::of(server);
    let words: Vec<_> = secrets.command().iter().map(|word| shell_word(word)).collect();
    let file = file.map_or_else(|| "FILE".to_owned(), |file| shell_word(&file.to_string_lossy()));
    Configured {
        host: host.label.to_owned(),
        server: server.name.clone(),
        starts: secrets.url().unwrap_or_else(|| words.join(" ")),
        fault: problems(server).into_iter().next(),
        fix: format!("pmcp install {file} --client {}", host.id),
    }
}
