//! The server of an entry: this program with a tool file, or a URL.

use std::path::{Path, PathBuf};

use protomcp_install::{Host, Inherited, ListedServer, Server};

use crate::args;
use crate::args::install::Installable;
use crate::exit::Failure;
use crate::install::{program, shell};

/// A server in the forms that hosts take.
pub(super) struct Servers {
    /// The form for most hosts.
    direct: Server,
    /// The form for hosts that only know commands.
    command: Server,
    /// `PATH` of this shell, unless the entry names one.
    path: Option<String>,
    /// A warning about the path of this program, for entries that name it.
    warning: Option<String>,
    /// Decisions that the user should know.
    pub(super) notes: Vec<String>,
}

impl Servers {
    pub(super) fn new(installable: &Installable) -> Result<Self, Failure> {
        let program = program::own()?;
        let warning = program::warning(&program);
        let program = text(&program)?;
        let mut notes = Vec::new();
        let (direct, command) = match installable {
            Installable::File { path, variables, reload, flags } => {
                let mut args = vec![if *reload { "dev" } else { "run" }.to_owned(), text(path)?];
                args.extend(flags.iter().cloned());
                let mut env = variables.clone();
                let found = shell::interpreter(path).filter(|(name, _)| !env.iter().any(|(known, _)| known == name));
                if let Some((name, program)) = found {
                    notes.push(format!("the host starts {} with {program}, as this shell does", path.display()));
                    env.push((name.to_owned(), program));
                }
                let server = Server::Command { program, args, env };
                (server.clone(), server)
            }
            Installable::Command { words, variables, reload } => {
                let words = shell::absolute_words(words)?;
                // There is nothing to watch without a file: hosts start servers in any directory.
                let is_watched = *reload && words.iter().skip(1).any(|word| Path::new(word).is_file());
                let verb = if is_watched { "dev" } else { "run" };
                let args = [verb.to_owned(), "--".to_owned()].into_iter().chain(words).collect();
                let server = Server::Command { program, args, env: variables.clone() };
                (server.clone(), server)
            }
            Installable::Url { url, headers } => {
                let fields = headers.iter().flat_map(|(name, value)| ["--header".into(), format!("{name}: {value}")]);
                let args = ["run".into(), "--upstream".into(), url.clone()].into_iter().chain(fields).collect();
                let direct = Server::Url { url: url.clone(), headers: headers.clone() };
                (direct, Server::Command { program, args, env: Vec::new() })
            }
        };
        let names_path = |env: &[(String, String)]| env.iter().any(|(name, _)| shell::is_path(name));
        let path = match &direct {
            Server::Command { env, .. } if !names_path(env) => shell::search_path(),
            Server::Command { .. } | Server::Url { .. } => None,
        };
        Ok(Self { direct, command, path, warning, notes })
    }

    /// The form for a host; `None` for one that is not in the table. A host that is started from a window has a short
    /// `PATH`.
    pub(super) fn of(&self, host: Option<&Host>) -> Server {
        if matches!(self.direct, Server::Url { .. }) && host.is_some_and(|host| !host.takes_urls()) {
            return self.command.clone();
        }
        let mut server = self.direct.clone();
        if let (Server::Command { env, .. }, Some(path), Inherited::Window) = (&mut server, &self.path, inherited(host))
        {
            env.push((shell::PATH.to_owned(), path.clone()));
        }
        server
    }

    /// A warning about this program, if one of these hosts starts it.
    pub(super) fn warning(&self, mut hosts: impl Iterator<Item = Option<&'static Host>>) -> Option<&str> {
        let is_started = hosts.any(|host| matches!(self.of(host), Server::Command { .. }));
        self.warning.as_deref().filter(|_| is_started)
    }
}

/// The environment that a host passes on. One that is not in the table may be started from a window.
pub(super) fn inherited(host: Option<&Host>) -> Inherited {
    host.map_or(Inherited::Window, |host| host.inherits)
}

/// True if this is the server with a name, of a tool file, or at a URL, and if it is ours.
pub(super) fn is_meant(server: &ListedServer, target: &str) -> bool {
    let (path, real) = (std::path::absolute(target).ok(), Path::new(target).canonicalize().ok());
    // A relative path depends on the directory in which the host starts it.
    let is_behind_links = |file: &PathBuf| real.is_some() && file.is_absolute() && file.canonicalize().ok() == real;
    let is_file = |file: &PathBuf| file == Path::new(target) || path.as_ref() == Some(file) || is_behind_links(file);
    server.is_ours && (server.name == target || server.is_at(target) || files(server).iter().any(is_file))
}

/// The files that a server starts.
pub(super) fn files(server: &ListedServer) -> Vec<PathBuf> {
    let is_own = server.command.first().is_some_and(|program| Path::new(program).file_name() == Some("pmcp".as_ref()));
    let file = if is_own { args::tool_file(&server.command) } else { None };
    match file {
        // Other words may be values of flags.
        Some(file) => vec![file],
        None => server.files().into_iter().map(Path::to_owned).collect(),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    let not_text = || Failure::usage(format!("the path {} is not UTF-8, and hosts read nothing else", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(not_text)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn command(words: &[&str]) -> ListedServer {
        let args = words.iter().map(|word| (*word).to_owned()).collect();
        ListedServer::of("name", &Server::Command { program: "/usr/bin/pmcp".into(), args, env: Vec::new() })
    }

    #[test]
    fn a_server_is_meant_by_a_link_to_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (file, link, other, gone) = (place("tools.py"), place("link.py"), place("other.py"), place("gone.py"));
        fs::write(&file, "").unwrap();
        fs::write(&other, "").unwrap();
        symlink(&file, &link).unwrap();
        for started in [file.as_str(), link.as_str()] {
            for words in [
                &["run", started][..],
                &["dev", "--watch", &other, "--poll", "2s", started],
                &["run", "--", "/usr/bin/python3", started, &other],
            ] {
                let server = command(words);
                assert!(is_meant(&server, &file) && is_meant(&server, &link), "{words:?}");
                assert!(!is_meant(&server, &other) && !is_meant(&server, &gone), "{words:?}");
            }
        }
        assert!(is_meant(&command(&["run", &gone]), &gone));
    }
}
