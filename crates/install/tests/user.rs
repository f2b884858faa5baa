//! A user whose hosts have files.

use std::fs;
use std::path::{Path, PathBuf};

use protomcp_install::{Action, Edit, Environment, Host, InstallError, Installer, Os, Scope, Server, host};
use tempfile::TempDir;

/// A user with an empty home.
pub(crate) struct User {
    pub(crate) home: TempDir,
    pub(crate) installer: Installer,
}

impl User {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().expect("there is a temporary directory");
        let path = home.path().to_str().expect("it is UTF-8");
        let installer = Installer::new(Environment::new(Os::Linux, [("HOME", path)]));
        Self { home, installer }
    }

    pub(crate) fn path(&self, id: &str) -> PathBuf {
        self.installer.path(row(id), &Scope::User).expect("the host has a file")
    }

    pub(crate) fn write(&self, id: &str, text: &str) -> PathBuf {
        let path = self.path(id);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        fs::write(&path, text).expect("it can be written");
        path
    }

    pub(crate) fn install(&self, id: &str, name: &str) -> Result<Edit, InstallError> {
        self.installer.apply(
            row(id),
            &Scope::User,
            &Action::Install { name: name.into(), server: server(), replaces: false },
        )
    }

    pub(crate) fn uninstall(&self, id: &str, name: &str) -> Result<Edit, InstallError> {
        self.installer.apply(row(id), &Scope::User, &Action::Uninstall { name: name.into() })
    }

    /// All files below the home directory.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder can be read") {
                let path = entry.expect("an entry can be read").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    found.push(path.strip_prefix(self.home.path()).expect("it is below").display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

pub(crate) fn row(id: &str) -> &'static Host {
    host(id).expect(id)
}

pub(crate) fn server() -> Server {
    Server::Command { program: "/bin/pmcp".into(), args: vec!["dev".into(), "/t.py".into()], env: Vec::new() }
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the file is there")
}
