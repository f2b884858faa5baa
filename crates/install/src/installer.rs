//! Installs servers in the files of hosts, and removes them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::digest::digest;
use crate::document;
use crate::document::edit::{EditError, Format, Origin};
use crate::entry::Server;
use crate::environment::Environment;
use crate::file::{self, ConfigFile, DirectoryLock, FileError};
use crate::hosts::{Host, Scope};
use crate::name::{InvalidName, check_name};
use crate::receipts::{Receipt, Receipts, Recorded};
use crate::replaced::Replaced;
use crate::status::{Found, Installed, ListedServer};
use crate::value::Value;

/// The file of records, and the lock that two runs of this program share.
const RECORDS: &str = "{state}/pmcp/installed.json";
const LOCK: &str = "{state}/pmcp/installed.lock";

/// A failure. The file of the host is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The text of the file cannot be edited.
    #[error("{}: {error}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: EditError,
    },
    /// The name is not one for a server.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// Another server has the name.
    #[error(
        "{} has a server \"{name}\" already, which starts {starts}: choose a name with --name, or replace it with --replace",
        path.display()
    )]
    Taken {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// The beginning of its command, or its URL, without what may be a secret.
        starts: String,
    },
    /// The server is of another origin.
    #[error("\"{name}\" in {} does not run pmcp: remove it in the file, or with the host", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The host has no file in this scope, or the directory of the user is not known.
    #[error("{0} has no such file: paste the entry into its settings")]
    NoFile(&'static str),
    /// The host's file cannot name this server.
    #[error("the file of {0} names commands only: install a tool file or a command")]
    CommandsOnly(&'static str),
}

/// A change of a file.
#[derive(Debug, Clone)]
pub enum Action {
    /// A server is inserted. It replaces one that this crate has inserted for the same file, command or URL.
    Install {
        /// The name of the server.
        name: String,
        /// The server.
        server: Server,
        /// It replaces any server of this name.
        replaces: bool,
    },
    /// A server of ours is removed.
    Uninstall {
        /// The name of the server.
        name: String,
    },
}

/// A change, worked out but not made.
#[derive(Debug)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// The text before; `None` if there was no file.
    pub before: Option<String>,
    /// The text afterwards; `None` if the file goes.
    pub after: Option<String>,
    /// The copy of the file before the first change, if there is one.
    pub backup: Option<PathBuf>,
    /// The record afterwards.
    receipt: Receipt,
    /// True if the file had no entry of ours.
    is_first: bool,
}

/// Edits the files of hosts for one user.
#[derive(Debug)]
pub struct Installer {
    environment: Environment,
}

impl Installer {
    /// An installer for the user of this environment.
    pub fn new(environment: Environment) -> Self {
        Self { environment }
    }

    /// The environment.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The file of a host: the one that exists, or the usual one.
    ///
    /// # Errors
    ///
    /// The host has none.
    pub fn path(&self, host: &Host, scope: &Scope) -> Result<PathBuf, InstallError> {
        let files: Vec<PathBuf> = host.files(&self.environment, scope).into_iter().map(PathBuf::from).collect();
        let found = files.iter().find(|path| path.exists()).or(files.first()).cloned();
        found.filter(|_| host.format.is_some()).ok_or(InstallError::NoFile(host.label))
    }

    /// True if there is a file of the host for all projects, or a directory for it.
    pub fn is_present(&self, host: &Host) -> bool {
        let path = self.path(host, &Scope::User);
        path.is_ok_and(|path| path.exists() || self.is_started(&path))
    }

    /// The servers of a host.
    ///
    /// # Errors
    ///
    /// The host has no file in this scope, or the records cannot be read.
    pub fn status(&self, host: &Host, scope: &Scope) -> Result<Installed, InstallError> {
        let path = self.path(host, scope)?;
        let receipts = self.receipts()?;
        let receipt = receipts.as_ref().and_then(|(receipts, _)| receipts.of(&path));
        let listed = |(name, entry): (String, serde_json::Value)| {
            let recorded = Recorded::of(receipt, &name, &entry);
            ListedServer::new(name, &entry, recorded)
        };
        let found = match self.servers(host, &path) {
            Err(error) => Found::Broken(error.to_string()),
            Ok(None) if !self.is_started(&path) => Found::Nothing,
            Ok(servers) => Found::Servers(servers.unwrap_or_default().into_iter().map(listed).collect()),
        };
        Ok(Installed { path: path.display().to_string(), found })
    }

    /// Works out a change without making it.
    ///
    /// # Errors
    ///
    /// The file cannot be read or edited, or another server has the name.
    pub fn prepare(&self, host: &Host, scope: &Scope, action: &Action) -> Result<Edit, InstallError> {
        let path = self.changed_path(host, scope)?;
        let file = ConfigFile::read(&path)?;
        let receipts = self.receipts()?.map(|(receipts, _)| receipts).unwrap_or_default();
        edit(host, path, &file, &receipts, action)
    }

    /// Makes a change: the file is replaced as a whole, after a copy of it was made.
    ///
    /// # Errors
    ///
    /// The errors of [`prepare`](Self::prepare), and the file cannot be written or was changed by another program at
    /// the same moment.
    pub fn apply(&self, host: &Host, scope: &Scope, action: &Action) -> Result<Edit, InstallError> {
        let path = self.changed_path(host, scope)?;
        let lock = self.environment.resolve(LOCK).ok_or(InstallError::NoFile(host.label))?;
        let _lock = file::lock(Path::new(&lock))?;
        let _host_lock = if host.has_lock { DirectoryLock::take(&path)? } else { None };
        let file = ConfigFile::read(&path)?;
        let (mut receipts, records) = self.receipts()?.ok_or(InstallError::NoFile(host.label))?;
        let mut edit = edit(host, path, &file, &receipts, action)?;
        match &edit.after {
            None => file.delete(&edit.receipt.directories)?,
            Some(after) => {
                if edit.is_first {
                    file.back_up()?;
                }
                edit.receipt.directories.extend(file.replace(after)?);
            }
        }
        // Without a record the last entry leaves an empty object; without the entry a record has no effect.
        receipts.put(edit.receipt.clone());
        receipts.write(&records)?;
        if let (true, Some(after)) = (edit.receipt.servers.is_empty(), &edit.after) {
            file.drop_backup(after)?;
        }
        edit.backup = Some(file.backup()).filter(|backup| backup.exists());
        Ok(edit)
    }

    /// The file of a host, which is to be changed. Links of the user are followed, also out of the home directory.
    fn changed_path(&self, host: &Host, scope: &Scope) -> Result<PathBuf, InstallError> {
        let path = self.path(host, scope)?;
        if let Scope::Project(directory) = scope {
            file::check_inside(Path::new(directory), &path)?;
        }
        Ok(path)
    }

    /// True if the host has a directory for its file, other than the home directory.
    fn is_started(&self, path: &Path) -> bool {
        let home = self.environment.home().map(Path::new);
        path.parent().is_some_and(|parent| Some(parent) != home && parent.is_dir())
    }

    fn servers(&self, host: &Host, path: &Path) -> Result<Option<Vec<(String, serde_json::Value)>>, InstallError> {
        let (Some(format), file) = (host.format, ConfigFile::read(path)?) else { return Ok(None) };
        let Some(text) = file.text() else { return Ok(None) };
        let failed = |error| InstallError::Edit { path: path.to_owned(), error };
        let keys = keys(host, text, format).map_err(failed)?;
        document::servers(text, format, keys).map(Some).map_err(failed)
    }

    /// The records. `None` if the directory of the user is not known.
    fn receipts(&self) -> Result<Option<(Receipts, ConfigFile)>, InstallError> {
        let path = self.environment.resolve(RECORDS);
        path.map(|path| Receipts::read(Path::new(&path)).map_err(InstallError::from)).transpose()
    }
}

/// The keys on the way to the servers in this text.
fn keys(host: &Host, text: &str, format: Format) -> Result<&'static [&'static str], EditError> {
    for keys in host.keys {
        // An object in the place of servers, not a server with that name.
        let found = document::servers(text, format, keys);
        let is_used = |servers: Vec<(_, serde_json::Value)>| {
            !servers.is_empty() && servers.iter().all(|(_, entry)| entry.is_object())
        };
        if host.keys.len() > 1 && found.is_ok_and(is_used) {
            return Ok(keys);
        }
    }
    let last = host.keys.last().copied().unwrap_or_default();
    document::servers(text, format, last).map(|_| last)
}

/// The change of a file, with its record afterwards.
fn edit(
    host: &Host,
    path: PathBuf,
    file: &ConfigFile,
    receipts: &Receipts,
    action: &Action,
) -> Result<Edit, InstallError> {
    let format = host.format.ok_or(InstallError::NoFile(host.label))?;
    let text = file.text();
    let failed = |error| InstallError::Edit { path: path.clone(), error };
    let keys = keys(host, text.unwrap_or_default(), format).map_err(failed)?;
    let servers = document::servers(text.unwrap_or_default(), format, keys).map_err(failed)?;
    // A record whose entries are gone says nothing about this file.
    let is_current = |receipt: &&Receipt| servers.iter().any(|(name, _)| receipt.servers.contains(name));
    let receipt = receipts.of(&path).filter(is_current).cloned();
    let before = Before { path, text, format, keys, servers, receipt };
    match action {
        Action::Install { name, server, replaces } => {
            check_name(name)?;
            let entry = server.entry(host, name).ok_or(InstallError::CommandsOnly(host.label))?;
            if let Some(other) = before.server(name)
                && !(*replaces || other.is_recorded() && other.starts_as(server))
            {
                return Err(InstallError::Taken { path: before.path, name: name.clone(), starts: other.shown() });
            }
            before.with(name, &entry)
        }
        Action::Uninstall { name } => match before.server(name) {
            Some(other) if !other.is_ours => Err(InstallError::Foreign { path: before.path, name: name.clone() }),
            Some(_) | None => before.without(name),
        },
    }
}

/// The file of a host before a change.
struct Before<'a> {
    path: PathBuf,
    /// `None` if there is no file.
    text: Option<&'a str>,
    format: Format,
    /// The keys on the way to the servers.
    keys: &'static [&'static str],
    servers: Vec<(String, serde_json::Value)>,
    receipt: Option<Receipt>,
}

impl Before<'_> {
    fn server(&self, name: &str) -> Option<ListedServer> {
        let entry = entry_of(&self.servers, name)?;
        let recorded = Recorded::of(self.receipt.as_ref(), name, entry);
        Some(ListedServer::new(name.to_owned(), entry, recorded))
    }

    /// Inserts an entry. An entry of the same name is removed first, and recorded if it is of another origin.
    fn with(self, name: &str, entry: &Value) -> Result<Edit, InstallError> {
        let failed = |error| InstallError::Edit { path: self.path.clone(), error };
        let existing = self.server(name);
        let is_foreign = existing.as_ref().is_some_and(|server| !server.is_recorded());
        let (mut text, mut receipt) = (self.text.unwrap_or_default().to_owned(), self.receipt.clone());
        let mut foreign = is_foreign.then(|| (text.clone(), self.servers.clone()));
        if let Some(before) = self.undone(name) {
            (text, receipt) = (before.text.clone(), Some(before.receipt));
            foreign = Some((before.text, before.servers));
        }
        if existing.is_some() {
            (text, receipt) = without(&text, self.format, self.keys, name, receipt).map_err(failed)?;
        }
        let edited = document::insert(&text, self.format, self.keys, name, entry).map_err(failed)?;
        let servers = document::servers(&edited.text, self.format, self.keys).map_err(failed)?;
        let mut receipt = receipt.unwrap_or_else(|| self.fresh());
        if receipt.servers.is_empty() {
            receipt.origin = edited.origin;
        }
        // Read again, since a notation may not have all types of JSON.
        if let Some(entry) = entry_of(&servers, name) {
            receipt.record(name, entry);
        }
        if let Some((before, servers)) = foreign
            && let Some(entry) = entry_of(&servers, name)
        {
            receipt.replaced.insert(name.to_owned(), Replaced::new(&before, &edited.text, digest(entry)));
        }
        Ok(self.edit(Some(edited.text), receipt))
    }

    /// Removes an entry. A server of another origin that it has replaced comes back.
    fn without(self, name: &str) -> Result<Edit, InstallError> {
        let failed = |error| InstallError::Edit { path: self.path.clone(), error };
        let existed = self.receipt.as_ref().is_none_or(|receipt| receipt.existed);
        let text = self.text.unwrap_or_default();
        let (text, receipt) = match self.undone(name) {
            Some(before) => (before.text, Some(before.receipt)),
            None => without(text, self.format, self.keys, name, self.receipt.clone()).map_err(failed)?,
        };
        let receipt = receipt.unwrap_or_else(|| self.fresh());
        let is_gone = !existed && text.trim().is_empty();
        Ok(self.edit((!is_gone).then_some(text), receipt))
    }

    /// The state with the server that an entry of ours has replaced. `None` if it has replaced none, or if the file has
    /// changed around the entry since.
    fn undone(&self, name: &str) -> Option<Undone> {
        let mut receipt = self.receipt.clone()?;
        let replaced = receipt.replaced.get(name)?;
        let text = replaced.undone(self.text?)?;
        let servers = document::servers(&text, self.format, self.keys).ok()?;
        let is_back = entry_of(&servers, name).is_some_and(|entry| digest(entry) == replaced.digest);
        let others = |servers: &[(String, serde_json::Value)]| -> Vec<_> {
            servers.iter().filter(|(known, _)| known != name).cloned().collect()
        };
        if !is_back || others(&servers) != others(&self.servers) {
            return None;
        }
        receipt.forget(name);
        Some(Undone { text, servers, receipt })
    }

    /// The record of a file that had none.
    fn fresh(&self) -> Receipt {
        Receipt {
            path: self.path.clone(),
            existed: self.text.is_some(),
            directories: Vec::new(),
            origin: Origin::default(),
            servers: Vec::new(),
            digests: BTreeMap::new(),
            replaced: BTreeMap::new(),
        }
    }

    fn edit(self, after: Option<String>, receipt: Receipt) -> Edit {
        let before = self.text.map(str::to_owned);
        Edit { before, after, backup: None, receipt, is_first: self.receipt.is_none(), path: self.path }
    }
}

/// A file before an entry of ours has replaced a server of another origin.
struct Undone {
    text: String,
    servers: Vec<(String, serde_json::Value)>,
    /// The record without the entry.
    receipt: Receipt,
}

fn entry_of<'a>(servers: &'a [(String, serde_json::Value)], name: &str) -> Option<&'a serde_json::Value> {
    servers.iter().find(|(known, _)| known == name).map(|(_, entry)| entry)
}

/// The text and the record without an entry.
fn without(
    text: &str,
    format: Format,
    keys: &[&str],
    name: &str,
    receipt: Option<Receipt>,
) -> Result<(String, Option<Receipt>), EditError> {
    let is_last = |receipt: &&Receipt| receipt.servers == [name];
    let origin = receipt.as_ref().filter(is_last).map(|receipt| &receipt.origin);
    let text = document::remove(text, format, keys, name, origin)?;
    let receipt = receipt.map(|mut receipt| {
        receipt.forget(name);
        receipt
    });
    Ok((text, receipt))
}
