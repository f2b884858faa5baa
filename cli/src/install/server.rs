//! The server of an entry: this program with a tool file, or a URL.

use std::path::Path;

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
    let path = std::path::absolute(target).ok();
    let is_own = server.command.first().is_some_and(|program| Path::new(program).file_name() == Some("pmcp".as_ref()));
    let file = if is_own { args::tool_file(&server.command) } else { None };
    let is_served = match file {
        // Other words may be values of flags.
        Some(file) => file == Path::new(target) || path.as_deref() == Some(&*file),
        None => server.serves(target, path.as_deref()),
    };
    server.is_ours && (server.name == target || is_served)
}

fn text(path: &Path) -> Result<String, Failure> {
    let not_text = || Failure::usage(format!("the path {} is not UTF-8, and hosts read nothing else", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(not_text)
}
