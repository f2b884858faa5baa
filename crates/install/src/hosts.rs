//! Hosts: the places, keys and words of their configuration. [`table`] is the data.

mod table;

use crate::document::edit::Format;
use crate::environment::Environment;
use crate::inherited::Inherited;

pub(crate) use table::OTHER;

/// A host, as a row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Host {
    /// The name on the command line.
    pub id: &'static str,
    /// The name of the product.
    pub label: &'static str,
    /// The notation of the file; `None` if users have to paste the entry.
    pub format: Option<Format>,
    /// Templates of the file for all projects; the first that exists is meant, otherwise the first.
    pub(crate) user: &'static [&'static str],
    /// These instead on Windows, if any.
    pub(crate) windows: &'static [&'static str],
    /// A variable that names the directory, and the template with it.
    pub(crate) variable: Option<(&'static str, &'static str)>,
    /// The files in a project; the first that exists is meant, otherwise the first.
    pub(crate) project: &'static [&'static str],
    /// Keys on the way to the servers; the first way that exists in a file is meant, otherwise the last.
    pub(crate) keys: &'static [&'static [&'static str]],
    /// Members of an entry for a command; none if the host starts no programs.
    pub(crate) stdio: &'static [(&'static str, Part)],
    /// Members of an entry for a server over HTTP.
    pub(crate) http: Option<&'static [(&'static str, Part)]>,
    /// True if the host holds a directory with the name of the file and `.lock` while it writes.
    pub(crate) has_lock: bool,
    /// The part of the user's environment that the host passes on to servers. [`Inherited::Window`] if one of the
    /// programs that read the file has a window.
    pub inherits: Inherited,
    /// The step after a change until the host sees it.
    pub reload: &'static str,
    /// The source of this row, and the month in which it was read.
    pub source: &'static str,
}

/// A value of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Text(&'static str),
    Words(&'static [&'static str]),
    Yes,
    Name,
    Command,
    Args,
    CommandAndArgs,
    Env,
    Url,
    Headers,
}

/// The file of a host that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// That for all projects of the user.
    User,
    /// The file of a project in this directory.
    Project(String),
}

/// All hosts.
pub fn hosts() -> &'static [Host] {
    table::HOSTS
}

/// The host with this id.
pub fn host(id: &str) -> Option<&'static Host> {
    table::HOSTS.iter().find(|host| host.id == id)
}

impl Host {
    /// The files that may be meant, the usual one first. Empty if the host has none in this scope, or if a directory is
    /// not known.
    pub fn files(&self, environment: &Environment, scope: &Scope) -> Vec<String> {
        use crate::environment::Os;
        let directory = match scope {
            Scope::User => None,
            Scope::Project(directory) => Some(directory),
        };
        if let Some(directory) = directory {
            let separator = if environment.os() == Os::Windows { '\\' } else { '/' };
            let file = |file: &str| format!("{directory}{separator}{}", file.replace('/', &separator.to_string()));
            return self.project.iter().copied().map(file).collect();
        }
        if let Some(file) = self.variable.and_then(|(name, file)| environment.variable(name).and(Some(file))) {
            return environment.resolve(file).into_iter().collect();
        }
        let templates =
            if environment.os() == Os::Windows && !self.windows.is_empty() { self.windows } else { self.user };
        templates.iter().filter_map(|template| environment.resolve(template)).collect()
    }

    /// True if the host starts programs. One that does not has a form for the URL of a server.
    pub fn takes_commands(&self) -> bool {
        !self.stdio.is_empty()
    }

    /// True if the host's file can name a server over HTTP.
    pub fn takes_urls(&self) -> bool {
        self.http.is_some()
    }
}
