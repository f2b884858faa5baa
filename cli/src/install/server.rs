//! The server of an entry: this program with a tool file, or a URL.

use std::path::Path;

use protomcp_install::{Host, ListedServer, Server};

use crate::args::install::Installable;
use crate::exit::Failure;

/// The variable that names the Python of tool files.
const PYTHON: &str = "PROTOMCP_PYTHON";

/// A server in the two forms that hosts take.
pub(super) struct Servers {
    /// The form for most hosts.
    pub(super) direct: Server,
    /// The form for hosts that only know commands.
    command: Server,
    /// Decisions that the user should know.
    pub(super) notes: Vec<String>,
}

impl Servers {
    pub(super) fn new(installable: &Installable) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| Failure::failed(format!("cannot find pmcp: {error}")))?;
        let program = text(&program)?;
        let mut notes = Vec::new();
        let (direct, command) = match installable {
            Installable::File { path, variables, reload, flags } => {
                let mut args = vec![if *reload { "dev" } else { "run" }.to_owned(), text(path)?];
                args.extend(flags.iter().cloned());
                let mut env = variables.clone();
                if let Some(python) = python(path).filter(|_| !env.iter().any(|(name, _)| name == PYTHON)) {
                    notes.push(format!("the host starts {} with {python}, as this shell does", path.display()));
                    env.push((PYTHON.to_owned(), python));
                }
                let server = Server::Command { program, args, env };
                (server.clone(), server)
            }
            Installable::Url { url, headers } => {
                let fields = headers.iter().flat_map(|(name, value)| ["--header".into(), format!("{name}: {value}")]);
                let args = ["run".into(), "--upstream".into(), url.clone()].into_iter().chain(fields).collect();
                let direct = Server::Url { url: url.clone(), headers: headers.clone() };
                (direct, Server::Command { program, args, env: Vec::new() })
            }
        };
        Ok(Self { direct, command, notes })
    }

    /// The form for a host.
    pub(super) fn of(&self, host: &Host) -> &Server {
        match &self.direct {
            Server::Url { .. } if !host.takes_urls() => &self.command,
            direct => direct,
        }
    }
}

/// True if this is the server with a name, of a tool file, or at a URL, and if it is ours.
pub(super) fn is_meant(server: &ListedServer, target: &str) -> bool {
    let path = std::path::absolute(target).ok();
    let is_path = |word: &String| path.as_deref().is_some_and(|path| Path::new(word) == path);
    let is_target = server.name == target
        || server.command.iter().any(|word| is_path(word) || word == target)
        || server.url.as_deref() == Some(target);
    server.is_ours && is_target
}

/// The Python that this shell would use, if a host would find another one: hosts do not know the active environment.
fn python(file: &Path) -> Option<String> {
    file.extension().filter(|extension| *extension == "py")?;
    if let Some(named) = std::env::var(PYTHON).ok().filter(|named| !named.is_empty()) {
        return Some(named);
    }
    let folder = std::env::var("VIRTUAL_ENV").ok().filter(|folder| !folder.is_empty())?;
    let python = Path::new(&folder).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    python.exists().then(|| python.to_str().map(str::to_owned))?
}

fn text(path: &Path) -> Result<String, Failure> {
    let not_text = || Failure::usage(format!("the path {} is not UTF-8, and hosts read nothing else", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(not_text)
}
