//! Installs servers in the files of hosts, and removes them.

use std::path::{Path, PathBuf};

use crate::change::{Action, Edit, edit, keys};
use crate::copies;
use crate::document;
use crate::drafts;
use crate::environment::Environment;
use crate::file::{self, ConfigFile, DirectoryLock, FileError};
use crate::hosts::{Host, Scope};
use crate::install_error::InstallError;
use crate::receipts::{Receipts, Recorded};
use crate::status::{Found, Installed, ListedServer};

/// The file of records, and the lock that two runs of this program share.
const RECORDS: &str = "{state}/pmcp/installed.json";
const LOCK: &str = "{state}/pmcp/installed.lock";

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
        let inside = check_scope(scope, &path).map_err(InstallError::from);
        let found = match inside.and_then(|()| self.servers(host, &path)) {
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
        let receipt = receipts.of(&path);
        edit(host, path, file.text(), receipt, action)
    }

    /// Makes a change: the file is replaced as a whole, after a copy of it was made.
    ///
    /// # Errors
    ///
    /// The errors of [`prepare`](Self::prepare), and the file cannot be written or was changed by another program at
    /// the same moment. After [`InstallError::Incomplete`] the file is changed.
    pub fn apply(&self, host: &Host, scope: &Scope, action: &Action) -> Result<Edit, InstallError> {
        let path = self.changed_path(host, scope)?;
        let lock = self.environment.resolve(LOCK).ok_or(InstallError::NoFile(host.label))?;
        let _lock = file::lock(Path::new(&lock))?;
        let _host_lock = if host.has_lock { DirectoryLock::take(&path)? } else { None };
        let file = ConfigFile::read(&path)?;
        let (mut receipts, records) = self.receipts()?.ok_or(InstallError::NoFile(host.label))?;
        records.check_writable()?;
        drafts::clean(&file);
        drafts::clean(&records);
        let mut edit = edit(host, path.clone(), file.text(), receipts.of(&path), action)?;
        if edit.after.is_none() || edit.after != edit.before {
            file.check_writable()?;
            back_up(&file, &mut edit, &receipts.copies())?;
        }
        match &edit.after {
            None => file.delete(&edit.receipt.directories)?,
            // Only the record was missing.
            Some(after) if edit.before.as_ref() == Some(after) => {}
            Some(after) => edit.receipt.directories.extend(file.replace(after)?),
        }
        // Without a record the last entry leaves an empty object; without the entry a record has no effect.
        receipts.put(edit.receipt.clone());
        record(&receipts, &records, &file, &edit).map_err(|error| InstallError::Incomplete { path, error })?;
        edit.backup = edit.backup.take().or(edit.receipt.copy.clone()).filter(|copy| copy.exists());
        Ok(edit)
    }

    /// The file of a host, which is to be changed. Links of the user are followed, also out of the home directory.
    fn changed_path(&self, host: &Host, scope: &Scope) -> Result<PathBuf, InstallError> {
        let path = self.path(host, scope)?;
        check_scope(scope, &path)?;
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

/// Refuses a file of a project to which a link leads out of it.
fn check_scope(scope: &Scope, path: &Path) -> Result<(), FileError> {
    match scope {
        Scope::User => Ok(()),
        Scope::Project(directory) => file::check_inside(Path::new(directory), path),
    }
}

/// Writes the records after a change, and deletes the copies that they no longer need.
fn record(receipts: &Receipts, records: &ConfigFile, file: &ConfigFile, edit: &Edit) -> Result<(), FileError> {
    receipts.write(records)?;
    let needed = receipts.copies();
    if let Some(copy) = &edit.released {
        copies::release(file, copy, &needed)?;
    }
    if let (true, Some(after)) = (edit.receipt.servers.is_empty(), &edit.after) {
        copies::drop_same(file, after, &needed)?;
    }
    Ok(())
}

/// Copies a file before its first change, before a server of another origin is replaced, and before an entry goes that was
/// changed since. `needed`: the copies that records need.
fn back_up(file: &ConfigFile, edit: &mut Edit, needed: &[PathBuf]) -> Result<(), FileError> {
    if !(edit.is_first || edit.is_changed || edit.replaced.is_some()) {
        return Ok(());
    }
    let copy = copies::make(file, needed)?;
    if edit.is_first {
        edit.receipt.copy.clone_from(&copy);
    }
    if edit.is_changed {
        edit.backup.clone_from(&copy);
    }
    if let Some(name) = &edit.replaced
        && let Some(former) = edit.receipt.former.get_mut(name)
    {
        former.copy = copy;
    }
    Ok(())
}
